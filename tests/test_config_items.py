"""Lists of a config: OmegaConf's lists to whoever edits them, and no node around a number that nobody asked for."""

import copy
import operator
import pickle
from types import SimpleNamespace as NS

import pytest
from omegaconf import ListConfig, OmegaConf
from omegaconf.errors import InterpolationKeyError, KeyValidationError, MissingMandatoryValue, ReadonlyConfigError

from libbench.config import LazyCall as L
from libbench.config import LazyNode, clone, difference, freeze, from_text, instantiate, thaw, to_text
from libbench.config.items import held


def listed(*values):
    """Give a list of a config."""
    return L(NS)(v=list(values)).v


def nodes_in(content):
    return [each for each in held(content.__dict__["_content"]) if hasattr(each, "_metadata")]


EDITS = {
    "append": lambda v: v.append(7),
    "append text": lambda v: v.append("x"),
    "extend": lambda v: v.extend([7, 8]),
    "insert": lambda v: v.insert(1, 7),
    "pop": lambda v: v.pop(),
    "pop first": lambda v: v.pop(0),
    "delete": lambda v: v.__delitem__(1),
    "delete a slice": lambda v: v.__delitem__(slice(0, 2)),
    "set": lambda v: v.__setitem__(1, 7),
    "set last": lambda v: v.__setitem__(-1, 7),
    "set a slice": lambda v: v.__setitem__(slice(0, 2), [7, 8, 9]),
    "sort": lambda v: v.sort(),
    "sort down": lambda v: v.sort(reverse=True),
    "sort by": lambda v: v.sort(key=lambda x: -x),
    "remove": lambda v: v.remove(1),
    "clear": lambda v: v.clear(),
    "add": lambda v: operator.add(v, [7]),
    "add before": lambda v: operator.add([7], v),
    "update": lambda v: OmegaConf.update(v, "1", 7),
    "read only": lambda v: OmegaConf.set_readonly(v, True),
}


@pytest.mark.parametrize("before", [None, lambda v: v[1], lambda v: list(v), lambda v: v._get_node(0)])
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS.keys())
def test_an_edit_does_what_it_does_to_a_list_of_omegaconf(edit, before):
    ours, theirs = listed(3, 1, 2), OmegaConf.create([3, 1, 2])
    if before is not None:
        before(ours)

    found, wanted = edit(ours), edit(theirs)

    assert found == wanted
    assert list(ours) == list(theirs)
    assert ours == theirs
    assert repr(ours) == repr(theirs)
    assert [ours._get_node(i)._key() for i in range(len(ours))] == list(range(len(ours)))
    assert all(ours._get_node(i)._get_parent() is ours for i in range(len(ours)))
    assert freeze(ours) == list(theirs)


def test_an_item_is_inserted_where_python_inserts_it():
    for index in (-1, -9, 9):
        ours, theirs = listed(3, 1, 2), [3, 1, 2]
        ours.insert(index, 7)
        theirs.insert(index, 7)
        assert list(ours) == theirs


def test_where_an_item_was_set_is_known_by_its_place_and_forgotten_when_it_moves():
    node = L(NS)(v=[3, 1, 2])
    node.v[-1] = 0
    assert list(freeze(node).origins) == [("v", 2)]

    node.v.sort()

    assert list(freeze(node).origins or ()) == []


READS = {
    "index": lambda v: v[1],
    "last": lambda v: v[-1],
    "slice": lambda v: v[1:],
    "steps": lambda v: v[::-1],
    "iterate": lambda v: list(v),
    "reversed": lambda v: list(reversed(v)),
    "contains": lambda v: (1 in v, 9 in v),
    "length": lambda v: len(v),
    "position": lambda v: v.index(2),
    "count": lambda v: v.count(2),
    "equal": lambda v: (v == [3, 1, 2], v == [3, 1]),
    "select": lambda v: OmegaConf.select(v, "1"),
    "container": lambda v: OmegaConf.to_container(v, resolve=True),
    "yaml": lambda v: OmegaConf.to_yaml(v),
    "text": lambda v: str(v),
    "merge": lambda v: OmegaConf.merge({"v": [1]}, {"v": v}).v,
    "copy": lambda v: copy.copy(v),
    "deepcopy": lambda v: copy.deepcopy(v),
    "pickle": lambda v: pickle.loads(pickle.dumps(v)),  # noqa: S301
    "missing": lambda v: OmegaConf.missing_keys(v),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
def test_reading_gives_what_a_list_of_omegaconf_gives(read):
    assert read(listed(3, 1, 2)) == read(OmegaConf.create([3, 1, 2]))


@pytest.mark.parametrize(("index", "error"), [(3, IndexError), (-4, IndexError), ("a", KeyValidationError)])
def test_an_index_that_is_not_there_is_the_error_of_omegaconf(index, error):
    for each in (listed(3, 1, 2), OmegaConf.create([3, 1, 2])):
        with pytest.raises(error):
            _ = each[index]


def test_text_in_a_list_may_stand_for_something_else():
    node = L(NS)(n=3, v=["${n}", "${..n}", "x${n}", "???", "${nothing}"])
    cfg = OmegaConf.create({"n": 3, "node": node}, flags={"allow_objects": True})

    assert (cfg.node.v[0], cfg.node.v[1], cfg.node.v[2]) == (3, 3, "x3")
    with pytest.raises(MissingMandatoryValue):
        _ = cfg.node.v[3]
    with pytest.raises(InterpolationKeyError):
        _ = cfg.node.v[4]
    assert instantiate({"n": 3, "v": L(NS)(v=["${n}", "y${n}"])})["v"].v == [3, "y3"]


def test_a_flag_reaches_the_items_that_have_no_node_yet():
    v = listed(3, 1, 2)
    OmegaConf.set_readonly(v, True)

    with pytest.raises(ReadonlyConfigError):
        v[0] = 1
    assert v._get_node(2)._get_flag("readonly")


def test_a_node_that_was_asked_for_stays_that_one():
    v = listed(3, 1, 2)

    assert v._get_node(1) is v._get_node(1)
    v._get_node(1)._set_value(5)
    assert list(v) == [3, 5, 2]
    assert freeze(v) == [3, 5, 2]


def test_no_node_is_made_for_numbers_that_are_only_built_copied_compared_and_saved():
    node = L(NS)(v=list(range(1000)), w=["a", None, 1.5, True, b"x"])

    copied = [node, copy.deepcopy(node), clone(node), thaw(freeze(node)), L(NS)(v=node.v, w=node.w)]
    for each in copied:
        assert instantiate(each).v == list(range(1000))
        assert difference(node, each) == ()
        assert difference(node, from_text(to_text(each))) == ()

    assert [nodes_in(each[name]) for each in copied for name in ("v", "w")] == [[]] * 10
    assert all(isinstance(each, LazyNode) and isinstance(each.v, ListConfig) for each in copied)


def test_a_list_that_was_given_is_not_the_one_that_is_kept():
    given = [1, [2, 3]]
    node = L(NS)(v=given)
    again = L(NS)(v=node.v)

    given[1].append(4)
    node.v[0] = 5
    again.v[1].append(6)

    assert (freeze(node.v), freeze(again.v)) == ([5, [2, 3]], [1, [2, 3, 6]])


@pytest.mark.parametrize(
    "value",
    [
        list(range(100_000)),
        [i / 3 for i in range(100_000)],
        [str(i) for i in range(100_000)],
        tuple(range(100_000)),
        [list(range(100)) for _ in range(1000)],
        [None, True, 1, 2.5, "x", b"y", 1j] * 1000,
    ],
    ids=["ints", "floats", "strings", "a tuple", "nested", "mixed"],
)
def test_a_long_list_arrives_as_it_was(value):
    found = instantiate(L(NS)(v=value)).v

    assert found == value
    assert found is not value
    assert list(map(type, found)) == list(map(type, value))

"""Laws that hold for every config, tried on random ones."""

import copy
import pickle

import torch
from config_kinds import A, B
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from libbench.config import (
    Call,
    LazyConfig,
    as_overrides,
    clone,
    difference,
    digest,
    freeze,
    from_text,
    instantiate,
    thaw,
    to_text,
    validate,
)
from libbench.config.frozen import Group, Tag
from libbench.errors import ConfigError


def build(**kwargs):
    return kwargs


NAMES = st.sampled_from(["a", "b", "c", "width", "target", "self", "items"])
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8).filter(lambda text: "${" not in text)
    | st.binary(max_size=4)
    | st.sampled_from([torch.float16, torch.device("cpu"), A, build, frozenset({1}), range(3), 1j, "???"])
)


@st.composite
def trees(draw):
    """Give a frozen config in which some nodes are used more than once."""
    made = []

    def tree(depth):
        kind = draw(st.integers(0, 7 if depth else 2))
        if kind <= 2:
            return draw(LEAVES)
        inner = [tree(depth - 1) for _ in range(draw(st.integers(0, 3)))]
        if kind == 3:
            return inner
        if kind == 4:
            return tuple(inner)
        names = draw(st.lists(NAMES, min_size=len(inner), max_size=len(inner), unique=True))
        if kind == 5:
            return Group(zip(names, inner, strict=True))
        if kind == 6 and made:
            return draw(st.sampled_from(made))
        target = draw(st.sampled_from([A, B, build]))
        call = Call(target, [], dict(zip(names, inner, strict=True)), draw(st.booleans()), None, {}, Tag())
        made.append(call)
        return call

    return Group((name, tree(3)) for name in draw(st.lists(NAMES, max_size=4, unique=True)))


MANY = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
SOME = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def attempt(action):
    """Give what an action gives, or the text of its error."""
    try:
        return action()
    except ConfigError as error:
        return str(error)


@MANY
@given(trees())
def test_a_saved_config_read_again_has_no_difference(tree):
    cfg = thaw(tree)

    again = from_text(to_text(cfg))

    assert difference(cfg, again) == ()
    assert digest(again) == digest(cfg)


@MANY
@given(trees())
def test_a_config_saved_as_json_and_read_again_has_no_difference(tree):
    cfg = thaw(tree)

    again = from_text(to_text(cfg, form="json"), form="json")

    assert difference(cfg, again) == ()
    assert digest(again) == digest(cfg)


@MANY
@given(trees())
def test_a_config_written_as_python_and_loaded_has_no_difference(tmp_path_factory, tree):
    file = tmp_path_factory.getbasetemp() / "written.py"
    # A class or a function by itself is no part of a config file.
    cfg = thaw({name: [value] if value in (A, build) else value for name, value in tree.items()})

    file.write_text(LazyConfig.to_py(cfg), encoding="utf-8")
    again = LazyConfig.load(file)

    assert difference(cfg, again) == ()
    assert digest(again) == digest(cfg)


@SOME
@given(trees(), trees())
def test_the_overrides_of_a_difference_make_all_of_it_that_they_do_not_tell_to_be_left(one, two):
    rewrite = as_overrides(one, two)

    after = LazyConfig.apply_overrides(one, rewrite.lines)

    assert tuple(each for each in difference(after, two) if each.counted) == rewrite.left


SPELLABLE = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8).filter(lambda text: "${" not in text)
)


@MANY
@given(trees(), st.data())
def test_the_overrides_of_one_edit_give_no_difference(tree, data):
    edited = freeze(tree)
    found = [(holder, key) for holder, key in places(edited, [], set()) if not isinstance(holder, list)]
    if not found:
        return
    holder, key = data.draw(st.sampled_from(found))
    holder[key] = data.draw(SPELLABLE)

    rewrite = as_overrides(tree, edited)

    assert rewrite.left == ()
    assert [each for each in difference(LazyConfig.apply_overrides(tree, rewrite.lines), edited) if each.counted] == []


@MANY
@given(trees())
def test_a_config_survives_copying_pickling_freezing_and_thawing(tree):
    cfg, before = thaw(tree), digest(tree)

    for after in (copy.deepcopy(cfg), pickle.loads(pickle.dumps(cfg)), thaw(freeze(cfg)), clone(cfg), freeze(cfg)):  # noqa: S301
        assert digest(after) == before
        assert difference(cfg, after) == ()


def places(tree, found, seen):
    """List what can be edited: the holder and the key of every leaf."""
    if isinstance(tree, Call):
        if id(tree) in seen:
            return found
        seen.add(id(tree))
        items = list(tree.kwargs.items())
        holder = tree.kwargs
    elif isinstance(tree, dict | list):
        items = list(tree.items() if isinstance(tree, dict) else enumerate(tree))
        holder = tree
    elif isinstance(tree, tuple):
        for each in tree:
            places(each, found, seen)
        return found
    else:
        return found
    for key, each in items:
        if isinstance(each, Call | dict | list | tuple):
            places(each, found, seen)
        else:
            found.append((holder, key))
    return found


@MANY
@given(trees(), st.data())
def test_one_edit_gives_exactly_one_counted_line(tree, data):
    edited = freeze(tree)
    found = places(edited, [], set())
    if not found:
        return
    holder, key = data.draw(st.sampled_from(found))
    holder[key] = "something else entirely"

    counted = [each for each in difference(tree, edited) if each.counted]

    assert len(counted) == 1
    assert digest(tree) != digest(edited)


@MANY
@given(trees(), trees())
def test_no_difference_means_the_same_digest_and_the_other_way_round(one, two):
    assert (difference(one, two) == ()) == (digest(one) == digest(two))
    assert difference(one, one) == ()


@SOME
@given(
    trees(),
    st.lists(st.sampled_from(["a=1", "b.a=2", "+c=3", "~a", "a.b.c=1", "+a.x=1", "width=[1]", "~b.a", "a.0=3"])),
)
def test_overrides_apply_all_or_not_at_all(tree, overrides):
    cfg = thaw(tree)
    before = digest(cfg)

    after = attempt(lambda: LazyConfig.apply_overrides(cfg, overrides))
    step = cfg
    for each in overrides:
        step = attempt(lambda step=step, each=each: LazyConfig.apply_overrides(step, [each]))
        if isinstance(step, str):
            break

    if isinstance(after, str):
        assert after == step
        assert "\n" not in after
    else:
        assert digest(step) == digest(after)

    assert digest(cfg) == before


@SOME
@given(trees())
def test_building_never_changes_the_config(tree):
    cfg = thaw(tree)
    before = digest(cfg)

    one, two = attempt(lambda: instantiate(cfg)), attempt(lambda: instantiate(cfg))

    assert one == two if isinstance(one, str) else one.keys() == two.keys()
    assert ("'???'" in str(validate(cfg))) == isinstance(one, str)

    assert digest(cfg) == before

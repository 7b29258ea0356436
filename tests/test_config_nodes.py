"""Recorded calls: what they refuse, what they keep, and what OmegaConf may do with them."""

import copy
import functools
import pickle
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch
from omegaconf import DictConfig, OmegaConf
from torch import nn

from libbench.config import LazyCall as L
from libbench.config import LazyConfig, LazyNode, clone, difference, flat, instantiate, origin
from libbench.errors import ConfigError


class A(SimpleNamespace):
    pass


@dataclass
class Settings:
    depth: int = 1


def scale(x, factor=2):
    return x, factor


def open_function(**kwargs):
    return kwargs


@functools.wraps(scale)
def open_wrapper(*args, **kwargs):
    return scale(*args, **kwargs)


def line():
    import sys

    return sys._getframe(1).f_lineno


def test_a_misspelt_parameter_is_an_error_on_the_line_that_writes_it():
    wanted = "Conv2d has no parameter 'in_chanels'; did you mean 'in_channels'"
    here = line() + 2
    with pytest.raises(ConfigError, match=wanted) as caught:
        L(nn.Conv2d)(in_chanels=1, out_channels=2, kernel_size=3)

    assert f"test_config_nodes.py:{here})" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_misspelt_attribute_set_later_is_an_error_at_once():
    cfg = OmegaConf.create({"model": L(nn.Conv2d)(1, 2, 3)})

    with pytest.raises(ConfigError, match="did you mean 'in_channels'"):
        cfg.model.in_chanels = 3
    with pytest.raises(ConfigError, match="did you mean 'in_channels'"):
        cfg.model["in_chanels"] = 3
    with pytest.raises(ConfigError, match=r"did you mean 'in_channels'.*at model"):
        OmegaConf.update(cfg, "model.in_chanels", 3)
    assert "in_chanels" not in cfg.model


def test_any_keyword_is_taken_by_an_open_target():
    assert L(open_function)(anything=1).anything == 1
    assert L(open_wrapper)(anything=1).anything == 1
    assert L("not.imported.yet")(anything=1).anything == 1


def test_positions_become_names_where_a_name_reaches_them():
    node = L(scale)(1)

    assert node.x == 1
    assert "_args_" not in node
    assert list(L(torch.zeros)(2, 3)._args_) == [2, 3]


def test_too_many_positions_and_a_doubled_argument_are_errors():
    with pytest.raises(ConfigError, match="takes 2 positional arguments, got 3"):
        L(scale)(1, 2, 3)
    with pytest.raises(ConfigError, match="got 'x' by position and by name"):
        L(scale)(1, x=2)


def test_a_target_is_callable_or_text():
    with pytest.raises(ConfigError, match="got 3"):
        L(3)


def test_a_call_that_was_forgotten_is_an_error():
    with pytest.raises(ConfigError, match="was not called"):
        L(scale)(x=L(scale))


def test_parameters_may_have_any_name():
    node = L(open_function)(target=1, self=2, args=3, items=4, keys=5)

    assert instantiate(node) == {"target": 1, "self": 2, "args": 3, "items": 4, "keys": 5}


def test_a_node_is_a_dict_of_omegaconf():
    cfg = OmegaConf.create({"model": L(scale)(x=3)})

    assert isinstance(cfg.model, DictConfig)
    assert cfg["model"]["x"] == 3
    assert cfg.model._target_ is scale
    assert OmegaConf.select(cfg, "model.x") == 3
    assert "x: 3" in OmegaConf.to_yaml(cfg)
    assert OmegaConf.to_container(cfg)["model"]["x"] == 3


@pytest.mark.parametrize(
    "operation",
    [
        copy.deepcopy,
        copy.copy,
        lambda cfg: pickle.loads(pickle.dumps(cfg)),  # noqa: S301
        lambda cfg: OmegaConf.merge(cfg, {"other": 1}),
        lambda cfg: OmegaConf.merge({"other": 1}, cfg),
        lambda cfg: OmegaConf.create({**cfg}),
        lambda cfg: OmegaConf.create([cfg])[0],
    ],
)
def test_a_node_keeps_its_class_its_identity_and_its_origin_through(operation):
    shared = L(A)()
    cfg = OmegaConf.create({"one": L(A)(part=shared), "two": [L(A)(part=shared)], "three": shared})
    here = origin(cfg, "one")

    after = operation(cfg)

    assert type(after.one) is LazyNode
    assert type(after.two[0].part) is LazyNode
    assert origin(after, "one") == here
    built = instantiate(after)
    assert built["one"].part is built["two"][0].part is built["three"]


def test_a_node_keeps_its_identity_through_append_insert_update_and_interpolation():
    shared = L(A)()
    cfg = OmegaConf.create({"a": shared, "l": [], "u": {}, "i": "${a}"})
    cfg.l.append(shared)
    cfg.l.insert(0, shared)
    cfg.l += [shared]
    cfg.u.update({"x": shared})
    OmegaConf.update(cfg, "u.y", shared, force_add=True)
    cfg.u.merge_with({"z": shared})

    built = instantiate(cfg)

    assert type(cfg.i) is LazyNode
    assert {id(each) for each in [built["a"], built["i"], *built["l"], *built["u"].values()]} == {id(built["a"])}


def test_a_node_used_in_two_places_is_one_node_to_edit():
    shared = L(A)(n=1)
    cfg = L(A)(x=shared, y=[shared])

    cfg.x.n = 2
    shared.m = 3

    assert cfg.y[0].n == 2
    assert cfg.y[0].m == 3
    built = instantiate(cfg)
    assert built.x is built.y[0]


def test_copies_that_were_edited_apart_are_two():
    shared = L(A)(n=1)
    cfg = OmegaConf.create({"x": shared, "y": shared})  # OmegaConf copies what it is given

    cfg.y.n = 2

    built = instantiate(cfg)
    assert (built["x"].n, built["y"].n) == (1, 2)


def test_clone_asks_for_a_second_instance():
    inner = L(A)()
    node = L(A)(p=inner, q=inner)

    built = instantiate({"one": node, "two": clone(node)})

    assert built["one"] is not built["two"]
    assert built["one"].p is not built["two"].p
    assert built["two"].p is built["two"].q


def test_merging_does_not_tie_the_result_to_its_sources():
    one, two = OmegaConf.create({"m": L(A)(n=1)}), OmegaConf.create({"k": L(A)(n=1)})

    merged = OmegaConf.merge(one, two)
    merged.m.n = 5
    merged.k.n = 5
    node = L(A)(d={"x": 1})
    node.merge_with({"d": {"y": 2}, "e": L(A)(n=3)})

    assert one.m.n == two.k.n == 1
    assert instantiate(node).d == {"x": 1, "y": 2}
    assert instantiate(node).e.n == 3


def test_values_come_out_as_they_went_in():
    settings, tensor = Settings(3), torch.ones(2)
    node = L(open_function)(t=(1, [2, (3,)]), d=Settings, s=settings, k={1: "a", None: "b"}, x=tensor)

    assert node.t == (1, [2, (3,)])
    assert type(node.t) is tuple
    assert node.d is Settings
    assert node.s is settings
    assert node.k == {1: "a", None: "b"}
    assert node.x is tensor
    copied = pickle.loads(pickle.dumps(copy.deepcopy(node)))  # noqa: S301
    assert copied.t == (1, [2, (3,)])
    assert copied.s == settings


def test_what_is_given_to_a_node_can_change_without_changing_the_node():
    items, pair = [1], ([1], {"a": 1})
    node = L(open_function)(items=items, pair=pair)

    items.append(2)
    pair[0].append(2)

    assert instantiate(node) == {"items": [1], "pair": ([1], {"a": 1})}


def test_nodes_inside_a_tuple_are_copied_with_the_config():
    cfg = OmegaConf.create({"t": L(A)(pair=(L(A)(n=1), 2))})
    copied = copy.deepcopy(cfg)

    copied.t.pair[0].n = 5

    assert cfg.t.pair[0].n == 1


def test_a_node_cannot_hold_itself():
    node = L(A)()
    inner = L(A)(up=L(A)())
    node.x = inner

    with pytest.raises(ConfigError, match="hold"):
        inner.up.y = node


def test_lists_and_dicts_in_a_node_can_be_edited_as_ever():
    node = L(open_function)(l=[1, 2, 3], d={"a": {"b": 1}})

    node.l.append(4)
    node.l.insert(0, 0)
    node.l[1] = 10
    del node.l[2]
    node.l += [L(A)(n=1)]
    node.d.a.c = 2
    del node.d.a["b"]
    node.d["e"] = (1, 2)

    built = instantiate(node)
    assert built["l"][:-1] == [0, 10, 3, 4]
    assert built["l"][-1].n == 1
    assert built["d"] == {"a": {"c": 2}, "e": (1, 2)}


def test_flags_of_omegaconf_are_obeyed():
    cfg = OmegaConf.create({"m": L(A)(n=1, d={"x": 1})})
    OmegaConf.set_readonly(cfg, True)
    with pytest.raises(Exception, match="read-only"):
        cfg.m.n = 2
    OmegaConf.set_readonly(cfg, False)
    OmegaConf.set_struct(cfg, True)
    with pytest.raises(Exception, match="struct"):
        cfg.m.d.y = 2
    cfg.m.d.x = 2

    assert cfg.m.d.x == 2


def test_each_value_remembers_where_it_was_set():
    first = line() + 1
    node = L(A)(n=1, d={"x": 1})
    node.n = 2
    node.d.y = 2
    cfg = OmegaConf.create({"m": node})

    assert origin(cfg, "m").endswith(f"test_config_nodes.py:{first}")
    assert origin(cfg, "m.n").endswith(f":{first + 1}")
    assert origin(cfg, "m.d.x").endswith(f":{first}")
    assert origin(cfg, "m.d.y").endswith(f":{first + 2}")
    assert origin(cfg, "m.nothing") is None


def test_an_origin_survives_pickle():
    node = L(A)(n=1)

    assert origin(pickle.loads(pickle.dumps(node)), "n") == origin(node, "n")  # noqa: S301


def test_an_item_of_a_list_remembers_where_it_was_set_by_itself():
    cfg = OmegaConf.create({"m": L(A)(l=[1, [2, 3]], t=(1, (2, 3))), "z": L(torch.zeros)(2, 3)})
    cfg.m.l[1][0] = 5
    first = line() - 2
    cfg.z._args_[1] = 7
    cfg = LazyConfig.apply_overrides(cfg, ["m.l.1.1=9", "m.t.1.0=8"])

    places = {each.path: each.origin for each in flat(cfg)}
    assert places["m.l.1.0"].endswith(f"test_config_nodes.py:{first + 1}")
    assert places["m.l.1.1"] == "override 'm.l.1.1=9'"
    assert places["m.l.0"].endswith(f"test_config_nodes.py:{first}")
    assert places["m.t.1.0"] == origin(cfg, "m.t.1.0") == "override 'm.t.1.0=8'"
    assert places["m.t.0"].endswith(f"test_config_nodes.py:{first}")
    assert places["z.1"].endswith(f"test_config_nodes.py:{first + 3}")
    (change,) = difference(LazyConfig.apply_overrides(cfg, ["m.l.1.0=6"]), cfg)
    assert change.reference_origin == "override 'm.l.1.0=6'"


def test_an_item_forgets_where_it_was_set_when_items_move_or_the_list_is_replaced():
    cfg = OmegaConf.create({"m": L(A)(l=[1, 2, 3])})
    written = origin(cfg, "m.l.1")
    for change in (
        lambda cfg: cfg.m.l.insert(0, 0),
        lambda cfg: cfg.m.l.pop(0),
        lambda cfg: setattr(cfg.m, "l", [7, 8, 9]),
    ):
        edited = LazyConfig.apply_overrides(cfg, ["m.l.1=9"])
        change(edited)
        assert "override" not in str([origin(edited, f"m.l.{index}") for index in range(3)])
    for override in ("~m.l.0", "m.l=[4,5]"):
        assert origin(LazyConfig.apply_overrides(cfg, ["m.l.1=9", override]), "m.l.1") != "override 'm.l.1=9'"
    assert written is not None


def test_a_resolver_may_keep_what_it_found():
    asked = []
    OmegaConf.register_new_resolver(
        "libbench_tests.once", lambda name: asked.append(name) or len(asked), use_cache=True
    )
    try:
        cfg = L(dict)(a="${libbench_tests.once:x}", b=["${libbench_tests.once:x}"])

        assert [cfg.a, cfg.b[0], cfg.a] == [1, 1, 1]
        assert OmegaConf.get_cache(cfg) == {"libbench_tests.once": {("x",): 1}}
        copied = copy.deepcopy(cfg)
        OmegaConf.clear_cache(cfg)
        assert (cfg.a, OmegaConf.get_cache(copied)) == (2, {})
    finally:
        OmegaConf.clear_resolver("libbench_tests.once")


def test_all_unknown_parameters_of_a_call_are_told_at_once():
    with pytest.raises(
        ConfigError, match=r"no parameter 'in_featurs'.*'in_features'.*no parameter 'out_featurs'.*'out_fea"
    ):
        L(torch.nn.Linear)(in_featurs=4, out_featurs=3)

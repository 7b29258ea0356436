"""Building: plain values out, one instance per node, and errors that say where."""

import copy
import functools
import os
from collections import OrderedDict, namedtuple
from pathlib import Path
from types import SimpleNamespace as NS

import pytest
import torch
from config_kinds import A, B, Color
from omegaconf import OmegaConf
from torch import nn

from libbench.config import LazyCall as L
from libbench.config import (
    built_at,
    difference,
    digest,
    freeze,
    from_text,
    instantiate,
    instantiate_parts,
    thaw,
    to_text,
    validate,
)
from libbench.errors import ConfigError

Point = namedtuple("Point", "x y")


def call(**kwargs):
    return kwargs


def needs(a, b, c=3):
    return a, b, c


class Broken:
    def __init__(self, width):
        raise ValueError(f"width {width} is odd")


def test_a_shared_node_is_built_once():
    shared = L(A)()

    built = instantiate(L(NS)(a=L(A)(d=shared), b=L(B)(d=shared)))

    assert built.a.d is built.b.d


def test_an_interpolation_of_a_node_is_that_instance():
    built = instantiate({"t": L(A)(), "l": ["${t}"]})

    assert built["t"] is built["l"][0]
    assert type(built["l"]) is list


def test_containers_come_out_plain():
    value = instantiate(L(NS)(v=(1, (2, 3)), l=[[1], {"a": [2]}]))

    assert value.v == (1, (2, 3))
    assert type(value.v) is tuple
    assert type(value.v[1]) is tuple
    assert type(value.l) is list
    assert type(value.l[1]) is dict
    assert type(value.l[1]["a"]) is list


def test_a_long_list_arrives_as_a_list():
    value = instantiate(L(NS)(v=list(range(100_000)))).v

    assert value == list(range(100_000))
    assert type(value) is list


def test_calls_four_hundred_deep_are_built_copied_and_summed_up():
    node = L(A)(n=0)
    for n in range(1, 400):
        node = L(A)(n=n, inner=node)

    built = instantiate(node)

    assert built.n == 399
    assert digest(thaw(freeze(node))) == digest(node)
    assert difference(node, freeze(node)) == ()


def test_every_call_in_lists_tuples_and_dicts_is_built():
    built = instantiate(L(NS)(d={"x": L(A)(), "y": [{"k": L(A)()}], "z": (L(A)(), {1: L(B)()})}))

    assert isinstance(built.d["x"], A)
    assert isinstance(built.d["y"][0]["k"], A)
    assert isinstance(built.d["z"][0], A)
    assert isinstance(built.d["z"][1][1], B)


def test_a_relative_interpolation_works_nested_and_taken_out():
    cfg = OmegaConf.create({"outer": {"n": 3, "m": L(NS)(a="${..n}", b="${outer.n}", c=["${...n}"])}})

    for built in (instantiate(cfg)["outer"]["m"], instantiate(cfg.outer)["m"], instantiate(cfg.outer.m)):
        assert (built.a, built.b, built.c) == (3, 3, [3])
    assert instantiate({"outer": {"n": 3, "m": L(NS)(a="${..n}")}})["outer"]["m"].a == 3


def test_an_interpolation_may_be_inside_text_and_call_resolvers(monkeypatch):
    monkeypatch.setenv("LIBBENCH_WORD", "blue")
    cfg = {"n": 3, "d": {"k": "n"}, "m": L(NS)(a="x-${n}-y", b="${oc.env:LIBBENCH_WORD}", c="${oc.env:NOPE,${n}}")}

    built = instantiate(cfg)["m"]

    assert (built.a, built.b, built.c) == ("x-3-y", "blue", "3")


@pytest.mark.filterwarnings("ignore:register_new_resolver")  # another name from omegaconf 2.4 on
def test_a_resolver_of_ones_own_gets_the_containers_around_it():
    OmegaConf.register_new_resolver("libbench_beside", lambda key, _parent_, _root_: (_parent_[key], _root_.n))
    try:
        cfg = {"n": 3, "m": L(NS)(x=4, y="${libbench_beside:x}", z="${no_such:x}")}

        with pytest.raises(ConfigError, match=r"no resolver is registered as 'no_such' \(at m.z\)"):
            instantiate(cfg)
        del cfg["m"].z
        assert instantiate(cfg)["m"].y == (4, 3)
    finally:
        OmegaConf.clear_resolver("libbench_beside")


def test_an_interpolation_reaches_lists_tuples_and_parameters():
    cfg = {"m": L(A)(sizes=(4, [5, 6])), "v": ["${m.sizes.1.0}", "${m.sizes[0]}", "${m.sizes}"]}

    assert instantiate(cfg)["v"] == [5, 4, (4, [5, 6])]


def test_an_interpolation_that_leads_nowhere_says_so():
    with pytest.raises(ConfigError, match=r"\$\{modle.n\} leads nowhere: there is no 'modle'; did you mean 'model'"):
        instantiate({"model": L(A)(n=1), "x": "${modle.n}"})
    with pytest.raises(ConfigError, match="circle: x -> y -> x"):
        instantiate({"x": "${y}", "y": "${x}"})


@pytest.mark.parametrize(
    ("node", "wanted"),
    [
        (L(torch.zeros)(2, 3), torch.zeros(2, 3)),
        (L(dict)(x=1), {"x": 1}),
        (L(os.path.join)("a", "b"), "a/b"),
        (L("collections.OrderedDict")([("a", 1)]), OrderedDict(a=1)),
        (L(torch.Tensor.tolist)(torch.ones(1)), [1.0]),
    ],
)
def test_any_callable_can_be_called(node, wanted):
    built = instantiate(node)

    assert torch.equal(built, wanted) if isinstance(wanted, torch.Tensor) else built == wanted


def test_a_call_may_be_an_argument_by_position():
    built = instantiate(L(torch.utils.data.TensorDataset)(L(torch.ones)(4, 1)))

    assert built.tensors[0].shape == (4, 1)


def test_a_partial_is_a_partial_of_functools():
    built = instantiate(L(torch.optim.SGD).partial(lr=1.0))

    assert type(built) is functools.partial
    assert built.func is torch.optim.SGD
    assert built.keywords == {"lr": 1.0}
    assert validate(L(torch.optim.SGD).partial(lr=1.0)) == []


def test_leaves_are_handed_over_as_they_are():
    tensor, path = torch.ones(2), Path("a")
    built = instantiate(L(call)(d=torch.float16, e=torch.device("cpu"), p=path, m=Color.RED, t=tensor, f=call, c=A))

    assert built["t"] is tensor
    assert built["p"] is path
    assert (built["d"], built["e"], built["m"]) == (torch.float16, torch.device("cpu"), Color.RED)
    assert built["f"] is call
    assert built["c"] is A


def test_calls_in_an_ordered_dict_and_in_a_named_tuple_are_built():
    layers = OrderedDict(first=L(nn.Identity)(), second=L(nn.Linear)(1, 2))
    cfg = L(NS)(net=L(nn.Sequential)(layers), point=Point(L(A)(n=1), 2), plain=OrderedDict(a=1))

    for built in (instantiate(cfg), instantiate(copy.deepcopy(cfg)), instantiate(from_text(to_text(cfg)))):
        assert [name for name, _ in built.net.named_children()] == ["first", "second"]
        assert built.point == Point(A(n=1), 2)
        assert type(built.point) is Point
        assert built.plain == OrderedDict(a=1)


def test_building_changes_nothing_and_builds_anew_each_time():
    cfg = L(NS)(a=L(A)(l=[1]), s="${a}")
    before = digest(cfg)

    one, two = instantiate(cfg), instantiate(cfg)
    one.a.l.append(2)

    assert one.a is not two.a
    assert two.a.l == [1]
    assert digest(cfg) == before


def test_what_is_no_config_comes_back_as_it_is():
    tensor = torch.ones(1)

    assert instantiate(tensor) is tensor
    assert instantiate(3) == 3
    assert instantiate(None) is None


def test_arguments_of_instantiate_replace_recorded_ones():
    thing = object()
    cfg = L(call)(a=1, b=2)

    assert instantiate(cfg, b=thing, c=L(A)(n=1)) == {"a": 1, "b": thing, "c": A(n=1)}
    assert cfg.b == 2
    with pytest.raises(ConfigError, match="has no parameter 'd'"):
        instantiate(L(needs)(1, 2), d=1)


def test_the_hydra_form_is_built_too():
    cfg = OmegaConf.create({"_target_": "collections.OrderedDict", "a": {"_target_": "builtins.dict", "b": 1}})

    assert instantiate(cfg) == OrderedDict(a={"b": 1})
    assert instantiate({"x": {"_target_": "builtins.dict", "_partial_": True}})["x"]() == {}


def test_a_failing_build_keeps_its_type_and_says_where():
    cfg = {"model": L(nn.Sequential)(L(nn.Identity)(), L(A)(blocks=[L(A)(), L(A)(conv=L(Broken)(3))]))}

    with pytest.raises(ValueError, match="width 3 is odd") as caught:
        instantiate(cfg)

    note = built_at(caught.value)
    assert "model.1.blocks.1.conv: " in note
    assert "Broken" in note
    assert "test_config_building.py:" in note
    assert built_at(ValueError("another")) is None


def test_a_missing_parameter_is_named_with_its_place():
    cfg = {"model": L(needs)(c=1)}

    with pytest.raises(
        ConfigError, match=r"needs misses the required parameters 'a', 'b' \(at model, written in .*:\d+\)"
    ):
        instantiate(cfg)


def test_validate_lists_every_mistake_of_a_config_that_cannot_be_frozen_either():
    loop = {"_target_": "types.SimpleNamespace"}
    loop["inner"] = loop
    cfg = {
        "a": {"_target_": "torch.nn.ReLU", "_recursive_": False},
        "b": {"_target_": "torch.nn.ReLU", 3: 4, "_convert_": "none"},
        "c": loop,
        "d": L(needs)(a="${nothing}"),
    }

    problems = validate(cfg)

    words = ["_recursive_", "named by text, got [3]", "_convert_", "holds itself", "'b'", "nothing"]
    assert [[word for word in words if word in each] for each in problems] == [[word] for word in words]
    with pytest.raises(ConfigError, match="_recursive_"):
        freeze(cfg)


def test_validate_lists_every_mistake_and_builds_nothing():
    cfg = {
        "a": L(Broken)(3),
        "b": L(needs)(a=1),
        "c": L("libbench.nothing.Here")(),
        "d": [L("torch.nn.Conv3")(), L("torch.nn.Linear")(in_feature=3)],
        "e": "${f.g}",
        "f": L(needs)(1, "???"),
    }

    problems = validate(cfg)

    assert len(problems) == 7
    assert all("\n" not in each for each in problems)
    text = "\n".join(problems)
    assert "misses the required parameter 'b' (at b" in text
    assert "libbench.nothing" in text
    assert "did you mean 'Conv3d'? (at d.0, written in" in text
    assert "torch.nn.Linear has no parameter 'in_feature'; did you mean 'in_features'? (at d.1.in_feature" in text
    assert "there is no 'f.g'" in text
    assert "'b', which is '???'" in text
    assert validate({"a": L(needs)(1, 2)}) == []


def test_a_text_target_that_cannot_be_imported_is_reported_with_its_line():
    with pytest.raises(
        ConfigError, match=r"cannot import torch.nn.Lineer.*did you mean 'Linear'.*at model, written in .*\.py:\d+"
    ):
        instantiate({"model": L("torch.nn.Lineer")(1, 2)})
    with pytest.raises(ConfigError, match="dotted name"):
        instantiate(L("Lineer")())


def test_a_frozen_tree_can_be_built_and_does_not_follow_the_config():
    cfg = L(A)(n=1)
    frozen = freeze(cfg)
    cfg.n = 2

    assert instantiate(frozen).n == 1


def test_single_parts_are_built_with_what_they_share_and_refer_to():
    cfg = thaw(
        freeze({"width": 3, "shared": L(NS)(n="${width}"), "a": L(NS)(s="${shared}"), "b": L(NS)(s="${shared}")})
    )

    parts = dict(instantiate_parts(cfg, ["a", "b", "absent"]))

    assert list(parts) == ["a", "b"]
    assert parts["a"].s is parts["b"].s
    assert parts["a"].s.n == 3

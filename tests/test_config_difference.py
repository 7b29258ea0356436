"""The difference of two configs: one line per real change, with both origins."""

import functools
import math

import pytest
import torch
from config_kinds import A, B, Color, X, scale, told
from torch import nn

from libbench.config import LazyCall as L
from libbench.config import LazyConfig, clone, difference, digest, freeze, show
from libbench.settings import Tolerance


def lines(reference, target):
    return told(difference(reference, target))


def test_an_item_inserted_in_front_is_one_line():
    assert lines({"p": [L(A)(), L(B)(k=1)]}, {"p": [L(X)(), L(A)(), L(B)(k=2)]}) == [
        "p.0: added  | X()",
        "p.1.k -> p.2.k: changed 1 | 2",
    ]


@pytest.mark.parametrize(
    ("reference", "target", "wanted"),
    [
        (1, 2, ["v: changed 1 | 2"]),
        (1, 1.0, ["v: type 1 | 1.0"]),
        (1, True, ["v: type 1 | True"]),
        (1, "1", ["v: changed 1 | '1'"]),
        ((1, 2), [1, 2], ["v: type (1, 2) | [1, 2]"]),
        ((1, 2), [1, 3], ["v.1: changed 2 | 3", "v: type tuple | list"]),
        (math.nan, math.nan, []),
        (torch.ones(3), torch.ones(3), []),
        (torch.ones(3), torch.ones(4), ["v: changed <Tensor (3,) torch.float32> | <Tensor (4,) torch.float32>"]),
        (torch.ones(3), torch.ones(3, dtype=torch.float16),
         ["v: changed <Tensor (3,) torch.float32> | <Tensor (3,) torch.float16>"]),
        (torch.float16, torch.float32, ["v: changed torch.float16 | torch.float32"]),
        (nn.Linear, nn.Conv2d, ["v: changed torch.nn.Linear | torch.nn.Conv2d"]),
        (None, [1], ["v: changed None | [1]"]),
        ({"a": 1}, {"b": 1}, ["v.a: removed 1 | ", "v.b: added  | 1"]),
        ([1, 2, 3], [2, 3], ["v.0: removed 1 | "]),
        ([1, 2, 3], [1, 3, 2], ["v.2 -> v.1: moved 3 | 3"]),
        ([1, 2, 3], [1, 5, 3], ["v.1: changed 2 | 5"]),
        ((48, 24), (24, 12), ["v.0: changed 48 | 24", "v.1: changed 24 | 12"]),
        ([3, 8, 8], [8, 8, 4], ["v.0: changed 3 | 8", "v.2: changed 8 | 4"]),
        ([], [], []),
        ([L(A)(), L(B)(n=1)], [L(A)(), L(X)(n=1)], ["v.1: target B(n=1) | X(n=1)"]),
        ([L(A)(n=1)], [L(X)(), L(A)(n=2)], ["v.0: added  | X()", "v.0.n -> v.1.n: changed 1 | 2"]),
        (Tolerance(rtol=0.1), Tolerance(rtol=0.1), []),
        (Tolerance(rtol=0.1), Tolerance(rtol=0.2), ["v.rtol: changed 0.1 | 0.2"]),
        (Tolerance(leaves={"a": (1, 2)}), Tolerance(leaves={"a": (1, 3)}), ["v.leaves.a.1: changed 2 | 3"]),
        (Color.RED, Color.BLUE, ["v: changed Color.RED | Color.BLUE"]),
        (functools.partial(scale, 1), functools.partial(scale, 1), []),
        (L(A)(n=1), None, ["v: changed A(n=1) | None"]),
        (L(A)(n=1), L(B)(n=1), ["v: target A(n=1) | B(n=1)"]),
        (L(A)(n=1), L(A).partial(n=1), ["v: changed A(n=1) | A.partial(n=1)"]),
        (L(nn.Linear)(1, 2), L("torch.nn.Linear")(in_features=1, out_features=2), []),
        (L(torch.zeros)(1, 2), L(torch.zeros)(1, 3), ["v.1: changed 2 | 3"]),
    ],
)  # fmt: skip
def test_each_kind_of_change_has_its_line(reference, target, wanted):
    assert lines({"v": reference}, {"v": target}) == wanted


def test_a_node_that_moved_to_another_list_is_one_line():
    one = {"p": [L(A)(n=1), L(B)()], "q": {"r": [L(X)()]}, "z": 1}
    two = {"p": [L(B)()], "q": {"r": [L(X)(), L(A)(n=1)]}, "z": 2}

    assert lines(one, two) == ["p.0 -> q.r.1: moved A(n=1) | A(n=1)", "z: changed 1 | 2"]
    assert lines({"p": [1, 2], "q": []}, {"p": [2], "q": [1]}) == ["p.0: removed 1 | ", "q.0: added  | 1"]


def test_a_default_that_is_spelled_out_is_shown_and_not_counted():
    (change,) = difference({"m": L(scale)(x=3)}, {"m": L(scale)(x=3, y=2)})

    assert (change.kind, change.path, change.counted) == ("default", "m.y", False)
    assert (change.reference, change.target) == ("2 (default)", "2")
    (change,) = difference({"m": L(scale)(x=3, y=7)}, {"m": L(scale)(x=3)})
    assert (change.kind, change.counted, change.reference, change.target) == ("removed", True, "7", "2 (default)")


def test_another_target_is_one_line_and_its_common_arguments_are_compared():
    assert lines({"c": L(A)(n=1, a=1)}, {"c": L(B)(n=2, b=1)}) == [
        "c: target A(n=1, a=1) | B(n=2, b=1)",
        "c.n: changed 1 | 2",
    ]


def test_one_instance_here_and_two_there_is_a_difference():
    inner = L(A)(n=1, deep=L(B)())
    one, two = {"a": inner, "b": inner}, {"a": inner, "b": clone(inner)}

    assert lines(one, two) == ["b: sharing the instance of a | its own instance"]
    assert lines(two, one) == ["b: sharing its own instance | the instance of a"]
    assert digest(one) != digest(two)


def test_a_change_in_a_shared_node_is_one_line():
    def cfg(n):
        inner = L(A)(n=n)
        return {"a": inner, "b": [inner], "c": L(B)(x=inner)}

    assert lines(cfg(1), cfg(2)) == ["a.n: changed 1 | 2"]


def test_changes_are_grouped_by_part_and_carry_both_origins(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    head = "from types import SimpleNamespace as NS\nfrom libbench.config import LazyCall as L\n"
    (tmp_path / "a.py").write_text(f"{head}model = L(NS)(\n    width=1)\nn = 1\nc = L(NS)(k=1)\n")
    (tmp_path / "b.py").write_text("from .a import *\nmodel.width = 2\nmodel.more = 3\nn = 2\nc.k = 2\nnew = 1\n")

    changes = difference(LazyConfig.load("a.py"), LazyConfig.load("b.py"))

    assert [(c.part, c.path, c.reference_origin, c.target_origin) for c in changes] == [
        ("model", "model.width", "a.py:3", "b.py:2"),
        ("model", "model.more", None, "b.py:3"),
        ("n", "n", "a.py:5", "b.py:4"),
        ("c", "c.k", "a.py:6", "b.py:5"),
        ("new", "new", None, "b.py:6"),
    ]
    assert all(c.counted for c in changes)


def test_a_config_has_no_difference_from_itself():
    cfg = {"m": L(A)(l=[1, (2, {"a": torch.ones(2)})], f=lambda x: x), "n": math.nan}

    assert difference(cfg, cfg) == ()
    assert difference(freeze(cfg), cfg) == ()


def test_an_unknown_target_does_not_stop_the_difference():
    one, two = {"m": L("not.there.Net")(n=1)}, {"m": L("not.there.Net")(n=2, k=1)}

    assert lines(one, two) == ["m.n: changed 1 | 2", "m.k: added  | 1"]
    assert lines(one, {"m": L("not.here.Net")(n=1)}) == ["m: target Net(n=1) | Net(n=1)"]


def test_two_long_lists_are_compared_quickly_and_item_by_item():
    one = {"l": list(range(5000))}

    assert lines(one, {"l": [-1, *range(5000)]}) == ["l.0: added  | -1"]
    assert lines(one, {"l": [*range(2500), 7, *range(2501, 5000)]}) == ["l.2500: changed 2500 | 7"]


def test_show_is_one_line_of_python():
    cfg = {
        "c": L("libbench.compilers.inductor.TorchCompile")(backend="inductor", options={"a": 1}),
        "z": L(torch.zeros)(2, 3),
        "p": L(torch.optim.SGD).partial(lr=0.1),
        "t": ((1,), [L(A)()], "a\nb", nn.Linear, torch.float16),
        "s": "${c}",
    }

    assert [show(cfg[key]) for key in cfg] == [
        "TorchCompile(backend='inductor', options={'a': 1})",
        "zeros(2, 3)",
        "SGD.partial(lr=0.1)",
        r"((1,), [A()], 'a\nb', torch.nn.Linear, torch.float16)",
        "'${c}'",
    ]
    assert show(object()) == "<object>"
    assert show(lambda: 1).startswith("<lambda ")

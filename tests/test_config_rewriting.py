"""The override lines that turn one config into another."""

from pathlib import Path

import pytest
import torch
from config_kinds import A, Color, scale, told
from torch import nn

from libbench.config import LazyCall as L
from libbench.config import LazyConfig, as_overrides, clone, difference
from libbench.settings import Tolerance


@pytest.mark.parametrize(
    ("reference", "target", "lines"),
    [
        (1, 1, []),
        (1, 2, ["v=2"]),
        (1, 1.0, ["v=1.0"]),
        (1.0, 1, ["~v", "+v=1"]),
        (1.0, 2.0, ["v=2.0"]),
        (1, "1", ["~v", "+v='1'"]),
        (1, None, ["v=null"]),
        ("a", "a b, c", ["v='a b, c'"]),
        ("a", r"it's a \ or \'", [r"v='it\'s a \ or \\\''"]),
        ("a", "null", ["v='null'"]),
        ("a", "${w}", ["v='${w}'"]),
        (True, False, ["v=false"]),
        (0.1, float("inf"), ["v=inf"]),
        ([1, 2], [1, 3], ["v.1=3"]),
        ([1, 2, 3], [1, 3], ["~v.1"]),
        ([1, 2], [1, 2, 3], ["+v.2=3"]),
        ([1], [0, 1], ["v.0=0", "+v.1=1"]),
        ((1, 2), (1, 3), ["v.1=3"]),
        ((1, 2), (1, 2, 3), ["v=[1,2,3]"]),
        ((1, 2), [1, 2], ["~v", "+v=[1,2]"]),
        ({"a": 1}, {"a": 2, "b": {"c": [1]}}, ["v.a=2", "+v.b={c:[1]}"]),
        ({"a": 1, "b": 2}, {"b": 2}, ["~v.a"]),
        ({"a": 1}, 3, ["~v", "+v=3"]),
        ({"a.b": 1}, {"a.b": 2}, None),
        (torch.float16, torch.float32, ["v=torch.float32"]),
        (torch.device("cpu"), torch.device("cuda:1"), ["v='cuda:1'"]),
        (Color.RED, Color.BLUE, ["v=BLUE"]),
        (Path("a"), Path("b/c"), ["v=b/c"]),
        (Tolerance(rtol=0.1), Tolerance(rtol=0.2), ["v.rtol=0.2"]),
        (L(scale)(x=3), L(scale)(x=4, y=7), ["v.x=4", "v.y=7"]),
        (L(scale)(x=3, y=7), L(scale)(x=3), ["~v.y"]),
        (L(A)(n=1), L(A)(n=1, m=2), ["+v.m=2"]),
        (L(A)(n=1), L(A).partial(n=1), ["v._partial_=true"]),
        (L(nn.ReLU)(), L(nn.SELU)(inplace=True), ["v._target_=torch.nn.SELU", "v.inplace=true"]),
        (None, L(nn.Linear)(1, 2), ["v={_target_:torch.nn.Linear,in_features:1,out_features:2}"]),
        (L(torch.zeros)(1, 2), L(torch.zeros)(1, 3), ["v.1=3"]),
        ([L(A)(n=1)], [L(A)(n=1), L(nn.ReLU)()], ["+v.1={_target_:torch.nn.ReLU}"]),
    ],
)
def test_each_kind_of_change_has_its_overrides(reference, target, lines):
    rewrite = as_overrides({"v": reference, "w": 1}, {"v": target, "w": 1})

    after = LazyConfig.apply_overrides({"v": reference, "w": 1}, rewrite.lines)
    left = [each for each in difference(after, {"v": target, "w": 1}) if each.counted]
    assert list(rewrite.left) == left
    if lines is not None:
        assert (list(rewrite.lines), left) == (lines, [])


@pytest.mark.parametrize(
    ("reference", "target", "left"),
    [
        ([1, 2], (1, 2), ["v: type [1, 2] | (1, 2)"]),
        ("a", lambda: 1, ["v: changed 'a' | <lambda"]),
        (L(A)(f=1, n=1), L(A)(f=nn.Linear, n=2), ["v.f: changed 1 | torch.nn.Linear"]),
    ],
)
def test_what_no_override_can_make_is_told(reference, target, left):
    rewrite = as_overrides({"v": reference}, {"v": target})

    assert [text.startswith(start) for text, start in zip(told(rewrite.left), left, strict=True)] == [True]


def test_one_instance_in_place_of_two_is_told():
    inner = L(A)(n=1)

    rewrite = as_overrides({"a": inner, "b": clone(inner)}, {"a": inner, "b": inner})

    assert rewrite.lines == ()
    assert [each.kind for each in rewrite.left] == ["sharing"]


def test_a_change_of_a_shared_node_is_one_line():
    def cfg(n):
        inner = L(A)(n=n)
        return {"a": inner, "b": [inner]}

    assert as_overrides(cfg(1), cfg(2)) == as_overrides({"a": L(A)(n=1)}, {"a": L(A)(n=2)})


def test_partial_is_true_or_false():
    with pytest.raises(Exception, match="_partial_ is true or false"):
        LazyConfig.apply_overrides({"v": L(A)()}, ["v._partial_=3"])

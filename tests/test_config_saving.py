"""The saved form: exact, safe, and refused where it cannot be."""

import functools
import math
from collections import namedtuple
from dataclasses import dataclass, field
from enum import Flag
from pathlib import Path
from types import SimpleNamespace as NS

import pytest
import torch
from config_kinds import Color
from omegaconf import OmegaConf
from torch import nn

from libbench.config import LazyCall as L
from libbench.config import LazyConfig, difference, digest, from_text, instantiate, load_saved, to_text, validate
from libbench.errors import ConfigError
from libbench.settings import Timer, Tolerance

Point = namedtuple("Point", "x y")


class Bits(Flag):
    ONE = 1
    TWO = 2


@dataclass
class Settings:
    inner: dict = field(default_factory=dict)
    made: int = field(init=False, default=3)

    class Inner:
        @classmethod
        def build(cls):
            return cls()


def call(**kwargs):
    return kwargs


VALUES = [
    1, 1.0, -0.0, 1e-5, 1e300, 0.1, True, None, 10**30, math.inf, -math.inf, math.nan,
    "", "a", "1", "1.0", "true", "null", "~", "a: b", "# a", "é\n\t\x00 \u2028", "'\"", "a\\b", " a ", "2020-01-01",
    "=", "<<",
    "\ud800", "???", "${n}", "no", "0x10", "1_000", "1:30", "- a", "&a", "*a", "!a", "%a", "@a", "`a",
    "\x85", "\ufeff",
    b"", b"\x00\xff", 1 + 2j, complex("nan"), {1, 2}, frozenset({"a"}), set(), range(1, 9, 2), slice(1, None, 2),
    (), (1,), [], {}, {"a": {}}, ((1, [2]), {"a": (3,)}), {1: "a", (1, 2): "b", None: 3, False: 4, 1.5: 5}, {"1": 2},
    torch.float16, torch.strided, torch.channels_last, torch.device("cuda:1"), torch.device("cpu"),
    Path("a/b"), Path(), Color.RED, Bits.ONE, Point(1, (2,)),
    Tolerance(rtol=1e-3, leaves={"a*": (0.1, 0.2)}), Timer(), Settings({"a": [1]}),
    nn.Linear, torch.zeros, call, len, math.sin, Settings.Inner, Settings.Inner.build, torch.Tensor.add,
    functools.partial(call, a=1), functools.partial(torch.add, 1, alpha=2),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_read_back_as_it_was_written(value):
    node = L(call)(v=value, l=[value], t=(value,), d={"k": value})

    again = from_text(to_text(node))

    assert difference(node, again) == ()
    assert digest(again) == digest(node)
    assert type(again.t) is tuple
    if isinstance(value, str) and "$" not in value and "?" not in value:
        assert again.v == value


def test_every_kind_of_value_at_once_goes_through_a_file(tmp_path):
    cfg = OmegaConf.create({"m": L(call)(**{f"v{index}": value for index, value in enumerate(VALUES)})})

    LazyConfig.save(cfg, tmp_path / "a.yaml")

    assert difference(cfg, LazyConfig.load(tmp_path / "a.yaml")) == ()


def test_shared_nodes_stay_shared():
    shared = L(NS)()
    node = L(NS)(a=L(NS)(d=shared), b=[L(NS)(d=shared)], c=(shared,))

    built = instantiate(from_text(to_text(node)))

    assert built.a.d is built.b[0].d is built.c[0]


def test_partials_positions_and_text_targets_are_kept():
    cfg = {"a": L(torch.zeros)(2, 3), "b": L(torch.optim.SGD).partial(lr=1.0), "c": L("collections.OrderedDict")(a=1)}

    again = from_text(to_text(cfg))

    assert difference(cfg, again) == ()
    assert again.c._target_ == "collections.OrderedDict"
    assert again.a._target_ is torch.zeros
    assert instantiate(again)["b"].keywords == {"lr": 1.0}


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (lambda x: x, "<lambda .*test_config_saving.py:"),
        (torch.ones(2, 3), r"<Tensor \(2, 3\) torch.float32>"),
        (object(), "<object>"),
        (NS(a=1).__eq__, "cannot save"),
        (type("Local", (), {}), "<class Local>"),
    ],
)
def test_what_cannot_be_saved_is_an_error_with_its_path(value, word, tmp_path):
    cfg = OmegaConf.create({"model": L(call)(x=[1, L(call)(f=value)])})

    with pytest.raises(ConfigError, match=rf"{word}.*at model.x.1.f"):
        LazyConfig.save(cfg, tmp_path / "a.yaml")

    assert not (tmp_path / "a.yaml").exists()


def test_an_opaque_value_can_be_read_by_people_and_is_refused_by_load():
    cfg = {"m": L(call)(f=lambda x: x), "n": L(lambda: 1)()}

    text = to_text(cfg, opaque=True)

    assert "!opaque" in text
    assert "test_config_saving.py:" in text
    with pytest.raises(ConfigError, match=r"the saved config:\d+: <lambda .*could not be saved"):
        from_text(text)


def test_nothing_is_built_or_pickled_by_reading(tmp_path):
    for tag in ("!!python/object/apply:os.system", "!!python/name:os.system", "!surprise"):
        with pytest.raises(ConfigError, match=r"unknown tag|cannot read"):
            from_text(f"a: {tag} [x]")
    with pytest.raises(ConfigError, match="dataclass"):
        from_text("a: !record {_type_: 'os:PathLike'}")
    with pytest.raises(ConfigError, match="enum"):
        from_text("a: !enum ['os:PathLike', RED]")


@pytest.mark.parametrize(
    "text",
    [
        "a: !call {_target_: 'os:system', command: ls}",
        "a: !call {_target_: !text os.system, command: ls}",
        "a: !call {_target_: !text torch.os.system, command: ls}",
        "a: !call {_target_: 'torch:os.system', command: ls}",
        "a: !call {_target_: '/tmp/evil.py:run'}",
        "a: !call {_target_: 'builtins:eval'}",
        "a: !name 'subprocess:run'",
        "a: {_target_: os.system}",
        "a: !record {_type_: 'libbench.settings:Timer'}",
        "a: !call {_target_: 'torchvision_evil:run'}",
    ],
)
def test_a_module_that_is_not_allowed_is_refused(text):
    with pytest.raises(ConfigError, match=r"the saved config:1: .* is not allowed; allowed are torch"):
        from_text(text, allow=["torch"])


def test_what_is_allowed_is_read(tmp_path):
    LazyConfig.save({"m": L(nn.Linear)(1, 2), "t": L("torch.nn.Identity")()}, tmp_path / "a.yaml")

    assert instantiate(load_saved(tmp_path / "a.yaml", allow=["torch"]))["m"].out_features == 2
    with pytest.raises(ConfigError, match="not allowed"):
        load_saved(tmp_path / "a.yaml", allow=[])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a: [", "cannot read the saved config: "),
        ("a: !call {x: 1}", "needs a _target_"),
        ("a: !call {_target_: 'torch.nn:Lineer'}", "did you mean 'Linear'"),
        ("a: 1\na: 2", "the key 'a' comes twice"),
        ("a: &x [*x]", "holds itself|cannot read"),
        ("a: !torch nothing", "not a dtype"),
        ("a: !tupel [1]", "unknown tag '!tupel'; did you mean '!tuple'"),
        ("? [1]\n: 2", "cannot be a key"),
    ],
)
def test_a_broken_file_is_refused_in_one_line(text, word):
    with pytest.raises(ConfigError, match=word) as caught:
        from_text(text)

    assert "\n" not in str(caught.value)


def test_the_form_of_hydra_can_be_read():
    cfg = from_text("model:\n  _target_: torch.nn.Linear\n  in_features: 1\n  out_features: ${n}\nn: 3\n")

    assert instantiate(cfg)["model"].out_features == 3
    assert validate(from_text("m: {_target_: torch.nn.Linear, in_feature: 1}")) != []


def test_an_empty_config_is_saved_and_read():
    assert dict(from_text(to_text({}))) == {}
    assert dict(from_text("")) == {}


def test_the_saved_form_is_the_same_text_every_time():
    cfg = {"m": L(nn.Linear)(1, 2), "s": {"b", "a"}}

    assert to_text(from_text(to_text(cfg))) == to_text(cfg)

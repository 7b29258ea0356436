"""A config written as Python, and as JSON."""

import datetime
import functools
import json
from collections import OrderedDict
from dataclasses import dataclass, field
from decimal import Decimal
from types import SimpleNamespace as NS

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from torch import nn

from libbench.config import LazyCall as L
from libbench.config import LazyConfig, difference, digest, from_text, instantiate, load_saved, to_text, validate
from libbench.errors import ConfigError
from libbench.settings import Timer


@dataclass
class Odd:
    """Its constructor does not take what it keeps."""

    x: int
    y: int = field(init=False, default=0)


def call(**kwargs):
    return kwargs


def half(cfg):
    return cfg.n // 2


VALUES = [
    np.float32(0.1), np.int8(-3), np.bool_(True), np.str_("é"), np.complex64(1 + 2j), np.float64("nan"),
    np.arange(6, dtype=np.int16).reshape(2, 3), np.zeros((0, 3), np.float16), np.array(["a", "bc"]), np.array(7.5),
    np.array([1.5, -0.0, np.inf]), np.dtype("float32"), np.float32, np.asfortranarray(np.eye(2)),
    datetime.date(2020, 1, 2), datetime.time(1, 2, 3, 4, fold=0), datetime.datetime(2020, 1, 2, 3, 4, 5, 6),
    datetime.datetime(2020, 1, 2, tzinfo=datetime.UTC),
    datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))),
    datetime.timedelta(days=-1, microseconds=3), Decimal("1.50"), Decimal("NaN"), Decimal("-0"),
]  # fmt: skip
READ_AS_TEXT = ["1e-3", "1e5", ".5e1", "-1E+3", "1.5e3", "2020-01-01"]


@pytest.mark.parametrize("form", ["yaml", "json", "py"])
@pytest.mark.parametrize("value", [*VALUES, *READ_AS_TEXT], ids=lambda value: repr(value)[:30].replace("\n", ""))
def test_numbers_dates_and_small_arrays_are_read_back_exactly(value, form, tmp_path):
    cfg = OmegaConf.create({"m": L(call)(v=value, l=[value], t=(value,))})

    LazyConfig.save(cfg, tmp_path / f"a.{form}")
    again = LazyConfig.load(tmp_path / f"a.{form}")

    assert difference(cfg, again) == ()
    assert digest(again) == digest(cfg)
    assert type(again.m.v) is type(value)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (np.zeros(1001), "1001 values, more than 1000"),
        (np.array([object()]), "dtype object"),
        (np.array(["2020-01-01"], "M8[D]"), "dtype datetime64"),
        (datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1), "here")), "lose"),
        (torch.ones(2), "Tensor"),
        (lambda: 1, "lambda"),
    ],
)
@pytest.mark.parametrize("form", ["yaml", "json", "py"])
def test_what_has_no_exact_text_is_refused_with_its_path(value, word, form, tmp_path):
    with pytest.raises(ConfigError, match=rf"{word}.*at m.x.0.v"):
        LazyConfig.save({"m": L(call)(x=[L(call)(v=value)])}, tmp_path / f"a.{form}")

    assert list(tmp_path.iterdir()) == []


def test_the_text_is_a_config_file_as_one_would_write_it():
    shared = L(nn.ReLU)()
    cfg = {
        "model": L(nn.Sequential)(L(nn.Linear)(4, 3), shared, shared),
        "opt": L(torch.optim.SGD).partial(lr=0.1),
        "timer": Timer(pairs=3),
        "n": 3,
    }

    assert LazyConfig.to_py(cfg) == (
        "import libbench.settings\n"
        "import torch.nn\n"
        "import torch.optim\n"
        "from libbench.config import LazyCall as L\n"
        "\n"
        "_1 = L(torch.nn.ReLU)()\n"
        "model = L(torch.nn.Sequential)(L(torch.nn.Linear)(in_features=4, out_features=3), _1, _1)\n"
        "opt = L(torch.optim.SGD).partial(lr=0.1)\n"
        "timer = libbench.settings.Timer(pairs=3, precision=0.01, budget=30.0, warmup=None, least=None)\n"
        "n = 3\n"
    )
    assert "cfg.n = 3\n" in LazyConfig.to_py(cfg, prefix="cfg.")


def reloaded(cfg, folder):
    (folder / "a.py").write_text(LazyConfig.to_py(cfg))
    return LazyConfig.load(folder / "a.py")


@pytest.mark.parametrize(
    "cfg",
    [
        {"torch": 1, "L": L(nn.Linear)(1, 2), "float": float("nan"), "set": {1}, "dict": L(dict)(a=1), "derive": 2},
        {"m": L(call)(**{"class": 1, "a b": 2, "é": 3}), "x": L("collections.OrderedDict")(a=1)},
        {"m": L(call)(f=functools.partial(call, a=L), o=OrderedDict([("a", [1])]), c=NS, z=len)},
        {"m": {"_target_": nn.Linear, "_args_": [1], "out_feature": 2, "in_features": 3, "a b": 1}},
        {"m": {"_target_": nn.Linear, "_args_": [1, 2], "_partial_": True}},
        {"many": [L(call)(a=list(range(100)), b="x" * 200)] * 2},
        {},
    ],
)
def test_a_config_is_loaded_from_its_python(cfg, tmp_path):
    again = reloaded(cfg, tmp_path)

    assert difference(cfg, again) == ()
    assert digest(cfg) == digest(again)


def test_what_a_config_file_defines_is_found_again_by_its_path(tmp_path):
    (tmp_path / "own.py").write_text(
        "from libbench.config import LazyCall as L, derive\nclass Net:\n    pass\n"
        "def f(cfg):\n    return 1\nmodel = L(Net)()\nn = derive(f)\n"
    )
    cfg = LazyConfig.load(tmp_path / "own.py")

    assert difference(cfg, reloaded(cfg, tmp_path)) == ()


@pytest.mark.parametrize(
    ("cfg", "word"),
    [
        ({"a b": 1}, "cannot assign the name 'a b'"),
        ({"_a": 1}, "cannot assign the name '_a'"),
        ({"class": 1}, "cannot assign"),
        ({"a": nn.Linear}, "does not keep <class Linear>.*at a"),
        ({"a": {"b": Odd(1)}}, None),
        (L(NS)(), "only a whole config"),
    ],
)
def test_what_a_config_file_cannot_hold_is_refused(cfg, word, tmp_path):
    if word is None:
        cfg["a"]["b"].y = 5
        word = "its constructor gives another one .at a.b"
    with pytest.raises(ConfigError, match=word):
        LazyConfig.to_py(cfg)


@pytest.mark.parametrize("form", ["yaml", "json", "py"])
def test_calls_six_hundred_deep_are_saved_and_read(form, tmp_path):
    node = L(NS)(x=1)
    for _ in range(600):
        node = L(NS)(a=node)

    LazyConfig.save({"m": node}, tmp_path / f"a.{form}")

    assert digest(LazyConfig.load(tmp_path / f"a.{form}")) == digest({"m": node})


def test_json_is_plain_where_json_has_the_word():
    shared = L(NS)(t=(1, 2))
    cfg = {"m": L(nn.Linear)(1, 2), "t": L("torch.nn.ReLU")(), "x": shared, "y": [shared, float("inf"), None, "é"]}

    assert json.loads(to_text(cfg, form="json")) == {
        "m": {"_target_": "torch.nn.modules.linear:Linear", "in_features": 1, "out_features": 2},
        "t": {"_target_": "torch.nn.ReLU"},
        "x": {"&": 1, "_target_": "types:SimpleNamespace", "t": {"!tuple": [1, 2]}},
        "y": [{"*": 1}, {"!float": ".inf"}, None, "é"],
    }


@pytest.mark.parametrize(
    "value",
    [
        {"!tuple": 1}, {"*": 1}, {"&": 1, "!x": 2}, {"!a": 1, "b": 2}, {1: 2}, {"": 1}, {"<<": 1},
        L(call)(**{"*": 1, "&": 2, "!x": 3}), L(call)(**{"!x": 1}), L("a:b")(),
    ],
)  # fmt: skip
def test_keys_that_json_uses_itself_are_kept(value):
    cfg = {"a": value, "b": [value, value]}

    assert digest(from_text(to_text(cfg, form="json"), form="json")) == digest(cfg)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("{", "cannot read a.json"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": {"b": {"!tupel": [1]}}}', r"a.json: unknown tag '!tupel'; did you mean '!tuple'\? \(at a.b\)"),
        ('{"a": 1, "a": 2}', "the key 'a' comes twice"),
        ('{"a": {"*": 1}}', 'no "&": 1 comes before'),
        ('{"a": {"!call": [1]}}', "takes pairs"),
        ('{"a": {"!tuple": 1}}', "takes text, a list or an object"),
        ('{"a": {"_target_": "torch.nn:Lineer"}}', "did you mean 'Linear'"),
        ('{"a": {"!opaque": "<lambda>"}}', "could not be saved"),
        ('{"a": {"_target_": "os.system", "command": "ls"}}', "not allowed"),
        ('{"a": {"!array": {"dtype": "O", "shape": [1], "values": [1]}}}', "holds objects"),
    ],
)
def test_broken_json_is_refused_in_one_line(text, word, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(text)

    with pytest.raises(ConfigError, match=word) as caught:
        load_saved("a.json", allow=["torch"])

    assert "\n" not in str(caught.value)


def test_the_form_of_hydra_can_be_read_with_its_merges_and_numbers(tmp_path):
    (tmp_path / "a.yaml").write_text(
        "base: &base {_target_: torch.nn.Linear, in_features: 1, out_features: 2}\n"
        "wide: {<<: *base, out_features: 4}\n"
        "opt: {_target_: torch.optim.SGD, _partial_: true, lr: 1e-3, _convert_: all, _recursive_: true}\n"
        "zeros: {_target_: torch.zeros, _args_: [2, 3]}\n"
    )

    built = instantiate(LazyConfig.load(tmp_path / "a.yaml"))

    assert built["wide"].out_features == 4
    assert built["opt"].keywords == {"lr": 0.001}
    assert built["zeros"].shape == (2, 3)


@pytest.mark.parametrize(
    ("key", "word"),
    [("_recursive_: false", "a call inside a call is always built"), ("_convert_: none", "always gets plain lists")],
)
def test_what_hydra_does_otherwise_is_refused(key, word):
    with pytest.raises(ConfigError, match=word):
        from_text(f"a: {{_target_: torch.nn.ReLU, {key}}}")
    (problem,) = validate(OmegaConf.create(f"_target_: torch.nn.ReLU\n{key}"))
    assert word in problem

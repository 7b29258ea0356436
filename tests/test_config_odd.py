"""Odd things that people put into configs: deep nesting, modules, named tuples, decorated functions, encodings."""

import copy
import logging
import math
import pickle
import typing
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass, field
from inspect import getsource
from types import SimpleNamespace as NS

import pytest
import torch

from libbench.config import LazyCall as L
from libbench.config import (
    LazyConfig,
    clone,
    difference,
    digest,
    flat,
    freeze,
    from_text,
    instantiate,
    origin,
    show,
    thaw,
    to_text,
    validate,
)
from libbench.errors import ConfigError

Point = namedtuple("Point", "x y")


@dataclass
class Record:
    table: dict = field(default_factory=dict)
    items: list = field(default_factory=list)
    inner: object = None


def nested(around, depth):
    value = 1
    for _ in range(depth):
        value = around(value)
    return {"v": L(NS)(v=value)}


@pytest.mark.parametrize(
    ("around", "depth"),
    [
        (lambda v: L(NS)(v=v), 500),
        (lambda v: [v], 500),
        (lambda v: {"v": v}, 500),
        # Each of these is two levels, in the config itself or in JSON.
        (lambda v: (v,), 250),
        (lambda v: {1: v}, 250),
        (lambda v: L(NS)(v=[v]), 250),
    ],
    ids=["calls", "lists", "dicts", "tuples", "dicts of numbers", "calls in lists"],
)
def test_a_config_may_be_nested_deeply(around, depth):
    cfg = nested(around, depth)

    copies = [copy.deepcopy(cfg), clone(cfg["v"]), thaw(freeze(cfg)), LazyConfig.apply_overrides(cfg, ["+w=1"])]
    del copies[3]["w"]
    copies[1] = {"v": copies[1]}
    for form in ("yaml", "json"):
        copies.append(from_text(to_text(cfg, form=form), form=form))

    assert isinstance(instantiate(cfg)["v"], NS)
    assert [difference(cfg, each) for each in copies] == [()] * len(copies)
    assert {digest(each) for each in copies} == {digest(cfg)}
    assert validate(cfg) == []
    assert len(show(cfg)) > depth
    assert len(flat(cfg)) >= 1
    assert len(LazyConfig.to_py(cfg)) > depth


@pytest.fixture
def held():
    return thaw(
        {
            "point": Point([1], {"a": 1}),
            "pairs": OrderedDict(a=[1], b={"c": 1}),
            "table": defaultdict(list, {"a": [1]}),
            "record": Record({"a": [1]}, [1, [2]], Record({"b": 1})),
            "call": [Point(1, L(NS)(k=1))],
        }
    )


@pytest.mark.parametrize(
    ("override", "wanted"),
    [
        ("point.0=[5]", Point([5], {"a": 1})),
        ("point.y.a=5", Point([1], {"a": 5})),
        ("point.x.0=5", Point([5], {"a": 1})),
        ("~point.x.0", Point([], {"a": 1})),
        ("point=[[5],{a:6}]", Point([5], {"a": 6})),
        ("pairs.a.0=5", OrderedDict(a=[5], b={"c": 1})),
        ("pairs.b.c=5", OrderedDict(a=[1], b={"c": 5})),
        ("pairs={a:[5]}", OrderedDict(a=[5], b={"c": 1})),
        ("+pairs.d=5", OrderedDict(a=[1], b={"c": 1}, d=5)),
        ("~pairs.a", OrderedDict(b={"c": 1})),
        ("table.a.0=5", defaultdict(list, {"a": [5]})),
        ("table={a:[5]}", defaultdict(list, {"a": [5]})),
        ("~table.a", defaultdict(list)),
        ("record.table.a.0=5", Record({"a": [5]}, [1, [2]], Record({"b": 1}))),
        ("record.items.1.0=5", Record({"a": [1]}, [1, [5]], Record({"b": 1}))),
        ("+record.items.2=5", Record({"a": [1]}, [1, [2], 5], Record({"b": 1}))),
        ("record.inner.table.b=5", Record({"a": [1]}, [1, [2]], Record({"b": 5}))),
        ("~record.table.a", Record({}, [1, [2]], Record({"b": 1}))),
        ("call.0.x=5", [Point(5, NS(k=1))]),
        ("call.0.y.k=5", [Point(1, NS(k=5))]),
    ],
)
def test_an_override_inside_a_leaf_keeps_its_kind_and_leaves_the_first_config_alone(held, override, wanted):
    name = override.strip("~+").partition("=")[0].partition(".")[0]
    before = repr(instantiate(held))

    found = instantiate(LazyConfig.apply_overrides(held, [override]))[name]

    assert found == wanted
    assert type(found) is type(wanted)
    assert repr(instantiate(held)) == before


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("point.z=1", ["no 'point.z'"]),
        ("point.xx=1", ["no 'point.xx'", "did you mean 'x'"]),
        ("~point.x", ["'point.x' is a field of Point"]),
        ("point=[1]", ["wanted Point of 2 values", "got '[1]'"]),
    ],
)
def test_a_named_tuple_keeps_its_fields(held, override, words):
    with pytest.raises(ConfigError) as caught:
        LazyConfig.apply_overrides(held, [override])

    assert [word for word in words if word not in str(caught.value)] == []


def test_an_argument_by_position_and_by_name_is_a_mistake_that_is_told():
    def f(x, *rest):
        return x, rest

    node = L(f)(1, 2, 3)
    node.x = 4

    (problem,) = validate({"v": node})
    assert "gets 'x' by position and by name (at v.x, written in" in problem
    with pytest.raises(ConfigError, match="by position and by name"):
        instantiate(node)


def test_a_call_as_the_key_of_a_dict_is_refused_where_it_is_written():
    for value in ({L(NS)(): 1}, ({L(NS)(): 1},), [{L(NS)(): 1, 2: 3}]):
        with pytest.raises(ConfigError, match=r"key of a dict .* cannot be a call \(written in .*test_config_odd.py"):
            L(NS)(v=value)


def test_a_module_is_a_leaf_by_its_name(tmp_path):
    (tmp_path / "a.py").write_text("import torch, math\nlibraries = [torch, math]\n")
    one, two = LazyConfig.load(tmp_path / "a.py"), LazyConfig.load(tmp_path / "a.py")

    assert digest(one) == digest(two)
    assert instantiate(one)["libraries"] == [torch, math]
    two.libraries[1] = logging
    assert [each.path for each in difference(one, two)] == ["libraries.1"]


def test_an_object_that_is_reached_in_many_ways_is_looked_at_once():
    class Both:
        def __init__(self, below):
            self.left = self.right = below
            self.table = {1: below, 2: [below]}

    def tower(value):
        for _ in range(15):
            value = Both(value)
        return value

    one, two, other = (NS(tower=tower(each), log=logging.getLogger("libbench.tests")) for each in (1, 1, 2))

    assert difference({"v": one}, {"v": two}) == ()
    assert len(difference({"v": one}, {"v": other})) == 1


CLASSES = """
from __future__ import annotations
import functools
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, NamedTuple, Optional, Protocol, TypeVar, runtime_checkable
import torch
from libbench.config import LazyCall as L

T = TypeVar("T")

class Color(Enum):
    RED = 1

@runtime_checkable
class Runs(Protocol):
    def run(self) -> int: ...

class Box(Generic[T]):
    def __init__(self, value: T):
        self.value = value

class Pair(NamedTuple):
    first: int
    second: Optional[int] = None

@dataclass
class Options:
    width: int = 1
    inner: Optional[Options] = None
    def run(self) -> int:
        return self.width

@dataclass(frozen=True, slots=True)
class Frozen:
    width: int = 1

class Net(torch.nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
    def forward(self, x):
        return self.linear(x)

@functools.lru_cache
def doubled(n): return 2 * n

def counted(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)
    return inner

@counted
def made(n: int): return n

add = torch.add
upper = str.upper
model = L(Net)(width=3)
options = L(Options)(width=2, inner=L(Options)())
frozen = Frozen(3)
pair = Pair(1)
box = L(Box)(value=Color.RED)
twice = L(doubled)(n=2)
thrice = L(made)(n=3)
"""


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
def test_classes_of_a_config_are_as_good_as_any(tmp_path):
    file = tmp_path / "a.py"
    file.write_text(CLASSES)
    cfg = LazyConfig.load(file)

    assert list(cfg) == ["model", "options", "frozen", "pair", "box", "twice", "thrice"]
    built = instantiate(cfg)
    assert (built["twice"], built["thrice"]) == (4, 3)
    for name in ("options", "frozen", "pair"):
        assert pickle.loads(pickle.dumps(built[name])) == built[name]  # noqa: S301
    assert pickle.loads(pickle.dumps(built["box"])).value is built["box"].value  # noqa: S301
    hints = typing.get_type_hints(type(built["options"]))
    assert hints == {"width": int, "inner": type(built["options"]) | None}
    assert getsource(type(built["model"])).startswith("class Net(torch.nn.Module):")
    assert torch.jit.script(built["model"])(torch.ones(1, 3)).shape == (1, 3)
    for saved in ("a.yaml", "a.json", "saved.py"):
        LazyConfig.save(cfg, tmp_path / saved)
        assert difference(cfg, LazyConfig.load(tmp_path / saved)) == ()


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"text = '''a\r\nb'''\r\nn = [\r\n 1,\r\n]\r\n", {"text": "a\nb", "n": [1]}),
        (b"\xef\xbb\xbfn = 1\n", {"n": 1}),
        (b"# -*- coding: latin-1 -*-\ntext = '\xe9'\n", {"text": "é"}),
        ("größe = 'ü 日本 🎉'\n".encode(), {"größe": "ü 日本 🎉"}),
        (b"", {}),
        (b"n = 1\nif __name__ == '__main__': n = 2", {"n": 1}),
    ],
)
def test_a_file_is_read_as_python_reads_it(tmp_path, content, wanted):
    (tmp_path / "a.py").write_bytes(content)

    cfg = LazyConfig.load(tmp_path / "a.py")

    assert cfg == wanted
    assert difference(cfg, from_text(to_text(cfg))) == ()


def test_a_long_chain_of_imports_edits_one_copy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c0.py").write_text(
        "from libbench.config import LazyCall as L\nfrom types import SimpleNamespace as NS\nmodel = L(NS)(width=0)\n"
    )
    for i in range(1, 31):
        (tmp_path / f"c{i}.py").write_text(f"from .c{i - 1} import *\nmodel.width = model.width + 1\n")

    cfg = LazyConfig.load("c30.py")

    assert cfg.model.width == 30
    assert (origin(cfg, "model"), origin(cfg, "model.width")) == ("c0.py:3", "c30.py:2")
    assert LazyConfig.load("c29.py").model.width == 29


def test_a_function_sees_what_its_file_says_last(tmp_path):
    (tmp_path / "a.py").write_text(
        "from libbench.config import LazyCall as L\nscale = 2\ndef f(x):\n    return x * scale\n"
        "model = L(f)(x=3)\nscale = 5\n"
    )

    assert instantiate(LazyConfig.load(tmp_path / "a.py"))["model"] == 15


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("from " + "." * 60 + "x import y", [f"cannot import '{'.' * 60}x'", "folders above", "a.py:1"]),
        ("from .listed import *", ["cannot import 'nodel' from", "listed.py", "did you mean 'model'?", "a.py:1"]),
    ],
)
def test_an_import_that_leads_nowhere_is_told_with_its_line(tmp_path, text, words):
    (tmp_path / "listed.py").write_text("__all__ = ['nodel']\nmodel = 1\n")
    (tmp_path / "a.py").write_text(text)

    with pytest.raises(ImportError) as caught:
        LazyConfig.load(tmp_path / "a.py")

    assert [word for word in words if word not in str(caught.value)] == []


def test_a_star_takes_what_is_listed_and_a_switch_of_type_checkers_is_no_value(tmp_path):
    (tmp_path / "listed.py").write_text("__all__ = ['n', '_m']\nn = 1\n_m = 2\nhidden = 3\n")
    (tmp_path / "a.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .nothing import x\n"
        "from .listed import *\nfrom .package import *\nm = _m\nk = inner.k\n"
    )
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("__all__ = ['inner']\nhidden = 4\n")
    (tmp_path / "package" / "inner.py").write_text("k = 5\n")

    assert LazyConfig.load(tmp_path / "a.py") == {"n": 1, "m": 2, "k": 5}

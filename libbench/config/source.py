"""A config as Python: the text of a config file that gives an equal config when it is loaded."""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from libbench.config.calls import bound
from libbench.config.deep import Steps, unwound
from libbench.config.deriving import Derived
from libbench.config.freezing import freeze
from libbench.config.frozen import Call, Group, Tree
from libbench.config.kinds import Unsavable, writer_of
from libbench.config.leaves import opaque_text, same_leaf
from libbench.config.names import Names, refused, within
from libbench.config.places import join
from libbench.config.sums import Sharing
from libbench.errors import ConfigError

_DEEP = 12
"""What is nested deeper than this gets a name of its own: Python's parser has an end, and so do people."""
_SPREAD = {"!range": "range", "!slice": "slice", "!timedelta": "datetime.timedelta"}
_CALLED = {
    "!complex": "complex",
    "!set": "set",
    "!frozenset": "frozenset",
    "!path": "pathlib.Path",
    "!device": "torch.device",
    "!ordered": "collections.OrderedDict",
    "!decimal": "decimal.Decimal",
    "!dtype": "numpy.dtype",
    "!date": "datetime.date.fromisoformat",
    "!time": "datetime.time.fromisoformat",
    "!datetime": "datetime.datetime.fromisoformat",
}


def to_py(cfg: Any, prefix: str = "") -> str:
    """Write a config as a config file: executable Python that gives an equal config when `LazyConfig.load` reads it.

    Args:
        cfg: a config: top-level values by name.
        prefix: put before every name that is assigned, as in `cfg.`.

    Raises:
        ConfigError: it holds a value that no Python text stands for, such as a lambda or a tensor, or a top-level
            name or value that a config file cannot have; the path is named.
    """
    tree = freeze(cfg)
    if not isinstance(tree, dict):
        raise ConfigError(f"only a whole config can be written as Python, got {type(cfg).__name__}")
    for name, value in tree.items():
        _check(name, value)
    return _Source(tree, prefix).module()


def _check(name: Any, value: Tree) -> None:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        raise ConfigError(f"a config file cannot assign the name {name!r}; save it as YAML or JSON")
    from libbench.config.files import is_kept

    if type(value) is not Call and not is_kept(name, value):
        raise ConfigError(
            f"a config file does not keep {opaque_text(value)} as a value of its own (at {name}); "
            f"save it as YAML or JSON"
        )


class _Source:
    """Writes one config; `_1`, `_2`, ... are what stands in several places, or too deep."""

    def __init__(self, tree: Mapping[str, Tree], prefix: str) -> None:
        self._tree = tree
        self._prefix = prefix
        self._sharing = Sharing(tree)
        self._names = Names(tree)
        self._given: dict[int, str] = {}
        self._lines: list[str] = []
        self._count = 0

    def module(self) -> str:
        """Give the whole text."""
        for name, value in self._tree.items():
            text, _ = unwound(self.value(value, name))
            self._lines.append(f"{self._prefix}{name} = {text}")
        return f"{self._names.imports()}\n\n{chr(10).join(self._lines)}\n".lstrip("\n")

    def value(self, value: Tree, path: str) -> Steps:
        """Give the expression of a value, and how deep it is nested."""
        if type(value) is Call and id(value) in self._given:
            return self._given[id(value)], 0
        text, depth = yield from self._expression(value, path)
        shared = type(value) is Call and self._sharing.shared(value)
        if shared or depth > _DEEP:
            self._count += 1
            name = f"_{self._count}"
            self._lines.append(f"{name} = {text}")
            text, depth = name, 0
            if shared:
                self._given[id(value)] = name
        return text, depth

    def _expression(self, value: Tree, path: str) -> Steps:
        kind = type(value)
        if kind is Call:
            return (yield from self._call(value, path))
        if kind is list:
            return (yield from self._items("[", value, "]", path))
        if kind is tuple:
            return (yield from self._items("(", value, ",)" if len(value) == 1 else ")", path))
        if kind is dict or kind is Group:
            return (yield from self._dict(value, path))
        if kind is float and (value != value or value in (float("inf"), float("-inf"))):
            return f"{self._names.name('builtins', 'float')}({str(value)!r})", 0
        if value is None or kind in (bool, int, float, str, bytes):
            return repr(value), 0
        return (yield from self._leaf(value, path))

    def _call(self, call: Call, path: str) -> Steps:
        target = repr(call.target) if isinstance(call.target, str) else self._names.target(call.target, path)
        args, depth = yield from self._texts(enumerate(call.args), path)
        named: list[str] = []
        for key, each in call.kwargs.items():
            text, inner = yield self.value(each, join(path, key))
            depth = max(depth, inner)
            named.append(f"{key}={text}" if _is_keyword(key) else f"**{{{key!r}: {text}}}")
        if _is_recorded_so(call):
            head = f"{self._names.libbench('LazyCall')}({target}){'.partial' if call.partial else ''}("
            return within(head, [*args, *named], ")"), depth + 1
        # A call that `LazyCall` would refuse, or write otherwise, is put together by hand.
        pairs = [
            f"{key!r}: {text.partition('=')[2]}" if _is_keyword(key) else text[3:-1]
            for key, text in zip(call.kwargs, named, strict=True)
        ]
        parts = [target, within("[", args, "]"), within("{", pairs, "}"), repr(call.partial)]
        inner_call = within(f"{self._names.libbench('Call')}(", parts, ")")
        return f"{self._names.libbench('thaw')}({self._names.libbench('freeze')}({inner_call}))", depth + 3

    def _texts(self, items: Any, path: str) -> Steps:
        texts, depth = [], 0
        for key, each in items:
            text, inner = yield self.value(each, join(path, key))
            texts.append(text)
            depth = max(depth, inner)
        return texts, depth

    def _items(self, head: str, values: Any, tail: str, path: str) -> Steps:
        texts, depth = yield from self._texts(enumerate(values), path)
        return within(head, texts, tail), depth + 1

    def _dict(self, value: dict[Any, Any], path: str) -> Steps:
        pairs, depth = [], 0
        for key, each in value.items():
            name, _ = yield self.value(key, join(path, key))
            text, inner = yield self.value(each, join(path, key))
            pairs.append(f"{name}: {text}")
            depth = max(depth, inner)
        return within("{", pairs, "}"), depth + 1

    def _leaf(self, value: Any, path: str) -> Steps:
        if isinstance(value, Derived):
            return f"{self._names.libbench('derive')}({self._names.target(value.function, path)})", 1
        try:
            tag, content = writer_of(value)(value)
        except Unsavable as error:
            raise refused(value, path, str(error)) from error
        if tag == "!name":
            return self._names.target(value, path), 0
        if tag == "!torch":
            return f"{self._names.module('torch')}.{content}", 0
        if tag == "!enum":
            return f"{self._names.target(type(value), path)}.{content[1]}", 0
        if tag == "!record":
            return (yield from self._record(value, path))
        if tag == "!partial":
            return (yield from self._partial(value, path))
        if tag == "!namedtuple":
            return (yield from self._items(f"{self._names.target(type(value), path)}(", list(value), ")", path))
        if tag in ("!scalar", "!array"):
            return (yield from self._array(value, tag, content, path))
        if tag in _SPREAD:
            return (yield from self._items(f"{self._names.path(_SPREAD[tag])}(", content, ")", path))
        return (yield from self._items(f"{self._names.path(_CALLED[tag])}(", [content], ")", path))

    def _record(self, value: Any, path: str) -> Steps:
        given = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
        try:
            again = type(value)(**given)
        except Exception as error:
            raise refused(value, path, f"{type(error).__name__}: {error}") from error
        if not same_leaf(again, value):
            raise refused(value, path, "its constructor gives another one")
        texts, depth = yield from self._texts(given.items(), path)
        named = [f"{key}={text}" for key, text in zip(given, texts, strict=True)]
        return within(f"{self._names.target(type(value), path)}(", named, ")"), depth + 1

    def _partial(self, value: Any, path: str) -> Steps:
        texts, depth = yield from self._texts(enumerate([value.func, *value.args]), path)
        pairs, inner = yield from self._dict(value.keywords, path)
        more = [f"**{pairs}"] if value.keywords else []
        return within(f"{self._names.path('functools.partial')}(", [*texts, *more], ")"), max(depth, inner) + 1

    def _array(self, value: Any, tag: str, content: Any, path: str) -> Steps:
        numpy = self._names.module("numpy")
        if tag == "!scalar":
            text, _ = yield self.value(content[1], path)
            return f"{numpy}.dtype({content[0]!r}).type({text})", 2
        text, _ = yield self.value(content["values"], path)
        shape = "" if len(value.shape) == 1 else f".reshape({tuple(value.shape)!r})"
        return f"{numpy}.array({text}, {content['dtype']!r}){shape}", 3


def _is_keyword(key: str) -> bool:
    return key.isidentifier() and not keyword.iskeyword(key) and key.isascii()


def _is_recorded_so(call: Call) -> bool:
    """Tell whether `LazyCall` gives just this call for these arguments."""
    if isinstance(call.target, str):
        return bool(call.target)
    try:
        args, kwargs = bound(call.target, tuple(call.args), call.kwargs, None)
    except ConfigError:
        return False
    return len(args) == len(call.args) and list(kwargs) == list(call.kwargs)

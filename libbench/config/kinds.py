"""How each kind of value is written to YAML."""

from __future__ import annotations

import base64
import functools
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from libbench.config.frozen import Call
from libbench.config.targets import target_key

_YAML = "tag:yaml.org,2002:"


class Unsavable(Exception):
    """No name and no content stands for the value."""


def _scalar(tag: str, text: Callable[[Any], str]) -> Callable[[Any], yaml.Node]:
    return lambda value: yaml.ScalarNode(_YAML + tag, text(value))


def _float(value: float) -> str:
    if value != value:
        return ".nan"
    if value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    return text.replace("e", ".0e", 1) if "e" in text and "." not in text else text


def _text(value: str) -> yaml.Node:
    if any("\ud800" <= each <= "\udfff" for each in value):
        return yaml.ScalarNode("!escaped", value.encode("unicode_escape").decode())
    simple = value.isascii() and value.isprintable()
    return yaml.ScalarNode(f"{_YAML}str", value, style=None if simple else '"')


PLAIN: dict[type, Callable[[Any], yaml.Node]] = {
    str: _text,
    int: _scalar("int", str),
    float: _scalar("float", _float),
    bool: _scalar("bool", lambda value: "true" if value else "false"),
    type(None): _scalar("null", lambda value: "null"),
    bytes: _scalar("binary", lambda value: base64.b64encode(value).decode()),
}
"""The kinds of value that YAML has itself."""

Written = tuple[str, Any]
"""A tag and its content: text, a sequence, or a dict."""


def writer_of(value: Any) -> Callable[[Any], Written]:
    """Give what writes a value; raises `Unsavable` where nothing does."""
    kind = type(value)
    if kind in _WRITERS:
        return _WRITERS[kind]
    if isinstance(value, Enum):
        return _enum
    if kind is type(Path()):
        return lambda each: ("!path", str(each))
    if kind.__module__ == "torch" and kind.__name__ in ("dtype", "layout", "memory_format"):
        return lambda each: ("!torch", str(each).removeprefix("torch."))
    if kind.__module__ == "torch" and kind.__name__ == "device":
        return lambda each: ("!device", str(each))
    if callable(value) and target_key(value) is not None:
        return lambda each: ("!name", target_key(each))
    if is_dataclass(kind) and kind is not Call:
        return _record
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return lambda each: ("!namedtuple", [_class(each), *each])
    raise Unsavable


def _class(value: Any) -> str:
    key = target_key(type(value))
    if key is None:
        raise Unsavable
    return key


def _enum(value: Enum) -> Written:
    if value.name is None or value.name not in type(value).__members__:
        raise Unsavable
    return "!enum", [_class(value), value.name]


def _record(value: Any) -> Written:
    return "!record", {"_type_": _class(value), **{each.name: getattr(value, each.name) for each in fields(value)}}


def _partial(value: Any) -> Written:
    if vars(value):
        raise Unsavable
    return "!partial", [value.func, list(value.args), dict(value.keywords)]


_WRITERS: dict[type, Callable[[Any], Written]] = {
    complex: lambda value: ("!complex", repr(value)),
    set: lambda value: ("!set", sorted(value, key=repr)),
    frozenset: lambda value: ("!frozenset", sorted(value, key=repr)),
    range: lambda value: ("!range", [value.start, value.stop, value.step]),
    slice: lambda value: ("!slice", [value.start, value.stop, value.step]),
    functools.partial: _partial,
    OrderedDict: lambda value: ("!ordered", [list(pair) for pair in value.items()]),
}

"""How each kind of value is written to YAML."""

from __future__ import annotations

import base64
import datetime
import functools
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from libbench.config.deriving import Derived
from libbench.config.frozen import Call
from libbench.config.targets import target_key

_YAML = "tag:yaml.org,2002:"
MOST_VALUES = 1000
"""An array with more values than this is data, which no config is the place for."""


class Unsavable(Exception):
    """No name and no content stands for the value; the text says why, where it is not that no name leads to it."""


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
    numpy = _of_numpy(value)
    if numpy is not None:
        return numpy
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


def _derived(value: Derived) -> Written:
    key = target_key(value.function)
    if key is None:
        raise Unsavable
    return "!derive", key


def _time(tag: str) -> Callable[[Any], Written]:
    """Write a date or a time in ISO's form, unless that loses something, as the name of a time zone."""

    def write(value: Any) -> Written:
        text = value.isoformat()
        again = type(value).fromisoformat(text)
        if repr(again) != repr(value):
            raise Unsavable("ISO's form would lose a part of it")
        return tag, text

    return write


def _of_numpy(value: Any) -> Callable[[Any], Written] | None:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.dtype) and value.names is None:
        return lambda each: ("!dtype", each.str)
    if isinstance(value, numpy.generic) or type(value) is numpy.ndarray:
        return _array
    return None


def _array(value: Any) -> Written:
    import numpy as np

    if value.size > MOST_VALUES:
        raise Unsavable(f"it has {value.size} values, more than {MOST_VALUES}")
    if value.dtype.kind not in "biufcU":
        raise Unsavable(f"values of dtype {value.dtype} have no text that is exact")
    values = value.reshape(-1).tolist()
    if np.array(values, value.dtype).tobytes() != value.tobytes():
        raise Unsavable(f"values of dtype {value.dtype} have no text that is exact")
    if isinstance(value, np.generic):
        return "!scalar", [value.dtype.str, *values]
    return "!array", {"dtype": value.dtype.str, "shape": list(value.shape), "values": values}


_WRITERS: dict[type, Callable[[Any], Written]] = {
    complex: lambda value: ("!complex", repr(value)),
    set: lambda value: ("!set", sorted(value, key=repr)),
    frozenset: lambda value: ("!frozenset", sorted(value, key=repr)),
    range: lambda value: ("!range", [value.start, value.stop, value.step]),
    slice: lambda value: ("!slice", [value.start, value.stop, value.step]),
    functools.partial: _partial,
    OrderedDict: lambda value: ("!ordered", [list(pair) for pair in value.items()]),
    Decimal: lambda value: ("!decimal", str(value)),
    datetime.date: _time("!date"),
    datetime.time: _time("!time"),
    datetime.datetime: _time("!datetime"),
    datetime.timedelta: lambda value: ("!timedelta", [value.days, value.seconds, value.microseconds]),
    Derived: _derived,
}

"""Values in the grammar of overrides."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import PurePath
from typing import Any

from libbench.config.frozen import Call, Group, Tree
from libbench.config.targets import find_target, target_key, target_text
from libbench.errors import ConfigError

_SIMPLE = re.compile(r"[A-Za-z_][\w./-]*", re.ASCII)
_WORDS = frozenset({"null", "true", "false", "inf", "nan"})


class UnspellableError(Exception):
    """The grammar has no text for the value."""


def spelled(value: Tree) -> str:
    """Give the text of a value for the right side of an override; a call in Hydra's form.

    What an override types by the value that is there, such as a tuple, a dtype or a path, is spelled for that.

    Raises:
        UnspellableError: the grammar has no text for it.
    """
    kind = type(value)
    if value is None:
        return "null"
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is float:
        return repr(value)
    if kind is str:
        return _text(value)
    if kind is list or kind is tuple:
        return f"[{','.join(map(spelled, value))}]"
    if kind is Call:
        args = [f"_args_:{spelled(list(value.args))}"] if value.args else []
        partial = ["_partial_:true"] if value.partial else []
        return f"{{{','.join([f'_target_:{spelled_target(value.target)}', *args, *partial, *_pairs(value.kwargs)])}}}"
    if kind is dict or kind is Group:
        return f"{{{','.join(_pairs(value))}}}"
    if isinstance(value, Enum) and value.name is not None:
        return str(value.name)
    if isinstance(value, PurePath):
        return _text(str(value))
    if kind.__module__ == "torch" and kind.__name__ in ("dtype", "device"):
        return _text(str(value))
    raise UnspellableError


def spelled_target(target: Any) -> str:
    """Give the text of a target, under which it is found again."""
    if isinstance(target, str):
        return _text(target)
    public = target_text(target)
    try:
        if find_target(public) is target:
            return _text(public)
    except ConfigError:
        pass
    key = target_key(target)
    if key is None:
        raise UnspellableError
    return _text(key)


def _pairs(items: dict[Any, Tree]) -> list[str]:
    if not all(isinstance(key, str) and _SIMPLE.fullmatch(key) for key in items):
        raise UnspellableError
    return [f"{key}:{spelled(each)}" for key, each in items.items()]


def _text(value: str) -> str:
    from hydra.core.override_parser.types import Quote, QuotedString

    if _SIMPLE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    quoted: str = QuotedString(value, Quote.single).with_quotes()
    return quoted

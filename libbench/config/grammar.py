"""Hydra's grammar of overrides, and what to write where a line is not of it."""

from __future__ import annotations

import ast
import functools
import traceback
from typing import Any

from libbench.errors import ConfigError


def parsed_override(text: str) -> Any:
    """Give the `Override` that Hydra reads from a line; raises `ConfigError` where it cannot."""
    from hydra.errors import HydraException

    try:
        return _parser().parse_override(text)
    except HydraException as error:
        if "=" not in text and not text.startswith("~"):
            raise ConfigError(f"an override is KEY=VALUE, got {text!r}") from error
        what = str(error).splitlines()[0].partition(" expecting ")[0]
        raise ConfigError(f"cannot read the override {text!r}: {what}{_column(error)}{_hint(text)}") from error


@functools.lru_cache(maxsize=1)
def _parser() -> Any:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create()


def _column(error: BaseException | None) -> str:
    """Give the column, from 1, that Hydra was told by its parser and leaves out of its message."""
    while error is not None:
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_name == "syntaxError" and isinstance(frame.f_locals.get("column"), int):
                return f" at column {frame.f_locals['column'] + 1}"
        error = error.__context__
    return ""


def _hint(text: str) -> str:
    """Say how the value would be written: a Python value in Hydra's form, any other text in quotes."""
    key, _, raw = text.partition("=")
    try:
        right = _written(ast.literal_eval(raw))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        # What begins as a list or a dict was hardly meant to be text.
        right = "" if raw[:1] in "([{" else _quoted(raw)
    if not right or not _readable(f"{key}={right}"):
        return "; a list is written [1,2], a dict {a:1}, and text with other signs in quotes"
    return f"; write {key}={right}"


def _written(value: Any) -> str:
    """Give a Python value in Hydra's form, which knows lists, dicts, numbers and text, but no tuples and sets."""
    if isinstance(value, tuple | list | set):
        return f"[{','.join(map(_written, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}:{_written(each)}' for key, each in value.items())}}}"
    return _quoted(value) if isinstance(value, str) else "null" if value is None else str(value)


def _quoted(text: str) -> str:
    quote = "'" if "'" not in text else '"'
    return f"{quote}{text}{quote}" if quote not in text else ""


def _readable(text: str) -> bool:
    from hydra.errors import HydraException

    try:
        _parser().parse_override(text)
    except HydraException:
        return False
    return True

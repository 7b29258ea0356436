"""Frozen dataclasses to JSON and back.

JSON holds no bare NaN or Infinity: a float that is not finite is one of the strings "nan", "inf", "-inf".
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import reprlib
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from libbench.errors import LibbenchError

T = TypeVar("T")


def encode(value: Any) -> Any:
    """Give the JSON form of a record: a dict for a dataclass, a list for a tuple.

    Raises:
        TypeError: a value is neither a record nor made of what JSON has.
    """
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    raise TypeError(f"cannot write {type(value).__qualname__} as JSON: {value!r}")


def decode(kind: Any, data: Any, at: str = "") -> Any:
    """Give the value of type `kind` that `encode` wrote as `data`.

    A field that `data` lacks takes its default; one that `kind` does not know is left out, so that a record of
    another version can be read.

    Args:
        at: where `data` stands, for who reads the error.

    Raises:
        TypeError, ValueError: `data` does not fit `kind`; the text says at which key.
    """
    origin = get_origin(kind)
    if kind is Any:
        return data
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _decode_record(kind, data, at)
    if origin in (Union, types.UnionType):
        return _decode_union(kind, data, at)
    if origin is Literal:
        return _expect(data in get_args(kind), kind, data, at)
    if origin is tuple and isinstance(data, list):
        inner = get_args(kind)
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(decode(inner[0], item, _below(at, i)) for i, item in enumerate(data))
        _expect(len(data) == len(inner), kind, data, at)
        return tuple(decode(each, item, _below(at, i)) for i, (each, item) in enumerate(zip(inner, data, strict=True)))
    if origin is not None and issubclass(origin, Mapping) and isinstance(data, dict):
        key, item = get_args(kind)
        return {(int(k) if key is int else k): decode(item, v, _below(at, k)) for k, v in data.items()}
    if kind is float:
        return float(_expect(_is_number(data), kind, data, at))
    if kind in (int, str, bool):
        return _expect(type(data) is kind, kind, data, at)
    return _expect(kind in (None, types.NoneType) and data is None, kind, data, at)


def check_document(document: Any, schema: str, version: int) -> None:
    """Check that a document says it is of a schema and of a version up to this one.

    Raises:
        LibbenchError: it does not.
    """
    if not isinstance(document, Mapping) or document.get("schema") != schema:
        found = document.get("schema") if isinstance(document, Mapping) else type(document).__name__
        raise LibbenchError(f"wanted a document of schema {schema!r}, got {reprlib.repr(found)}")
    found = document.get("version")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise LibbenchError(f"wanted a version of {schema} from 1 to {version}, got {reprlib.repr(found)}")
    if found > version:
        raise LibbenchError(f"{schema} is of version {found}; this libbench reads up to version {version}")


def write_json(path: Path, data: Any) -> None:
    """Write JSON as `write_text` does."""
    write_text(path, json_text(data))


def json_text(data: Any) -> str:
    """Give JSON as it is written."""
    return json.dumps(data, indent=1, allow_nan=False)


def write_text(path: Path, text: str) -> None:
    """Write a text so that a reader sees the old file or the whole new one, never a part.

    A link is followed; what is no regular file, such as a pipe or a device, is written to as it stands.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_text(text + "\n", encoding="utf-8")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}-", delete=False, encoding="utf-8") as file:
        try:
            file.write(text)
            file.close()
            # A temporary file is private to its owner; what takes its place should be as readable as any other.
            Path(file.name).chmod(0o666 & ~_umask())
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


@cache
def _umask() -> int:
    """Read the process's mask once: it can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode_record(kind: Any, data: Any, at: str) -> Any:
    _expect(isinstance(data, dict), kind, data, at)
    hints, given = _hints(kind), {}
    for field in dataclasses.fields(kind):
        if field.name in data:
            given[field.name] = decode(hints[field.name], data[field.name], _below(at, field.name))
        elif field.default is field.default_factory is dataclasses.MISSING:
            raise TypeError(f"it has no {_below(at, field.name)}")
    try:
        return kind(**given)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{at}: {error}" if at else str(error)) from error


def _decode_union(kind: Any, data: Any, at: str) -> Any:
    kinds = [each for each in get_args(kind) if each is not types.NoneType]
    if data is None and len(kinds) < len(get_args(kind)):
        return None
    if len(kinds) == 1 and data is not None:
        return decode(kinds[0], data, at)
    for each in kinds:
        try:
            return decode(each, data)
        except (TypeError, ValueError):
            continue
    return _expect(False, kind, data, at)


def _is_number(data: Any) -> bool:
    if isinstance(data, int) and not isinstance(data, bool):
        return abs(data) < 2**1023  # beyond it there is no float
    return isinstance(data, float) or data in ("nan", "inf", "-inf")


def _below(at: str, key: Any) -> str:
    return f"{at}.{key}" if at else str(key)


def _expect(fits: bool, kind: Any, data: Any, at: str) -> Any:
    if not fits:
        raise TypeError(f"{f'{at}: ' if at else ''}wanted {_kind_name(kind)}, got {reprlib.repr(data)}")
    return data


_KINDS: Mapping[Any, str] = {
    float: "a number",
    int: "a whole number",
    str: "text",
    bool: "true or false",
    types.NoneType: "null",
    tuple: "a list",
}


def _kind_name(kind: Any) -> str:
    """Name a type as who writes JSON knows it."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return " or ".join(map(_kind_name, inner))
    if origin is Literal:
        return f"one of {', '.join(map(repr, inner))}"
    if origin is tuple and Ellipsis not in inner:
        return f"a list of {len(inner)}"
    return _KINDS.get(origin or kind, "an object")

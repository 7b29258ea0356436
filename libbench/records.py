"""Frozen dataclasses to JSON and back.

JSON holds no bare NaN or Infinity: a float that is not finite is one of the strings "nan", "inf", "-inf".
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
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


def decode(kind: Any, data: Any) -> Any:
    """Give the value of type `kind` that `encode` wrote as `data`.

    A field that `data` lacks takes its default; one that `kind` does not know is left out, so that a record of
    another version can be read.

    Raises:
        TypeError: `data` does not fit `kind`.
    """
    origin = get_origin(kind)
    if kind is Any:
        return data
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _decode_record(kind, data)
    if origin in (Union, types.UnionType):
        return _decode_union(get_args(kind), data)
    if origin is Literal:
        return _expect(data in get_args(kind), kind, data)
    if origin is tuple and isinstance(data, list):
        inner = get_args(kind)
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(decode(inner[0], item) for item in data)
        return tuple(decode(i, item) for i, item in zip(inner, data, strict=True))
    if origin is not None and issubclass(origin, Mapping) and isinstance(data, dict):
        key, item = get_args(kind)
        return {(int(k) if key is int else k): decode(item, v) for k, v in data.items()}
    if kind is float:
        return float(_expect(_is_number(data), kind, data))
    if kind in (int, str, bool):
        return _expect(type(data) is kind, kind, data)
    return _expect(kind in (None, types.NoneType) and data is None, kind, data)


def check_document(document: Any, schema: str, version: int) -> None:
    """Check that a document says it is of a schema and of a version up to this one.

    Raises:
        LibbenchError: it does not.
    """
    if not isinstance(document, Mapping) or document.get("schema") != schema:
        found = document.get("schema") if isinstance(document, Mapping) else type(document).__name__
        raise LibbenchError(f"wanted a document of schema {schema!r}, got {found!r}")
    found = document.get("version")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise LibbenchError(f"wanted a version of {schema} from 1 to {version}, got {found!r}")
    if found > version:
        raise LibbenchError(f"{schema} is of version {found}; this libbench reads up to version {version}")


def write_json(path: Path, data: Any) -> None:
    """Write JSON so that a reader sees the old file or the whole new one, never a part.

    A link is followed; what is no regular file, such as a pipe or a device, is written to as it stands.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_text(json.dumps(data, indent=1, allow_nan=False) + "\n", encoding="utf-8")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, indent=1, allow_nan=False)
    with NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}-", delete=False, encoding="utf-8") as file:
        try:
            file.write(text + "\n")
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


def _decode_record(kind: Any, data: Any) -> Any:
    _expect(isinstance(data, dict), kind, data)
    hints = _hints(kind)
    return kind(**{f.name: decode(hints[f.name], data[f.name]) for f in dataclasses.fields(kind) if f.name in data})


def _decode_union(kinds: tuple[Any, ...], data: Any) -> Any:
    if data is None and types.NoneType in kinds:
        return None
    for kind in kinds:
        if kind is types.NoneType:
            continue
        try:
            return decode(kind, data)
        except (TypeError, ValueError):
            continue
    return _expect(False, Union[kinds], data)  # noqa: UP007 - kinds is a value here


def _is_number(data: Any) -> bool:
    return data in ("nan", "inf", "-inf") or (isinstance(data, int | float) and not isinstance(data, bool))


def _expect(fits: bool, kind: Any, data: Any) -> Any:
    if not fits:
        raise TypeError(f"expected {kind}, got {data!r}")
    return data

"""One walk over any nested value: its structure as plain data, and its tensors by path.

A node is `{"kind": ..., "class": ..., ...}`. Containers (dict, mapping, set, list, tuple, namedtuple, dataclass,
object, nested) have `"items": [[key, node], ...]`, where a key is a string, an int, or `[type name, text]` for any
other key. `tensor` and `ndarray` nodes name their leaf by `"path"`.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import pathlib
import re
import types
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import torch

from libbench.tree.leaves import LeafError, from_array

Node = dict[str, Any]
Items = Iterable[tuple[Any, Any]]

ROOT = "output"
_DEEPEST = 150
_MOST_NODES = 1_000_000
_LARGEST_PLAIN_INT = 2**63
_CONSTANTS = (
    enum.Enum,
    torch.dtype,
    torch.layout,
    torch.memory_format,
    range,
    slice,
    decimal.Decimal,
    fractions.Fraction,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    pathlib.PurePath,
    uuid.UUID,
    np.dtype,
    np.datetime64,
    np.timedelta64,
)
_NAMED = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)
_LOADED = re.compile(r"^libbench_[a-z]+_\d+_")
"""What the loader of configs puts in front of the name of a file's module; its number is another in each process."""
_PRIMITIVE_KEYS = (bool, float, complex, bytes, type(None), torch.dtype, enum.Enum)


class Description:
    """The structure of a value and the tensors in it.

    Args:
        take: turns a tensor into the leaf that is kept; it raises `LeafError` for one that cannot be read.

    Attributes:
        leaves: the kept tensors by path, in the order of the walk.
    """

    def __init__(self, take: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.leaves: dict[str, torch.Tensor] = {}
        self._take = take
        self._open: dict[int, str] = {}
        self._nodes = 0

    def of(self, value: Any, path: str = "") -> Node:
        """Describe a value that stands at a path; nothing about a value makes it raise."""
        self._nodes += 1
        if self._nodes > _MOST_NODES or len(self._open) > _DEEPEST:
            return _opaque(value, "nested too deeply or in too many pieces")
        if isinstance(value, torch.Tensor):
            return self._tensor(value, path)
        plain = _plain(value)
        if plain is not None:
            return plain
        if id(value) in self._open:
            return {"kind": "cycle", "class": class_name(value), "to": self._open[id(value)]}
        self._open[id(value)] = path or ROOT
        try:
            return self._container(value, path)
        except LeafError as error:
            return _opaque(value, str(error))
        except Exception as error:  # reading a foreign container runs its own code
            return _opaque(value, f"reading it raised {type(error).__name__}: {error}")
        finally:
            del self._open[id(value)]

    def _container(self, value: Any, path: str) -> Node:
        if isinstance(value, np.ndarray):
            return self._array(value, path)
        found = _entries(value)
        if found is None:
            return _opaque(value, "a kind of object that cannot be looked into")
        kind, entries = found
        node = self._items({"kind": kind, "class": class_name(value)}, entries, path)
        if kind == "object":
            # Private attributes are bookkeeping (locks, counters, hooks), unless they hold tensors or there are no
            # others.
            shown = [item for item in node["items"] if not item[0].startswith("_") or _holds_leaf(item[1])]
            node["items"] = shown or node["items"]
        return node

    def _items(self, node: Node, entries: Items, path: str) -> Node:
        items = []
        for position, (raw, child) in enumerate(entries):
            key = _key(raw, position)
            items.append([key, self.of(child, join(path, key))])
        node["items"] = items
        return node

    def _tensor(self, value: torch.Tensor, path: str) -> Node:
        node: Node = {"kind": "tensor", "class": class_name(value), "dtype": str(value.dtype).removeprefix("torch.")}
        try:
            if value.is_nested:
                return self._items({**node, "kind": "nested"}, enumerate(value.unbind()), path)
            leaf = self._take(value)
        except torch.OutOfMemoryError:
            raise
        except LeafError as error:
            return _opaque(value, str(error))
        except Exception as error:  # a tensor subclass may refuse anything
            return _opaque(value, f"its values cannot be read: {type(error).__name__}: {error}")
        node.update(shape=list(leaf.shape), layout=_layout(leaf))
        if leaf.is_quantized:
            node["scheme"] = str(leaf.qscheme()).removeprefix("torch.")
        return self._keep(node, leaf, path)

    def _array(self, value: np.ndarray[Any, Any], path: str) -> Node:
        node: Node = {"kind": "ndarray", "class": class_name(value), "dtype": str(value.dtype)}
        node.update(shape=list(value.shape), layout="strided")
        if isinstance(value, np.ma.MaskedArray):
            return self._items(node, [("mask", np.ma.getmaskarray(value)), ("data", value.filled())], path)
        if value.dtype.names is not None:
            return self._items(node, [(name, value[name]) for name in value.dtype.names], path)
        if value.dtype.kind in "OUST":
            return self._items(node, enumerate(value.ravel().tolist()), path)
        return self._keep(node, self._take(from_array(value)), path)

    def _keep(self, node: Node, leaf: torch.Tensor, path: str) -> Node:
        name = path or ROOT
        while name in self.leaves:  # two keys that read alike, as "a.b" and b inside a
            name += "'"
        node["path"] = name
        self.leaves[name] = leaf
        return node


def join(path: str, key: Any) -> str:
    """Give the path of a container's entry from the container's path and the entry's key."""
    text = key[1] if isinstance(key, list) else str(key)
    if not text or not text.isprintable() or text == "__metadata__":  # the last has a meaning of its own in a file
        text = ascii(text)
    return f"{path}.{text}" if path else text


def class_name(value: Any) -> str:
    """Give the dotted name of a value's class, without `builtins`."""
    cls = type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{_home(cls)}.{cls.__qualname__}"


def _home(value: Any) -> str:
    """Give the name of the module that a class or function is from, without the number of this process's load of it."""
    return _LOADED.sub("", str(getattr(value, "__module__", None) or ""))


def _opaque(value: Any, reason: str) -> Node:
    return {"kind": "opaque", "class": class_name(value), "reason": reason}


def _plain(value: Any) -> Node | None:
    """Describe a value that holds no other values, or give None."""
    name = class_name(value)
    if value is None:
        return {"kind": "none", "class": name}
    if isinstance(value, enum.Enum):
        return {"kind": "constant", "class": name, "value": str(value.name)}
    if isinstance(value, bool | np.bool_):
        return {"kind": "number", "class": name, "type": "bool", "value": bool(value)}
    if isinstance(value, int | np.integer):
        number = int(value)
        # In decimal, Python refuses to write or read an int of more than 4300 digits.
        exact = number if abs(number) < _LARGEST_PLAIN_INT else hex(number)
        return {"kind": "number", "class": name, "type": "int", "value": exact}
    if isinstance(value, float | np.floating) and not isinstance(value, np.longdouble):
        return {"kind": "number", "class": name, "type": "float", "value": _float(float(value))}
    if isinstance(value, complex | np.complexfloating) and not isinstance(value, np.clongdouble):
        parts = complex(value)
        return {"kind": "number", "class": name, "type": "complex", "value": [_float(parts.real), _float(parts.imag)]}
    if isinstance(value, str):
        return {"kind": "string", "class": name, "value": str.__str__(value)}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"kind": "bytes", "class": name, "value": bytes(value).hex()}
    if isinstance(value, torch.device):
        return {"kind": "device", "class": name}  # where a value lives is no part of what it is
    if isinstance(value, _CONSTANTS):
        return {"kind": "constant", "class": name, "value": str(value)}
    if isinstance(value, _NAMED):
        named = _LOADED.sub("", str(getattr(value, "__qualname__", None) or getattr(value, "__name__", "")))
        if "<" in named:  # what was made inside a function has values that its name does not tell
            return _opaque(value, "a function or class without a name of its own")
        return {"kind": "constant", "class": name, "value": f"{_home(value)}.{named}"}
    return None


def _float(value: float) -> float | str:
    return value if value - value == 0 else str(value)


def _entries(value: Any) -> tuple[str, Items] | None:
    """Give the kind of a container and its entries, or None for an object without any that can be read."""
    if isinstance(value, Mapping):
        plain = type(value) in (dict, collections.OrderedDict, collections.defaultdict)
        return "dict" if plain else "mapping", list(value.items())
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None) or getattr(type(value), "__match_args__", None)
        if names and len(names) == len(value):
            return "namedtuple", zip(names, value, strict=True)
        return "tuple", enumerate(value)
    if isinstance(value, Sequence | collections.deque):
        return "list", enumerate(value)
    if isinstance(value, AbstractSet):
        return "set", sorted(((element, None) for element in value), key=lambda entry: str(_key(entry[0], 0)))
    if is_dataclass(value):
        return "dataclass", [(f.name, getattr(value, f.name)) for f in fields(value) if hasattr(value, f.name)]
    attributes = _attributes(value)
    return None if attributes is None else ("object", attributes)


def _attributes(value: Any) -> list[tuple[str, Any]] | None:
    held = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if not name.startswith("__") and hasattr(value, name):
                held.setdefault(name, getattr(value, name))
    return list(held.items()) or None


def _holds_leaf(node: Node) -> bool:
    return "path" in node or any(_holds_leaf(child) for _, child in node.get("items", ()))


def _key(raw: Any, position: int) -> Any:
    if isinstance(raw, str):
        return str.__str__(raw)
    if isinstance(raw, int) and not isinstance(raw, bool | enum.Enum) and abs(raw) < _LARGEST_PLAIN_INT:
        return int(raw)
    if isinstance(raw, _PRIMITIVE_KEYS) or (
        isinstance(raw, tuple | frozenset) and all(isinstance(part, str | int | float | None) for part in raw)
    ):
        return [class_name(raw), str(raw)]
    return [class_name(raw), f"{class_name(raw)}#{position}"]


def _layout(leaf: torch.Tensor) -> str:
    return "meta" if leaf.is_meta else str(leaf.layout).removeprefix("torch.")

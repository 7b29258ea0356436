"""Whether what was read from a file is a structure as `describe` makes it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch

_CONTAINERS = ("dict", "mapping", "set", "list", "tuple", "namedtuple", "dataclass", "object", "nested")
_ARRAYS = ("tensor", "ndarray")
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "tensor": ("dtype", "layout"),
    "ndarray": ("dtype", "layout"),
    "nested": ("dtype",),
    "string": ("value",),
    "bytes": ("value",),
    "constant": ("value",),
    "opaque": ("reason",),
    "cycle": ("to",),
}
"""By kind of node, what of it is text besides its class."""
_KINDS = {*_CONTAINERS, *_TEXTS, "number", "none", "device"}


def check_structure(node: Any, leaves: Mapping[str, torch.Tensor], at: str = "structure") -> None:
    """Check a node and all below it.

    Args:
        leaves: the tensors by path that the nodes speak of.
        at: where the node stands in the file.

    Raises:
        ValueError: something is missing or of another type; the text says where.
    """
    kind = node.get("kind") if isinstance(node, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"{at} is no node of a known kind")
    for name in ("class", *_TEXTS.get(kind, ())):
        _check(isinstance(node.get(name), str), f"{at}.{name}", "text")
    if kind == "number":
        right = _NUMBERS.get(str(node.get("type")))
        _check(right is not None and right(node.get("value")), f"{at}.value", "a number of the type that it names")
    if kind in _ARRAYS:
        _check_shape(node.get("shape"), at)
    if kind in _CONTAINERS or (kind == "ndarray" and "path" not in node):
        _check_items(node.get("items"), leaves, at)
    elif kind in _ARRAYS:
        path = node.get("path")
        known = isinstance(path, str) and path in leaves
        _check(known and list(leaves[str(path)].shape) == node["shape"], f"{at}.path", "a leaf of this shape")


def check_forms(forms: Any) -> None:
    """Check what says, by path, how leaves are put together from the tensors in a file.

    Raises:
        ValueError: as for `check_structure`.
    """
    _check(isinstance(forms, dict), "leaves", "an object")
    for path, form in forms.items():
        _check_form(form, f"leaves.{path}")
        layout, pieces = form.get("layout"), form.get("parts")
        _check(isinstance(layout, str), f"leaves.{path}.layout", "text")
        _check(isinstance(pieces, dict), f"leaves.{path}.parts", "an object")
        for name, piece in pieces.items():
            _check_form(piece, f"leaves.{path}.parts.{name}")
            _check(isinstance(piece.get("key"), str), f"leaves.{path}.parts.{name}.key", "text")


def _check_form(form: Any, at: str) -> None:
    _check(isinstance(form, dict), at, "an object")
    dtype = form.get("dtype")
    _check(isinstance(dtype, str) and isinstance(getattr(torch, dtype, None), torch.dtype), f"{at}.dtype", "a dtype")
    _check_shape(form.get("shape"), at)


def _check_shape(shape: Any, at: str) -> None:
    _check(isinstance(shape, list) and all(type(size) is int for size in shape), f"{at}.shape", "a list of sizes")


def _check_items(items: Any, leaves: Mapping[str, torch.Tensor], at: str) -> None:
    _check(isinstance(items, list), f"{at}.items", "a list")
    for number, item in enumerate(items):
        pair = isinstance(item, list) and len(item) == 2 and _is_key(item[0])
        _check(pair, f"{at}.items.{number}", "a key and a node")
        check_structure(item[1], leaves, f"{at}.items.{number}")


def _check(fits: bool, at: str, wanted: str) -> None:
    if not fits:
        raise ValueError(f"{at} is not {wanted}")


def _is_key(key: Any) -> bool:
    if isinstance(key, list):
        return len(key) == 2 and all(isinstance(part, str) for part in key)
    return isinstance(key, str) or type(key) is int


def _is_int(value: Any) -> bool:
    if not isinstance(value, str):
        return type(value) is int
    try:
        int(value, 16)
    except ValueError:
        return False
    return True


def _is_float(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value in ("nan", "inf", "-inf")


_NUMBERS: Mapping[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    "int": _is_int,
    "float": _is_float,
    "complex": lambda value: isinstance(value, list) and len(value) == 2 and all(map(_is_float, value)),
}

"""A new tree with every tensor replaced, as moving inputs to a device or casting them needs it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import torch


def map_tensors(fn: Callable[[torch.Tensor], Any], tree: Any) -> Any:
    """Give a tree of the same containers in which `fn` has been applied to every tensor.

    Dicts, other mappings, lists, tuples, named tuples and dataclasses are entered; arrays and any other object are
    left alone. A tensor that stands in several places is converted once and still stands in all of them.

    Args:
        fn: gives what stands in place of a tensor.
        tree: is never changed; a container in which nothing changes is returned as it is, and so is one that
            contains itself.
    """
    return _Mapper(fn).convert(tree)


def own_copy(tree: Any) -> Any:
    """Give a copy of a tree that shares nothing with it, so that either may be changed in place.

    What is no tensor is copied, too. Tensors that stand in several places still do.
    """
    clones: dict[int, Any] = {}

    def clone(tensor: torch.Tensor) -> torch.Tensor:
        copied = tensor.clone()
        clones[id(copied)] = copied
        return copied

    # The tensors that are copied already are kept.
    return copy.deepcopy(map_tensors(clone, tree), clones)


class _Mapper:
    def __init__(self, fn: Callable[[torch.Tensor], Any]) -> None:
        self._fn = fn
        self._done: dict[int, Any] = {}
        self._open: set[int] = set()

    def convert(self, tree: Any) -> Any:
        if isinstance(tree, torch.Tensor):
            if id(tree) not in self._done:
                self._done[id(tree)] = self._fn(tree)
            return self._done[id(tree)]
        rebuild = _rebuilder(tree)
        if rebuild is None or id(tree) in self._open:
            return tree
        self._open.add(id(tree))
        try:
            changes = {}
            for key, value in _children(tree):
                converted = self.convert(value)
                if converted is not value:
                    changes[key] = converted
            return rebuild(tree, changes) if changes else tree
        finally:
            self._open.discard(id(tree))


def _rebuilder(tree: Any) -> Callable[[Any, dict[Any, Any]], Any] | None:
    if isinstance(tree, Mapping):
        return _mapping
    if isinstance(tree, tuple):
        return _tuple
    if isinstance(tree, list):
        return _list
    if is_dataclass(tree) and not isinstance(tree, type):
        return _dataclass
    return None


def _children(tree: Any) -> list[tuple[Any, Any]]:
    if isinstance(tree, Mapping):
        return list(tree.items())
    if isinstance(tree, tuple | list):
        return list(enumerate(tree))
    return [(field.name, getattr(tree, field.name)) for field in fields(tree) if hasattr(tree, field.name)]


def _mapping(tree: Mapping[Any, Any], changes: dict[Any, Any]) -> Any:
    if type(tree) is dict:
        return {**tree, **changes}
    try:
        new: Any = copy.copy(tree)
        for key, value in changes.items():
            new[key] = value
    except TypeError:  # a read-only mapping can neither be copied by parts nor assigned to
        return type(tree)({**tree, **changes})  # type: ignore[call-arg]
    return new


def _list(tree: list[Any], changes: dict[Any, Any]) -> Any:
    new = copy.copy(tree)
    for index, value in changes.items():
        new[index] = value
    return new


def _tuple(tree: tuple[Any, ...], changes: dict[Any, Any]) -> Any:
    values = [changes.get(index, value) for index, value in enumerate(tree)]
    make = getattr(type(tree), "_make", type(tree))
    return make(values)


def _dataclass(tree: Any, changes: dict[Any, Any]) -> Any:
    # Not `dataclasses.replace`: it would run `__post_init__` again and refuse fields that are not in `__init__`.
    new = copy.copy(tree)
    for name, value in changes.items():
        object.__setattr__(new, name, value)
    return new

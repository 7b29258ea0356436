"""A call's arguments as a list of tensors, and all else of them as a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from libbench.errors import UnsupportedError
from libbench.tree import form_of, hidden, map_tensors

Skeleton = tuple[Any, ...]
"""What inputs are but for the shapes and values of their tensors: equal for inputs that one graph may serve."""


def skeleton_of(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Skeleton, list[torch.Tensor]]:
    """Take the tensors out of a call's arguments; one that stands in two places of a nested one is given once.

    Raises:
        UnsupportedError: an argument holds what can neither be told from another nor traced.
    """
    leaves = [*args, *kwargs.values()]
    # This is a part of every timed call, and most have nothing but tensors, or these in plain containers.
    if {type(leaf) for leaf in leaves} == {torch.Tensor} and len({id(leaf) for leaf in leaves}) == len(leaves):
        return (len(args), *kwargs, *[leaf.dtype for leaf in leaves]), leaves
    known: dict[int, tuple[int, torch.Tensor]] = {}
    try:
        key = _key((tuple(args), dict(kwargs)), known)
        found = [leaf for _, leaf in known.values()]
        return (key, *[leaf.dtype for leaf in found]), found
    except _OddError:
        return _slow_skeleton((tuple(args), dict(kwargs)))


class _OddError(Exception):
    """A value that is neither a plain one nor a plain container."""


def _key(value: Any, known: dict[int, tuple[int, torch.Tensor]]) -> Any:
    kind = type(value)
    if kind is torch.Tensor:
        return known.setdefault(id(value), (len(known), value))[0]
    if value is None or kind in (bool, int, float, str):
        return kind, value  # the kind tells True from 1
    if isinstance(value, tuple | list):
        return kind, tuple([_key(each, known) for each in value])
    if isinstance(value, dict):
        return kind, tuple([(key, _key(each, known)) for key, each in value.items()])
    raise _OddError


def _slow_skeleton(tree: Any) -> tuple[Skeleton, list[torch.Tensor]]:
    found: list[torch.Tensor] = []

    def take(tensor: torch.Tensor) -> str:
        found.append(tensor)
        return f"tensor {len(found)}"

    plain = map_tensors(take, tree)
    require_plain(plain, "takes")
    return (form_of(plain), *[leaf.dtype for leaf in found]), found


def arguments_of(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Give a batch's inputs as the arguments that `feed` calls a model with."""
    if isinstance(inputs, tuple | list):
        return tuple(inputs), {}
    return ((), inputs) if isinstance(inputs, dict) else ((inputs,), {})


def require_plain(tree: Any, verb: str) -> None:
    """Make sure that nothing in a tree, whose tensors `map_tensors` has replaced, holds more of them, or is a riddle.

    Args:
        verb: what the model does with it, for the error.

    Raises:
        UnsupportedError: something does.
    """
    kinds = hidden(tree)
    if kinds:
        raise UnsupportedError(f"the model {verb} {', '.join(kinds)}, whose contents no graph of tensors can hold")

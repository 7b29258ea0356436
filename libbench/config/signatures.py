"""What a target accepts, found once per target."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from inspect import Parameter
from types import FunctionType, ModuleType
from typing import Any

from libbench.config.targets import target_text
from libbench.errors import did_you_mean

_NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
_PLACED = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True)
class Shape:
    """The parameters of a target.

    Attributes:
        named: the parameters that a keyword reaches, in order.
        placed: the parameters that a position reaches, in order.
        open: whether any other keyword is accepted too; always so where no signature can be read.
        variadic: whether any number of positions is accepted.
        required: the parameters without a default.
    """

    named: Mapping[str, Parameter]
    placed: tuple[Parameter, ...]
    open: bool
    variadic: bool
    required: frozenset[str] = frozenset()

    def names_for(self, count: int) -> list[str] | None:
        """Name the first `count` positions; None when a keyword cannot reach all of them."""
        first = self.placed[:count]
        if len(first) < count or any(each.kind is Parameter.POSITIONAL_ONLY for each in first):
            return None
        return [each.name for each in first]

    def missing(self, positions: int, keywords: Collection[str]) -> list[str]:
        """Give the parameters that have no default and no argument."""
        given = {each.name for each in self.placed[:positions]} | set(keywords)
        every = {each.name: each for each in self.placed} | dict(self.named)
        return [name for name, each in every.items() if each.default is Parameter.empty and name not in given]


_ANYTHING = Shape({}, (), open=True, variadic=True)


def shape_of(target: Callable[..., Any]) -> Shape:
    """Give what `target` accepts; where no signature can be read, anything is."""
    try:
        return _shape(target) if _lasts(target) else _read(target)
    except TypeError:  # not hashable
        return _read(target)


@functools.lru_cache(maxsize=4096)
def _shape(target: Callable[..., Any]) -> Shape:
    return _read(target)


def _lasts(target: Callable[..., Any]) -> bool:
    """Tell whether a target most likely stays anyway; any other, such as a model, is not held for its signature."""
    if isinstance(target, type):
        return True
    if isinstance(target, FunctionType):
        return target.__name__ != "<lambda>"
    return isinstance(getattr(target, "__self__", None), type | ModuleType)


def _read(target: Callable[..., Any]) -> Shape:
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return _ANYTHING
    kinds = {each.kind for each in parameters}
    return Shape(
        {each.name: each for each in parameters if each.kind in _NAMED},
        tuple(each for each in parameters if each.kind in _PLACED),
        open=Parameter.VAR_KEYWORD in kinds or _wrapper_is_open(target),
        variadic=Parameter.VAR_POSITIONAL in kinds,
        required=frozenset(
            each.name for each in parameters if each.kind in (*_PLACED, *_NAMED) and each.default is Parameter.empty
        ),
    )


def _wrapper_is_open(target: Callable[..., Any]) -> bool:
    """Tell whether a `functools.wraps` wrapper around the target, or its constructor, takes any keyword."""
    function = target
    if isinstance(target, type):
        function = vars(type)["__getattribute__"](target, "__init__")
    if not hasattr(function, "__wrapped__"):
        return False
    try:
        parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(each.kind is Parameter.VAR_KEYWORD for each in parameters)


def unknown(target: Callable[..., Any], name: str) -> str:
    """Give the sentence for a keyword that the target does not have."""
    shape = shape_of(target)
    return f"{target_text(target)} has no parameter {name!r}{did_you_mean(name, shape.named)}"

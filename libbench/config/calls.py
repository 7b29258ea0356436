"""Record calls, and copy recorded ones."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from omegaconf.base import Node

from libbench.config.boxes import Mark, leaf
from libbench.config.frozen import Tag
from libbench.config.items import held
from libbench.config.nodes import ARGS, PARTIAL, TARGET, LazyNode, blank, wrap
from libbench.config.places import Origin, caller, told
from libbench.config.signatures import shape_of, unknown
from libbench.config.targets import target_text
from libbench.errors import ConfigError


class LazyCall:
    """Record a call instead of making it.

    `LazyCall(torch.nn.Linear)(4, out_features=2)` gives a `LazyNode`; `instantiate` makes the call. The target is a
    class, a function or its dotted name; a dotted name is imported only when the node is checked, overridden or built.

    Raises:
        ConfigError: the target is neither callable nor text, or it does not have a parameter that is given.
    """

    __slots__ = ("_target",)

    def __init__(self, target: Callable[..., Any] | str, /) -> None:
        if not (callable(target) or (isinstance(target, str) and target) or isinstance(target, LazyNode)):
            raise ConfigError(
                f"LazyCall takes a class, a function or its dotted name, got {target!r}{told('', caller())}"
            )
        self._target = target

    def __call__(self, /, *args: Any, **kwargs: Any) -> LazyNode:
        """Record a call with these arguments."""
        return recorded(self._target, args, kwargs, partial=False)

    def partial(self, /, *args: Any, **kwargs: Any) -> LazyNode:
        """Record a call that gives `functools.partial(target, ...)` when it is built."""
        return recorded(self._target, args, kwargs, partial=True)

    def __repr__(self) -> str:
        return f"LazyCall({self._target!r})"


def recorded(target: Any, args: Iterable[Any], kwargs: dict[str, Any], *, partial: bool) -> LazyNode:
    """Make the node of a call, checked against the signature of the target."""
    origin = caller()
    positions = tuple(args)
    if isinstance(target, LazyNode):
        target, positions = called, (target, *positions)
    if callable(target):
        positions, kwargs = bound(target, positions, kwargs, origin)
    made: LazyNode = blank(LazyNode, None, None, Mark(Tag(), origin))
    content: dict[str, Any] = {TARGET: leaf(target, TARGET, made)}
    made.__dict__["_content"] = content
    if positions:
        content[ARGS] = wrap(list(positions), ARGS, made)
    for key, value in kwargs.items():
        content[key] = wrap(value, key, made)
    if partial:
        content[PARTIAL] = leaf(True, PARTIAL, made)
    return made


def called(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call what a node gives: the target of a `LazyCall` whose own target is a node."""
    return function(*args, **kwargs)


def bound(
    target: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], origin: Origin | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Give positions their names where a name reaches them, and refuse what the target does not take.

    Args:
        origin: where the call is written, for an error.
    """
    shape = shape_of(target)
    if not shape.open:
        strange = [unknown(target, name) for name in kwargs if name not in shape.named]
        if strange:
            raise ConfigError("; ".join(strange) + told("", origin))
    if len(args) > len(shape.placed) and not shape.variadic:
        raise ConfigError(
            f"{target_text(target)} takes {len(shape.placed)} positional arguments, got {len(args)}{told('', origin)}"
        )
    names = shape.names_for(len(args))
    for name, _ in zip([each.name for each in shape.placed], args, strict=False):
        if name in kwargs and name in shape.named:
            raise ConfigError(f"{target_text(target)} got {name!r} by position and by name{told('', origin)}")
    if names is None:
        return args, kwargs
    return (), dict(zip(names, args, strict=True)) | kwargs


def clone(node: Any) -> Any:
    """Copy a node, or anything that holds nodes, into ones that are built separately from the original.

    What is shared inside the original is shared inside the copy.
    """
    made = copy.deepcopy(node)
    tags: dict[int, Tag] = {}
    for each in _nodes(made):
        tag = each._mark.tag
        if tag is not None:
            each._mark.tag = tags.setdefault(id(tag), Tag())
    if isinstance(made, Node):
        made.__dict__["_parent"] = None
    return made


def _nodes(root: Any) -> Iterator[LazyNode]:
    """Give every node in a value, itself included, once."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        value = stack.pop()
        if isinstance(value, Node):
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, LazyNode):
                yield value
            value = value._value()
        if isinstance(value, dict):
            stack.extend(value.values())
        elif isinstance(value, list | tuple):
            stack.extend(held(value) if isinstance(value, list) else value)

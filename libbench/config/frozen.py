"""The frozen tree: what every algorithm of the config layer runs on.

A tree is a `Call`, a list, a tuple, a dict, or any other object as a leaf. A node that is used twice is one `Call`
object that is reached twice. Nothing in it points upwards, and nobody changes it once it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from libbench.config.places import Origin, join

Tag: TypeAlias = object
"""The identity of a node: two nodes with one tag and equal content are one instance when built.

It is a bare object, which the garbage collector never looks at.
"""


Tree: TypeAlias = Any
"""A `Call`, a list, a tuple, a dict, or a leaf."""


@dataclass(eq=False, slots=True)
class Call:
    """A recorded call.

    Attributes:
        target: a class, a function, or its dotted name.
        args: the arguments that no name reaches.
        kwargs: the arguments by name, in the order they were written.
        partial: whether it is built as `functools.partial`.
        origin: where the call was written.
        origins: where single arguments were set later, by name, and items of lists in them, by all keys that lead to
            them, as a tuple; None for nowhere.
    """

    target: Any
    args: list[Tree] | tuple[()]
    kwargs: dict[str, Tree]
    partial: bool = False
    origin: Origin | None = None
    origins: dict[Any, Origin] | None = None
    tag: Tag = field(default_factory=Tag, repr=False)

    def children(self) -> Iterator[tuple[Any, Tree]]:
        """Give every argument with its key: its position, or its name."""
        yield from enumerate(self.args)
        yield from self.kwargs.items()


class Group(dict[Any, Any]):
    """A dict of a config that remembers where its values were set."""

    __slots__ = ("origins",)

    def __init__(self, items: Any = (), origins: dict[Any, Origin] | None = None) -> None:
        super().__init__(items)
        self.origins = dict(origins) if origins else None


def set_at(holder: Tree, key: Any) -> Origin | None:
    """Give where the value under a key was set, apart from where its holder was written."""
    origins = holder.origins if type(holder) is Call or type(holder) is Group else None
    return origins.get(key) if origins else None


Near: TypeAlias = "tuple[Tree, tuple[Any, ...]] | None"
"""What remembers where a value was set, a call or a dict around it, and the keys that lead from there to the value."""


def nearer(near: Near, holder: Tree, key: Any) -> Near:
    """Give what remembers where a value was set, for what `holder` has under a key; `near` is that of `holder`."""
    if type(holder) is Call or type(holder) is Group:
        return holder, (key,)
    return None if near is None else (near[0], (*near[1], key))


def set_near(near: Near) -> Origin | None:
    """Give where a value was set by itself; None where it was written with what is around it."""
    return None if near is None else set_at(near[0], near[1][0] if len(near[1]) == 1 else near[1])


def note_origin(holder: Call | Group, key: Any, origin: Origin) -> None:
    """Remember where the value under a key was set, in place of where the items of an earlier one were."""
    if holder.origins is None:
        holder.origins = {}
    drop_below(holder.origins, key if isinstance(key, tuple) else (key,))
    holder.origins[key] = origin


def drop_below(origins: dict[Any, Origin], keys: tuple[Any, ...]) -> None:
    """Drop where the items of a list were set, the keys being those that lead to the list."""
    for each in list(origins):
        inside = isinstance(each, tuple) and each[: len(keys)] == keys and len(each) > len(keys)
        if inside or (not keys and isinstance(each, int)):
            del origins[each]


def walk(tree: Tree, path: str = "") -> Iterator[tuple[str, Tree]]:
    """Give every value of a tree with its dotted path, a node before what it holds; a shared node comes once."""
    seen: set[int] = set()
    stack = [(path, tree)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, Call):
            if id(value) in seen:
                continue
            seen.add(id(value))
        yield path, value
        stack.extend((join(path, key), each) for key, each in reversed(list(children(value))))


def children(tree: Tree) -> Iterator[tuple[Any, Tree]]:
    """Give what a value of a tree holds, with its keys."""
    kind = type(tree)
    if kind is Call:
        return tree.children()  # type: ignore[no-any-return]
    if kind is list or kind is tuple:
        return enumerate(tree)
    if kind is dict or kind is Group:
        return iter(tree.items())
    return iter(())

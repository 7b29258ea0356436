"""What a list of a config holds: single values without a node around each, until OmegaConf asks for one.

A node takes some twenty times the room of a number, and the time; a list of 100,000 numbers would feel both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from omegaconf.base import Box, Node

from libbench.config.boxes import leaf


class Items(list[Any]):
    """The content of a `LazyList`: nodes, to everyone who does not ask for what is `held`.

    Attributes:
        owner: the list of the config, which is the parent of the nodes.
    """

    __slots__ = ("owner",)

    def __init__(self, items: Iterable[Any], owner: Box) -> None:
        super().__init__(items)
        self.owner = owner

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return [self[index] for index in range(*key.indices(len(self)))]
        found = super().__getitem__(key)
        if isinstance(found, Node):
            return found
        made = leaf(found, key % len(self), self.owner)
        self[key] = made
        return made

    def __iter__(self) -> Iterator[Any]:
        index = 0
        while index < len(self):
            yield self[index]
            index += 1

    def __reversed__(self) -> Iterator[Any]:
        return iter(self[::-1])

    def pop(self, index: Any = -1) -> Any:
        """Take out one node."""
        found = self[index]
        del self[index]
        return found

    def sort(self, **how: Any) -> None:
        """Sort the nodes."""
        nodes = list(self)
        nodes.sort(**how)
        self[:] = nodes

    def copy(self) -> list[Any]:
        """Give the nodes."""
        return list(self)

    def __reduce__(self) -> tuple[type[list[Any]], tuple[list[Any]]]:
        return list, (list(self),)


def held(content: list[Any]) -> list[Any]:
    """Give the nodes and the bare values of a list's content."""
    return list.copy(content)

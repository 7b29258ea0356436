"""Numbers that are equal for equal trees, so that two subtrees are compared in one step."""

from __future__ import annotations

from typing import Any

from libbench.config.frozen import Call, Group, Tree, children
from libbench.config.leaves import fingerprint

_CONTAINERS = frozenset({Call, list, tuple, dict, Group})
_QUICK = frozenset({int, str, bool, type(None), bytes})


class Sums:
    """Gives every distinct content one number.

    Trees must not change, nor go away, while this is used.
    """

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._known: dict[int, int] = {}
        self._targets: dict[int, tuple[Any, str]] = {}

    def of(self, tree: Tree) -> int:
        """Give the number of a tree; it takes one frame a level."""
        kind = type(tree)
        if kind in _QUICK:
            return self._number((kind, tree))
        if kind not in _CONTAINERS:
            return self._number(fingerprint(tree))
        known = self._known.get(id(tree))
        if known is not None:
            return known
        numbers = []
        for key, each in children(tree):
            numbers.append((type(key), key, self.of(each)))
        own: tuple[Any, ...] = (dict if kind is Group else kind,)
        if kind is Call:
            own = ("call", self.target(tree.target), tree.partial)
        number = self._number((own, tuple(numbers) if kind in (list, tuple) else frozenset(numbers)))
        self._known[id(tree)] = number
        return number

    def _number(self, content: Any) -> int:
        return self._numbers.setdefault(content, len(self._numbers))

    def target(self, target: Any) -> str:
        """Give the text of a target, found once."""
        known = self._targets.get(id(target))
        if known is None:
            known = self._targets[id(target)] = (target, fingerprint(target))
        return known[1]


class Sharing:
    """Knows which parts of a tree hold a node that is used more than once.

    Args:
        tree: the whole tree.
    """

    def __init__(self, tree: Tree) -> None:
        self._times: dict[int, int] = {}
        self._count(tree)
        self._shared = {key for key, times in self._times.items() if times > 1}
        self._known: dict[int, bool] = {}

    def _count(self, tree: Tree) -> None:
        stack = [tree]
        while stack:
            value = stack.pop()
            if type(value) is Call:
                times = self._times.get(id(value), 0)
                self._times[id(value)] = times + 1
                if times:
                    continue
            stack.extend([each for _, each in children(value)])

    def shared(self, call: Call) -> bool:
        """Tell whether a node is used more than once."""
        return id(call) in self._shared

    def below(self, tree: Tree) -> bool:
        """Tell whether a tree holds, or is, a node that is used more than once."""
        if not self._shared:
            return False
        known = self._known.get(id(tree))
        if known is None:
            known = id(tree) in self._shared
            for _, each in children(tree):
                known = known or self.below(each)
            if type(tree) in _CONTAINERS:
                self._known[id(tree)] = known
        return known

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
        """Give the number of a tree."""
        kind = type(tree)
        if kind in _QUICK:
            return self._number((kind, tree))
        if kind not in _CONTAINERS:
            return self._number(fingerprint(tree))
        known = self._known.get(id(tree))
        if known is None:
            known = self._known[id(tree)] = self._number(self._content(tree, kind))
        return known

    def _number(self, content: Any) -> int:
        return self._numbers.setdefault(content, len(self._numbers))

    def _content(self, tree: Tree, kind: type) -> Any:
        if kind is Call:
            named = frozenset((key, self.of(each)) for key, each in tree.kwargs.items())
            return "call", self.target(tree.target), tree.partial, tuple([self.of(each) for each in tree.args]), named
        if kind is list or kind is tuple:
            return kind, tuple([self.of(each) for each in tree])
        return dict, frozenset((type(key), key, self.of(each)) for key, each in tree.items())

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

    def below(self, tree: Tree) -> bool:
        """Tell whether a tree holds, or is, a node that is used more than once."""
        if not self._shared:
            return False
        known = self._known.get(id(tree))
        if known is None:
            known = id(tree) in self._shared or any(self.below(each) for _, each in children(tree))
            if type(tree) in _CONTAINERS:
                self._known[id(tree)] = known
        return known

"""One tree of two: what each value of it can be, and what it is made when some of them are chosen."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from libbench.config.frozen import Call, Group, Tree
from libbench.errors import ConfigError

NOTHING = object()
"""What a side has where only the other one has something."""


@dataclass
class Kept:
    """A value that is always the reference's."""

    tree: Tree


@dataclass
class Chosen:
    """A value that is the reference's, or the target's where its place is taken."""

    number: int
    ours: Tree
    theirs: Tree


@dataclass(eq=False)
class Merged:
    """A call, dict, list or tuple that both sides have, with what each value in it can be.

    Attributes:
        ours: the reference's.
        items: by key; of a call, by name.
        args: of a call, those without names.
    """

    ours: Tree
    items: list[tuple[Any, Template]] = field(default_factory=list)
    args: list[Template] = field(default_factory=list)


Template = Kept | Chosen | Merged


class Mixer:
    """Makes one tree of what each value can be.

    Args:
        taken: the places that are as the target has them.
        nodes: by the identity of a call of either tree, what it is merged to.
    """

    def __init__(self, taken: Collection[int], nodes: Mapping[int, Merged]) -> None:
        self._taken = taken
        self._nodes = nodes
        self._made: dict[int, Call] = {}
        self._open: set[int] = set()

    def tree(self, template: Template) -> Tree:
        """Give a value, or `NOTHING`.

        Raises:
            ConfigError: a node would hold itself.
        """
        if isinstance(template, Kept):
            return self._copy(template.tree)
        if isinstance(template, Chosen):
            return self._copy(template.theirs if template.number in self._taken else template.ours)
        ours = template.ours
        if type(ours) is Call:
            return self._call(template)
        pairs = [(key, self.tree(each)) for key, each in template.items]
        pairs = [(key, each) for key, each in pairs if each is not NOTHING]
        if is_dict(ours):
            return Group(pairs, getattr(ours, "origins", None))
        return type(ours)(each for _, each in pairs)

    def _call(self, template: Merged) -> Call:
        known = self._made.get(id(template))
        if known is not None:
            return known
        if id(template) in self._open:
            raise ConfigError("with some of the differences alone a node would hold itself")
        self._open.add(id(template))
        ours = template.ours
        args = [each for each in map(self.tree, template.args) if each is not NOTHING]
        items = [(key, self.tree(each)) for key, each in template.items]
        kwargs = {key: each for key, each in items if each is not NOTHING}
        self._open.discard(id(template))
        made = Call(ours.target, args or (), kwargs, ours.partial, ours.origin, dict(ours.origins or {}) or None)
        self._made[id(template)] = made
        return made

    def _copy(self, tree: Tree) -> Tree:
        """Give a copy of a value of either side, in which every node that both sides have is the merged one."""
        kind = type(tree)
        if kind is Call:
            merged = self._nodes.get(id(tree))
            if merged is not None:
                return self._call(merged)
            if id(tree) not in self._made:
                args = [self._copy(each) for each in tree.args]
                kwargs = {key: self._copy(each) for key, each in tree.kwargs.items()}
                origins = dict(tree.origins) if tree.origins else None
                self._made[id(tree)] = Call(tree.target, args or (), kwargs, tree.partial, tree.origin, origins)
            return self._made[id(tree)]
        if kind is list or kind is tuple:
            return kind([self._copy(each) for each in tree])
        if is_dict(tree):
            return Group(((key, self._copy(each)) for key, each in tree.items()), getattr(tree, "origins", None))
        return tree


def is_dict(value: Tree) -> bool:
    """Tell whether a value is a plain dict of a config."""
    return type(value) in (dict, Group)

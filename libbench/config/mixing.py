"""Configs that lie between two others: in some of the places in which they differ as one of them, else as the other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from libbench.config.alignment import aligned
from libbench.config.changes import Change
from libbench.config.differences import difference
from libbench.config.freezing import freeze
from libbench.config.frozen import Call, Group, Tree
from libbench.config.likeness import alike, same_target
from libbench.config.sums import Sums
from libbench.errors import ConfigError

_HOLDERS = (Call, Group, dict, list, tuple)
_NOTHING = object()
"""What a side has where only the other one has something."""

Keys = tuple[tuple[Any, ...], tuple[Any, ...]]
"""The keys that lead to a value in the reference and in the target."""


@dataclass(frozen=True)
class Place:
    """A place in which two configs differ, and which can be changed by itself.

    A value is one, a call of another target with all its arguments, a list of plain values, an item that one list
    alone has, an instance that is shared otherwise.

    Attributes:
        path: the dotted path; as in `Change` where an item of a list stands elsewhere in the target.
        part: the top-level name.
        changes: the counted differences there, at least one.
    """

    path: str
    part: str
    changes: tuple[Change, ...]


@dataclass
class _Kept:
    """A value that is always the reference's."""

    tree: Tree


@dataclass
class _Chosen:
    """A value that is the reference's, or the target's where its place is taken."""

    number: int
    ours: Tree
    theirs: Tree


@dataclass(eq=False)
class _Merged:
    """A call, dict, list or tuple that both sides have, with what each value in it can be.

    Attributes:
        ours: the reference's.
        items: by key; of a call, by name.
        args: of a call, those without names.
    """

    ours: Tree
    items: list[tuple[Any, _Template]] = field(default_factory=list)
    args: list[_Template] = field(default_factory=list)


_Template = _Kept | _Chosen | _Merged


class Between:
    """Two configs, and those that lie between them.

    Args:
        reference, target: configs, frozen or not.

    Attributes:
        places: where they differ, in the order of the reference.
        left: the counted differences that are in no place: they are never made.
    """

    def __init__(self, reference: Any, target: Any) -> None:
        ours, theirs = freeze(reference), freeze(target)
        counted = [change for change in difference(ours, theirs) if change.counted]
        finder = _Finder(counted)
        self._root = finder.template(ours, theirs, ((), ()))
        self._nodes = finder.nodes
        self._trees = ours, theirs
        self.places = tuple(finder.places)
        found = {id(change) for place in self.places for change in place.changes}
        self.left = tuple(change for change in counted if id(change) not in found)

    def mixed(self, taken: Collection[int]) -> Tree:
        """Give the reference with some places as the target has them, as a tree that nobody else has.

        Args:
            taken: their positions in `places`.

        Raises:
            ConfigError: a node would hold itself.
        """
        return _Mixer(frozenset(taken), self._nodes).tree(self._root)


class _Finder:
    """Walks over two trees side by side.

    Args:
        changes: what differs.

    Attributes:
        places: what was found.
        nodes: by the identity of a call of either tree, what it is merged to.
    """

    def __init__(self, changes: Sequence[Change]) -> None:
        self.places: list[Place] = []
        self.nodes: dict[int, _Merged] = {}
        self._sums = Sums()
        self._below: tuple[dict[str, list[Change]], dict[str, list[Change]]] = ({}, {})
        for change in changes:
            ours, _, theirs = change.path.partition(" -> ")
            for side, path, other in ((0, ours, "added"), (1, theirs or ours, "removed")):
                if change.kind != other:
                    for prefix in _prefixes(path):
                        self._below[side].setdefault(prefix, []).append(change)

    def template(self, ours: Tree, theirs: Tree, keys: Keys) -> _Template:
        """Give what a value can be; it takes one frame a level."""
        if type(ours) is Call and type(theirs) is Call:
            return self._call(ours, theirs, keys)
        if _is_dict(ours) and _is_dict(theirs):
            return _Merged(ours, self._items(ours, theirs, keys))
        if type(ours) is type(theirs) and type(ours) in (list, tuple) and not (_is_flat(ours) and _is_flat(theirs)):
            items = self._sequence(ours, theirs, keys)
            if items is not None:
                return _Merged(ours, list(enumerate(items)))
        return self._chosen(ours, theirs, keys)

    def _call(self, ours: Call, theirs: Call, keys: Keys) -> _Template:
        known = self.nodes.get(id(ours)), self.nodes.get(id(theirs))
        if known[0] is not None and known[0] is known[1]:
            return known[0]
        alike_calls = same_target(ours.target, theirs.target) and ours.partial is theirs.partial
        # A node that has another counterpart already is shared otherwise: its place is this one as a whole.
        if not alike_calls or known != (None, None) or self._moved(ours.args, theirs.args):
            return self._chosen(ours, theirs, keys)
        made = self.nodes[id(ours)] = self.nodes[id(theirs)] = _Merged(ours)
        made.args = self._sequence(ours.args, theirs.args, keys) or []
        made.items = self._items(ours.kwargs, theirs.kwargs, keys)
        return made

    def _items(self, ours: Mapping[Any, Tree], theirs: Mapping[Any, Tree], keys: Keys) -> list[tuple[Any, _Template]]:
        return [
            (key, self._pair(ours.get(key, _NOTHING), theirs.get(key, _NOTHING), keys, key, key))
            for key in dict.fromkeys([*ours, *theirs])
        ]

    def _sequence(self, ours: Sequence[Tree], theirs: Sequence[Tree], keys: Keys) -> list[_Template] | None:
        """Give what each item can be; None where one stands elsewhere, so that all of them are one place."""
        if self._moved(ours, theirs):
            return None
        found = []
        for step in aligned(ours, theirs, self._sums.of, alike):
            here = _NOTHING if step.ours is None else ours[step.ours]
            there = _NOTHING if step.theirs is None else theirs[step.theirs]
            found.append(self._pair(here, there, keys, step.ours, step.theirs))
        return found

    def _moved(self, ours: Sequence[Tree], theirs: Sequence[Tree]) -> bool:
        return any(step.moved for step in aligned(ours, theirs, self._sums.of, alike))

    def _pair(self, ours: Tree, theirs: Tree, above: Keys, here: Any, there: Any) -> _Template:
        keys = (*above[0], here), (*above[1], there)
        if ours is _NOTHING or theirs is _NOTHING:
            return self._chosen(ours, theirs, keys)
        return self.template(ours, theirs, keys)

    def _chosen(self, ours: Tree, theirs: Tree, keys: Keys) -> _Template:
        paths = [".".join(map(str, each)) for each in keys]
        found: dict[int, Change] = {}
        for side, path, value in zip((0, 1), paths, (ours, theirs), strict=True):
            if value is not _NOTHING:
                found |= {id(change): change for change in self._below[side].get(path, ())}
        if not found:
            return _Kept(ours)
        one, two = (paths[1] if ours is _NOTHING else paths[0]), (paths[0] if theirs is _NOTHING else paths[1])
        own = keys[1] if ours is _NOTHING else keys[0]
        name = one if one == two else f"{one} -> {two}"
        self.places.append(Place(name, str(own[0]) if own else "", tuple(found.values())))
        return _Chosen(len(self.places) - 1, ours, theirs)


class _Mixer:
    """Makes one tree of what each value can be."""

    def __init__(self, taken: Collection[int], nodes: Mapping[int, _Merged]) -> None:
        self._taken = taken
        self._nodes = nodes
        self._made: dict[int, Call] = {}
        self._open: set[int] = set()

    def tree(self, template: _Template) -> Tree:
        if isinstance(template, _Kept):
            return self._copy(template.tree)
        if isinstance(template, _Chosen):
            return self._copy(template.theirs if template.number in self._taken else template.ours)
        ours = template.ours
        if type(ours) is Call:
            return self._call(template)
        pairs = [(key, self.tree(each)) for key, each in template.items]
        pairs = [(key, each) for key, each in pairs if each is not _NOTHING]
        if _is_dict(ours):
            return Group(pairs, getattr(ours, "origins", None))
        return type(ours)(each for _, each in pairs)

    def _call(self, template: _Merged) -> Call:
        known = self._made.get(id(template))
        if known is not None:
            return known
        if id(template) in self._open:
            raise ConfigError("with some of the differences alone a node would hold itself")
        self._open.add(id(template))
        ours = template.ours
        args = [each for each in map(self.tree, template.args) if each is not _NOTHING]
        items = [(key, self.tree(each)) for key, each in template.items]
        kwargs = {key: each for key, each in items if each is not _NOTHING}
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
        if _is_dict(tree):
            return Group(((key, self._copy(each)) for key, each in tree.items()), getattr(tree, "origins", None))
        return tree


def _is_dict(value: Tree) -> bool:
    return type(value) in (dict, Group)


def _is_flat(items: Sequence[Tree]) -> bool:
    """Tell whether a list holds plain values alone, so that it is one value, as a shape is."""
    return not any(type(each) in _HOLDERS for each in items)


def _prefixes(path: str) -> list[str]:
    """Give a dotted path and all paths above it, the empty one included."""
    found = [path]
    while path:
        path = path.rpartition(".")[0]
        found.append(path)
    return found

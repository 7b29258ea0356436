"""Configs that lie between two others: in some of the places in which they differ as one of them, else as the other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from libbench.config.alignment import Pairing, aligned
from libbench.config.changes import Change
from libbench.config.differences import difference
from libbench.config.freezing import freeze
from libbench.config.frozen import Call, Group, Tree
from libbench.config.likeness import alike, same_target
from libbench.config.mixing import NOTHING, Chosen, Kept, Merged, Mixer, Template, is_dict
from libbench.config.sums import Sums

_HOLDERS = (Call, Group, dict, list, tuple)
Keys = tuple[tuple[Any, ...], tuple[Any, ...]]
"""The keys that lead to a value in the reference and in the target."""


@dataclass(frozen=True)
class Place:
    """A place in which two configs differ, and which can be changed by itself.

    A value is one, a call of another target with all its arguments, a list of plain values, an item that one list
    alone has, an instance that is shared otherwise.

    Attributes:
        path: the dotted path; as in `Change` where an item of a list stands elsewhere in the target.
        changes: the counted differences there, at least one.
    """

    path: str
    changes: tuple[Change, ...]


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
        # The nodes are known by their identity, and have to stay for that.
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
        return Mixer(frozenset(taken), self._nodes).tree(self._root)


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
        self.nodes: dict[int, Merged] = {}
        self._sums = Sums()
        self._below: tuple[dict[str, list[Change]], dict[str, list[Change]]] = ({}, {})
        for change in changes:
            ours, _, theirs = change.path.partition(" -> ")
            for side, path, other in ((0, ours, "added"), (1, theirs or ours, "removed")):
                if change.kind != other:
                    for prefix in _prefixes(path):
                        self._below[side].setdefault(prefix, []).append(change)

    def template(self, ours: Tree, theirs: Tree, keys: Keys) -> Template:
        """Give what a value can be; it takes one frame a level."""
        if type(ours) is Call and type(theirs) is Call:
            return self._call(ours, theirs, keys)
        if is_dict(ours) and is_dict(theirs):
            return Merged(ours, self._items(ours, theirs, keys))
        if type(ours) is type(theirs) and type(ours) in (list, tuple) and not (_is_flat(ours) and _is_flat(theirs)):
            steps = self._steps(ours, theirs)
            if steps is not None:
                return Merged(ours, list(enumerate(self._sequence(ours, theirs, steps, keys))))
        return self._chosen(ours, theirs, keys)

    def _call(self, ours: Call, theirs: Call, keys: Keys) -> Template:
        known = self.nodes.get(id(ours)), self.nodes.get(id(theirs))
        if known[0] is not None and known[0] is known[1]:
            return known[0]
        alike_calls = same_target(ours.target, theirs.target) and ours.partial is theirs.partial
        steps = self._steps(ours.args, theirs.args)
        # A node that has another counterpart already is shared otherwise: its place is this one as a whole.
        if not alike_calls or known != (None, None) or steps is None:
            return self._chosen(ours, theirs, keys)
        made = self.nodes[id(ours)] = self.nodes[id(theirs)] = Merged(ours)
        made.args = self._sequence(ours.args, theirs.args, steps, keys)
        made.items = self._items(ours.kwargs, theirs.kwargs, keys)
        return made

    def _items(self, ours: Mapping[Any, Tree], theirs: Mapping[Any, Tree], keys: Keys) -> list[tuple[Any, Template]]:
        return [
            (key, self._pair(ours.get(key, NOTHING), theirs.get(key, NOTHING), keys, key, key))
            for key in dict.fromkeys([*ours, *theirs])
        ]

    def _steps(self, ours: Sequence[Tree], theirs: Sequence[Tree]) -> list[Pairing] | None:
        """Pair the items of two lists; None where one stands elsewhere, so that all of them are one place."""
        steps = aligned(ours, theirs, self._sums.of, alike)
        return None if any(step.moved for step in steps) else steps

    def _sequence(
        self, ours: Sequence[Tree], theirs: Sequence[Tree], steps: Sequence[Pairing], keys: Keys
    ) -> list[Template]:
        found = []
        for step in steps:
            here = NOTHING if step.ours is None else ours[step.ours]
            there = NOTHING if step.theirs is None else theirs[step.theirs]
            found.append(self._pair(here, there, keys, step.ours, step.theirs))
        return found

    def _pair(self, ours: Tree, theirs: Tree, above: Keys, here: Any, there: Any) -> Template:
        keys = (*above[0], here), (*above[1], there)
        if ours is NOTHING or theirs is NOTHING:
            return self._chosen(ours, theirs, keys)
        return self.template(ours, theirs, keys)

    def _chosen(self, ours: Tree, theirs: Tree, keys: Keys) -> Template:
        paths = [".".join(map(str, each)) for each in keys]
        found: dict[int, Change] = {}
        for side, path, value in zip((0, 1), paths, (ours, theirs), strict=True):
            if value is not NOTHING:
                found |= {id(change): change for change in self._below[side].get(path, ())}
        if not found:
            return Kept(ours)
        one, two = (paths[1] if ours is NOTHING else paths[0]), (paths[0] if theirs is NOTHING else paths[1])
        name = one if one == two else f"{one} -> {two}"
        self.places.append(Place(name, tuple(found.values())))
        return Chosen(len(self.places) - 1, ours, theirs)


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

"""The difference of two configs: one record per real change, with where each side was written."""

from __future__ import annotations

from dataclasses import fields
from inspect import Parameter
from typing import Any, TypeAlias

from libbench.config.alignment import aligned
from libbench.config.changes import Change, Kind
from libbench.config.freezing import freeze
from libbench.config.frozen import Call, Group, Near, Tree, nearer, set_at, set_near, walk
from libbench.config.interpolation import Resolver, is_interpolation
from libbench.config.leaves import is_record, same_leaf
from libbench.config.likeness import alike, default_of, equal_but_type, same_target, same_value
from libbench.config.places import Origin
from libbench.config.showing import origin_below, show, show_in
from libbench.config.sums import Sharing, Sums
from libbench.errors import ConfigError


def difference(reference: Any, target: Any) -> tuple[Change, ...]:
    """List what differs between two configs, frozen or not, grouped by part in the order of the reference.

    NaN equals NaN, and arrays and tensors are compared by content. A node that is used twice is compared once.
    """
    ours, theirs = freeze(reference), freeze(target)
    found = _Comparer(ours, theirs)
    found.compare(_Side(ours, (), None), _Side(theirs, (), None))
    found.join_moved()
    parts = list(dict.fromkeys([*_keys(ours), *_keys(theirs)]))
    order = {str(part): index for index, part in enumerate(parts)}
    return tuple(sorted(found.changes, key=lambda change: order.get(change.part, len(order))))


def _keys(tree: Tree) -> list[Any]:
    if type(tree) is Call:
        return list(tree.kwargs)
    return list(tree) if isinstance(tree, dict) else []


class _Side:
    """A value of one config, with the keys that lead to it and where it was written."""

    __slots__ = ("keys", "near", "origin", "value")

    def __init__(self, value: Tree, keys: tuple[Any, ...], origin: Origin | None, near: Near = None) -> None:
        self.value = value
        self.keys = keys
        self.origin = origin
        self.near = near

    @property
    def path(self) -> str:
        return ".".join(map(str, self.keys))

    def child(self, key: Any, value: Tree) -> _Side:
        near = nearer(self.near, self.value, key)
        return _Side(value, (*self.keys, key), origin_below(value, set_near(near), self.origin), near)

    def arguments(self) -> _Side:
        """Give the arguments of a call that have no names."""
        return _Side(self.value.args, self.keys, self.origin, (self.value, ()))


Loose: TypeAlias = tuple[Change, _Side]
"""A node that only one of two lists has, and the change that tells so."""


class _Comparer:
    def __init__(self, ours: Tree, theirs: Tree) -> None:
        self._sums = Sums()
        self._sharing = Sharing(ours), Sharing(theirs)
        self._resolvers = Resolver(ours), Resolver(theirs)
        self.changes: list[Change] = []
        self._kept: list[Tree] = []
        self._loose: dict[int, tuple[list[Loose], list[Loose]]] = {}
        self._pairs: set[tuple[int, int]] = set()
        self._theirs: dict[int, tuple[Call, str]] = {}
        self._ours: dict[int, tuple[Call, str]] = {}
        self._quiet = 0

    def note(self, kind: Kind, ours: _Side | None, theirs: _Side | None, **more: Any) -> None:
        one, two = ours or theirs, theirs or ours
        assert one is not None
        assert two is not None
        path = one.path if one.path == two.path else f"{one.path} -> {two.path}"
        texts = {"reference": self.text(0, ours), "target": self.text(1, theirs)} | more
        self.changes.append(
            Change(
                kind=kind,
                path=path,
                part=str(one.keys[0]) if one.keys else "",
                reference_origin=str(ours.origin) if ours and ours.origin else None,
                target_origin=str(theirs.origin) if theirs and theirs.origin else None,
                **texts,
            )
        )

    def text(self, whose: int, side: _Side | None) -> str:
        return "" if side is None else show_in(self._resolvers[whose], side.value, side.keys)

    def compare(self, ours: _Side, theirs: _Side) -> None:
        one, two = ours.value, theirs.value
        if self._sums.of(one) == self._sums.of(two) and not (
            self._sharing[0].below(one) or self._sharing[1].below(two)
        ):
            return
        if type(one) is Call and type(two) is Call:
            self.calls(ours, theirs)
        elif isinstance(one, dict) and isinstance(two, dict) and _is_plain(one) and _is_plain(two):
            self.items(ours, theirs)
        elif type(one) in (list, tuple) and type(two) in (list, tuple):
            before = len(self.changes)
            self.sequences(ours, theirs)
            if type(one) is not type(two):
                if len(self.changes) == before:
                    self.note("type", ours, theirs)
                else:
                    names = {"reference": type(one).__name__, "target": type(two).__name__}
                    self.note("type", ours, theirs, **names)
        elif is_record(one) and is_record(two) and same_leaf(type(one), type(two)):
            for each in fields(one):
                here, there = getattr(one, each.name, None), getattr(two, each.name, None)
                self.compare(ours.child(each.name, here), theirs.child(each.name, there))
        elif not same_leaf(one, two):
            if self.come_to_the_same(ours, theirs):
                self.note("form", ours, theirs, counted=False)
            else:
                self.note("type" if equal_but_type(one, two) else "changed", ours, theirs)

    def come_to_the_same(self, ours: _Side, theirs: _Side) -> bool:
        """Tell whether two values, of which one stands for another, are now equal ones without any node."""
        if not (is_interpolation(ours.value) or is_interpolation(theirs.value)):
            return False
        sums = []
        for resolver, side in zip(self._resolvers, (ours, theirs), strict=True):
            value = side.value
            try:
                if is_interpolation(value):
                    value, _ = resolver.resolve(value, side.keys)
            except ConfigError:
                return False
            if any(type(each) is Call for _, each in walk(value)):
                return False
            # What is resolved is not a part of the trees, and another may come to lie in its place.
            self._kept.append(value)
            sums.append(self._sums.of(value))
        return sums[0] == sums[1]

    def calls(self, ours: _Side, theirs: _Side) -> None:
        one, two = ours.value, theirs.value
        if (id(one), id(two)) in self._pairs:
            return
        self._pairs.add((id(one), id(two)))
        split = self.shared_otherwise(ours, theirs)
        self._quiet += split
        try:
            if not self.same_target(one.target, two.target):
                self.note("target", _with_target(ours), _with_target(theirs))
            elif one.partial is not two.partial:
                self.note("changed", ours, theirs)
            self.sequences(ours.arguments(), theirs.arguments())
            self.items(ours, theirs)
        finally:
            self._quiet -= split

    def same_target(self, one: Any, two: Any) -> bool:
        return one is two or self._sums.target(one) == self._sums.target(two) or same_target(one, two)

    def shared_otherwise(self, ours: _Side, theirs: _Side) -> bool:
        """Report that one side uses here a node that it used before, where the other side uses another one."""
        here, there = self._theirs.get(id(ours.value)), self._ours.get(id(theirs.value))
        self._theirs.setdefault(id(ours.value), (theirs.value, ours.path))
        self._ours.setdefault(id(theirs.value), (ours.value, theirs.path))
        if here is None and there is None:
            return False
        if not self._quiet:
            own = "its own instance"
            self.note(
                "sharing",
                ours,
                theirs,
                reference=f"the instance of {here[1]}" if here else own,
                target=f"the instance of {there[1]}" if there else own,
            )
        return True

    def items(self, ours: _Side, theirs: _Side) -> None:
        one, two = _mapping(ours.value), _mapping(theirs.value)
        both_calls = type(ours.value) is Call and type(theirs.value) is Call
        other_target = both_calls and not self.same_target(ours.value.target, theirs.value.target)
        for key in dict.fromkeys([*one, *two]):
            if key in one and key in two:
                self.compare(ours.child(key, one[key]), theirs.child(key, two[key]))
            elif not other_target:
                here = ours.child(key, one[key]) if key in one else None
                there = theirs.child(key, two[key]) if key in two else None
                self.one_sided(here, there, default_of(ours.value, key) if both_calls else Parameter.empty)

    def one_sided(self, ours: _Side | None, theirs: _Side | None, default: Any) -> None:
        side = ours or theirs
        assert side is not None
        kind: Kind = "removed" if theirs is None else "added"
        if default is Parameter.empty:
            self.note(kind, ours, theirs)
            return
        text = f"{show(default)} (default)"
        other = {"target": text} if theirs is None else {"reference": text}
        if same_value(side.value, default):
            self.note("default", ours, theirs, counted=False, **other)
        else:
            self.note(kind, ours, theirs, **other)

    def sequences(self, ours: _Side, theirs: _Side) -> None:
        for step in aligned(ours.value, theirs.value, self._sums.of, alike):
            here = ours.child(step.ours, ours.value[step.ours]) if step.ours is not None else None
            there = theirs.child(step.theirs, theirs.value[step.theirs]) if step.theirs is not None else None
            if here is not None and there is not None:
                if step.moved:
                    self.note("moved", here, there)
                self.compare(here, there)
            else:
                self.note("removed" if there is None else "added", here, there)
                side = here or there
                if side is not None and type(side.value) is Call:
                    pair = self._loose.setdefault(self._sums.of(side.value), ([], []))
                    pair[there is not None].append((self.changes[-1], side))

    def join_moved(self) -> None:
        """Make one change of a node that is gone in one list and there in another."""
        for gone, come in self._loose.values():
            for (old, ours), (new, theirs) in zip(gone, come, strict=False):
                place = self.changes.index(old)
                self.changes = [change for change in self.changes if change is not old and change is not new]
                self.note("moved", ours, theirs)
                self.changes.insert(place, self.changes.pop())


def _with_target(side: _Side) -> _Side:
    """Give a call with the place where its target was set, if that is another one."""
    return _Side(side.value, side.keys, set_at(side.value, "_target_") or side.origin)


def _mapping(value: Tree) -> dict[Any, Tree]:
    return value.kwargs if type(value) is Call else value


def _is_plain(value: Tree) -> bool:
    return type(value) in (dict, Group)

"""The difference of two configs: one record per real change, with where each side was written."""

from __future__ import annotations

from dataclasses import dataclass, fields
from inspect import Parameter
from typing import Any, Literal

from libbench.config.alignment import aligned
from libbench.config.freezing import freeze
from libbench.config.frozen import Call, Group, Tree, set_at
from libbench.config.leaves import fingerprint, is_record, same_leaf
from libbench.config.places import Origin, join
from libbench.config.showing import origin_below, show
from libbench.config.signatures import shape_of
from libbench.config.sums import Sharing, Sums
from libbench.config.targets import callable_target
from libbench.errors import ConfigError

Kind = Literal["changed", "type", "added", "removed", "moved", "target", "sharing", "default"]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One difference of two configs.

    Attributes:
        kind: "changed", "type" (equal but for the type, as `1` and `1.0`), "added", "removed", "moved", "target"
            (another class or function), "sharing" (one instance here, two there), or "default" (a default that one
            side spells out).
        path: the dotted path; `p.1 -> p.2` where an item of a list stands elsewhere in the target.
        part: the top-level name.
        reference: the reference's value as text, empty where it has none.
        target: the target's.
        reference_origin: where the reference's value was written, as `file:line` or an override; None if not known.
        target_origin: the same for the target.
        counted: False for what makes no difference to what is built.
    """

    kind: Kind
    path: str
    part: str
    reference: str = ""
    target: str = ""
    reference_origin: str | None = None
    target_origin: str | None = None
    counted: bool = True


def difference(reference: Any, target: Any) -> tuple[Change, ...]:
    """List what differs between two configs, frozen or not, grouped by part in the order of the reference.

    NaN equals NaN, and arrays and tensors are compared by content. A node that is used twice is compared once.
    """
    ours, theirs = freeze(reference), freeze(target)
    found = _Comparer(ours, theirs)
    found.compare(_Side(ours, "", None), _Side(theirs, "", None))
    parts = list(dict.fromkeys([*_keys(ours), *_keys(theirs)]))
    order = {str(part): index for index, part in enumerate(parts)}
    return tuple(sorted(found.changes, key=lambda change: order.get(change.part, len(order))))


def _keys(tree: Tree) -> list[Any]:
    if type(tree) is Call:
        return list(tree.kwargs)
    return list(tree) if isinstance(tree, dict) else []


class _Side:
    """A value of one config, with its path and where it was written."""

    __slots__ = ("origin", "path", "value")

    def __init__(self, value: Tree, path: str, origin: Origin | None) -> None:
        self.value = value
        self.path = path
        self.origin = origin

    def child(self, key: Any, value: Tree) -> _Side:
        return _Side(value, join(self.path, key), origin_below(value, set_at(self.value, key), self.origin))


class _Comparer:
    def __init__(self, ours: Tree, theirs: Tree) -> None:
        self._sums = Sums()
        self._sharing = Sharing(ours), Sharing(theirs)
        self.changes: list[Change] = []
        self._pairs: set[tuple[int, int]] = set()
        self._theirs: dict[int, tuple[Call, str]] = {}
        self._ours: dict[int, tuple[Call, str]] = {}
        self._quiet = 0

    def note(self, kind: Kind, ours: _Side | None, theirs: _Side | None, **more: Any) -> None:
        one, two = ours or theirs, theirs or ours
        assert one is not None
        assert two is not None
        path = one.path if one.path == two.path else f"{one.path} -> {two.path}"
        texts = {"reference": show(ours.value) if ours else "", "target": show(theirs.value) if theirs else ""} | more
        self.changes.append(
            Change(
                kind=kind,
                path=path,
                part=one.path.partition(".")[0],
                reference_origin=str(ours.origin) if ours and ours.origin else None,
                target_origin=str(theirs.origin) if theirs and theirs.origin else None,
                **texts,
            )
        )

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
            self.note("type" if _equal_but_type(one, two) else "changed", ours, theirs)

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
            self.sequences(_Side(one.args, ours.path, ours.origin), _Side(two.args, theirs.path, theirs.origin))
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
                self.one_sided(here, there, _default(ours.value, key) if both_calls else Parameter.empty)

    def one_sided(self, ours: _Side | None, theirs: _Side | None, default: Any) -> None:
        side = ours or theirs
        assert side is not None
        kind: Kind = "removed" if theirs is None else "added"
        if default is Parameter.empty:
            self.note(kind, ours, theirs)
            return
        text = f"{show(default)} (default)"
        other = {"target": text} if theirs is None else {"reference": text}
        if _same_value(side.value, default):
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


def _with_target(side: _Side) -> _Side:
    """Give a call with the place where its target was set, if that is another one."""
    return _Side(side.value, side.path, set_at(side.value, "_target_") or side.origin)


def _mapping(value: Tree) -> dict[Any, Tree]:
    return value.kwargs if type(value) is Call else value


def _is_plain(value: Tree) -> bool:
    return type(value) in (dict, Group)


def _default(call: Call, key: str) -> Any:
    try:
        parameter = shape_of(callable_target(call.target)).named.get(key)
    except ConfigError:
        return Parameter.empty
    return parameter.default if parameter is not None else Parameter.empty


def _same_value(value: Tree, default: Any) -> bool:
    sums = Sums()
    return sums.of(value) == sums.of(freeze(default))


def same_target(one: Any, two: Any) -> bool:
    """Tell whether two targets are the same class or function; a text is imported to compare it with another."""
    if one is two or (isinstance(one, str) and one == two):
        return True
    try:
        return fingerprint(callable_target(one)) == fingerprint(callable_target(two))
    except ConfigError:
        return False


def _equal_but_type(one: Any, two: Any) -> bool:
    numbers = (int, float, complex, bool)
    return isinstance(one, numbers) and isinstance(two, numbers) and type(one) is not type(two) and one == two


def alike(one: Tree, two: Tree) -> bool:
    """Tell whether two unequal items of lists are versions of one another, rather than one removed and one added."""
    if type(one) is Call and type(two) is Call:
        return same_target(one.target, two.target)
    containers = (Call, Group, dict, list, tuple)
    return type(one) is type(two) or (type(one) not in containers and type(two) not in containers)

"""The override lines that turn one config into another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from libbench.config.alignment import aligned
from libbench.config.changes import Change
from libbench.config.differences import difference
from libbench.config.freezing import freeze
from libbench.config.frozen import Call, Group, Tree
from libbench.config.interpolation import step, value_at
from libbench.config.leaves import is_record
from libbench.config.likeness import alike, same_target
from libbench.config.overriding import overridden
from libbench.config.spelling import UnspellableError, spelled, spelled_target
from libbench.config.sums import Sums
from libbench.errors import ConfigError


@dataclass(frozen=True)
class Rewrite:
    """How to turn a reference into a target.

    Attributes:
        lines: the overrides, in order.
        left: the counted differences that are left when they are applied, since no override can make them: a lambda,
            a list in place of a tuple, or one instance in place of two.
    """

    lines: tuple[str, ...]
    left: tuple[Change, ...]


def as_overrides(reference: Any, target: Any, *, defaults: Mapping[str, Any] | None = None) -> Rewrite:
    """Find the overrides that turn one config into another; each is tried, and kept only where it does what it should.

    Args:
        reference: the config to apply them to.
        target: the config to arrive at.
        defaults: as for `LazyConfig.apply_overrides`.
    """
    writer = _Rewriter(freeze(reference), defaults or {})
    theirs = freeze(target)
    writer.walk(theirs, ())
    left = tuple(change for change in difference(writer.draft, theirs) if change.counted)
    return Rewrite(tuple(writer.lines), left)


class _Rewriter:
    """Changes a draft until it is the target, and remembers how."""

    def __init__(self, draft: Tree, defaults: Mapping[str, Any]) -> None:
        self.draft = draft
        self.lines: list[str] = []
        self._defaults = defaults

    def walk(self, theirs: Tree, keys: tuple[Any, ...]) -> None:
        """Make the draft's value at a path equal to `theirs`."""
        ours = _at(self.draft, keys)
        if ours is _NOTHING or _same(ours, theirs):
            return
        if type(ours) is Call and type(theirs) is Call:
            self._call(ours, theirs, keys)
        elif _is_dict(ours) and _is_dict(theirs):
            self._items(ours, theirs, keys)
        elif type(ours) is list and type(theirs) is list:
            self._list(ours, theirs, keys)
        elif type(ours) is tuple and type(theirs) is tuple and len(ours) == len(theirs):
            for index, each in enumerate(theirs):
                self.walk(each, (*keys, index))
        elif is_record(ours) and type(ours) is type(theirs):
            for each in fields(ours):
                self.walk(getattr(theirs, each.name), (*keys, each.name))
        now = _at(self.draft, keys)
        if keys and not (type(theirs) is Call and type(now) is Call) and not _same(now, theirs):
            self._replace(theirs, keys)

    def _call(self, ours: Call, theirs: Call, keys: tuple[Any, ...]) -> None:
        path = _dotted(keys)
        if not same_target(ours.target, theirs.target):
            try:
                self._try([f"{path}._target_={spelled_target(theirs.target)}"])
            except UnspellableError:
                return
        if ours.partial is not theirs.partial:
            self._try([f"{path}._partial_={str(theirs.partial).lower()}"])
        for index, each in enumerate(theirs.args):
            self.walk(each, (*keys, index))
        self._items(ours.kwargs, theirs.kwargs, keys)

    def _items(self, ours: Mapping[Any, Tree], theirs: Mapping[Any, Tree], keys: tuple[Any, ...]) -> None:
        for key in [key for key in ours if key not in theirs]:
            self._try([f"~{_dotted((*keys, key))}"])
        for key, each in theirs.items():
            if key in ours:
                self.walk(each, (*keys, key))
            else:
                self._add(each, (*keys, key))

    def _list(self, ours: list[Tree], theirs: list[Tree], keys: tuple[Any, ...]) -> None:
        pairs = aligned(ours, theirs, Sums().of, alike)
        gone = [each.ours for each in pairs if each.theirs is None and each.ours is not None]
        if any(each.ours is None or each.moved for each in pairs):
            # An item in the middle cannot be inserted: the rest is written over, and what is too many goes.
            gone = list(range(len(theirs), len(ours)))
        for index in reversed(gone):
            self._try([f"~{_dotted((*keys, index))}"])
        for index, each in enumerate(theirs):
            if _at(self.draft, (*keys, index)) is _NOTHING:
                self._add(each, (*keys, index))
            else:
                self.walk(each, (*keys, index))

    def _add(self, value: Tree, keys: tuple[Any, ...]) -> None:
        try:
            line = f"{_dotted(keys)}={spelled(value)}"
        except UnspellableError:
            return
        self._first_that_works([[line], [f"+{line}"]], keys, value)

    def _replace(self, value: Tree, keys: tuple[Any, ...]) -> None:
        try:
            line = f"{_dotted(keys)}={spelled(value)}"
        except UnspellableError:
            return
        ways = [[line]]
        if not isinstance(_at(self.draft, keys[:-1]), list | tuple):
            ways += [[f"~{_dotted(keys)}", line], [f"~{_dotted(keys)}", f"+{line}"]]
        self._first_that_works(ways, keys, value)

    def _first_that_works(self, ways: Sequence[list[str]], keys: tuple[Any, ...], value: Tree) -> None:
        for lines in ways:
            before, count = self.draft, len(self.lines)
            if self._try(lines):
                if _same(_at(self.draft, keys), value):
                    return
                self.draft = before
                del self.lines[count:]

    def _try(self, lines: list[str]) -> bool:
        """Apply overrides to the draft, all or none; tell whether they could be."""
        try:
            self.draft = freeze(overridden(self.draft, lines, self._defaults))
        except ConfigError:
            return False
        self.lines.extend(lines)
        return True


_NOTHING = object()


def _at(tree: Tree, keys: tuple[Any, ...]) -> Tree:
    for key in keys:
        if is_record(tree):
            tree = getattr(tree, str(key), _NOTHING)
            continue
        found = step(tree, key)
        if found is None:
            return _NOTHING
        tree = value_at(tree, found[0])
    return tree


def _same(one: Tree, two: Tree) -> bool:
    return one is not _NOTHING and not any(change.counted for change in difference({"v": one}, {"v": two}))


def _is_dict(value: Tree) -> bool:
    return type(value) in (dict, Group)


def _dotted(keys: tuple[Any, ...]) -> str:
    return ".".join(map(str, keys))

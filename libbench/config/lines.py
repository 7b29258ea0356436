"""A config as flat lines, one for each value: path, value, where it was written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from libbench.config.freezing import freeze
from libbench.config.frozen import Call, Group, Near, Tree, children, nearer, set_near, walk
from libbench.config.interpolation import Resolver, is_interpolation
from libbench.config.places import Origin, join
from libbench.config.showing import origin_below, show, show_in
from libbench.config.signatures import shape_of
from libbench.config.targets import callable_target, target_text
from libbench.errors import ConfigError


@dataclass(frozen=True)
class Line:
    """One value of a config.

    Attributes:
        path: the dotted path, as an override names it.
        text: the value; a call without its arguments, which have lines of their own; an interpolation or a derived
            value in both forms.
        origin: where it was set, as `file:line` or an override; None if not known.
        default: whether the config does not set it.
    """

    path: str
    text: str
    origin: str | None = None
    default: bool = False


def flat(cfg: Any, *, defaults: bool = False) -> list[Line]:
    """List every value of a config, in order.

    Args:
        cfg: a config, or a node.
        defaults: list the parameters that a call does not set, too; those of a target that cannot be imported are
            not known.
    """
    tree = freeze(cfg)
    return list(_Flattener(tree, defaults).lines(tree, (), None, None))


class _Flattener:
    def __init__(self, root: Tree, defaults: bool) -> None:
        self._resolver = Resolver(root)
        self._defaults = defaults
        self._first: dict[int, str] = {}

    def lines(self, value: Tree, keys: tuple[Any, ...], origin: Origin | None, near: Near) -> Iterator[Line]:
        path, where = ".".join(map(str, keys)), str(origin) if origin is not None else None
        kind = type(value)
        if kind is Call:
            if id(value) in self._first:
                yield Line(path, f"the instance of {self._first[id(value)] or 'the top'}", where)
                return
            self._first[id(value)] = path
            given = "..." if value.args or value.kwargs else ""
            yield Line(path, f"{target_text(value.target)}{'.partial' if value.partial else ''}({given})", where)
        elif kind in (list, tuple, dict, Group) and value and (not keys or _is_long(value) or _is_edited(near)):
            pass
        elif keys or kind not in (dict, Group):
            yield Line(path, show_in(self._resolver, value, keys), where)
            return
        for key, each in children(value):
            inner = nearer(near, value, key)
            yield from self.lines(each, (*keys, key), origin_below(each, set_near(inner), origin), inner)
        if kind is Call and self._defaults:
            yield from _unset(value, path)


def _is_long(value: Tree) -> bool:
    """Tell whether a container takes more than a line: all do but lists of plain values."""
    if isinstance(value, dict):
        return True
    inner = [each for _, each in walk(value)]
    return any(type(each) in (Call, Group, dict) or is_interpolation(each) for each in inner)


def _is_edited(near: Near) -> bool:
    """Tell whether an item of a list was set by itself."""
    if near is None:
        return False
    holder, keys = near
    return any(isinstance(each, tuple) and each[: len(keys)] == keys != each for each in holder.origins or ())


def _unset(call: Call, path: str) -> Iterator[Line]:
    try:
        shape = shape_of(callable_target(call.target))
    except ConfigError:
        return
    placed = {each.name for each in shape.placed[: len(call.args)]}
    for name, parameter in shape.named.items():
        if name not in call.kwargs and name not in placed:
            missing = parameter.default is Parameter.empty
            yield Line(join(path, name), "???" if missing else show(parameter.default), None, True)

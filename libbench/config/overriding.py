"""Overrides in Hydra's grammar, applied to a copy: all of them, or none."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from inspect import Parameter
from typing import Any

from libbench.config.boxes import owned
from libbench.config.coercion import ABSENT, fitted
from libbench.config.freezing import freeze, thaw
from libbench.config.frozen import Call, Group, Near, Tree, drop_below, nearer, note_origin
from libbench.config.grammar import parsed_override
from libbench.config.interpolation import keys_of, step, value_at
from libbench.config.leaves import is_named_tuple, is_record
from libbench.config.places import Origin, join
from libbench.config.signatures import shape_of, unknown
from libbench.config.targets import callable_target, target_text
from libbench.errors import ConfigError, did_you_mean


def overridden(cfg: Any, overrides: Sequence[str], defaults: Mapping[str, Any]) -> Any:
    """Give a copy of a config with overrides applied; see `LazyConfig.apply_overrides`."""
    if isinstance(overrides, str):
        raise ConfigError(f"overrides are a list of texts, got the text {overrides!r}")
    draft = freeze(cfg)
    for text in overrides:
        draft = _Override(text).applied(draft, defaults)
    return thaw(draft)


class _Override:
    """One override, parsed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.origin = Origin(f"override {text!r}")
        parsed = parsed_override(text)
        if parsed.is_sweep_override():
            raise ConfigError(
                f"override {text!r} gives several values, which only a sweep takes (--set, --ref-set and --tgt-set of "
                f"libbench diff and run); a list is written in brackets: {parsed.key_or_group}=[...]"
            )
        if parsed.package is not None or "/" in parsed.key_or_group:
            raise ConfigError(f"override {text!r} names a config group; a key is a dotted path such as 'model.width'")
        self.keys: list[str] = parsed.key_or_group.split(".")
        self.deletes: bool = parsed.is_delete()
        self.adds: bool = parsed.is_add() or parsed.is_force_add()
        self.value = parsed.value()
        self.bare = self.deletes and "=" not in text
        self.raw = text.partition("=")[2]
        self.parts: list[str] = []

    def applied(self, draft: Tree, defaults: Mapping[str, Any]) -> Tree:
        first = self.keys[0]
        self.parts = list(defaults)
        if first in defaults and isinstance(draft, dict) and first not in draft and not self.deletes:
            draft[first] = freeze(defaults[first])
            if len(self.keys) == 1 and self.adds:
                draft[first] = self.value
        draft = self.changed(draft, self.keys, "")
        self.remember(draft)
        return draft

    def remember(self, draft: Tree) -> None:
        """Note this override as the origin of an item of a list, in the nearest call or dict around it."""
        near: Near = None
        value = draft
        for key in self.keys:
            found = None if is_record(value) else step(value, key)
            if found is None:
                break
            near = nearer(near, value, found[0])
            holder, value = value, value_at(value, found[0])
            if near is not None and len(near[1]) > 1 and self.deletes and isinstance(holder, list | tuple):
                drop_below(near[0].origins or {}, near[1][:-1])
        else:
            if near is not None and len(near[1]) > 1 and not self.deletes:
                note_origin(near[0], near[1], self.origin)

    def changed(self, holder: Tree, keys: list[str], path: str) -> Tree:
        """Give `holder` with the value changed: the same object, unless it is a tuple or a leaf."""
        key, rest = keys[0], keys[1:]
        found = self.step(holder, key)
        if rest:
            if found is None:
                inner = self.begun(holder, key, path)
            else:
                inner = value_at(holder, found[0]) if not is_record(holder) else getattr(holder, key)
            here = found[0] if found is not None else key
            # What a leaf holds is still the config's own.
            after = self.changed(owned(inner) if _is_leaf(holder) else inner, rest, join(path, key))
            if after is inner and found is not None:
                return holder
            return self.put(holder, here, after, path, noted=type(after) is not tuple)
        if self.deletes:
            return self.deleted(holder, key, found, path)
        if type(holder) is Call and key == "_target_":
            holder.target = self.target()
            note_origin(holder, key, self.origin)
            return holder
        if type(holder) is Call and key == "_partial_":
            if type(self.value) is not bool:
                raise ConfigError(f"_partial_ is true or false, got {self.raw!r}{self.where(join(path, key))}")
            holder.partial = self.value
            note_origin(holder, key, self.origin)
            return holder
        if found is None:
            present = self.absent(holder, key, path)
            found = self.step(holder, key)
        else:
            present = value_at(holder, found[0]) if not is_record(holder) else getattr(holder, key)
        parameter = _parameter(holder, key)
        value = fitted(self.value, self.raw, present, parameter, self.where(join(path, key)))
        return self.put(holder, found[0] if found is not None else key, value, path)

    def target(self) -> str:
        """Give the value as a target that can be imported."""
        try:
            callable_target(str(self.value))
        except ConfigError as error:
            raise ConfigError(f"{error}{self.where('')}") from error
        return str(self.value)

    def step(self, holder: Tree, key: str) -> tuple[Any] | None:
        if is_record(holder):
            return (key,) if key in {each.name for each in dataclasses.fields(holder) if each.init} else None
        found = step(holder, key)
        if found is None:
            names = _names_of_places(holder)
            found = (names.index(key),) if key in names else None
        return found

    def put(self, holder: Tree, key: Any, value: Tree, path: str, *, noted: bool = True) -> Tree:
        if type(holder) is Call:
            if isinstance(key, str):
                holder.kwargs[key] = value
            else:
                holder.args = [*holder.args[:key], value, *holder.args[key + 1 :]]
            if noted:
                note_origin(holder, key, self.origin)
        elif isinstance(holder, dict):
            holder = copy.copy(holder) if _is_leaf(holder) else holder
            holder[key] = value
            if noted and isinstance(holder, Group):
                note_origin(holder, key, self.origin)
        elif isinstance(holder, list):
            holder[key] = value
        elif isinstance(holder, tuple):
            items = (*holder[:key], value, *holder[key + 1 :])
            return tuple.__new__(type(holder), items)
        else:
            try:
                return dataclasses.replace(holder, **{key: value})
            except (TypeError, ValueError) as error:
                raise ConfigError(f"{error}{self.where(join(path, str(key)))}") from error
        return holder

    def deleted(self, holder: Tree, key: str, found: tuple[Any] | None, path: str) -> Tree:
        here = join(path, key)
        if found is None:
            raise ConfigError(f"there is no {here!r} to delete{did_you_mean(key, keys_of(holder))}{self.where('')}")
        if is_record(holder) or is_named_tuple(holder):
            raise ConfigError(
                f"{here!r} is a field of {type(holder).__name__}, which cannot be deleted{self.where('')}"
            )
        if not self.bare and value_at(holder, found[0]) != self.value:
            raise ConfigError(f"{here!r} is {value_at(holder, found[0])!r}, not {self.value!r}{self.where('')}")
        if isinstance(holder, tuple):
            return (*holder[: found[0]], *holder[found[0] + 1 :])
        if type(holder) is Call:
            if isinstance(found[0], int):
                holder.args = [*holder.args[: found[0]], *holder.args[found[0] + 1 :]]
            else:
                del holder.kwargs[found[0]]
                (holder.origins or {}).pop(found[0], None)
        else:
            holder = copy.copy(holder) if _is_leaf(holder) else holder
            del holder[found[0]]
        return holder

    def begun(self, holder: Tree, key: str, path: str) -> Tree:
        """Give what an absent key on the way to the value starts as."""
        here = join(path, key)
        if type(holder) is Call or is_record(holder) or not self.adds or not isinstance(holder, dict):
            raise ConfigError(self.unknown(holder, key, here))
        return Group()

    def absent(self, holder: Tree, key: str, path: str) -> Any:
        """Give what the value of an absent key is typed by, or refuse the key."""
        here = join(path, key)
        if type(holder) is Call:
            target = callable_target(holder.target)
            shape = shape_of(target)
            if key in shape.named:
                default = shape.named[key].default
                return ABSENT if default is Parameter.empty else default
            if not shape.open:
                raise ConfigError(f"{unknown(target, key)}{self.where(here)}")
            if self.adds:
                return ABSENT
            raise ConfigError(self.unknown(holder, key, here))
        if isinstance(holder, dict) and self.adds:
            return ABSENT
        if isinstance(holder, list) and self.adds and key == str(len(holder)):
            holder.append(None)
            return ABSENT
        raise ConfigError(self.unknown(holder, key, here))

    def unknown(self, holder: Tree, key: str, here: str) -> str:
        if not isinstance(holder, dict | list | tuple | Call) and not is_record(holder):
            above = here.rpartition(".")[0]
            return f"{above!r} is {holder!r} and holds nothing, so there is no {here!r}{self.where('')}"
        right = keys_of(holder) + ([] if "." in here else self.parts)
        if type(holder) is Call:
            right += shape_of(callable_target(holder.target)).named
        elif is_record(holder):
            right = [each.name for each in dataclasses.fields(holder)]
        elif is_named_tuple(holder):
            right = list(holder._fields)
        hint = did_you_mean(key, right)
        takes_more = isinstance(holder, dict) or _is_open(holder)
        add = f"; '+{self.text}' would add it" if takes_more and not (hint or self.adds or self.deletes) else ""
        what = (
            f"{target_text(holder.target)} has no {key!r} at {here!r}"
            if type(holder) is Call
            else f"there is no {here!r}"
        )
        return f"{what}{hint}{add}{self.where('')}"

    def where(self, path: str) -> str:
        """Give the end of an error: the path, and this override."""
        return f" (at {path}, set by {self.origin})" if path else f" (in {self.origin})"


def _is_leaf(holder: Tree) -> bool:
    """Tell whether a value that holds others is a leaf of the tree, and so one with the config that is not changed."""
    return (
        is_record(holder) or is_named_tuple(holder) or (isinstance(holder, dict) and type(holder) not in (dict, Group))
    )


def _names_of_places(holder: Tree) -> list[str]:
    """Give the names of what a named tuple holds, or of what a call has by position."""
    if is_named_tuple(holder):
        return list(holder._fields)
    if type(holder) is not Call or not holder.args:
        return []
    return [each.name for each in shape_of(callable_target(holder.target)).placed[: len(holder.args)]]


def _is_open(holder: Tree) -> bool:
    return type(holder) is Call and shape_of(callable_target(holder.target)).open


def _parameter(holder: Tree, key: str) -> Parameter | None:
    if type(holder) is not Call:
        return None
    return shape_of(callable_target(holder.target)).named.get(key)

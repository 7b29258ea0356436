"""What a user holds and edits: OmegaConf containers that keep what they are given, and where it was written.

They differ from OmegaConf's own in three ways. A node is put in by reference, so that it stays one node wherever it
is used; what OmegaConf would change (a tuple, a dataclass, a dict with other keys than strings) comes out as it went
in; and a `LazyNode` refuses a parameter that its target does not have, on the line that writes it.
"""

from __future__ import annotations

import copy
import functools
from collections import defaultdict
from typing import Any

from omegaconf import DictConfig, ListConfig
from omegaconf.base import ContainerMetadata, Node
from omegaconf.errors import ReadonlyConfigError

from libbench.config.boxes import SCALARS, Leaf, Mark, leaf, owned
from libbench.config.deriving import Derived
from libbench.config.frozen import drop_below
from libbench.config.items import Items, held
from libbench.config.places import Origin, caller, told
from libbench.config.signatures import shape_of, unknown
from libbench.errors import ConfigError

TARGET, ARGS, PARTIAL = "_target_", "_args_", "_partial_"
SPECIAL = frozenset({TARGET, ARGS, PARTIAL, "_recursive_", "_convert_"})
"""Keys of a node that are not parameters of its target; the last two are Hydra's, and say what is done anyway."""


class _Kept:
    """The behaviour that `LazyDict`, `LazyList` and `LazyNode` share; it stands before OmegaConf's own classes."""

    __dict__: dict[str, Any]

    @property
    def _mark(self) -> Mark:
        found: Mark = self.__dict__["_own_mark"]
        return found

    def _set_item_impl(self, key: Any, value: Any) -> None:
        """Put a value in by reference where it is a node, and remember who did; OmegaConf calls this for every set."""
        if self._get_flag("readonly"):  # type: ignore[attr-defined]
            raise ReadonlyConfigError("cannot change a read-only config")
        self._validate_get(key)  # type: ignore[attr-defined]
        content = self.__dict__["_content"]
        if not isinstance(content, dict | list):
            content = self.__dict__["_content"] = {} if isinstance(self, DictConfig) else []
        if isinstance(content, list) and -len(content) <= key < 0:
            key += len(content)
        old = content.get(key) if isinstance(content, dict) else list.__getitem__(content, key)
        content[key] = wrap(value, key, self)
        if type(old) is LazyList or (type(old) is Leaf and type(old.__dict__["_val"]) is tuple):
            self._forget((key,))
        origin = caller()
        if origin is not None:
            self._remember((key,), origin)

    def _remember(self, keys: tuple[Any, ...], origin: Origin) -> None:
        """Note where a value was set, in the nearest node or dict; the keys lead from here to the value."""
        if isinstance(self, ListConfig):
            parent = self.__dict__["_parent"]
            if isinstance(parent, _Kept):
                parent._remember((self.__dict__["_metadata"].key, *keys), origin)
            return
        if keys[0] == ARGS:
            keys = keys[1:]
        mark = self._mark
        if mark.origins is None:
            mark.origins = {}
        mark.origins[keys[0] if len(keys) == 1 else keys] = origin

    def _forget(self, keys: tuple[Any, ...]) -> None:
        """Drop where the items of a list were set, of which each may have another place now."""
        if isinstance(self, ListConfig):
            parent = self.__dict__["_parent"]
            if isinstance(parent, _Kept):
                parent._forget((self.__dict__["_metadata"].key, *keys))
        elif self._mark.origins:
            drop_below(self._mark.origins, keys[1:] if keys[:1] == (ARGS,) else keys)

    def _resolve_with_default(self, key: Any, value: Any, *default: Any, **more: Any) -> Any:
        """Give a value to whoever reads it, a derived one computed; OmegaConf calls this for every get."""
        found = super()._resolve_with_default(key, value, *default, **more)  # type: ignore[misc]
        if type(found) is not Derived:
            return found
        from libbench.config.showing import computed_in

        return computed_in(self._get_root(), found, self._get_full_key(key))  # type: ignore[attr-defined]

    def _merge_with(self, *others: Any, **how: Any) -> None:
        super()._merge_with(*[copy.deepcopy(each) for each in others], **how)  # type: ignore[misc]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Copy; it takes one frame a level, so that deep configs do not exhaust the stack."""
        own = self.__dict__
        mark = copy.deepcopy(own["_own_mark"]) if isinstance(self, DictConfig) else None
        made = blank(type(self), own["_metadata"].key, own["_parent"], mark)
        made.__dict__["_metadata"].flags = dict(own["_metadata"].flags)
        memo[id(self)] = made
        content = own["_content"]
        if not isinstance(content, dict | list):
            made.__dict__["_content"] = content
            return made
        copies: list[Any] = []
        for each in content.values() if isinstance(content, dict) else held(content):
            if type(each) in SCALARS:
                copies.append(each)
                continue
            inner = memo.get(id(each))
            if inner is None:
                inner = memo[id(each)] = each.__deepcopy__(memo)
            object.__setattr__(inner, "_parent", made)
            copies.append(inner)
        made.__dict__["_content"] = (
            dict(zip(content, copies, strict=True)) if isinstance(content, dict) else Items(copies, made)
        )
        return made


class LazyDict(_Kept, DictConfig):
    """A dict in a config, and a whole config: module-level names by name."""

    def __copy__(self) -> Any:
        return copy.deepcopy(self)


class LazyList(_Kept, ListConfig):
    """A list in a config."""

    def _update_keys(self) -> None:
        """Number the items anew; OmegaConf calls this when they moved."""
        for index, each in enumerate(held(self.__dict__["_content"])):
            if isinstance(each, Node):
                each._set_key(index)
        self._forget(())

    def sort(self, key: Any = None, reverse: bool = False) -> None:
        """Sort in place, as `list.sort`."""
        super().sort(key, reverse)
        self._update_keys()

    def insert(self, index: int, item: Any) -> None:
        """Insert before `index`, as `list.insert`."""
        if self._get_flag("readonly"):
            raise ReadonlyConfigError("cannot change a read-only config")
        content = self.__dict__["_content"]
        content.insert(index, wrap(item, index, self))
        self._update_keys()


class LazyNode(_Kept, DictConfig):
    """A recorded call: a target and its arguments, editable like any OmegaConf dict until it is built."""

    def __setattr__(self, key: str, value: Any) -> None:
        refuse_unknown(self, key)
        super().__setattr__(key, value)

    def __setitem__(self, key: Any, value: Any) -> None:
        refuse_unknown(self, key)
        super().__setitem__(key, value)

    def __copy__(self) -> Any:
        return copy.deepcopy(self)


def refuse_unknown(node: LazyNode, key: object) -> None:
    """Raise `ConfigError` when the node's target does not have the parameter; a text target is not imported here."""
    content = node.__dict__["_content"]
    if not isinstance(content, dict) or key in content or key in SPECIAL or TARGET not in content:
        return
    target = content[TARGET].__dict__.get("_val")
    if not callable(target):
        return
    shape = shape_of(target)
    if not isinstance(key, str) or not (shape.open or key in shape.named):
        raise ConfigError(unknown(target, str(key)) + told(node._get_full_key(None), caller()))


def blank(kind: type[Any], key: Any, parent: Any, mark: Mark | None = None) -> Any:
    """Make an empty container without OmegaConf's checks of what goes in."""
    metadata = _Metadata.__new__(_Metadata)
    # Set one by one, they need no dict of their own, which the garbage collector would look at each time.
    metadata.ref_type = Any
    metadata.object_type = list if kind is LazyList else dict
    metadata.optional = True
    metadata.key = key
    metadata.flags = {"allow_objects": True}
    metadata.flags_root = False
    metadata.key_type = int if kind is LazyList else Any
    metadata.element_type = Any
    if mark is None:
        mark = _UNMARKED if kind is LazyList else Mark(None, None)
    made = object.__new__(kind)
    made.__dict__.update(_metadata=metadata, _parent=parent, _flags_cache=None, _content=None, _own_mark=mark)
    return made


class _Metadata(ContainerMetadata):
    """OmegaConf's metadata with a cache for resolvers that is made when one of them asks for it."""

    @functools.cached_property
    def resolver_cache(self) -> dict[str, Any]:  # type: ignore[override]
        return defaultdict(dict)


_UNMARKED = Mark(None, None)
"""The mark of every list, whose items the node or dict around it knows."""


def wrap(value: Any, key: Any, parent: Any) -> Node:
    """Make the OmegaConf node that holds a value, or take the value itself where it is a node of ours.

    It takes one frame a level, so that deep values do not exhaust the stack.
    """
    kind = type(value)
    if kind in SCALARS:
        return leaf(value, key, parent)
    if kind is LazyNode:
        if _holds(value, parent):
            raise ConfigError(f"a node cannot hold itself{told(value._get_full_key(None), caller())}")
        value.__dict__["_parent"] = parent
        value.__dict__["_metadata"].key = key
        value.__dict__["_flags_cache"] = None
        return value  # type: ignore[no-any-return]
    if kind is list or kind is LazyList:
        made: Any = blank(LazyList, key, parent)
        content = value.__dict__["_content"] if kind is LazyList else value
        if isinstance(content, list):
            items = []
            for index, each in enumerate(held(content)):
                items.append(each if type(each) in SCALARS else wrap(each, index, made))
            content = Items(items, made)
        made.__dict__["_content"] = content
        return made  # type: ignore[no-any-return]
    if kind is LazyDict or (kind is dict and all(type(each) is str for each in value)):
        made = blank(LazyDict, key, parent, copy.deepcopy(value._mark) if kind is LazyDict else None)
        content = value.__dict__["_content"] if kind is LazyDict else value
        if isinstance(content, dict):
            pairs = {}
            for name, each in content.items():
                pairs[name] = wrap(each, name, made)
            content = pairs
        made.__dict__["_content"] = content
        return made  # type: ignore[no-any-return]
    if kind is Leaf:
        return leaf(owned(value.__dict__["_val"]), key, parent)
    if isinstance(value, Node):
        taken = copy.deepcopy(value)
        taken._set_parent(parent)
        taken._set_key(key)
        return taken
    if kind.__module__ == "libbench.config.calls":
        raise ConfigError(f"{value!r} was not called: write L(target)(...){told('', caller())}")
    return leaf(owned(value), key, parent)


def _holds(node: Any, place: Any) -> bool:
    while place is not None:
        if place is node:
            return True
        place = place.__dict__["_parent"]
    return False

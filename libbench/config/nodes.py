"""What a user holds and edits: OmegaConf containers that keep what they are given, and where it was written.

They differ from OmegaConf's own in three ways. A node is put in by reference, so that it stays one node wherever it
is used; what OmegaConf would change (a tuple, a dataclass, a dict with other keys than strings) comes out as it went
in; and a `LazyNode` refuses a parameter that its target does not have, on the line that writes it.
"""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

from omegaconf import AnyNode, DictConfig, ListConfig
from omegaconf.base import Box, ContainerMetadata, Metadata, Node
from omegaconf.errors import ReadonlyConfigError

from libbench.config.frozen import Tag
from libbench.config.places import Origin, caller, told
from libbench.config.signatures import shape_of, unknown
from libbench.errors import ConfigError

TARGET, ARGS, PARTIAL = "_target_", "_args_", "_partial_"
SPECIAL = frozenset({TARGET, ARGS, PARTIAL, "_recursive_", "_convert_"})
"""Keys of a node that are not parameters of its target; the last two are read and ignored, as Hydra writes them."""


class Mark:
    """What a container of ours remembers beside its content."""

    __slots__ = ("origin", "origins", "tag")

    def __init__(self, tag: Tag | None, origin: Origin | None, origins: dict[Any, Origin] | None = None) -> None:
        self.tag = tag
        self.origin = origin
        self.origins = origins

    def __deepcopy__(self, memo: dict[int, Any]) -> Mark:
        return Mark(self.tag, self.origin, dict(self.origins) if self.origins else None)


class Leaf(AnyNode):
    """A value that comes out exactly as it went in; its OmegaConf metadata is made when OmegaConf asks for it."""

    @property
    def _metadata(self) -> Metadata:  # type: ignore[override]
        own = self.__dict__
        if "_own_metadata" not in own:
            own["_own_metadata"] = Metadata(ref_type=Any, object_type=None, optional=True, key=own["_own_key"])
        found: Metadata = own["_own_metadata"]
        return found

    def _key(self) -> Any:
        return self.__dict__["_own_key"]

    def _set_key(self, key: Any) -> None:
        self.__dict__["_own_key"] = key
        if "_own_metadata" in self.__dict__:
            self.__dict__["_own_metadata"].key = key

    def _is_optional(self) -> bool:
        return True

    def __deepcopy__(self, memo: dict[int, Any]) -> Leaf:
        own = self.__dict__
        return leaf(_copied(own["_val"], memo), own["_own_key"], own["_parent"])


def leaf(value: object, key: Any, parent: Box | None) -> Leaf:
    """Make the node of one value without OmegaConf's checks, which would refuse or change it."""
    made = Leaf.__new__(Leaf)
    made.__dict__.update(_own_key=key, _parent=parent, _flags_cache=None, _val=value)
    return made


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
        content[key] = wrap(value, key, self)
        mark = self._mark
        origin = caller()
        if origin is not None and isinstance(content, dict):
            if mark.origins is None:
                mark.origins = {}
            mark.origins[key] = origin

    def _merge_with(self, *others: Any, **how: Any) -> None:
        super()._merge_with(*[copy.deepcopy(each) for each in others], **how)  # type: ignore[misc]

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        own = self.__dict__
        made = blank(type(self), own["_metadata"].key, own["_parent"], copy.deepcopy(own["_own_mark"]))
        made.__dict__["_metadata"].flags = dict(own["_metadata"].flags)
        memo[id(self)] = made
        content = own["_content"]
        if isinstance(content, dict | list):
            pairs = list(content.items() if isinstance(content, dict) else enumerate(content))
            copied: Any = [None] * len(pairs) if isinstance(content, list) else {}
            for key, each in pairs:
                copied[key] = _child(each, made, memo)
            content = copied
        made.__dict__["_content"] = content
        return made


def _child(node: Any, parent: Any, memo: dict[int, Any]) -> Any:
    made = memo.get(id(node))
    if made is None:
        made = node.__deepcopy__(memo)
        memo[id(node)] = made
    made.__dict__["_parent"] = parent
    return made


class LazyDict(_Kept, DictConfig):
    """A dict in a config, and a whole config: module-level names by name."""

    def __copy__(self) -> Any:
        return copy.deepcopy(self)


class LazyList(_Kept, ListConfig):
    """A list in a config."""

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
    metadata = ContainerMetadata.__new__(ContainerMetadata)
    metadata.__dict__.update(
        ref_type=Any,
        object_type=list if kind is LazyList else dict,
        optional=True,
        key=key,
        flags={"allow_objects": True},
        flags_root=False,
        resolver_cache=defaultdict(dict),
        key_type=int if kind is LazyList else Any,
        element_type=Any,
    )
    made = object.__new__(kind)
    made.__dict__.update(
        _metadata=metadata, _parent=parent, _flags_cache=None, _content=None, _own_mark=mark or Mark(None, None)
    )
    return made


SCALARS = frozenset({int, float, str, bool, type(None), bytes, complex})


def wrap(value: Any, key: Any, parent: Any) -> Node:
    """Make the OmegaConf node that holds a value, or take the value itself where it is a node of ours."""
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
        return _wrapped_list(value, key, parent)
    if kind is LazyDict or (kind is dict and all(type(each) is str for each in value)):
        return _wrapped_dict(value, key, parent)
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


def _wrapped_list(value: Any, key: Any, parent: Any) -> LazyList:
    made: LazyList = blank(LazyList, key, parent)
    items = value.__dict__["_content"] if type(value) is LazyList else value
    if not isinstance(items, list):
        made.__dict__["_content"] = items
    else:
        made.__dict__["_content"] = [wrap(each, index, made) for index, each in enumerate(items)]
    return made


def _wrapped_dict(value: Any, key: Any, parent: Any) -> LazyDict:
    ours = type(value) is LazyDict
    mark = copy.deepcopy(value._mark) if ours else Mark(None, None)
    made: LazyDict = blank(LazyDict, key, parent, mark)
    items = value.__dict__["_content"] if ours else value
    if not isinstance(items, dict):
        made.__dict__["_content"] = items
    else:
        made.__dict__["_content"] = {name: wrap(each, name, made) for name, each in items.items()}
    return made


def owned(value: Any) -> Any:
    """Copy the tuples, lists and dicts of a value, so that no later change of the user's own reaches the config."""
    return mapped(value, owned)


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Rebuild a tuple (named or not), list, dict or `OrderedDict` from what `function` gives for its items.

    Every other object comes back as it is.
    """
    kind = type(value)
    if kind is tuple or kind is list:
        return kind([function(each) for each in value])
    if kind is dict or kind is OrderedDict:
        return kind((key, function(each)) for key, each in value.items())
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return tuple.__new__(kind, [function(each) for each in value])
    return value


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    """Copy containers and the nodes in them; every other object is taken over as it is."""
    kind = type(value)
    if kind in SCALARS:
        return value
    if isinstance(value, Node):
        return copy.deepcopy(value, memo)
    return mapped(value, lambda each: _copied(each, memo))

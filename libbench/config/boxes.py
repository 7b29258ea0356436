"""What stands around a single value of a config, and the values that are kept as they are."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

from omegaconf import AnyNode
from omegaconf.base import Box, Metadata, Node

from libbench.config.deep import Steps, unwound
from libbench.config.frozen import Tag
from libbench.config.places import Origin, caller, told
from libbench.errors import ConfigError

SCALARS = frozenset({int, float, str, bool, type(None), bytes, complex})
NUMBERS = frozenset({int, float, bool, type(None)})
"""The scalars that never stand for something else, as text may."""


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

    _own_key: Any

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
        return leaf(_copied(self._val, memo), self._own_key, self._parent)


def leaf(value: object, key: Any, parent: Box | None) -> Leaf:
    """Make the node of one value without OmegaConf's checks, which would refuse or change it."""
    made = Leaf.__new__(Leaf)
    # Set one by one, they need no dict of their own, which the garbage collector would look at each time.
    made._own_key = key
    made._parent = parent
    made._flags_cache = None
    made._val = value
    return made


def owned(value: Any) -> Any:
    """Copy the tuples, lists and dicts of a value, so that no later change of the user's own reaches the config.

    Raises:
        ConfigError: a dict has a node for a key, which could not be built.
    """
    return unwound(_rebuilt(value, None))


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    """Copy containers and the nodes in them; every other object is taken over as it is."""
    return value if type(value) in SCALARS else unwound(_rebuilt(value, memo))


def _rebuilt(value: Any, memo: dict[int, Any] | None) -> Steps:
    """Copy a tuple (named or not), list, dict or `OrderedDict`, and with a memo the nodes inside, too."""
    kind = type(value)
    if kind is dict or kind is OrderedDict:
        if any(isinstance(key, Node) for key in value):
            raise ConfigError(f"a key of a dict is handed over as it is, so it cannot be a call{told('', caller())}")
        pairs = kind()
        for key, each in value.items():
            pairs[key] = each if type(each) in SCALARS else (yield _rebuilt(each, memo))
        return pairs
    if kind is tuple or kind is list or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        items = []
        for each in value:
            items.append(each if type(each) in SCALARS else (yield _rebuilt(each, memo)))
        return items if kind is list else tuple.__new__(kind, items)
    return copy.deepcopy(value, memo) if memo is not None and isinstance(value, Node) else value

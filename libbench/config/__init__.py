"""Configs as Python files: calls are recorded, edited, compared and saved, and built only at the end.

What a user holds is a `LazyNode`, an OmegaConf dict with a target; what every algorithm here runs on is the frozen tree
that `freeze` gives. Importing this package does not import torch; a name's module is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from libbench.config.building import built_at, instantiate, instantiate_parts
    from libbench.config.calls import LazyCall, clone
    from libbench.config.checking import validate
    from libbench.config.differences import Change, difference
    from libbench.config.files import LazyConfig, load_saved
    from libbench.config.freezing import freeze, thaw
    from libbench.config.frozen import Call, walk
    from libbench.config.nodes import LazyNode
    from libbench.config.saving import from_text, to_text
    from libbench.config.showing import digest, origin, show
    from libbench.config.targets import target_text

__all__ = [
    "Call",
    "Change",
    "LazyCall",
    "LazyConfig",
    "LazyNode",
    "built_at",
    "clone",
    "difference",
    "digest",
    "freeze",
    "from_text",
    "instantiate",
    "instantiate_parts",
    "load_saved",
    "origin",
    "show",
    "target_text",
    "thaw",
    "to_text",
    "validate",
    "walk",
]

_HOMES = {
    "building": ("built_at", "instantiate", "instantiate_parts"),
    "calls": ("LazyCall", "clone"),
    "checking": ("validate",),
    "differences": ("Change", "difference"),
    "files": ("LazyConfig", "load_saved"),
    "freezing": ("freeze", "thaw"),
    "frozen": ("Call", "walk"),
    "nodes": ("LazyNode",),
    "saving": ("from_text", "to_text"),
    "showing": ("digest", "origin", "show"),
    "targets": ("target_text",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__

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
    from libbench.config.changes import Change
    from libbench.config.checking import validate
    from libbench.config.deriving import derive
    from libbench.config.differences import difference
    from libbench.config.files import LazyConfig, load_saved
    from libbench.config.freezing import freeze, thaw
    from libbench.config.frozen import Call, walk
    from libbench.config.libai import default_argument_parser, get_config, try_get_key
    from libbench.config.lines import Line, flat
    from libbench.config.nodes import LazyNode
    from libbench.config.rewriting import Rewrite, as_overrides
    from libbench.config.saving import from_text, to_text
    from libbench.config.showing import digest, origin, show
    from libbench.config.sweeping import expand
    from libbench.config.targets import named, target_text
    from libbench.config.unimported import names_in, read_unimported

__all__ = [
    "Call",
    "Change",
    "LazyCall",
    "LazyConfig",
    "LazyNode",
    "Line",
    "Rewrite",
    "as_overrides",
    "built_at",
    "clone",
    "default_argument_parser",
    "derive",
    "difference",
    "digest",
    "expand",
    "flat",
    "freeze",
    "from_text",
    "get_config",
    "instantiate",
    "instantiate_parts",
    "load_saved",
    "named",
    "names_in",
    "origin",
    "read_unimported",
    "show",
    "target_text",
    "thaw",
    "to_text",
    "try_get_key",
    "validate",
    "walk",
]

_HOMES = {
    "building": ("built_at", "instantiate", "instantiate_parts"),
    "calls": ("LazyCall", "clone"),
    "changes": ("Change",),
    "checking": ("validate",),
    "deriving": ("derive",),
    "differences": ("difference",),
    "files": ("LazyConfig", "load_saved"),
    "freezing": ("freeze", "thaw"),
    "frozen": ("Call", "walk"),
    "libai": ("default_argument_parser", "get_config", "try_get_key"),
    "lines": ("Line", "flat"),
    "nodes": ("LazyNode",),
    "rewriting": ("Rewrite", "as_overrides"),
    "saving": ("from_text", "to_text"),
    "showing": ("digest", "origin", "show"),
    "sweeping": ("expand",),
    "targets": ("named", "target_text"),
    "unimported": ("names_in", "read_unimported"),
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

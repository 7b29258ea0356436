"""Hydra's grammar of overrides."""

from __future__ import annotations

import functools
from typing import Any

from libbench.errors import ConfigError


def parsed_override(text: str) -> Any:
    """Give the `Override` that Hydra reads from a line; raises `ConfigError` where it cannot."""
    from hydra.errors import HydraException

    try:
        return _parser().parse_override(text)
    except HydraException as error:
        if "=" not in text and not text.startswith("~"):
            raise ConfigError(f"an override is KEY=VALUE, got {text!r}") from error
        raise ConfigError(f"cannot read the override {text!r}: {str(error).splitlines()[0]}") from error


@functools.lru_cache(maxsize=1)
def _parser() -> Any:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create()

"""Autocast as it was when a module was called, so that it can be called so again."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch


class Autocast(NamedTuple):
    """Whether autocast is on, for which kind of device, and to which dtype."""

    kind: str
    enabled: bool
    dtype: torch.dtype

    @classmethod
    def now(cls) -> Autocast:
        """Give what is on now."""
        kind = "cuda" if torch.is_autocast_enabled("cuda") else "cpu"
        return cls(kind, torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind))

    def entered(self) -> Any:
        """Give a context in which it is as it was."""
        return torch.autocast(self.kind, dtype=self.dtype, enabled=self.enabled)

"""What a model keeps from call to call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from libbench.tree import fingerprint


def state_of(model: Any) -> Mapping[str, str]:
    """Give the fingerprint of every parameter and buffer by name; nothing for a model that is no module.

    What a model keeps in other attributes is not seen.
    """
    if not isinstance(model, torch.nn.Module):
        return {}
    return {name: fingerprint(tensor) for name, tensor in (*model.named_parameters(), *model.named_buffers())}


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Give the names of what came, went or was changed between two states."""
    return tuple(name for name in {**before, **after} if before.get(name) != after.get(name))

"""What a model keeps from call to call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from libbench.tree import fingerprint


class Kept:
    """The parameters and buffers of a module as they are now, to be put back.

    Args:
        model: every tensor of it is copied once.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        self._tensors: list[tuple[dict[str, Any], str, torch.Tensor, torch.Tensor]] = [
            (table, name, tensor, tensor.detach().clone())
            for module in model.modules()
            for table in _tables(module)
            for name, tensor in table.items()
            if tensor is not None
        ]

    def put_back(self) -> None:
        """Give the model the very tensors that it had, with the values that they had, and no gradients."""
        with torch.no_grad():
            for table, name, tensor, values in self._tensors:
                table[name] = tensor
                tensor.copy_(values)
                tensor.grad = None


def _tables(module: torch.nn.Module) -> Sequence[dict[str, Any]]:
    return module._parameters, module._buffers


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

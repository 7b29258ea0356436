"""Outputs that are an input, or a weight, as it was before the call."""

from __future__ import annotations

from typing import Any

import torch

from libbench.tree import tensors

Place = tuple[str, int]


class Held:
    """The memory of what a call is given, before it is made.

    Args:
        inputs: of the call, in any form.
        model: its parameters and buffers are watched, too, where it is a module.
    """

    def __init__(self, inputs: Any, model: Any) -> None:
        given = [tensor for _, tensor in tensors(inputs)]
        if isinstance(model, torch.nn.Module):
            given += [*model.parameters(), *model.buffers()]
        self._given: dict[Place, list[tuple[torch.Tensor, int]]] = {}
        for tensor in given:
            place = _place(tensor)
            if place is not None:
                self._given.setdefault(place, []).append((tensor, version_of(tensor)))

    def returned(self, outputs: Any) -> tuple[str, ...]:
        """Give the paths of the outputs that are all of a tensor in that memory, where no call has written to it."""
        return tuple(path for path, tensor in tensors(outputs) if self._as_it_was(tensor))

    def _as_it_was(self, tensor: torch.Tensor) -> bool:
        place = _place(tensor)
        known = [] if place is None else self._given.get(place, [])
        # A part of an input was chosen, and might have been another one.
        whole = any(tensor.numel() == each.numel() for each, _ in known)
        return whole and all(version_of(each) == version for each, version in known)


def _place(tensor: torch.Tensor) -> Place | None:
    """Give where a tensor's memory begins; None for one that has none, or several."""
    try:
        start = tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return None
    return (str(tensor.device), start) if start else None


def version_of(tensor: torch.Tensor) -> int:
    """Give how often a tensor was written to; -1 where torch does not count, as in inference mode."""
    return -1 if tensor.is_inference() else int(tensor._version)

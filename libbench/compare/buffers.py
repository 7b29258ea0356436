"""Memory for the steps that a piece of values goes through."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]

VALUES = ("reference", "target", "difference", "absolute", "sizes", "more")
MASKS = ("possible", "certain")


_KEPT = 64


class Space:
    """Memory for the steps of pieces of one length, as arrays of one dtype and, where torch has a step, tensors.

    Everything may hold anything; `Buffers` gives the same memory to all that ask for it.

    Attributes:
        size: of a piece.
        reference, target, difference, absolute, sizes, more: of the dtype.
        possible, certain: masks.
        tensors: the first six by name.
    """

    def __init__(self, memory: dict[str, torch.Tensor], dtype: torch.dtype, size: int) -> None:
        self.size = size
        self.tensors = {name: raw.view(dtype)[:size] for name, raw in memory.items() if name in VALUES}
        self.reference, self.target, self.difference, self.absolute, self.sizes, self.more = (
            self.tensors[name].numpy() for name in VALUES
        )
        self.possible, self.certain = (memory[name].view(torch.bool)[:size].numpy() for name in MASKS)

    def widen(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """Copy values into the memory of a name."""
        return self.tensors[name].copy_(values)

    def rise(self, slope: float, into: str = "difference") -> Array:
        """Give how far `absolute` lies above a multiple of `sizes`; torch has this in one step."""
        torch.sub(self.tensors["absolute"], self.tensors["sizes"], alpha=slope, out=self.tensors[into])
        return self.difference if into == "difference" else self.sizes


class Buffers:
    """Memory for one piece, used again for every piece of every leaf, so that it stays in the cache.

    Args:
        size: the most values of a piece.
    """

    def __init__(self, size: int) -> None:
        self._memory = {name: torch.empty(8 * size, dtype=torch.uint8) for name in (*VALUES, *MASKS)}
        self._spaces: dict[tuple[torch.dtype, int], Space] = {}

    def space(self, dtype: torch.dtype, size: int) -> Space:
        """Give the memory as values of a dtype; whatever was put into it with another one is lost."""
        space = self._spaces.get((dtype, size))
        if space is None:
            if len(self._spaces) >= _KEPT:
                self._spaces.clear()
            space = self._spaces[dtype, size] = Space(self._memory, dtype, size)
        return space

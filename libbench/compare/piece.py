"""One piece of floating values: which of its elements may pass a line, found by vectorised steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]

_STEEPEST = 1e30
_TIES = 64
_NORMAL = 1e-37


class Buffers:
    """Memory for one piece, used again for every piece of every leaf."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: dict[tuple[str, torch.dtype], torch.Tensor] = {}

    def get(self, name: str, dtype: torch.dtype, size: int) -> torch.Tensor:
        """Give a flat tensor with any content, valid until the same name is asked for again."""
        held = self._held.get((name, dtype))
        if held is None:
            held = self._held[name, dtype] = torch.empty(self._size, dtype=dtype)
        return held[:size]


class Piece:
    """Finite reference, target and their absolute difference, all in one dtype.

    A line is `offset + slope * abs(reference)`. In the piece's own dtype a difference can be told to be above or
    below a line except within a margin of a few roundings; what lies there is decided in float64.

    Args:
        reference: flat, contiguous.
        target: likewise.
        difference: absolute, as rounded to the dtype.
        peak: its largest value, above 0.
        buffers: where the steps put their results.
    """

    def __init__(
        self,
        reference: torch.Tensor,
        target: torch.Tensor,
        difference: torch.Tensor,
        peak: float,
        buffers: Buffers,
    ) -> None:
        self.peak = peak
        self._sides = reference, target
        self._difference = difference
        self._size: torch.Tensor | None = None
        self._margin = 4 * torch.finfo(reference.dtype).eps
        self._buffers = buffers

    def at_peak(self) -> Array:
        """Give the first positions whose difference rounds to the largest."""
        return np.flatnonzero(self._difference.numpy() >= self.peak)[:_TIES]

    def above(self, slope: float, offset: float) -> Array:
        """Give all positions whose difference may lie above a line, and no position far below it."""
        offset *= 1 - self._margin
        if self.peak <= offset:
            return np.empty(0, dtype=np.int64)
        excess = self._excess(slope * (1 - self._margin))
        if torch.amax(excess).item() <= offset:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(excess.numpy() > offset)

    def failing(self, rtol: float, atol: float) -> Array | None:
        """Give a mask of the elements that are not close, exactly; None when all are."""
        low, high = 1 - self._margin, 1 + self._margin
        if self.peak <= atol * low:
            return None
        excess = self._excess(rtol * low)
        if atol >= _NORMAL and torch.amax(excess).item() <= atol * low:
            return None
        possible = excess.numpy() > atol * low
        certain = self._excess(rtol * high).numpy() > atol * high
        if 0 < atol < _NORMAL or (atol == 0 and rtol > 0):  # differences without a full set of digits, too
            coarse = self._difference.numpy() < _NORMAL
            possible |= coarse & (self._difference.numpy() > 0)
            certain &= ~coarse
        unsure = np.flatnonzero(possible & ~certain)
        if len(unsure):
            difference, reference = self.gather(unsure)
            certain[unsure] = ~(difference <= atol + rtol * reference)
        return certain

    def gather(self, positions: Array) -> tuple[Array, Array]:
        """Give the absolute differences and absolute references at some positions, in float64."""
        reference, target = (side.numpy()[positions].astype(np.float64) for side in self._sides)
        return np.abs(target - reference), np.abs(reference)

    def _excess(self, slope: float) -> torch.Tensor:
        if self._size is None:
            self._size = self._buffers.get("size", self._difference.dtype, self._difference.numel())
            torch.abs(self._sides[0], out=self._size)
        out = self._buffers.get("excess", self._difference.dtype, self._difference.numel())
        return torch.sub(self._difference, self._size, alpha=min(slope, _STEEPEST), out=out)

"""One piece of floating values: which of its elements may pass a line, found by vectorised steps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]
Line = tuple[float, float]
"""`(slope, offset)`: what `offset + slope * abs(reference)` allows, as rtol and atol do."""

SLICE = 8192
"""So many values are taken at once where steps need memory of their own, which is then quick to get."""

NORMAL = 1e-37
"""Below it float32 may not have all its digits."""
_STEEPEST = 1e30
_MARGINS = {dtype: 4 * torch.finfo(dtype).eps for dtype in (torch.float32, torch.float64)}
_NARROW = 1e-3


class Buffers:
    """Memory for one piece, used again for every piece of every leaf."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._held: dict[tuple[str, torch.dtype], tuple[torch.Tensor, Array]] = {}

    def get(self, name: str, dtype: torch.dtype, size: int) -> torch.Tensor:
        """Give a flat tensor with any content, valid until the same name is asked for again."""
        held = self._held.get((name, dtype)) or self._make(name, dtype)
        return held[0][:size] if size < self._size else held[0]

    def array(self, name: str, dtype: torch.dtype, size: int) -> Array:
        """Give the same memory as an array."""
        held = self._held.get((name, dtype)) or self._make(name, dtype)
        return held[1][:size]

    def _make(self, name: str, dtype: torch.dtype) -> tuple[torch.Tensor, Array]:
        tensor = torch.empty(self._size, dtype=dtype)
        return self._held.setdefault((name, dtype), (tensor, tensor.numpy()))


class Piece:
    """Finite reference and target, and their difference, all in one dtype.

    In the piece's own dtype a difference can be told to be above or below a line except within a margin of a few
    roundings; what lies there is decided in float64.

    Args:
        reference: flat, contiguous.
        target: likewise.
        difference: target minus reference as rounded to the dtype; loses its sign.
        peak: its largest absolute value, above 0.
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
        self._size, self._out = (buffers.get(name, reference.dtype, reference.numel()) for name in ("size", "excess"))
        self._settled = False
        self._margin = _MARGINS[reference.dtype]
        self._buffers = buffers
        self._passed: list[Line] = []

    def passes(self, line: Line) -> bool:
        """Tell whether all elements pass a line, as far as that follows from what is known; False knows nothing."""
        slope, offset = line
        peak = self.peak * (1 + self._margin)
        if peak <= offset:
            return True
        if peak == math.inf:
            return False
        for other, start in self._passed:
            # At most the peak and at most the other line: the line has to lie above where these two cross.
            if start <= offset and (other <= slope or offset + slope * ((peak - start) / other) >= peak):
                return True
        return False

    def remember(self, line: Line) -> None:
        """Take it as known that all elements pass a line."""
        self._passed.append(line)

    def highest(self) -> Array:
        """Give the positions whose difference rounds to the largest."""
        return np.flatnonzero(np.equal(self._absolute().numpy(), self.peak, out=self._mask("possible")))

    def farthest(self, line: Line) -> int | None:
        """Give the position that lies most above a line, near it perhaps below; None when all surely pass."""
        low = 1 - self._margin
        excess = self._excess(line[0] * low)
        if torch.amax(excess).item() <= line[1] * low:
            return None
        return int(excess.numpy().argmax())

    def above(self, line: Line) -> Array:
        """Give all positions whose difference may lie above a line, and no position far below it."""
        low = 1 - self._margin
        return np.flatnonzero(self._over("possible", self._excess(line[0] * low), line[1] * low))

    def failing(self, rtol: float, atol: float) -> Array | None:
        """Give a mask, valid until the next call, of the elements that are not close, exactly; None when all are."""
        if self.passes((rtol, atol)):
            return None
        low, high = 1 - self._margin, 1 + self._margin
        absolute, size = self._absolute(), self._size
        spread = self._margin * (atol + 2 * rtol * torch.amax(size).item())
        if spread <= _NARROW * atol:  # no rounding moves a difference near the line further than this
            excess = self._excess(rtol)
            possible = self._over("possible", excess, atol - spread)
            certain = self._over("certain", excess, atol + spread)
        else:
            possible = self._over("possible", self._excess(rtol * low), atol * low)
            certain = self._over("certain", self._excess(rtol * high), atol * high)
        if atol < NORMAL and max(rtol, atol) > 0:  # differences without a full set of digits, too
            coarse = absolute.numpy() < NORMAL
            possible |= coarse & (absolute.numpy() > 0)
            certain &= ~coarse
        count = np.count_nonzero(certain)
        if np.count_nonzero(possible) > count:
            unsure = np.flatnonzero(possible & ~certain)
            difference, reference = self.gather(unsure)
            certain[unsure] = ~(difference <= atol + rtol * reference)
        return certain

    def gather(self, positions: Array) -> tuple[Array, Array]:
        """Give the absolute differences and absolute references at some positions, in float64."""
        reference, target = (side.numpy()[positions].astype(np.float64) for side in self._sides)
        np.subtract(target, reference, out=target)
        return np.abs(target, out=target), np.abs(reference, out=reference)

    def _absolute(self) -> torch.Tensor:
        if not self._settled:
            self._settled = True
            self._difference.abs_()
            torch.abs(self._sides[0], out=self._size)
        return self._difference

    def _excess(self, slope: float) -> torch.Tensor:
        difference = self._absolute()
        return torch.sub(difference, self._size, alpha=min(slope, _STEEPEST), out=self._out)

    def _over(self, name: str, values: torch.Tensor, bar: float) -> Array:
        """Give a mask; numpy compares several times as fast as torch does."""
        mask: Array = np.greater(values.numpy(), bar, out=self._mask(name))
        return mask

    def _mask(self, name: str) -> Array:
        return self._buffers.array(name, torch.bool, self._difference.numel())

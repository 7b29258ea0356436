"""One piece of floating values: which of its elements may pass a line, found by vectorised steps.

NumPy takes a third of the time that torch takes for a reduction or a comparison of 100,000 floats, and a tenth of it
for a mask; torch alone subtracts a multiple in one step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from libbench.compare.buffers import Array, Space

Line = tuple[float, float]
"""`(slope, offset)`: what `offset + slope * abs(reference)` allows, as rtol and atol do."""

SLICE = 8192
"""So many values are taken at once where steps need memory of their own, which is then quick to get."""

EXACT = 0.5
"""The difference of two floats is exact where it is below this share of one of them (Sterbenz)."""

_NORMAL = 1e-37  # below it float32 may not have all its digits
_STEEPEST = 1e30
_EPS = {dtype: float(np.finfo(dtype).eps) for dtype in (np.float32, np.float64)}
_FLAT = 1e-30
_NONE = np.empty(0, np.intp)
_NARROW = 1e-3
_MANY = 1 / 16  # of a piece; from here all are quicker to take than those picked out


class Piece:
    """Finite reference and target, and their difference, all in one dtype.

    In the piece's own dtype a difference can be told to be above or below a line except within a margin of a few
    roundings; what lies there is decided in float64.

    Args:
        reference: flat, float32 or float64.
        target: likewise.
        peak: the largest absolute difference, as rounded to the dtype, above 0.
        space: its `absolute` holds the absolute differences; the steps write over the rest.
    """

    def __init__(self, reference: Array, target: Array, peak: float, space: Space) -> None:
        self.peak = peak
        self._sides = reference, target
        self._absolute = space.absolute
        self._eps = _EPS[reference.dtype.type]
        self._margin = 4 * self._eps
        self._space = space
        self._sized = False
        self._slope = math.nan  # of the line whose excesses are held
        self._passed: list[Line] = [(0.0, peak * (1 + self._margin))]

    def passes(self, line: Line) -> bool:
        """Tell whether all elements pass a line, as far as that follows from what is known; False knows nothing."""
        slope, offset = line
        flatter, steeper = self._passed[0], None
        for known in self._passed:
            if known[0] > slope:
                steeper = known if steeper is None else min(known, steeper)
            elif known[0] > flatter[0]:
                flatter = known
        if flatter[1] <= offset:
            return True
        if steeper is None or flatter[1] == math.inf:
            return False
        # What passes two lines passes every line through the point where they cross, for it is a mean of both.
        share = (slope - flatter[0]) / (steeper[0] - flatter[0])
        return flatter[1] + share * (steeper[1] - flatter[1]) + self._margin * self.peak <= offset

    def remember(self, line: Line) -> None:
        """Take it as known that all elements pass a line."""
        self._passed.append(line)

    def highest(self) -> Array:
        """Give the positions whose difference rounds to the largest."""
        return np.flatnonzero(np.equal(self._absolute, self.peak, out=self._space.possible))

    def steepest(self, least: float) -> Array:
        """Give all positions that may have the largest relative difference, if it is above another number.

        Args:
            least: the other number; none may be above it, and positions are given all the same.
        """
        self._slope = math.nan
        ratios = np.divide(self._absolute, self._sizes(), out=self._space.difference)
        top = np.fmax.reduce(ratios)  # which leaves out 0/0
        bar = max(top, ratios.dtype.type(least))
        if bar < _FLAT:  # quotients may not have all their digits
            bar = ratios.dtype.type(0)
        elif not top < EXACT:  # differences are rounded, too
            bar *= ratios.dtype.type(1 - 3 * self._eps)
        # Rounding keeps the order: what is not rounded to the largest quotient of exact differences is below it.
        return np.flatnonzero(np.greater_equal(ratios, bar, out=self._space.possible)) if top >= bar else _NONE

    def farthest(self, line: Line) -> int | None:
        """Give the position that lies most above a line, near it perhaps below; None when all surely pass."""
        low = 1 - self._margin
        slope = line[0] * low
        excess = self._excess(slope)
        worst = int(excess.argmax())
        most = float(excess[worst])
        self.remember((min(slope, _STEEPEST), max(most, 0.0) + 2 * self._margin * self.peak))
        return None if most <= line[1] * low else worst

    def above(self, line: Line) -> Array:
        """Give all positions whose difference may lie above a line, and no position far below it."""
        low = 1 - self._margin
        return np.flatnonzero(np.greater(self._excess(line[0] * low), line[1] * low, out=self._space.possible))

    def apart(self, least: float) -> Array:
        """Give all positions whose difference may be above a number and is at least half of the reference."""
        mask = np.greater(self._absolute, least * (1 - self._margin), out=self._space.possible)
        if np.count_nonzero(mask) > _MANY * len(mask):
            # The half is exact, and rounding a difference changes no sign.
            far = np.greater_equal(self._excess(0.5), 0.0, out=self._space.certain)
            np.logical_and(mask, far, out=mask)
        return np.flatnonzero(mask)

    def failing(self, rtol: float, atol: float) -> tuple[Array, int] | None:
        """Give a mask of the elements that are not close, exactly, and their number; None when all are.

        The last step that a piece is put to.
        """
        if self.passes((rtol, atol)):
            return None
        possible, certain = self._along(rtol, atol)
        counts = int(np.count_nonzero(possible)), int(np.count_nonzero(certain))
        if counts[0] == counts[1]:
            return certain, counts[1]
        unsure = np.flatnonzero(np.greater(possible, certain, out=possible))
        difference, reference = self._wide(unsure)
        wrong = ~(difference <= atol + rtol * reference)
        certain[unsure] = wrong
        return certain, counts[1] + int(np.count_nonzero(wrong))

    def exactly(self, positions: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Give absolute differences and absolute references, in float64, and where they stand, slice by slice.

        Where there are many positions the others come, too.
        """
        count = len(self._absolute)
        if len(positions) > _MANY * count:
            for at in range(0, count, SLICE):
                yield *self._wide(slice(at, at + SLICE)), np.arange(at, min(count, at + SLICE))
            return
        for at in range(0, len(positions), SLICE):
            some = positions[at : at + SLICE]
            yield *self._wide(some), some

    def _along(self, rtol: float, atol: float) -> tuple[Array, Array]:
        """Give masks of what may fail and what surely fails."""
        masks = self._space.possible, self._space.certain
        low, high = 1 - self._margin, 1 + self._margin
        spread = self._margin * (atol + 2 * rtol * float(np.maximum.reduce(self._sizes())))
        if spread <= _NARROW * atol:  # no rounding moves a difference near the line further than this
            excess = self._space.rise(min(rtol, _STEEPEST), into="sizes")  # which stay in the cache, and are done with
            np.greater(excess, atol - spread, out=masks[0])
            np.greater(excess, atol + spread, out=masks[1])
        else:
            np.greater(self._excess(rtol * low), atol * low, out=masks[0])
            np.greater(self._excess(rtol * high), atol * high, out=masks[1])
        if atol < _NORMAL and max(rtol, atol) > 0:  # differences without a full set of digits, too
            coarse = self._absolute < _NORMAL
            np.logical_or(masks[0], coarse & (self._absolute > 0), out=masks[0])
            np.greater(masks[1], coarse, out=masks[1])
        return masks

    def _wide(self, positions: Array | slice) -> tuple[Array, Array]:
        """Give the absolute differences and absolute references at some positions, in float64."""
        reference, target = (side[positions].astype(np.float64) for side in self._sides)
        np.subtract(target, reference, out=target)
        return np.abs(target, out=target), np.abs(reference, out=reference)

    def _sizes(self) -> Array:
        if not self._sized:
            self._sized = True
            np.abs(self._sides[0], out=self._space.sizes)
        return self._space.sizes

    def _excess(self, slope: float) -> Array:
        """Give how far each difference lies above a line without an offset."""
        slope = min(slope, _STEEPEST)
        if slope == self._slope:
            return self._space.difference
        self._slope = slope
        self._sizes()
        return self._space.rise(slope)

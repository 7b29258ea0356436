"""Integers, booleans and raw bytes of one leaf: exact, whatever their size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from libbench.compare.chunks import Place
from libbench.compare.spread import Spread
from libbench.findings import Extreme

Array = np.ndarray[Any, Any]

_FEW = 1 / 16  # of a piece; so many are quicker to pick out than to take with all others


class ExactStatistics:
    """What is counted and kept about the values at one path.

    Args:
        numbers: False for raw bytes, between which no difference has a meaning.
    """

    def __init__(self, *, numbers: bool = True) -> None:
        self.elements = 0
        self.mismatches = 0
        self.first_mismatch: tuple[int, ...] | None = None
        self.max_abs: Extreme | None = None
        self.max_rel: Extreme | None = None
        self.spread = Spread()
        self._numbers = numbers
        self._error = self._apart = 0.0

    def add(self, reference: torch.Tensor, target: torch.Tensor, start: int, place: Place) -> None:
        """Take one flat, contiguous piece of both sides, which begins at a flat index of its batch."""
        r, t = (side.view(np.uint8) if side.dtype == bool else side for side in (reference.numpy(), target.numpy()))
        self.elements += len(r)
        if self.spread.open:
            self.spread.take(r)
        if self._numbers and self.max_abs is None and len(r):
            self._extremes(r[:1], t[:1], None, start, place)
        wrong = r != t
        count = int(np.count_nonzero(wrong))
        if not count:
            return
        self.mismatches += count
        if self.first_mismatch is None:
            self.first_mismatch = place.at(start + int(wrong.argmax()))
        if self._numbers and count <= _FEW * len(r):
            positions = np.flatnonzero(wrong)
            self._sum(self._extremes(r[positions], t[positions], positions, start, place))
        elif self._numbers:
            self._sum(self._extremes(r, t, None, start, place))

    @property
    def rmse(self) -> float | None:
        return math.sqrt(self._error / self.elements) if self._numbers and self.elements else None

    @property
    def mean_abs(self) -> float | None:
        return self._apart / self.elements if self._numbers and self.elements else None

    def _sum(self, found: tuple[float, float]) -> None:
        self._error += found[0]
        self._apart += found[1]

    def _extremes(self, r: Array, t: Array, positions: Array | None, start: int, place: Place) -> tuple[float, float]:
        """Take pairs, those at some positions after the start or all that follow it.

        Returns:
            The sum of the squares of their differences, and that of these themselves.
        """
        difference = distance(r, t)
        rough = difference.astype(np.float64)
        values = torch.from_numpy(rough)
        # NumPy's may start threads, which take longer than the sum.
        sums = float(torch.dot(values, values)), float(rough.sum())

        def extreme(value: float, worst: int) -> Extreme:
            at = place.at(start + (worst if positions is None else int(positions[worst])))
            return Extreme(value=value, at=at, reference=int(r[worst]), target=int(t[worst]))

        worst = int(difference.argmax())
        if self.max_abs is None or difference[worst] > self.max_abs.value:
            self.max_abs = extreme(int(difference[worst]), worst)
        size = r.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.divide(rough, np.abs(size, out=size), out=rough)
        steepest = float(np.fmax.reduce(relative))  # which leaves out 0/0
        if self.max_rel is None or steepest > self.max_rel.value:
            alike = math.isnan(steepest)
            self.max_rel = extreme(0.0 if alike else steepest, 0 if alike else int((relative == steepest).argmax()))
        return sums


def distance(reference: Array, target: Array) -> Array:
    """Give absolute differences of integers: unsigned of their width, or Python's where that might not hold them."""
    if reference.dtype != target.dtype:
        wide = np.promote_types(reference.dtype, target.dtype)
        if wide.kind == "f":  # uint64 beside a signed dtype
            return _distance_of_kinds(reference, target)
        reference, target = reference.astype(wide), target.astype(wide)
    apart = np.maximum(reference, target)
    # Wraps around where a signed number cannot hold the difference, and is right again as an unsigned one.
    np.subtract(apart, np.minimum(reference, target), out=apart)
    found: Array = apart.view(np.dtype(f"u{apart.itemsize}"))
    return found


def _distance_of_kinds(reference: Array, target: Array) -> Array:
    signed, unsigned = (reference, target) if target.dtype.kind == "u" else (target, reference)
    least, most = int(signed.min()), int(unsigned.max())
    if most - min(least, 0) >= 1 << 64:
        exact: Array = np.abs(reference.astype(object) - target.astype(object))
        return exact
    bits = signed.astype(np.int64).view(np.uint64)
    apart = distance(bits, unsigned)
    below = signed < 0
    apart[below] = unsigned[below] - bits[below]  # wraps around twice
    return apart

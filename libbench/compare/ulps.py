"""Distance in units of the last place: how many values of the dtype lie between two of them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import torch

from libbench.compare.piece import SLICE, Buffers

Array = np.ndarray[Any, Any]

_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_LEAST = {2: -(1 << 15), 4: -(1 << 31), 8: -(1 << 63)}
_UNSIGNED = {2: np.uint16, 4: np.uint32, 8: np.uint64}
_SAFE = 3.9  # of different sign and no further apart, two numbers have ranks whose sum is below half of the integers
_SAMPLED = 512
_EVERY = 4
_KEPT = 1 << 15


class Ulps:
    """The largest distance of all pairs, and a sample of the distances.

    Args:
        dtype: float16, bfloat16, float32 or float64.
        buffers: memory for the steps.

    Attributes:
        largest: 0 before the first pair.
    """

    def __init__(self, dtype: torch.dtype, buffers: Buffers) -> None:
        self.largest = 0
        self._dtype = dtype
        self._integer = _INTEGERS[dtype.itemsize]
        self._sure = _sure(dtype)
        self._buffers = buffers
        self._pieces = 0
        self._stride = 1
        self._samples: list[Array] = []
        self._count = 0

    def add(
        self,
        reference: torch.Tensor,
        target: torch.Tensor,
        finite: Array | None = None,
        *,
        peak: float = math.inf,
        most: float = math.inf,
    ) -> None:
        """Take flat, contiguous pairs of finite values, at most one piece and at least one pair.

        Args:
            reference: values of the dtype.
            target: likewise.
            finite: which of them count; the others are zero on both sides. None counts all.
            peak: what no absolute difference exceeds; 0 for equal sides.
            most: what no absolute value exceeds.
        """
        ints = reference.view(self._integer), target.view(self._integer)
        if peak > 0 and not (peak < _SAFE and self._settled(*ints, most)):
            self._measure(*ints)
        if self._pieces % _EVERY == 0:
            # An odd step goes through all columns of a matrix.
            step = max(1, reference.numel() // _SAMPLED) | 1
            bits = [side.numpy()[::step] for side in ints]
            if finite is not None:
                bits = [side[finite[::step]] for side in bits]
            self._sample(distance(*bits))
        self._pieces += 1

    @property
    def within_two(self) -> bool:
        """Whether every pair so far is surely within a factor of two, or too small to have all digits."""
        return self.largest <= self._sure  # as many numbers as there are between two powers of two

    def quantiles(self, *shares: float) -> tuple[float | None, ...]:
        """Give the distances that these shares of the sampled pairs do not exceed; None without pairs."""
        if not self._samples:
            return (None,) * len(shares)
        ordered = np.sort(np.concatenate(self._samples))
        return tuple(float(ordered[int(share * (len(ordered) - 1))]) for share in shares)

    def _settled(self, reference: torch.Tensor, target: torch.Tensor, most: float) -> bool:
        """Tell whether no distance is above the largest so far, cheaply, where numbers of different sign had that one.

        Where the largest is at least the rank of any value, only numbers of different sign can lie further apart, by
        the sum of their ranks. The sum of their bits is half of the integers more; that of others is less.
        """
        half = 1 << (8 * self._dtype.itemsize - 1)
        if (
            self.largest <= self._sure
            or torch.tensor(most, dtype=self._dtype).view(self._integer).item() >= self.largest
        ):
            return False
        total = torch.add(target, reference, out=self._buffers.get("ulps", self._integer, reference.numel())).numpy()
        return int(total.view(_UNSIGNED[total.itemsize]).max()) <= self.largest + half

    def _measure(self, reference: torch.Tensor, target: torch.Tensor) -> None:
        apart = torch.sub(target, reference, out=self._buffers.get("ulps", self._integer, reference.numel()))
        if self.largest <= self._sure:
            low, high = torch.aminmax(apart)
            farthest = max(-low.item(), high.item())
            if farthest <= self._sure:
                self.largest = max(self.largest, int(farthest))
                return
        values = apart.numpy()
        # Between minus and plus the sure distance: one comparison of unsigned numbers.
        shifted = np.add(values, self._sure, out=values).view(_UNSIGNED[values.itemsize])
        mask = self._buffers.array("possible", torch.bool, len(values))
        unsure = np.flatnonzero(np.greater(shifted, 2 * self._sure, out=mask))
        for at in range(0, len(unsure), SLICE):
            some = unsure[at : at + SLICE]
            self.largest = max(self.largest, int(distance(reference.numpy()[some], target.numpy()[some]).max()))
        if self.largest <= self._sure:
            values[unsure] = self._sure
            values -= self._sure
            self.largest = max(self.largest, int(values.max()), -int(values.min()))

    def _sample(self, distances: Array) -> None:
        taken = distances[:: self._stride]
        self._samples.append(taken)
        self._count += len(taken)
        if self._count > _KEPT:
            self._samples = [np.concatenate(self._samples)[::2]]
            self._count = len(self._samples[0])
            self._stride *= 2


@cache
def _sure(dtype: torch.dtype) -> int:
    """Give the distance below which a difference of bits is the distance of the numbers.

    Two's complement puts numbers of different sign at least this far apart, and those of one sign at their true
    distance, so that a short distance needs no more than a subtraction.
    """
    infinity = torch.tensor(float("inf"), dtype=dtype).view(_INTEGERS[dtype.itemsize]).item()
    return (1 << (8 * dtype.itemsize - 1)) - int(infinity)


def distance(reference: Array, target: Array) -> Array:
    """Give the distances, as unsigned integers, of two arrays that hold the bits of floats as signed integers."""
    left, right = _ordered(reference), _ordered(target)
    # Wraps around where the difference is too large for a sign, and is then right again as an unsigned number.
    apart = np.maximum(left, right)
    apart -= np.minimum(left, right)
    found: Array = apart.view(_UNSIGNED[apart.itemsize])
    return found


def _ordered(bits: Array) -> Array:
    """Give numbers in the order of the floats, as integers of the same width; both zeros are 0."""
    ordered: Array = np.where(bits < 0, _LEAST[bits.itemsize] - bits, bits)
    return ordered

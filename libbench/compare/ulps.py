"""Distance in units of the last place: how many values of the dtype lie between two of them."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch

from libbench.compare.buffers import Array, Buffers, Space

_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_LEAST = {2: -(1 << 15), 4: -(1 << 31), 8: -(1 << 63)}
_UNSIGNED = {2: np.uint16, 4: np.uint32, 8: np.uint64}
_SAMPLED = 512
_EVERY = 4
_FEW = 1 / 32  # of a piece
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
        reference: Array,
        target: Array,
        finite: Array | None = None,
        *,
        equal: bool = False,
        most: float = math.inf,
    ) -> None:
        """Take flat pairs of finite values, at most one piece and at least one pair.

        Args:
            reference: what `bits_of` gives of values of the dtype.
            target: likewise.
            finite: which of them count; the others are zero on both sides. None counts all.
            equal: whether all pairs are known to be equal.
            most: what no absolute value exceeds.
        """
        if not equal:
            self._measure(reference, target, most)
        if self._pieces % _EVERY == 0:
            # An odd step goes through all columns of a matrix.
            step = max(1, len(reference) // _SAMPLED) | 1
            bits = [side[::step] for side in (reference, target)]
            if finite is not None:
                bits = [side[finite[::step]] for side in bits]
            self._sample(distance(*bits))
        self._pieces += 1

    def quantiles(self, *shares: float) -> tuple[float | None, ...]:
        """Give the distances that these shares of the sampled pairs do not exceed; None without pairs."""
        if not self._samples:
            return (None,) * len(shares)
        ordered = np.sort(np.concatenate(self._samples))
        return tuple(float(ordered[int(share * (len(ordered) - 1))]) for share in shares)

    def _measure(self, reference: Array, target: Array, most: float) -> None:
        space = self._buffers.space(self._integer, len(reference))
        apart = np.subtract(target, reference, out=space.sizes)
        if self.largest <= self._sure:
            farthest = max(int(np.maximum.reduce(apart)), -int(np.minimum.reduce(apart)))
            if farthest <= self._sure:
                self.largest = max(self.largest, farthest)
                return
        reach = self._reach(most)
        # Between minus and plus the reach: one comparison of unsigned numbers.
        shifted = np.add(apart, reach, out=apart).view(_UNSIGNED[apart.itemsize])
        far = np.greater(shifted, 2 * reach, out=space.possible)
        if np.count_nonzero(far) > _FEW * len(far):
            self._measure_far(reference, target, space)
            return
        some = np.flatnonzero(far)
        if len(some):
            self.largest = max(self.largest, int(distance(reference[some], target[some]).max()))
        if self.largest <= reach == self._sure:
            shifted[some] = reach
            self.largest = max(self.largest, int(shifted.max()) - reach, reach - int(shifted.min()))

    def _reach(self, most: float) -> int:
        """Give the largest difference of bits that surely stands for no distance above the largest so far.

        It is the distance where the signs are the same. Where they are not, it falls short of half of the integers by
        the difference of the two ranks, and the distance falls short of twice the larger rank by as much.
        """
        half = 1 << (8 * self._dtype.itemsize - 1)
        rank = _rank(self._dtype, math.frexp(most)[1]) if most < math.inf else half
        return max(self._sure, min(self.largest, half - 2 * rank + self.largest, half - 1))

    def _measure_far(self, reference: Array, target: Array, space: Space) -> None:
        """Take pairs of which many are further apart than a difference of bits tells.

        The distance is the sum of both ranks where the signs are not the same, else their difference.
        """
        ranks = self._ranks(reference, space.sizes), self._ranks(target, space.absolute)
        total = np.add(ranks[0], ranks[1], out=space.more.view(ranks[0].dtype))
        if int(np.maximum.reduce(total)) <= self.largest:
            return
        unlike = np.bitwise_xor(reference, target, out=space.difference)
        np.right_shift(unlike, 8 * unlike.itemsize - 1, out=unlike)  # all bits of it where the signs are not alike
        np.bitwise_and(total, unlike.view(total.dtype), out=total)
        self.largest = max(self.largest, int(np.maximum.reduce(total)))
        if max(int(np.maximum.reduce(side)) for side in ranks) > self.largest:
            apart = np.subtract(space.absolute, space.sizes, out=unlike)
            self.largest = max(self.largest, int(np.maximum.reduce(apart)), -int(np.minimum.reduce(apart)))

    def _ranks(self, bits: Array, out: Array) -> Array:
        """Give how many numbers lie between zero and each of these, two of which can be added."""
        found: Array = np.bitwise_and(bits, ~_LEAST[bits.itemsize], out=out).view(_UNSIGNED[bits.itemsize])
        return found

    def _sample(self, distances: Array) -> None:
        taken = distances[:: self._stride]
        self._samples.append(taken)
        self._count += len(taken)
        if self._count > _KEPT:
            self._samples = [np.concatenate(self._samples)[::2]]
            self._count = len(self._samples[0])
            self._stride *= 2


def bits_of(values: torch.Tensor) -> Array:
    """Give the bits of floats as signed integers of the same width."""
    return values.view(_INTEGERS[values.dtype.itemsize]).numpy()


@cache
def _sure(dtype: torch.dtype) -> int:
    """Give the distance below which a difference of bits is the distance of the numbers.

    Two's complement puts numbers of different sign at least this far apart, and those of one sign at their true
    distance, so that a short distance needs no more than a subtraction.
    """
    infinity = torch.tensor(float("inf"), dtype=dtype).view(_INTEGERS[dtype.itemsize]).item()
    return (1 << (8 * dtype.itemsize - 1)) - int(infinity)


@cache
def _rank(dtype: torch.dtype, exponent: int) -> int:
    """Give how many numbers lie between zero and a power of two, which is infinite where the dtype ends before it."""
    size = math.ldexp(1.0, exponent) if exponent < 1024 else math.inf
    return int(torch.tensor(size, dtype=dtype).view(_INTEGERS[dtype.itemsize]))


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

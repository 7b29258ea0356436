"""Distance in units of the last place: how many values of the dtype lie between two of them."""

from __future__ import annotations

from functools import cache, lru_cache

import numpy as np
import torch

from libbench.compare.buffers import Array, Buffers, Space
from libbench.compare.piece import Piece

_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_LEAST = {2: -(1 << 15), 4: -(1 << 31), 8: -(1 << 63)}
_UNSIGNED = {2: np.uint16, 4: np.uint32, 8: np.uint64}
_SAMPLED = 512
_SMALL_PRIMES = (3, 5, 7)
_EVERY = 8
_FEW = 1 / 32  # of a piece
_NONE = np.empty(0, np.intp)
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
        far: Array | None = None,
    ) -> None:
        """Take flat pairs of finite values, at most one piece and at least one pair.

        Args:
            reference: what `bits_of` gives of values of the dtype.
            target: likewise.
            finite: which of them count; the others are zero on both sides. None counts all.
            far: positions without which no distance is above the largest so far; None where these are not known.
        """
        if far is None:
            self._measure(reference, target)
        elif len(far) > _FEW * len(reference):
            self._measure_far(reference, target, self._buffers.space(self._integer, len(reference)))
        elif len(far):
            self.largest = max(self.largest, int(distance(reference[far], target[far]).max()))
        if self._pieces % _EVERY == 0:
            step = _step(len(reference) // _SAMPLED)
            if finite is None:
                self._sample(distance(reference[::step], target[::step]))
            else:
                some = np.flatnonzero(finite)[::step]
                self._sample(distance(reference[some], target[some]))
        self._pieces += 1

    def quantiles(self, *shares: float) -> tuple[float | None, ...]:
        """Give the distances that these shares of the sampled pairs do not exceed; None without pairs."""
        if not self._samples:
            return (None,) * len(shares)
        ordered = np.sort(np.concatenate(self._samples))
        return tuple(float(ordered[int(share * (len(ordered) - 1))]) for share in shares)

    def counts(self) -> tuple[int, ...]:
        """Give how many of the sampled pairs are 0 apart, 1, 2 to 3, 4 to 7 and so on, up to the last of any."""
        if not self._samples:
            return ()
        classes = _classes(np.concatenate(self._samples))
        return tuple(np.bincount(classes).tolist())

    def candidates(self, piece: Piece) -> Array | None:
        """Give the positions of all pairs of the dtype that may lie further apart than the largest distance so far.

        None where this does not follow from their differences.
        """
        if self.largest <= self._sure:
            return None
        # Of all pairs with one difference those on either side of zero, as far from it, are furthest apart; and those
        # within a factor of two no further than the sure distance.
        half = _number(self._dtype, self.largest // 2)
        return piece.apart(2 * half) if piece.peak > 2 * half * (1 - 1e-6) else _NONE

    def _measure(self, reference: Array, target: Array) -> None:
        space = self._buffers.space(self._integer, len(reference))
        apart = np.subtract(target, reference, out=space.difference)
        low, high = int(np.minimum.reduce(apart)), int(np.maximum.reduce(apart))
        if max(high, -low) <= self._sure:
            self.largest = max(self.largest, high, -low)
        else:
            self._measure_far(reference, target, space)

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


@lru_cache(maxsize=8)
def _step(least: int) -> int:
    """Give a step that goes through all columns of a matrix of most widths, at least so long."""
    step = max(1, least) | 1
    while step > _SMALL_PRIMES[-1] and not all(step % prime for prime in _SMALL_PRIMES):
        step += 2
    return step


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


@lru_cache(maxsize=8)
def _number(dtype: torch.dtype, rank: int) -> float:
    """Give the positive number of which so many are between it and zero."""
    return float(torch.tensor(rank, dtype=_INTEGERS[dtype.itemsize]).view(dtype))


def distance(reference: Array, target: Array) -> Array:
    """Give the distances, as unsigned integers, of two arrays that hold the bits of floats as signed integers."""
    left, right = _ordered(reference), _ordered(target)
    # Wraps around where the difference is too large for a sign, and is then right again as an unsigned number.
    apart = np.maximum(left, right)
    apart -= np.minimum(left, right)
    found: Array = apart.view(_UNSIGNED[apart.itemsize])
    return found


def _classes(distances: Array) -> Array:
    """Give how many binary digits each distance has, 0 for none."""
    bounds = np.array([1 << digits for digits in range(64)], dtype=np.uint64)
    return np.searchsorted(bounds, distances, side="right")


def _ordered(bits: Array) -> Array:
    """Give numbers in the order of the floats, as integers of the same width; both zeros are 0."""
    ordered: Array = np.where(bits < 0, _LEAST[bits.itemsize] - bits, bits)
    return ordered

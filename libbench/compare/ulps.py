"""Distance in units of the last place: how many values of the dtype lie between two of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import torch

from libbench.compare.piece import Buffers

Array = np.ndarray[Any, Any]

_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
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
        self._integer = _INTEGERS[dtype.itemsize]
        self._sure = _sure(dtype)
        self._buffers = buffers
        self._pieces = 0
        self._stride = 1
        self._samples: list[Array] = []
        self._count = 0

    def add(self, reference: torch.Tensor, target: torch.Tensor) -> None:
        """Take flat, contiguous pairs of finite values, at most one piece and at least one pair."""
        ints = reference.view(self._integer), target.view(self._integer)
        size = reference.numel()
        apart = torch.sub(*ints, out=self._buffers.get("ulps", self._integer, size))
        low, high = torch.aminmax(apart)
        farthest = max(-low.item(), high.item())
        if farthest >= self._sure:
            farthest = self._far(apart.numpy(), ints[0].numpy(), ints[1].numpy())
        self.largest = max(self.largest, int(farthest))
        if self._pieces % _EVERY == 0:
            step = max(1, size // _SAMPLED)
            self._sample(distance(ints[0].numpy()[::step], ints[1].numpy()[::step]))
        self._pieces += 1

    def quantiles(self, *shares: float) -> tuple[float | None, ...]:
        """Give the distances that these shares of the sampled pairs do not exceed; None without pairs."""
        if not self._samples:
            return (None,) * len(shares)
        ordered = np.sort(np.concatenate(self._samples))
        return tuple(float(ordered[int(share * (len(ordered) - 1))]) for share in shares)

    def _far(self, apart: Array, reference: Array, target: Array) -> int:
        unsure = (apart >= self._sure) | (apart <= -self._sure)
        farthest = int(distance(reference[unsure], target[unsure]).max())
        apart[unsure] = 0
        return max(farthest, int(apart.max()), -int(apart.min()))

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
    """Give the distances, as uint64, of two arrays that hold the bits of floats as signed integers."""
    left, right = _ordered(reference), _ordered(target)
    # Wraps around where the difference is negative, and is then right again as an unsigned number.
    apart: Array = (np.maximum(left, right) - np.minimum(left, right)).view(np.uint64)
    return apart


def _ordered(bits: Array) -> Array:
    """Give int64 numbers in the order of the floats; both zeros are 0."""
    wide = bits.astype(np.int64)
    magnitudes = wide & np.int64(np.iinfo(bits.dtype).max)
    ordered: Array = np.where(wide < 0, -magnitudes, magnitudes)
    return ordered

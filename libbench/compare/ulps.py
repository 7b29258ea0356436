"""Distance in units of the last place: how many values of the dtype lie between two of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]

_INTEGERS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
_SAMPLED = 512
_KEPT = 1 << 15


class Ulps:
    """The largest distance of all pairs, and a sample of the distances.

    Args:
        dtype: float16, bfloat16, float32 or float64.

    Attributes:
        largest: 0 before the first pair.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self.largest = 0
        self._integer = _INTEGERS[dtype.itemsize]
        info = torch.finfo(dtype)
        infinity = torch.tensor(float("inf"), dtype=dtype).view(self._integer).item()
        # Two's complement puts numbers of different sign at least this far apart, and those of one sign at their
        # true distance, so that a short distance needs no more than a subtraction.
        self._sure = (1 << (info.bits - 1)) - int(infinity)
        self._scratch: torch.Tensor | None = None
        self._stride = 1
        self._samples: list[Array] = []
        self._count = 0

    def add(self, reference: torch.Tensor, target: torch.Tensor) -> None:
        """Take flat, contiguous pairs of finite values, at most one piece."""
        ints = reference.view(self._integer), target.view(self._integer)
        if self._scratch is None or len(self._scratch) < len(reference):
            self._scratch = torch.empty(len(reference), dtype=self._integer)
        apart = torch.sub(*ints, out=self._scratch[: len(reference)])
        low, high = torch.aminmax(apart)
        farthest = max(-low.item(), high.item())
        step = max(1, len(reference) // _SAMPLED)
        if farthest < self._sure:
            self.largest = max(self.largest, int(farthest))
            sample = apart[::step].abs().numpy()
        else:
            distances = distance(ints[0].numpy(), ints[1].numpy())
            self.largest = max(self.largest, int(distances.max()))
            sample = distances[::step]
        self._sample(sample)

    def quantile(self, share: float) -> float | None:
        """Give the distance that a share of the sampled pairs does not exceed; None without pairs."""
        if not self._samples:
            return None
        return float(np.quantile(np.concatenate(self._samples), share, method="lower"))

    def _sample(self, distances: Array) -> None:
        taken = distances[:: self._stride].astype(np.uint64)
        self._samples.append(taken)
        self._count += len(taken)
        if self._count > _KEPT:
            self._samples = [np.concatenate(self._samples)[::2]]
            self._count = len(self._samples[0])
            self._stride *= 2


def distance(reference: Array, target: Array) -> Array:
    """Give the distances, as uint64, of two arrays that hold the bits of floats as signed integers."""
    low, high = (_ordered(bits) for bits in (reference, target))
    apart = low.view(np.uint64) - high.view(np.uint64)  # wraps around where the difference is negative
    distances: Array = np.where(low >= high, apart, np.uint64(0) - apart)
    return distances


def _ordered(bits: Array) -> Array:
    """Give int64 numbers in the order of the floats; both zeros are 0."""
    wide = bits.astype(np.int64)
    magnitudes = wide & np.int64(np.iinfo(bits.dtype).max)
    ordered: Array = np.where(wide < 0, -magnitudes, magnitudes)
    return ordered

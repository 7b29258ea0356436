"""Integers, booleans and raw bytes of one leaf: exact, whatever their size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from libbench.compare.chunks import Place
from libbench.findings import Extreme

Array = np.ndarray[Any, Any]


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
        self._numbers = numbers
        self._error = 0.0

    def add(self, reference: torch.Tensor, target: torch.Tensor, start: int, place: Place) -> None:
        """Take one flat, contiguous piece of both sides, which begins at a flat index of its batch."""
        r, t = reference.numpy(), target.numpy()
        self.elements += len(r)
        if self._numbers and self.max_abs is None and len(r):
            self._extremes(r[:1], t[:1], np.array([start]), place)
        wrong = r != t
        count = int(np.count_nonzero(wrong))
        if not count:
            return
        self.mismatches += count
        positions = np.flatnonzero(wrong)
        if self.first_mismatch is None:
            self.first_mismatch = place.at(start + int(positions[0]))
        if self._numbers:
            rough = self._extremes(r[positions], t[positions], positions + start, place)
            self._error += float(np.dot(rough, rough))

    @property
    def rmse(self) -> float | None:
        return math.sqrt(self._error / self.elements) if self._numbers and self.elements else None

    def _extremes(self, r: Array, t: Array, positions: Array, place: Place) -> Array:
        difference = _distance(r, t)
        rough = difference.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = np.where(rough > 0, rough / np.abs(r.astype(np.float64)), 0.0)
        for name, sizes in (("max_abs", difference), ("max_rel", relative)):
            worst = int(np.argmax(sizes))
            best: Extreme | None = getattr(self, name)
            if best is None or sizes[worst] > best.value:
                value = sizes[worst].item() if hasattr(sizes[worst], "item") else sizes[worst]
                at = place.at(int(positions[worst]))
                setattr(self, name, Extreme(value=value, at=at, reference=int(r[worst]), target=int(t[worst])))
        return rough


def _distance(reference: Array, target: Array) -> Array:
    """Give absolute differences of integers or booleans: uint64, or Python ints where those could overflow."""
    kinds = {side.dtype for side in (reference, target)}
    if len(kinds) > 1 and np.dtype(np.uint64) in kinds:
        exact: Array = np.abs(reference.astype(object) - target.astype(object))
        return exact
    wide = np.uint64 if np.dtype(np.uint64) in kinds else np.int64
    r, t = reference.astype(wide), target.astype(wide)
    apart = r.view(np.uint64) - t.view(np.uint64)  # wraps around where the difference is negative
    difference: Array = np.where(r >= t, apart, np.uint64(0) - apart)
    return difference

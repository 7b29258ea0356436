"""Sums of squares and products over finite pairs, and the statistics that follow from them."""

from __future__ import annotations

import math

import numpy as np
import torch

from libbench.compare.buffers import Array

_TINY = 1e-28  # sums of squares below it may have lost digits in float32


class Sums:
    """What is summed about the values at one path, in float64."""

    def __init__(self) -> None:
        self._count = 0
        self._power = 0.0  # reference squared
        self._error = 0.0  # difference squared
        self._other = 0.0  # target squared
        self._cross = 0.0  # reference times target
        self._apart = 0.0  # absolute difference

    def add_exactly(self, reference: Array, target: Array, difference: Array, count: int) -> None:
        """Take float64 arrays that are zero at all places which do not count."""
        self._count += count
        self._power += float(np.dot(reference, reference))
        self._error += float(np.dot(difference, difference))
        self._other += float(np.dot(target, target))
        self._cross += float(np.dot(reference, target))
        self._apart += float(np.abs(difference).sum())

    def add(
        self,
        reference: torch.Tensor,
        target: torch.Tensor,
        difference: torch.Tensor | None,
        absolute: torch.Tensor,
        count: int,
    ) -> None:
        """Take one piece in the dtype of the cheap steps, zero at all places that do not count.

        Args:
            reference: flat.
            target: likewise.
            difference: of both; None where they are equal.
            absolute: its absolute values.
            count: of the places that count.
        """
        power, error, other, cross = found = _products(reference, target, difference)
        if reference.dtype is torch.float32 and not (
            min(found[:3] if difference is not None else (power,)) > _TINY and power + error + other < math.inf
        ):
            wide = None if difference is None else difference.double()
            power, error, other, cross = _products(reference.double(), target.double(), wide)
        self._count += count
        self._power += power
        self._error += error
        self._other += other
        self._cross += cross
        if difference is not None:
            self._apart += _total(absolute)

    @property
    def rmse(self) -> float | None:
        """The root of the mean squared difference; None without finite places."""
        return math.sqrt(self._error / self._count) if self._count else None

    @property
    def mean_abs(self) -> float | None:
        """The mean absolute difference; None without finite places."""
        return self._apart / self._count if self._count else None

    @property
    def cosine(self) -> float | None:
        """The cosine between both sides; None when one of them is zero or too large to square."""
        norms = math.sqrt(self._power) * math.sqrt(self._other)
        if not 0 < norms < math.inf or not abs(self._cross) < math.inf:
            return None
        return max(-1.0, min(1.0, self._cross / norms))

    @property
    def snr_db(self) -> float | None:
        """Reference power over difference power in dB; None without finite places."""
        if not self._count or not self._power + self._error < math.inf:
            return None
        if self._error == 0:
            return math.inf
        # The logarithms apart: the quotient of a tiny and a huge power is no float.
        return 10 * (math.log10(self._power) - math.log10(self._error)) if self._power > 0 else -math.inf


def _total(sizes: torch.Tensor) -> float:
    # torch adds by pairs: one after the other, 100,000 equal values would lose four digits of float32.
    total = sizes.sum().item()
    return total if total < math.inf else sizes.double().sum().item()


def _products(
    reference: torch.Tensor, target: torch.Tensor, difference: torch.Tensor | None
) -> tuple[float, float, float, float]:
    """Give the squares of the reference, the difference and the target, and the product of both sides."""
    power = torch.dot(reference, reference).item()
    if difference is None:
        return power, 0.0, power, power
    error = torch.dot(difference, difference).item()
    # From the small difference, a cosine near 1 keeps more digits; where it is not small, digits would cancel.
    if error < 0.01 * power:
        change = torch.dot(reference, difference).item()
        return power, error, power + 2 * change + error, power + change
    return power, error, torch.dot(target, target).item(), torch.dot(reference, target).item()

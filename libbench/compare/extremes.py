"""The largest absolute and the largest relative difference at one path, and where they stand."""

from __future__ import annotations

import math

import numpy as np
import torch

from libbench.compare.buffers import Array
from libbench.compare.chunks import Place
from libbench.findings import Extreme, Number


class Extremes:
    """Keeps the two extremes of all pairs given so far.

    Args:
        parts: 2 when real and imaginary parts alternate, else 1.

    Attributes:
        largest: the largest absolute difference; -1.0 before the first pair.
        steepest: the largest relative difference, likewise.
    """

    def __init__(self, parts: int) -> None:
        self.largest = -1.0
        self.steepest = -1.0
        self.max_abs: Extreme | None = None
        self.max_rel: Extreme | None = None
        self._parts = parts

    def begin(self, reference: torch.Tensor, target: torch.Tensor, start: int, place: Place) -> None:
        """Say in which piece the next positions lie."""
        self._piece = reference, target, start, place

    def admit(self, differences: Array, references: Array, positions: Array) -> None:
        """Take absolute differences and absolute references, float64, at positions counted from the piece's start."""
        worst = int(differences.argmax())
        largest = float(differences[worst])
        if largest > self.largest:
            self.largest = largest
            self.max_abs = self._extreme(largest, int(positions[worst]))
        if largest > 0 or self.steepest < 0:
            self.steepen(differences, references, positions)

    def steepen(self, differences: Array, references: Array, positions: Array) -> None:
        """Take pairs, given as to `admit`, for their relative differences alone."""
        # Zero over zero is given a reference of 1, so that it becomes 0; more over zero becomes infinite.
        relative = differences / np.where(differences > 0, references, 1.0)
        worst = int(relative.argmax())
        steepest = float(relative[worst])
        if steepest > self.steepest:
            self.steepest = steepest
            self.max_rel = self._extreme(steepest, int(positions[worst]))

    def _extreme(self, value: float, position: int) -> Extreme:
        reference, target, start, place = self._piece
        first = position - position % self._parts
        sides = [_number(side[first : first + self._parts].tolist()) for side in (reference, target)]
        at = place.at((start + position) // self._parts)
        return Extreme(value=value, at=at, reference=sides[0], target=sides[1])


def _number(parts: list[float]) -> Number:
    if len(parts) == 1:
        return parts[0]
    return str(complex(*parts)) if all(map(math.isfinite, parts)) else f"{parts[0]}{parts[1]:+}j"

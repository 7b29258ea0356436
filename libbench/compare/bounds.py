"""The extremes, the level and the grid of one path: bounds that are raised until all pairs so far pass them."""

from __future__ import annotations

import math

import numpy as np
import torch

from libbench.compare.buffers import Array
from libbench.compare.chunks import Place
from libbench.compare.extremes import Extremes
from libbench.compare.grid import DTYPES, Row
from libbench.compare.levels import Level
from libbench.compare.piece import EXACT, Piece
from libbench.compare.rule import Rule

_STEPS = 8


class Bounds:
    """What no pair of values exceeds.

    What the rule's detail does not ask for is None.
    """

    def __init__(self, rule: Rule) -> None:
        levels = rule.family.relative is not None
        self.extremes = Extremes(rule.parts) if rule.detail == "full" else None
        self.level = Level(rule.family) if levels and rule.detail != "verdict" else None
        self.grid = {dtype: Row(dtype) for dtype in DTYPES} if levels and rule.detail in ("grid", "full") else None
        self._lines: list[Level | Row] = [*([self.level] if self.level else []), *(self.grid or {}).values()]

    def begin(self, reference: torch.Tensor, target: torch.Tensor, start: int, place: Place) -> None:
        """Say in which piece the next positions lie."""
        if self.extremes:
            self.extremes.begin(reference, target, start, place)

    def fail(self) -> None:
        """Take a pair that no tolerance passes."""
        for bound in self._lines:
            bound.fail()

    def admit(self, differences: Array, references: Array, positions: Array) -> None:
        """Take pairs, at least one, of absolute difference and absolute reference, float64 without NaN."""
        if self.extremes:
            self.extremes.admit(differences, references, positions)
        for bound in self._lines:
            bound.admit(differences, references, positions)

    def take(self, piece: Piece) -> None:
        """Take a piece that holds a difference."""
        if self.extremes:
            self._take_extremes(self.extremes, piece)
        # The line that is lowest at zero first: what passes it mostly passes the others, too.
        for bound in sorted(self._lines, key=_order):
            self._raise(bound, piece)

    def _take_extremes(self, extremes: Extremes, piece: Piece) -> None:
        if extremes.steepest < math.inf:
            for pairs in piece.exactly(piece.steepest(max(extremes.steepest, 0.0))):
                extremes.steepen(*pairs)
            if extremes.steepest < math.inf:
                piece.remember((extremes.steepest * (1 + 1e-15), 0.0))
        exact = extremes.steepest < EXACT
        if piece.peak > extremes.largest:
            self._admit(piece, piece.highest()[: 1 if exact else None])
        elif not exact and piece.peak * (1 + 1e-6) > extremes.largest:
            for pairs in piece.exactly(piece.highest()):
                if pairs[0].max() > extremes.largest:
                    extremes.admit(*pairs)

    def _raise(self, bound: Level | Row, piece: Piece) -> None:
        """Raise a bound until all of a piece passes it."""
        for _ in range(_STEPS):
            line = bound.line
            if line is None or piece.passes(line):
                return
            worst = piece.farthest(line)
            if worst is None:
                return
            self._admit(piece, np.array([worst]))
            if bound.line == line:  # it lies within the margin, as others may
                break
        if bound.line is not None:
            # No other bound takes all of these, which are many where a sign is turned.
            for pairs in piece.exactly(piece.above(bound.line)):
                bound.admit(*pairs)

    def _admit(self, piece: Piece, positions: Array) -> None:
        for pairs in piece.exactly(positions):
            self.admit(*pairs)


def _order(bound: Level | Row) -> tuple[float, float]:
    slope, offset = bound.line or (0.0, 0.0)
    return offset, slope

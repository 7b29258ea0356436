"""Floating values of one leaf: every statistic in one pass over pieces.

A piece first goes through cheap, vectorised steps in the narrowest dtype that holds its values exactly. They settle
most pieces outright and leave few candidates in the others; every verdict, extreme and level is decided on candidates
in float64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from libbench.compare.chunks import Place
from libbench.compare.extremes import Extremes
from libbench.compare.grid import DTYPES, Row
from libbench.compare.levels import Level
from libbench.compare.odd import Odd
from libbench.compare.pending import Pending
from libbench.compare.piece import SLICE, Buffers, Piece
from libbench.compare.ranking import Ranking
from libbench.compare.rule import Rule
from libbench.compare.sums import Sums
from libbench.compare.ulps import Ulps

Array = np.ndarray[Any, Any]
_SMALL = 2048
_HUGE = 1e30
_LEAST = {torch.float32: 1e-30, torch.float64: 1e-150}  # differences that are all below it need more care
_STEPS = 8


class FloatStatistics:
    """What is counted, summed and kept about the floating values at one path.

    What the rule's detail does not ask for is None.
    """

    def __init__(self, rule: Rule, buffers: Buffers) -> None:
        self.rule = rule
        self.elements = 0
        self.differing = 0  # pieces with a difference
        self.mismatches = 0
        self.first_mismatch: tuple[int, ...] | None = None
        full, levels = rule.detail == "full", rule.family.relative is not None
        self.odd = Odd(rule.parts, rule.nan_agrees)
        self.extremes = Extremes(rule.parts) if full else None
        self.level = Level(rule.family) if levels and rule.detail != "verdict" else None
        self.grid = {dtype: Row(dtype) for dtype in DTYPES} if levels and rule.detail in ("grid", "full") else None
        self.sums = Sums(buffers) if full else None
        self.ulps = Ulps(rule.ulp, buffers) if full and rule.ulp is not None else None
        self.ranking = Ranking() if full and rule.parts == 1 else None
        self._pending = Pending(rule.parts)
        self._bounds: list[Level | Row] = [*([self.level] if self.level else []), *(self.grid or {}).values()]
        self._buffers = buffers
        self._place = Place(())
        self._length = 0
        self._alike = False

    def add(self, reference: torch.Tensor, target: torch.Tensor, start: int, place: Place) -> None:
        """Take one piece of both sides, with NumPy's warnings about floats turned off.

        Args:
            reference: flat, contiguous; real values of any dtype that float64 holds.
            target: of the same length.
            start: the flat index, in parts, of the piece in its batch.
            place: says positions in this batch.
        """
        self._place = place
        self.elements += reference.numel() // self.rule.parts
        if reference.numel() > _SMALL and max(self.rule.rtol, self.rule.atol) < _HUGE:
            if self.extremes:
                self.extremes.begin(reference, target, start, place)
            narrow = _common(reference.dtype, target.dtype)
            if self._cheap(reference, target, start, narrow):
                return
            if narrow is not torch.float64 and self._cheap(reference, target, start, torch.float64):
                return
        for at in range(0, reference.numel(), SLICE):  # whose steps take more memory
            inner = slice(at, at + SLICE)
            if self.extremes:
                self.extremes.begin(reference[inner], target[inner], start + at, place)
            self._careful(reference[inner], target[inner], start + at)

    def wait(self, reference: torch.Tensor, target: torch.Tensor, length: int, place: Place) -> None:
        """Take a small leaf of one batch, to be looked at with others.

        Args:
            reference: real values in any shape, at most `pending.SMALL`.
            target: likewise.
            length: of its rows of scores; 0 when it holds none.
            place: says positions in this batch.
        """
        if length != self._length:
            self.settle()
            self._length = length
        if self._pending.add(reference, target, place):
            self.settle()

    @property
    def state(self) -> tuple[int, int]:
        """What stays the same as long as both sides are equal and hold no NaN."""
        return self.differing, self.odd.nans[0]

    def settle(self) -> None:
        """Look at what waits."""
        joined = self._pending.take()
        if joined is not None:
            before = self.state
            with np.errstate(all="ignore"):
                self.add(joined[0], joined[1], 0, joined[2])
            if self.ranking and self._length:
                sides = [side.view(-1, self._length) for side in joined[:2]]
                self.ranking.add(*sides, equal=self.state == before)

    def _cheap(self, reference: torch.Tensor, target: torch.Tensor, start: int, dtype: torch.dtype) -> bool:
        """Take a piece by the cheap steps, or give False, with nothing taken, when they do not suffice."""
        size = reference.numel()
        r, t = self._upcast("r", reference, dtype), self._upcast("t", target, dtype)
        d = torch.sub(t, r, out=self._buffers.get("d", dtype, size))
        peak = _peak(d)
        finite = alone = None
        if not peak < math.inf:
            finite = np.isfinite(r.numpy()) & np.isfinite(t.numpy())
            away = torch.from_numpy(~finite)
            peak = _peak(d.masked_fill_(away, 0.0))
            if peak < math.inf:
                alone = self._take_odd(r.numpy(), t.numpy(), finite)
                reference, target = reference.masked_fill(away, 0.0), target.masked_fill(away, 0.0)
                r, t = self._upcast("r", reference, dtype), self._upcast("t", target, dtype)
        if not (peak == 0 or _LEAST[dtype] < peak < math.inf):
            return False
        count = size if finite is None else int(np.count_nonzero(finite))
        most = self._measure(r, t, d if peak > 0 else None, count)
        if self.ulps is not None and count:
            self.ulps.add(*self._coarse(reference, target), finite, peak=peak, most=most)
        wrong = self._settle(Piece(r, t, d, peak, self._buffers)) if peak > 0 else None
        if peak == 0 and self.extremes and self.extremes.largest < 0 and count:
            first = np.array([0 if finite is None else int(finite.argmax())])
            self.extremes.admit(np.zeros(1), np.ones(1), first)
        self._mismatch(wrong if alone is None else alone if wrong is None else wrong | alone, start)
        self.differing += peak > 0 or (alone is not None and bool(alone.any()))
        return True

    def _upcast(self, name: str, values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return values if values.dtype == dtype else self._buffers.get(name, dtype, values.numel()).copy_(values)

    def _measure(self, r: torch.Tensor, t: torch.Tensor, d: torch.Tensor | None, count: int) -> float:
        if self.sums is not None and d is not None:
            return self.sums.add(r, t, d, count)
        if self.sums is not None:
            self.sums.add_equal(r, count)
        return math.inf

    def _settle(self, piece: Piece) -> Array | None:
        """Take the extremes and levels of a piece that holds a difference; give a mask of its mismatches."""
        if self.extremes:
            if self.extremes.largest < 0:
                self._candidates(piece, piece.highest()[:1])
            self._raise(self.extremes, piece)
            piece.remember(self.extremes.passed)
            # The difference of numbers within a factor of two is exact (Sterbenz): only others hide what they are.
            exact = self.extremes.steepest < 0.5 or (self.ulps is not None and self._alike and self.ulps.within_two)
            if piece.peak > self.extremes.largest:
                self._candidates(piece, piece.highest()[: 1 if exact else None])
            elif not exact and piece.peak * (1 + 1e-6) > self.extremes.largest:
                ties = piece.highest()
                for at in range(0, len(ties), SLICE):
                    if piece.gather(ties[at : at + SLICE])[0].max() > self.extremes.largest:
                        self._candidates(piece, ties[at : at + SLICE])
        for bound in self._bounds:
            self._raise(bound, piece)
        return piece.failing(self.rule.rtol, self.rule.atol)

    def _raise(self, bound: Extremes | Level | Row, piece: Piece) -> None:
        """Raise a bound until all of a piece passes it."""
        for _ in range(_STEPS):
            line = bound.line
            if line is None or piece.passes(line):
                break
            worst = piece.farthest(line)
            if worst is None:
                break
            self._candidates(piece, np.array([worst]))
            if bound.line == line:  # it lies within the margin, as others may
                self._near(bound, piece)
                break
        else:
            self._near(bound, piece)
        if bound.line is not None and bound is not self.extremes:
            piece.remember(bound.line)

    def _near(self, bound: Extremes | Level | Row, piece: Piece) -> None:
        """Give a bound, and no other, all that may raise it, which is much where a sign is turned."""
        if bound.line is not None:
            positions = piece.above(bound.line)
            for at in range(0, len(positions), SLICE):
                some = positions[at : at + SLICE]
                bound.admit(*piece.gather(some), some)

    def _candidates(self, piece: Piece, positions: Array) -> None:
        if len(positions):
            self._take(*piece.gather(positions), positions)

    def _take(self, differences: Array, references: Array, positions: Array) -> None:
        if self.extremes:
            self.extremes.admit(differences, references, positions)
        for bound in self._bounds:
            bound.admit(differences, references, positions)

    def _mismatch(self, mask: Array | None, start: int) -> None:
        if mask is None:
            return
        if self.rule.parts == 2:
            mask = mask[::2] | mask[1::2]
        count = int(np.count_nonzero(mask))
        if count and self.first_mismatch is None:
            self.first_mismatch = self._place.at(start // self.rule.parts + int(np.argmax(mask)))
        self.mismatches += count

    def _careful(self, reference: torch.Tensor, target: torch.Tensor, start: int) -> None:
        """Take a piece wholly in float64: a small one, or one with extreme values."""
        r, t = (side.to(torch.float64, copy=True).numpy() for side in (reference, target))
        d = t - r
        finite = alone = None
        if not float(np.dot(d, d)) < math.inf:
            finite = np.isfinite(r) & np.isfinite(t)
            alone = self._take_odd(r, t, finite)
            for side in (r, t):
                side[~finite] = 0.0
            d = t - r
        count = len(r) if finite is None else int(np.count_nonzero(finite))
        if self.sums is not None:
            self.sums.add_exactly(r, t, d, count)
        np.abs(d, out=d)
        self.differing += bool(d.any()) or (alone is not None and bool(alone.any()))
        size = np.abs(r)
        wrong = ~((d < math.inf) & (d <= self.rule.atol + self.rule.rtol * size) | (r == t))
        self._mismatch(wrong if alone is None else wrong | alone, start)
        if count and finite is None:
            self._take(d, size, np.arange(len(r)))
        elif count and finite is not None:
            self._take(d[finite], size[finite], np.flatnonzero(finite))
        if self.ulps is not None and count:
            if finite is not None:
                away = torch.from_numpy(~finite)
                reference, target = reference.masked_fill(away, 0.0), target.masked_fill(away, 0.0)
            self.ulps.add(*self._coarse(reference, target), finite)

    def _take_odd(self, r: Array, t: Array, finite: Array) -> Array:
        """Count NaNs and infinities; give a mask of the elements among them that disagree."""
        alone = self.odd.take(r, t, finite)
        if alone.any():
            for bound in self._bounds:
                bound.fail()
        return alone

    def _coarse(self, reference: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self._alike = reference.dtype is target.dtype is self.rule.ulp
        if self._alike:
            return reference, target
        return reference.to(self.rule.ulp), target.to(self.rule.ulp)


def _peak(difference: torch.Tensor) -> float:
    """Give the largest absolute value; NaN or infinite as soon as one value is."""
    low, high = torch.aminmax(difference)
    return max(-low.item(), high.item()) if high == high else math.nan


def _common(reference: torch.dtype, target: torch.dtype) -> torch.dtype:
    """Give the narrowest dtype with vectorised steps that holds both exactly."""
    narrow = all(dtype.is_floating_point and dtype.itemsize <= 4 for dtype in (reference, target))
    return torch.float32 if narrow else torch.float64

"""Floating values of one leaf: every statistic in one pass over pieces.

A piece first goes through cheap, vectorised steps in the narrowest dtype that holds its values exactly. They settle
most pieces outright and leave few candidates in the others; every verdict, extreme and level is decided on candidates
in float64.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import torch

from libbench.compare.bounds import Bounds
from libbench.compare.buffers import Array, Buffers, Space
from libbench.compare.chunks import Place
from libbench.compare.odd import Odd
from libbench.compare.pending import Pending
from libbench.compare.piece import SLICE, Piece
from libbench.compare.ranking import Ranking
from libbench.compare.rule import Rule
from libbench.compare.spread import Spread
from libbench.compare.sums import Sums
from libbench.compare.ulps import Ulps, bits_of

_SMALL = 2048
_NONE = np.empty(0, np.intp)
_HUGE = 1e30
_LEAST = {torch.float32: 1e-30, torch.float64: 1e-150}  # differences that are all below it need more care


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
        full = rule.detail == "full"
        self.odd = Odd(rule.parts, rule.nan_agrees)
        self.bounds = Bounds(rule)
        self.spread = Spread.within(rule.rtol, rule.atol, rule.parts)
        self.sums = Sums() if full else None
        self.ulps = Ulps(rule.ulp, buffers) if full and rule.ulp is not None else None
        self.ranking = Ranking() if full and rule.parts == 1 else None
        self._pending = Pending(rule.parts)
        self._buffers = buffers
        self._place = Place(())
        self._length = 0

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
        if self.spread.open:
            self.spread.take(reference.to(torch.float64).numpy())
        if reference.numel() > _SMALL and max(self.rule.rtol, self.rule.atol) < _HUGE:
            self.bounds.begin(reference, target, start, place)
            narrow = _common(reference.dtype, target.dtype)
            if self._cheap(reference, target, start, narrow):
                return
            if narrow is not torch.float64 and self._cheap(reference, target, start, torch.float64):
                return
        for at in range(0, reference.numel(), SLICE):  # whose steps take more memory
            inner = slice(at, at + SLICE)
            self.bounds.begin(reference[inner], target[inner], start + at, place)
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
        space = self._buffers.space(dtype, reference.numel())
        sides = _widen(reference, target, dtype, space)
        r, t = sides[0].numpy(), sides[1].numpy()
        peak = self._subtract(r, t, space)
        finite = alone = None
        if not peak < math.inf:
            finite = np.isfinite(r) & np.isfinite(t)
            away = ~finite
            space.difference[away] = space.absolute[away] = 0.0
            peak = float(np.maximum.reduce(space.absolute))
        if not (peak == 0 or _LEAST[dtype] < peak < math.inf):
            return False
        if finite is not None:
            alone = self._take_odd(r, t, finite)
            reference, target = (side.masked_fill(torch.from_numpy(away), 0.0) for side in (reference, target))
            sides = _widen(reference, target, dtype, space)
            r, t = sides[0].numpy(), sides[1].numpy()
        count = len(r) if finite is None else int(np.count_nonzero(finite))
        if self.sums is not None:
            apart, sizes = space.tensors["difference"], space.tensors["absolute"]
            self.sums.add(*sides, apart if peak > 0 else None, sizes, count)
        wrong: Array | None = None
        known: int | None = None
        far: Array | None = None
        if peak > 0:
            piece = Piece(r, t, peak, space)
            self.bounds.take(piece)
            if self.ulps is not None and reference.dtype is target.dtype is self.rule.ulp:
                far = self.ulps.candidates(piece)
            wrong, known = piece.failing(self.rule.rtol, self.rule.atol) or (None, None)
        elif self.bounds.extremes and self.bounds.extremes.largest < 0 and count:
            first = np.array([0 if finite is None else int(finite.argmax())])
            self.bounds.extremes.admit(np.zeros(1), np.ones(1), first)
        if alone is not None:
            wrong, known = alone if wrong is None else wrong | alone, None
        self._mismatch(wrong, known, start)
        if self.ulps is not None and count:  # last, as it uses the memory of the other steps
            self.ulps.add(self._bits(reference), self._bits(target), finite, far if peak > 0 else _NONE)
        self.differing += peak > 0 or (alone is not None and bool(alone.any()))
        return True

    def _subtract(self, r: Array, t: Array, space: Space) -> float:
        """Find the differences, and their sizes, the largest of which is returned; NaN or infinite if one is."""
        difference = space.absolute if self.sums is None else space.difference
        np.abs(np.subtract(t, r, out=difference), out=space.absolute)
        return float(np.maximum.reduce(space.absolute))

    def _mismatch(self, mask: Array | None, count: int | None, start: int) -> None:
        """Take a mask of the parts that do not agree, and how many they are where that is known."""
        if mask is None:
            return
        if self.rule.parts == 2:
            mask, count = mask[::2] | mask[1::2], None
        if count is None:
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
        self._mismatch(wrong if alone is None else wrong | alone, None, start)
        if count and finite is None:
            self.bounds.admit(d, size, np.arange(len(r)))
        elif count and finite is not None:
            self.bounds.admit(d[finite], size[finite], np.flatnonzero(finite))
        if self.ulps is not None and count:
            if finite is not None:
                away = torch.from_numpy(~finite)
                reference, target = reference.masked_fill(away, 0.0), target.masked_fill(away, 0.0)
            self.ulps.add(self._bits(reference), self._bits(target), finite)

    def _take_odd(self, r: Array, t: Array, finite: Array) -> Array:
        """Count NaNs and infinities; give a mask of the elements among them that disagree."""
        alone = self.odd.take(r, t, finite)
        if alone.any():
            self.bounds.fail()
        return alone

    def _bits(self, values: torch.Tensor) -> Array:
        return bits_of(values if values.dtype is self.rule.ulp else values.to(self.rule.ulp))


def _widen(
    reference: torch.Tensor, target: torch.Tensor, dtype: torch.dtype, space: Space
) -> tuple[torch.Tensor, torch.Tensor]:
    """Give both sides in a dtype, copied only where they have another one."""
    r = reference if reference.dtype is dtype else space.widen("reference", reference)
    return r, target if target.dtype is dtype else space.widen("target", target)


@cache
def _common(reference: torch.dtype, target: torch.dtype) -> torch.dtype:
    """Give the narrowest dtype with vectorised steps that holds both exactly."""
    narrow = all(dtype.is_floating_point and dtype.itemsize <= 4 for dtype in (reference, target))
    return torch.float32 if narrow else torch.float64

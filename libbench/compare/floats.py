"""Floating values of one leaf: every statistic in one pass over pieces.

A piece first goes through cheap, vectorised steps in the narrowest dtype that holds its values exactly. They settle
most pieces outright and leave few candidates in the others; every verdict, extreme and level is decided on candidates
in float64.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from libbench.compare.chunks import Place
from libbench.compare.extremes import Extremes
from libbench.compare.levels import Family, Level
from libbench.compare.piece import Buffers, Piece
from libbench.compare.ulps import Ulps

Array = np.ndarray[Any, Any]

_SMALL = 2048
_HUGE = 1e30
_TINY = 1e-28  # sums of squares below it, and steps below its root, may have lost digits in float32


@dataclass(frozen=True)
class Rule:
    """How floating values are judged.

    Attributes:
        rtol: at least 0.
        atol: at least 0.
        nan_agrees: whether NaN agrees with NaN at the same place.
        family: what levels mean for these values.
        parts: 2 when real and imaginary parts alternate, else 1.
        ulp: the dtype in which distances are counted; None counts none.
    """

    rtol: float
    atol: float
    nan_agrees: bool
    family: Family
    parts: int = 1
    ulp: torch.dtype | None = None


class FloatStatistics:
    """Everything that is counted, summed and kept about the floating values at one path."""

    def __init__(self, rule: Rule, buffers: Buffers) -> None:
        self.rule = rule
        self.elements = 0
        self.mismatches = 0
        self.first_mismatch: tuple[int, ...] | None = None
        self.nans = [0, 0]
        self.infs = [0, 0]
        self.disagreeing = 0  # elements that are NaN or infinite on one side only, or infinite with another sign
        self.extremes = Extremes(rule.parts)
        self.level = Level(rule.family) if rule.family.relative is not None else None
        self.ulps = Ulps(rule.ulp, buffers) if rule.ulp is not None else None
        self._finite = 0
        self._power = 0.0  # sum of reference squared
        self._error = 0.0  # sum of difference squared
        self._other = 0.0  # sum of target squared
        self._cross = 0.0  # sum of reference times target
        self._peak = -1.0  # the largest difference so far, in the dtype of the cheap steps
        self._buffers = buffers
        self._place = Place(())

    def add(self, reference: torch.Tensor, target: torch.Tensor, start: int, place: Place) -> None:
        """Take one piece of both sides.

        Args:
            reference: flat, contiguous; real values of any dtype that float64 holds.
            target: of the same length.
            start: the flat index, in parts, of the piece in its batch.
            place: says positions in this batch.
        """
        self._place = place
        self.extremes.begin(reference, target, start, place)
        self.elements += reference.numel() // self.rule.parts
        with np.errstate(all="ignore"):
            if reference.numel() > _SMALL and max(self.rule.rtol, self.rule.atol) < _HUGE:
                dtype = _common(reference.dtype, target.dtype)
                if self._fast(self._upcast("r", reference, dtype), self._upcast("t", target, dtype), start):
                    self._measure_ulps(reference, target)
                    return
            self._careful(reference, target, start)

    @property
    def rmse(self) -> float | None:
        return math.sqrt(self._error / self._finite) if self._finite else None

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
        if not self._finite or not self._power + self._error < math.inf:
            return None
        if self._error == 0:
            return math.inf
        # The logarithms apart: the quotient of a tiny and a huge power is no float.
        return 10 * (math.log10(self._power) - math.log10(self._error)) if self._power > 0 else -math.inf

    def _upcast(self, name: str, values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return values if values.dtype == dtype else self._buffers.get(name, dtype, values.numel()).copy_(values)

    def _fast(self, r: torch.Tensor, t: torch.Tensor, start: int) -> bool:
        """Take a piece by the cheap steps, or give False, with nothing taken, when they do not suffice."""
        size = r.numel()
        d = torch.sub(t, r, out=self._buffers.get("d", r.dtype, size))
        error, power = torch.dot(d, d).item(), torch.dot(r, r).item()
        zero = power == error == 0 and not torch.count_nonzero(r) and not torch.count_nonzero(t)
        if not zero and not (error < math.inf and _TINY < power < math.inf):  # NaNs and infinities end here, too
            return False
        # From the small difference, a cosine near 1 keeps more digits; where it is not small, digits would cancel.
        near = zero or error < 0.01 * power
        change = torch.dot(r, d).item() if near else 0.0
        cross, other = power + change, power + 2 * change + error
        if not near:
            cross, other = torch.dot(r, t).item(), torch.dot(t, t).item()
            if 0 < other < _TINY or not other < math.inf:
                return False
        peak = torch.amax(d.abs_()).item()
        if peak > 0 and error < _TINY:
            return False
        if peak > 0:
            self._settle(Piece(r, t, d, peak, self._buffers), start)
        elif self.extremes.largest < 0:
            self.extremes.take(np.zeros(1), np.ones(1), np.zeros(1, dtype=np.int64))
        self._finite += size
        self._power += power
        self._error += error
        self._other += other
        self._cross += cross
        return True

    def _settle(self, piece: Piece, start: int) -> None:
        if piece.peak >= self._peak:
            self._candidates(piece, piece.at_peak())
            self._peak = piece.peak
        if self.extremes.steepest < math.inf:
            self._candidates(piece, piece.above(max(self.extremes.steepest, 0.0), 0.0))
        if self.level is not None and self.level.value < math.inf:
            self._candidates(piece, piece.above(self.level.rtol, self.level.atol))
            if self.level.atol <= self.rule.atol and self.level.rtol <= self.rule.rtol:
                return  # what passes the level passes the tolerance
        failing = piece.failing(self.rule.rtol, self.rule.atol)
        if failing is not None:
            self._mismatch(failing, start)

    def _candidates(self, piece: Piece, positions: Array) -> None:
        if len(positions):
            self._take(*piece.gather(positions), positions)

    def _take(self, differences: Array, references: Array, positions: Array) -> None:
        self.extremes.take(differences, references, positions)
        if self.level is not None:
            self.level.admit(differences, references)

    def _mismatch(self, mask: Array, start: int) -> None:
        if self.rule.parts == 2:
            mask = mask[::2] | mask[1::2]
        count = int(np.count_nonzero(mask))
        if count and self.first_mismatch is None:
            self.first_mismatch = self._place.at(start // self.rule.parts + int(np.argmax(mask)))
        self.mismatches += count

    def _careful(self, reference: torch.Tensor, target: torch.Tensor, start: int) -> None:
        """Take a piece wholly in float64: a small one, or one with NaNs, infinities or extreme values."""
        r, t = (side.to(torch.float64, copy=True).numpy() for side in (reference, target))
        signed = t - r
        error = float(np.dot(signed, signed))
        finite = alone = None
        if not error < math.inf:
            finite, alone = self._odd(r, t)
            signed = t - r
            error = float(np.dot(signed, signed))
        self._error += error
        d, size = np.abs(signed), np.abs(r)
        wrong = ~((d < math.inf) & (d <= self.rule.atol + self.rule.rtol * size) | (r == t))
        if alone is not None:
            wrong |= alone
        self._mismatch(wrong, start)
        self._power += float(np.dot(r, r))
        self._other += float(np.dot(t, t))
        self._cross += float(np.dot(r, t))
        positions = np.arange(len(r))
        if finite is not None:
            d, size, positions = d[finite], size[finite], positions[finite]
        self._finite += len(d)
        if len(d):
            self._take(d, size, positions)
            narrow = _common(reference.dtype, target.dtype) is torch.float32
            self._peak = max(self._peak, float(np.float32(d.max()) if narrow else d.max()))
        self._measure_ulps(reference, target, finite)

    def _odd(self, r: Array, t: Array) -> tuple[Array, Array]:
        """Count NaNs and infinities and put zeros in their places.

        Gives a mask of the finite places and one of the others that disagree.
        """
        finite = np.isfinite(r) & np.isfinite(t)
        nan = np.isnan(r), np.isnan(t)
        agree = r == t
        if self.rule.nan_agrees:
            agree |= nan[0] & nan[1]
        alone = ~(finite | agree)
        for side, values in enumerate((r, t)):
            self.nans[side] += self._places(nan[side])
            self.infs[side] += self._places(np.isinf(values))
            values[~finite] = 0.0
        self.disagreeing += self._places(alone)
        if self.level is not None and alone.any():
            self.level.fail()
        return finite, alone

    def _places(self, mask: Array) -> int:
        return int(np.count_nonzero(mask[::2] | mask[1::2] if self.rule.parts == 2 else mask))

    def _measure_ulps(self, reference: torch.Tensor, target: torch.Tensor, finite: Array | None = None) -> None:
        if self.ulps is None:
            return
        sides = [side.to(self.rule.ulp) for side in (reference, target)]
        if finite is not None:
            keep = torch.from_numpy(finite)
            sides = [side[keep] for side in sides]
        if sides[0].numel():
            self.ulps.add(*sides)


def _common(reference: torch.dtype, target: torch.dtype) -> torch.dtype:
    """Give the narrowest dtype with vectorised steps that holds both exactly."""
    narrow = all(dtype.is_floating_point and dtype.itemsize <= 4 for dtype in (reference, target))
    return torch.float32 if narrow else torch.float64

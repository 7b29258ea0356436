"""Whether both sides rank alike: the largest value, and the five largest, of every row of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from libbench.compare.chunks import CHUNK

Array = np.ndarray[Any, Any]

TOP = 5
_ROWS = 65536  # of one batch, evenly spaced
_TOP_ROWS = 1024  # likewise, for the five largest, which take ten times as long
_FEW = 64  # so many rows are all looked at
_WIDE = 512  # from here a partial sort is quicker than a partition


def row_length(shape: Sequence[int]) -> int:
    """Give how many values a row of scores has; 0 for a shape that is none of scores.

    Two or three dimensions, as in (sample, class) and (sample, position, class), and at least two classes. Hidden
    states have the same shapes: their ranks are counted, too, and mean little.
    """
    return shape[-1] if 2 <= len(shape) <= 3 and shape[-1] >= 2 and 0 not in shape else 0


class Ranking:
    """Counts the rows in which both sides agree about what is largest.

    Of equal values none is preferred: the largest agrees when one element is largest on both sides, and the five
    largest of a side are all that reach its fifth. A row whose reference holds NaN has no ranks and is left out; NaN
    in the target alone is no agreement.

    Attributes:
        rows: how many rows were ranked: all up to 65,536 in a batch, else evenly spaced ones.
        agreeing: how many of them agree about the largest value.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.agreeing = 0
        self._top_rows = 0
        self._shared = 0

    @property
    def top1(self) -> float | None:
        """The share of rows whose largest value agrees; None without rows."""
        return self.agreeing / self.rows if self.rows else None

    @property
    def top5(self) -> float | None:
        """How much of the five largest both sides share, from a sample of rows; None for rows of five or less."""
        return self._shared / (TOP * self._top_rows) if self._top_rows else None

    def add(self, reference: torch.Tensor, target: torch.Tensor, *, equal: bool) -> None:
        """Take the scores of one batch.

        Args:
            reference: of shape (..., classes); real values of any floating dtype.
            target: of the same shape.
            equal: both sides are known to be equal and finite.
        """
        length = reference.shape[-1]
        count = reference.numel() // length
        if equal:
            ranked = _spaced(count, _ROWS)
            self.rows += ranked
            self.agreeing += ranked
            if length > TOP:
                ranked = _spaced(count, _top_rows(count))
                self._top_rows += ranked
                self._shared += TOP * ranked
            return
        for r, t in _rows(reference, target, _ROWS):
            self._add_first(r, t)
        if length > TOP:
            for r, t in _rows(reference, target, _top_rows(count)):
                self._add_top(r, t)

    def _add_first(self, r: Array, t: Array) -> None:
        best = r.max(axis=1), t.max(axis=1)
        ranked = best[0] == best[0]
        every = np.arange(len(r))
        # The target's choice is mostly the reference's; only rows where it is not are looked at for equal values.
        agree = r[every, t.argmax(axis=1)] == best[0]
        agree &= best[1] == best[1]
        rest = np.flatnonzero(~agree)
        if len(rest):
            largest = (r[rest] == best[0][rest, None]) & (t[rest] == best[1][rest, None])
            agree[rest] = largest.any(axis=1)
        self.rows += int(np.count_nonzero(ranked))
        self.agreeing += int(np.count_nonzero(agree & ranked))

    def _add_top(self, r: Array, t: Array) -> None:
        top = [side >= _fifth(side) for side in (r, t)]
        ranked = ~np.isnan(r).any(axis=1)
        shared = np.minimum(np.count_nonzero(top[0] & top[1], axis=1), TOP)
        shared[np.isnan(t).any(axis=1)] = 0
        self._top_rows += int(np.count_nonzero(ranked))
        self._shared += int(shared[ranked].sum())


def _fifth(scores: Array) -> Array:
    """Give the fifth largest value of every row, as a column; NaN counts as largest of all."""
    if scores.shape[1] < _WIDE:
        return np.partition(scores, -TOP, axis=1)[:, -TOP, None]
    fifth: Array = torch.topk(torch.from_numpy(scores), TOP, dim=1).values[:, -1:].numpy()
    return fifth


def _top_rows(count: int) -> int:
    """Give how many of so many rows the five largest are looked at in."""
    return min(_TOP_ROWS, max(count // 8, _FEW))


def _spaced(count: int, most: int) -> int:
    """Give how many rows are left when rows are evenly skipped until at most so many are."""
    step = -(-count // most)
    return -(-count // step)


def _rows(reference: torch.Tensor, target: torch.Tensor, most: int) -> Any:
    """Give pieces of evenly spaced rows of both sides, as arrays that hold their values exactly."""
    length = reference.shape[-1]
    count = reference.numel() // length
    step = -(-count // most)
    each = max(1, CHUNK // length)
    dtype = torch.float64 if torch.float64 in (reference.dtype, target.dtype) else torch.float32
    sides = [side.reshape(-1, length) if side.is_contiguous() else side for side in (reference, target)]
    for first in range(0, count, step * each):
        yield [_some(side, range(first, min(count, first + step * each), step)).to(dtype).numpy() for side in sides]


def _some(scores: torch.Tensor, rows: range) -> torch.Tensor:
    if scores.dim() == 2:
        return scores[rows.start : rows.stop : rows.step]
    picked = torch.arange(rows.start, rows.stop, rows.step)
    return scores[picked // scores.shape[1], picked % scores.shape[1]]

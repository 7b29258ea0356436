"""Which compiled piece stands out among the others."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace

import torch

from libbench.locate.deviation import STANDS_OUT, ratio_of, rounding_of
from libbench.locate.segments import Piece
from libbench.located import SegmentRow

LEFT = 1 / 3
"""An error of which less than this share is left is gone."""


def gone(left: float, error: float) -> bool:
    """Tell whether so little of an error is left that it counts as gone."""
    return left < error * LEFT


def row_of(rows: Sequence[SegmentRow], piece: Piece) -> SegmentRow:
    """Give what was found of a piece last."""
    at = piece.segment.start, piece.segment.stop
    return next(row for row in reversed(rows) if (row.start, row.stop) == at)


def usual_beside(rows: Sequence[SegmentRow], piece: Piece) -> float:
    """Give the local error that is usual in pieces beside one that lack some kind of its operators.

    Where one kind of operator is compiled wrongly, all pieces that have it are off, and no usual ones. The usual error
    is the median of those beyond one rounding, and one rounding where there are none.
    """
    rounding = _rounding(piece)
    errors = [row.deviation.local or 0.0 for row in rows if _beside(row, piece) and not _alike(row, piece)]
    beyond = [error for error in errors if error > rounding]
    return max(rounding, statistics.median(beyond)) if beyond else rounding


def rated(row: SegmentRow, usual: float) -> SegmentRow:
    """Add how many times the usual error a row's is."""
    local = row.deviation.local
    ratio = None if local is None or not usual else ratio_of(local, usual)
    return replace(row, deviation=replace(row.deviation, ratio=ratio))


def stands_out(row: SegmentRow, piece: Piece) -> bool:
    """Tell whether a rated row, which is that of a piece, stands out."""
    return (row.deviation.local or 0.0) > _rounding(piece) and (row.deviation.ratio or 0.0) >= STANDS_OUT


def rounds(row: SegmentRow, piece: Piece) -> bool:
    """Tell whether a row is off by no more than a rounding of two operands to bfloat16, and its piece rounds less."""
    coarse = rounding_of(torch.bfloat16)
    return _rounding(piece) < coarse and (row.deviation.local or 0.0) <= 2 * coarse


def as_much(rows: Sequence[SegmentRow], piece: Piece) -> int:
    """Count the pieces beside one that have its kinds of operators, and stand out, too, with as much as a third."""
    local = row_of(rows, piece).deviation.local or 0.0
    errors = [row.deviation.local or 0.0 for row in rows if _beside(row, piece) and _alike(row, piece)]
    return sum(error > _rounding(piece) and not gone(error, local) for error in errors)


def _beside(row: SegmentRow, piece: Piece) -> bool:
    return row.stop <= piece.segment.start or row.start >= piece.segment.stop


def _alike(row: SegmentRow, piece: Piece) -> bool:
    names = {op.name for op in piece.segment.graph.ops[row.start : row.stop]}
    return {op.name for op in piece.segment.ops} <= names


def _rounding(piece: Piece) -> float:
    dtypes = [each.dtype for each in piece.wanted if isinstance(each, torch.Tensor)]
    return max(map(rounding_of, dtypes), default=0.0)

"""Tensors and arrays of any dtype and layout, brought to flat pairs that statistics can take."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache

import numpy as np
import torch

from libbench.compare import sparse
from libbench.compare.buffers import Buffers
from libbench.compare.chunks import CHUNK, Pieces, Place, pieces
from libbench.compare.exact import ExactStatistics
from libbench.compare.floats import FloatStatistics
from libbench.compare.levels import family
from libbench.compare.pending import SMALL
from libbench.compare.quantised import by_channel, channel_pieces
from libbench.compare.ranking import row_length
from libbench.compare.rule import Detail, Rule
from libbench.compare.sparse import SparsePlace
from libbench.settings import Tolerance

Statistics = FloatStatistics | ExactStatistics

_INTEGERS = {
    torch.bool,
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
}
_EXACT_CHUNK = 16384  # whose steps hold several numbers of 8 bytes, or Python's, for each value
_WITH_ULPS = (torch.bfloat16, torch.float16, torch.float32, torch.float64)  # the coarsest first


def statistics_for(
    reference: torch.dtype, target: torch.dtype, path: str, tolerance: Tolerance, buffers: Buffers, detail: Detail
) -> Statistics | None:
    """Give what collects the statistics of a pair of dtypes; None when these cannot be compared."""
    dtypes = reference, target
    if all(dtype in _INTEGERS for dtype in dtypes):
        return ExactStatistics()
    if reference.is_complex != target.is_complex:
        return None
    if not all(_numeric(dtype) for dtype in dtypes):
        return ExactStatistics(numbers=False) if reference == target else None
    return FloatStatistics(_rule(reference, target, path, tolerance, detail), buffers)


def add_pair(
    statistics: Statistics, reference: torch.Tensor, target: torch.Tensor, indices: Sequence[int] | None
) -> None:
    """Give all values of two leaves of equal shape and layout to their statistics, piece by piece."""
    batch = indices if indices is not None and reference.dim() and len(indices) == reference.shape[0] else None
    place = Place(tuple(reference.shape), batch)
    pairs = sparse.pairs(reference, target, batch) if reference.layout is not torch.strided else None
    for r, t, where in pairs or [(reference, target, place)]:
        if isinstance(statistics, FloatStatistics):
            _add_floats(statistics, r, t, where)
        else:
            _add_exact(statistics, r, t, where)


def _add_exact(statistics: ExactStatistics, reference: torch.Tensor, target: torch.Tensor, place: Place) -> None:
    if reference.dtype not in _INTEGERS:
        reference, target = (side.contiguous().view(torch.uint8) for side in (reference, target))
    for start, r, t in pieces(reference, target, _EXACT_CHUNK):
        statistics.add(r, t, start, place)


def _add_floats(statistics: FloatStatistics, reference: torch.Tensor, target: torch.Tensor, place: Place) -> None:
    length = 0 if isinstance(place, SparsePlace) else row_length(place.shape)
    if by_channel(reference) and reference.numel() <= CHUNK:
        reference, target = reference.dequantize(), target.dequantize()
    if reference.is_complex():
        reference, target = torch.view_as_real(reference), torch.view_as_real(target)
    if reference.numel() <= SMALL and not reference.is_quantized:
        statistics.wait(reference, target, length, place)
        return
    statistics.settle()
    before = statistics.state
    with np.errstate(all="ignore"):
        for start, r, t in _float_pieces(reference, target):
            statistics.add(r, t, start, place)
    if statistics.ranking and length and not reference.is_quantized:
        statistics.ranking.add(reference, target, equal=statistics.state == before)


def _float_pieces(reference: torch.Tensor, target: torch.Tensor) -> Pieces:
    if by_channel(reference):
        yield from channel_pieces(reference, target)
        return
    wide = max(reference.dtype.itemsize, target.dtype.itemsize) > 4
    for start, r, t in pieces(reference, target, CHUNK // 2 if wide else CHUNK):
        yield start, r.dequantize() if r.is_quantized else r, t.dequantize() if t.is_quantized else t


def tolerance_for(path: str, dtype: torch.dtype, tolerance: Tolerance) -> tuple[float, float]:
    """Give rtol and atol for a leaf: of the first glob that matches, else the general ones, else by dtype."""
    for glob, pair in tolerance.leaves.items():
        if path == glob or fnmatchcase(path, glob):
            return pair
    default = family(dtype)
    rtol = default.rtol if tolerance.rtol is None else tolerance.rtol
    return rtol, default.atol if tolerance.atol is None else tolerance.atol


@cache
def _numeric(dtype: torch.dtype) -> bool:
    return dtype.is_complex or dtype in _INTEGERS or "q" in str(dtype) or _is_float(dtype)


def _is_float(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point and not str(dtype).startswith("torch.float4")


@cache
def _ulp_dtype(reference: torch.dtype, target: torch.dtype) -> torch.dtype | None:
    """Give the coarser of two dtypes, of the parts of complex numbers; None when one of them has no such distance."""
    real = [torch.float32 if "q" in str(dtype) else dtype.to_real() for dtype in (reference, target)]
    return next((dtype for dtype in _WITH_ULPS if dtype in real and all(d in _WITH_ULPS for d in real)), None)


def _rule(reference: torch.dtype, target: torch.dtype, path: str, tolerance: Tolerance, detail: Detail) -> Rule:
    rtol, atol = tolerance_for(path, reference, tolerance)
    return Rule(
        rtol=rtol,
        atol=atol,
        nan_agrees=tolerance.nan == "equal",
        family=family(reference),
        parts=2 if reference.is_complex else 1,
        ulp=_ulp_dtype(reference, target),
        detail=detail,
    )

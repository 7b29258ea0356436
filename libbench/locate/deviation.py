"""How far two values of one place lie apart, as one number, and which of many such numbers stands out."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from libbench.compare import compare
from libbench.located import LocatedVerdict
from libbench.settings import Tolerance

STANDS_OUT = 3.0
"""A culprit's local error is at least so many times the usual one."""
MANY = 4
"""So few errors beyond one rounding are no usual ones; nor are fewer than one in `SHARE` operators."""
SHARE = 10
_SAFE = (1e-12, 1e15)


def error_of(reference: Any, target: Any) -> float:
    """Give the root mean square of the difference over that of the reference, whatever the dtypes.

    Returns:
        0 for what agrees in every value, NaN with NaN; infinite where one side alone is NaN or infinite, where the
        shapes differ, where one is no tensor, and where the reference is zero and the target is not.
    """
    if not isinstance(reference, torch.Tensor) or not isinstance(target, torch.Tensor):
        return 0.0 if _alike(reference, target) else math.inf
    if reference.shape != target.shape:
        return math.inf
    reference, target = reference.detach(), target.detach()
    if reference.layout != torch.strided or reference.is_quantized or reference.is_meta:
        verdict = compare(reference, target, Tolerance(dtype="any"), detail="verdict").verdict
        return 0.0 if verdict == "same" else math.inf
    if reference.dtype == target.dtype and torch.equal(reference, target):
        return 0.0
    wide = _wide(reference.dtype, target.dtype)
    one, two = reference.to(wide), target.to(wide)
    error = _ratio(two - one, one)
    if math.isfinite(error):
        return error
    # Where both are NaN, or the same infinity, they agree.
    agree = (one == two) | (one.isnan() & two.isnan())
    if not bool((agree | (one.isfinite() & two.isfinite())).all()):
        return math.inf
    return _ratio(torch.where(agree, 0, two - one), torch.where(one.isfinite(), one, 0))


def _wide(one: torch.dtype, two: torch.dtype) -> torch.dtype:
    """Give a dtype in which the values of both are exact."""
    both = {one, two}
    if both <= {torch.float32, torch.bfloat16, torch.float16}:
        return torch.float32
    return torch.complex128 if one.is_complex or two.is_complex else torch.float64


def _ratio(difference: torch.Tensor, reference: torch.Tensor) -> float:
    apart, size = _norm(difference), _norm(reference)
    return 0.0 if apart == 0 else math.inf if size == 0 else apart / size


def _norm(values: torch.Tensor) -> float:
    size = float(torch.linalg.vector_norm(values))
    if values.dtype != torch.float32 or _SAFE[0] < size < _SAFE[1]:
        return size
    # The squares of such values leave float32; in float64 it takes 50 times as long.
    return float(torch.linalg.vector_norm(values, dtype=torch.float64))


def _alike(reference: Any, target: Any) -> bool:
    if isinstance(reference, float) and isinstance(target, float):
        return reference == target or (math.isnan(reference) and math.isnan(target))
    return type(reference) is type(target) and bool(reference == target)


def errors_of(reference: Mapping[str, Any], target: Mapping[str, Any]) -> dict[str, float]:
    """Give the error of each of several outputs by path; infinite for one that only one side has."""
    paths = dict.fromkeys([*reference, *target])
    lacking = {path for path in paths if path not in reference or path not in target}
    return {path: math.inf if path in lacking else error_of(reference[path], target[path]) for path in paths}


def worst(errors: Sequence[float]) -> float:
    """Give the largest of some errors; 0 for none."""
    return max(errors, default=0.0)


def level_of(reference: Any, target: Any) -> float | None:
    """Give t*, the smallest tolerance level that passes; None for what has none, such as integers."""
    found = compare(reference, target, Tolerance(dtype="any"), detail="level")
    return max((leaf.level for leaf in found.leaves if leaf.level is not None), default=None)


def rounding_of(dtype: torch.dtype | None) -> float:
    """Give the largest relative error of one rounding to a dtype; 0 for what does not round."""
    if dtype is None or not (dtype.is_floating_point or dtype.is_complex):
        return 0.0
    return torch.finfo(dtype).eps / 2


def usual(errors: Sequence[float], rounding: float) -> float:
    """Give the local error that is usual among those of many operators, by which a culprit stands out.

    Most operators of two sides that differ in one place agree exactly, and a median over all of them would be 0. So
    the median is that of the errors beyond one rounding, where there are at least `MANY` of them and one in `SHARE`;
    where there are fewer, hardly anything differs, and the usual error is one rounding.

    Args:
        errors: local errors, at least 0, infinite ones too.
        rounding: one rounding of the reference's dtype.
    """
    beyond = [error for error in errors if error > rounding]
    if len(beyond) >= MANY and SHARE * len(beyond) >= len(errors):
        return max(rounding, statistics.median(beyond))
    return rounding


def verdict_of(worst: float, usual: float, rounding: float) -> LocatedVerdict:
    """Tell what the largest local error means beside the usual one."""
    if worst <= rounding:
        return "same"
    return "located" if ratio_of(worst, usual) >= STANDS_OUT else "no single culprit"


def ratio_of(error: float, usual: float) -> float:
    """Give how many times the usual error an error is; infinite for one where there is nothing usual."""
    if error == 0:
        return 0.0
    return 1.0 if error == usual else error / usual if usual > 0 else math.inf

"""What statistics found about the values of one leaf, as its report says it."""

from __future__ import annotations

from typing import Any

from libbench.compare.arrays import Statistics
from libbench.compare.floats import FloatStatistics
from libbench.compare.scalars import WholeStatistics
from libbench.findings import Vacuous

Found = Statistics | WholeStatistics | None


def report_fields(found: Found) -> dict[str, Any]:
    """Give the fields of a leaf's report that are about values; None, or 0, where nothing was asked or found."""
    if isinstance(found, FloatStatistics):
        found.settle()
        return _of_floats(found)
    return {
        "elements": found.elements if found else 0,
        "mismatches": found.mismatches if found else 0,
        "first_mismatch": found.first_mismatch if found else None,
        "max_abs": found.max_abs if found else None,
        "max_rel": found.max_rel if found else None,
        "mean_abs": found.mean_abs if found else None,
        "rmse": found.rmse if found else None,
        "level": None,
        "grid": None,
    }


def _of_floats(found: FloatStatistics) -> dict[str, Any]:
    bounds, sums, ulps, ranking = found.bounds, found.sums, found.ulps, found.ranking
    median, late = ulps.quantiles(0.5, 0.99) if ulps else (None, None)
    rows = bounds.grid
    return {
        "elements": found.elements,
        "mismatches": found.mismatches,
        "first_mismatch": found.first_mismatch,
        "max_abs": bounds.extremes.max_abs if bounds.extremes else None,
        "max_rel": bounds.extremes.max_rel if bounds.extremes else None,
        "mean_abs": sums.mean_abs if sums else None,
        "rmse": sums.rmse if sums else None,
        "cosine": sums.cosine if sums else None,
        "snr_db": sums.snr_db if sums else None,
        "ulp_max": ulps.largest if ulps else None,
        "ulp_p50": median,
        "ulp_p99": late,
        "ulp_counts": ulps.counts() if ulps else (),
        "not_finite": found.odd.disagreeing,
        "nans": (found.odd.nans[0], found.odd.nans[1]),
        "infs": (found.odd.infs[0], found.odd.infs[1]),
        "level": bounds.level.value if bounds.level else None,
        "grid": {str(dtype).removeprefix("torch."): row.level for dtype, row in rows.items()} if rows else None,
        "top1": ranking.top1 if ranking else None,
        "top5": ranking.top5 if ranking else None,
        "ranked_rows": ranking.rows if ranking else 0,
        "rtol": found.rule.rtol,
        "atol": found.rule.atol,
    }


def value_reasons(found: Found) -> list[str]:
    """Say how many values do not agree, and by which rule; nothing where all do."""
    if found is None or not found.mismatches:
        return []
    count = f"{found.mismatches:,} of {found.elements:,} values"
    if not isinstance(found, FloatStatistics):
        return [f"{count} differ"]
    reasons = [f"{count} are not within rtol {found.rule.rtol:.3g} and atol {found.rule.atol:.3g}"]
    if found.odd.disagreeing:
        nans, infs = ("{:,} against {:,}".format(*counts) for counts in (found.odd.nans, found.odd.infs))
        reasons.append(f"{found.odd.disagreeing:,} of them are NaN or infinite (NaN: {nans}; infinite: {infs})")
    return reasons


def value_notes(found: Found, *, one_dtype: bool) -> list[str]:
    """Say what else is to be known of the values.

    Args:
        found: the statistics.
        one_dtype: whether both sides have the same dtype.
    """
    if found is None or not found.elements:
        return []
    floats = found if isinstance(found, FloatStatistics) else None
    if found.mismatches:
        ranking = floats.ranking if floats else None
        return [f"top-1 agrees in {ranking.agreeing:,} of {ranking.rows:,} rows"] if ranking and ranking.rows else []
    if floats and floats.odd.nans[0]:
        return [f"{floats.odd.nans[0]:,} of {found.elements:,} values are NaN on both sides"]
    if one_dtype:
        return []
    if isinstance(found, FloatStatistics):
        equal = not found.differing
    else:
        equal = found.max_abs is None or found.max_abs.value == 0
    return ["the values are equal" if equal else "the values are within tolerance"]


def vacuous_by_values(found: Found, *, several: bool) -> Vacuous:
    """Say why the agreement of the values proves nothing; empty where it does.

    Args:
        found: the statistics of values that agree.
        several: whether a batch has more than one value, so that they could have differed.
    """
    if found is None or not found.elements:
        return "empty"
    if isinstance(found, WholeStatistics):
        return ""
    if isinstance(found, FloatStatistics) and found.odd.nans[0] == found.elements:
        return "nan"
    if several and found.spread.constant:
        return "constant"
    return "small" if found.spread.small else ""

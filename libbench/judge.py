"""Metrics of both sides, name by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fnmatch import fnmatchcase

from libbench.findings import MetricReport, Verdict
from libbench.settings import Tolerance

_DEFAULT = 1e-6


def judge_metrics(
    reference: Mapping[str, float],
    target: Mapping[str, float],
    tolerance: Tolerance,
    defaults: Mapping[str, float] | None = None,
) -> tuple[MetricReport, ...]:
    """Judge every metric that either side has, in the order of their names.

    Args:
        reference: value by name.
        target: value by name. A metric of one side only is different; NaN agrees with NaN (unless `tolerance.nan`
            is "refuse") and an infinity with the same infinity.
        tolerance: its `metrics` give the absolute tolerance by glob, the first match wins.
        defaults: the absolute tolerance for names, or globs, without such an entry; else 1e-6 * max(1, abs(ref)).
    """
    return tuple(
        _judged(name, reference.get(name), target.get(name), tolerance, defaults or {})
        for name in sorted(reference.keys() | target.keys())
    )


def _judged(
    name: str, reference: float | None, target: float | None, tolerance: Tolerance, defaults: Mapping[str, float]
) -> MetricReport:
    allowed = _allowed(name, reference, tolerance.metrics, defaults)
    if reference is None or target is None:
        side = "target" if target is None else "reference"
        return MetricReport(
            name=name,
            reference=reference,
            target=target,
            difference=None,
            allowed=allowed,
            verdict="different",
            note=f"missing in the {side}",
        )
    difference = target - reference
    verdict, note = _verdict(reference, target, allowed, tolerance.nan == "equal")
    return MetricReport(
        name=name,
        reference=reference,
        target=target,
        difference=difference if math.isfinite(difference) else None,
        allowed=allowed,
        verdict=verdict,
        note=note,
    )


def _allowed(name: str, reference: float | None, metrics: Mapping[str, float], defaults: Mapping[str, float]) -> float:
    for known in (metrics, defaults):
        for glob, allowed in known.items():
            if name == glob or fnmatchcase(name, glob):
                return allowed
    size = abs(reference) if reference is not None and math.isfinite(reference) else 1.0
    return _DEFAULT * max(1.0, size)


def _verdict(reference: float, target: float, allowed: float, nan_agrees: bool) -> tuple[Verdict, str]:
    if math.isnan(reference) or math.isnan(target):
        if math.isnan(reference) and math.isnan(target):
            return ("same", "NaN in both") if nan_agrees else ("different", "NaN in both")
        return "different", f"NaN in the {'reference' if math.isnan(reference) else 'target'} only"
    if reference == target:
        return "same", ""
    difference = abs(target - reference)
    if math.isinf(reference) or math.isinf(target):
        return "different", "an infinity on one side, or of the other sign"
    return ("same", "") if difference <= allowed else ("different", "")

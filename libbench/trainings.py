"""What two trainings mean for a verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from libbench.compare.arrays import tolerance_for
from libbench.curves import LOSS, CurveReport
from libbench.drift import Allowance, compare_curves
from libbench.findings import LeafReport, OutputsReport, Verdict
from libbench.result import Result
from libbench.settings import Tolerance


def curves_of(reference: Result, target: Result, tolerance: Tolerance) -> CurveReport | None:
    """Compare the loss curves of two sides, as far as both came; None unless both train.

    Args:
        tolerance: of step 0, as for the leaf `loss`: by default by the dtype of the reference's loss.
    """
    if reference.curve is None or target.curve is None:
        return None
    dtype: Any = getattr(torch, reference.curve.dtype, torch.float32)
    rtol, atol = tolerance_for(LOSS, dtype, tolerance)
    report = compare_curves(reference.curve, target.curve, Allowance(rtol=rtol, atol=atol, nan=tolerance.nan))
    # Of a target that failed on its way nobody knows what it would have come to; how it failed is said elsewhere.
    if target.failure is None or report.diverges is not None or report.other_data is not None:
        return report
    return replace(report, verdict="same" if report.judged else "unjudged", reasons=())


def judged_by_curve(outputs: OutputsReport, curves: CurveReport | None) -> OutputsReport:
    """Let the curves judge the values of the loss, of which every step may be a little further off than the last.

    Its dtype, and all other leaves, are judged as any output.
    """
    if curves is None or curves.verdict == "different":
        return outputs
    leaves = tuple(_loss(leaf, curves.verdict) if leaf.path == LOSS else leaf for leaf in outputs.leaves)
    verdicts = {leaf.verdict for leaf in leaves}
    verdict: Verdict = "same" if verdicts == {"same"} else "unjudged"
    if outputs.reasons or "different" in verdicts:
        verdict = "different"
    return replace(outputs, leaves=leaves, verdict=verdict)


def _loss(leaf: LeafReport, verdict: Verdict) -> LeafReport:
    if leaf.verdict != "different" or leaf.form_reasons:
        return leaf
    notes = (*leaf.notes, *leaf.value_reasons, "judged as a curve, see there")
    return replace(leaf, verdict=verdict, reasons=(), value_reasons=(), notes=notes)

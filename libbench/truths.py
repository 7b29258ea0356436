"""What a truth means for a verdict."""

from __future__ import annotations

from dataclasses import replace

from libbench.findings import LeafReport, OutputsReport, TruthReport, Verdict
from libbench.result import Result


def truth_of(side: Result | None, report: TruthReport | None) -> TruthReport | None:
    """Give what the truth says, or why there is none.

    Args:
        side: the float64 copy of the reference, as far as it came; None where none is asked for.
        report: what was found with its outputs by now; None where nothing was.
    """
    if side is None:
        return None
    report = report or TruthReport(dtype="float64", verdict="unjudged")
    lifted = side.preparation.facts.fallbacks if side.preparation and side.preparation.facts else ()
    report = replace(report, lifted=lifted)
    if side.failure is None:
        return report
    return replace(report, verdict="unjudged", reasons=(f"the float64 copy failed: {side.failure.message}",))


def but_for_values(report: OutputsReport) -> OutputsReport:
    """Give what the outputs differ in besides their floating values, which are for the truth to judge."""
    leaves = tuple(_form(leaf) for leaf in report.leaves)
    verdicts = {leaf.verdict for leaf in leaves}
    verdict: Verdict = "same" if verdicts == {"same"} else "unjudged"
    if report.reasons or "different" in verdicts:
        verdict = "different"
    return replace(report, leaves=leaves, verdict=verdict)


def _form(leaf: LeafReport) -> LeafReport:
    # A class of number, such as `numpy.float32`, stands in the place of a dtype.
    names = [str(name).rpartition(".")[2] for name in leaf.dtypes]
    if not all(name.startswith(("float", "bfloat", "complex")) for name in names):
        return leaf
    left = leaf.form_reasons
    verdict = leaf.verdict if left else "same"
    return replace(leaf, reasons=left, value_reasons=(), mismatches=0, not_finite=0, verdict=verdict)

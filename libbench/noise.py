"""The reference's own noise: how far its runs lie apart where nothing, or nothing that matters, was changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from libbench.findings import LeafNoise, LeafReport, OutputsReport, Rerun, Verdict
from libbench.result import Result

AGAIN = "again"
SEEDED = "again from the same seed"


def rerun_of(setting: str, report: OutputsReport) -> Rerun:
    """Give the record of two runs of one side from what was found between their outputs."""
    worst = next((leaf for leaf in report.leaves if leaf.verdict == "different"), None)
    read = [leaf for leaf in report.leaves if leaf.verdict != "unjudged"]
    reasons = report.reasons if worst is None else (f"{worst.path}: {'; '.join(worst.reasons)}",)
    return Rerun(
        setting=setting,
        verdict=report.verdict,
        exact=not report.reasons and all(_exact(leaf) for leaf in read),
        leaves=tuple(_noise(leaf) for leaf in read),
        note="; ".join(reasons) if report.verdict == "different" else "",
    )


def bands(reference: Result) -> Mapping[str, float]:
    """Give, by path, the largest absolute difference between any two runs of the reference that were compared."""
    found: dict[str, float] = {}
    for rerun in _made(reference):
        for leaf in rerun.leaves:
            found[leaf.path] = max(found.get(leaf.path, 0.0), leaf.max_abs)
    return found


def within_noise(report: OutputsReport, noise: Mapping[str, float]) -> OutputsReport:
    """Put the noise beside every leaf; what differs by no more than the noise cannot be told from it: unjudged.

    Only values can lie within the noise, never a dtype, a shape, a NaN or an infinity.

    Args:
        report: judged by tolerance.
        noise: by path, the largest absolute difference between runs of the reference.
    """
    leaves = tuple(_placed(leaf, noise[leaf.path]) if leaf.path in noise else leaf for leaf in report.leaves)
    verdicts = {leaf.verdict for leaf in leaves}
    if report.verdict != "different" or report.reasons or "different" in verdicts:
        return replace(report, leaves=leaves)
    return replace(report, leaves=leaves, verdict="unjudged")


def notes(name: str, result: Result) -> Iterator[str]:
    """Say what a side's own noise means for whoever reads a comparison of it."""
    for rerun in _made(result):
        if rerun.exact or (rerun.setting == AGAIN and rerun.verdict == "different"):
            continue  # nothing to say, or said as a verdict of its own
        worst = max(rerun.leaves, key=lambda leaf: leaf.max_abs, default=None)
        size = f" by up to {worst.max_abs:.2g} ({worst.path})" if worst else ""
        if rerun.setting == AGAIN:
            yield (
                f"the {name} does not repeat itself bit for bit: two calls on one batch differ{size}, within "
                f"tolerance; it draws at random, keeps a state or adds up in another order"
            )
        elif rerun.verdict == "different":
            yield f"with {rerun.setting}, the {name} differs from itself{size}, which is beyond its dtype's tolerance"


def _made(result: Result) -> tuple[Rerun, ...]:
    prepared = result.preparation
    # What it draws at random is no noise where it draws the same from one seed.
    again = None if prepared is None else prepared.seeded if prepared.draws else prepared.again
    return tuple(rerun for rerun in (again, *result.reruns) if rerun is not None and rerun.leaves)


def _placed(leaf: LeafReport, noise: float) -> LeafReport:
    leaf = replace(leaf, noise=noise)
    largest = leaf.max_abs.value if leaf.max_abs else math.inf
    within = 0 < largest <= noise < math.inf
    if leaf.verdict != "different" or not within or leaf.form_reasons or leaf.not_finite:
        return leaf
    verdict: Verdict = "unjudged"
    why = f"{leaf.reasons[0]}, which is within the reference's own noise: {largest:.3g} against {noise:.3g}"
    return replace(leaf, verdict=verdict, reasons=(why,), value_reasons=(why,))


def _noise(leaf: LeafReport) -> LeafNoise:
    return LeafNoise(path=leaf.path, max_abs=_size(leaf), rmse=leaf.rmse, level=leaf.level, dtype=leaf.dtypes[0])


def _exact(leaf: LeafReport) -> bool:
    return not leaf.reasons and not leaf.mismatches and (leaf.max_abs is None or leaf.max_abs.value == 0)


def _size(leaf: LeafReport) -> float:
    if leaf.form_reasons or leaf.not_finite:
        return math.inf
    if leaf.max_abs is None:
        return math.inf if leaf.mismatches else 0.0
    try:
        return float(leaf.max_abs.value)
    except OverflowError:
        return math.inf

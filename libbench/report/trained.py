"""What a training shows: its losses step by step, and where two of them part."""

from __future__ import annotations

import math
from collections.abc import Iterator

from libbench.curves import Curve, CurveReport
from libbench.report.page import Cell, Column, Page
from libbench.report.words import Tone, apart, figure, plural
from libbench.result import Comparison, Result, Verdict

FIRST = 3
"""Steps at the beginning that are always shown; besides them those around the first that differs, and the last."""
_TONES: dict[Verdict, Tone] = {"same": "plain", "different": "bad", "unjudged": "warn"}
_STEPS = (
    Column("step", right=True),
    Column("epoch", right=True, drop=1),
    Column("reference", right=True),
    Column("target", right=True),
    Column("drift", right=True),
    Column(least=20, end=True),
)


def write_curve(page: Page, comparison: Comparison, verbose: bool) -> None:
    """Write how two losses went, whether the data were the same, and why the losses part, where that can be told."""
    curve, sides = comparison.curve, (comparison.reference.curve, comparison.target.curve)
    if curve is None or sides[0] is None or sides[1] is None:
        return
    page.entry("loss", "; ".join(_found(curve)), _TONES[curve.verdict])
    shown = sorted(_shown(curve, min(len(side.steps) for side in sides if side), verbose))
    page.table(_STEPS, [_row(curve, sides[0], sides[1], k) for k in shown])
    for reason in curve.reasons:
        page.item(reason, _TONES[curve.verdict])
    for cause in curve.causes:
        page.item(f"likely cause: {cause}", "warn")
    ends = curve.not_finite
    if curve.diverges is None and ends[0] is not None and ends[0] == ends[1]:
        page.item(f"note: both losses are NaN or infinite from step {ends[0]} on", "warn")


def write_losses(page: Page, result: Result, verbose: bool) -> None:
    """Write the losses of a side that trained by itself."""
    if result.curve is None:
        return
    steps = result.curve.steps
    page.entry("loss", f"{plural(len(steps), 'step')}, {figure(steps[0].loss, 4)} to {figure(steps[-1].loss, 4)}")
    shown = steps if verbose else [*steps[:FIRST], *steps[max(FIRST, len(steps) - 1) :]]
    page.table(
        (*_STEPS[:2], Column("loss", right=True)),
        [[str(step.number), str(step.epoch), figure(step.loss, 6)] for step in shown],
    )
    odd = next((step.number for step in steps if not math.isfinite(step.loss)), None)
    if odd is not None:
        page.item(f"the loss is NaN or infinite from step {odd} on", "warn")


def _found(curve: CurveReport) -> Iterator[str]:
    words = f"{plural(curve.judged, 'step')} on the same data"
    yield words + (", within tolerance" if curve.verdict == "same" else "")
    if curve.diverges is not None:
        yield f"DIVERGES from step {curve.diverges}"
    drift = [(size, k) for k, size in enumerate(curve.drift) if not math.isnan(size)]
    size, step = max(drift, default=(0.0, 0), key=lambda each: each[0])
    if size:
        grows = f", growing {figure(curve.growth)}x a step" if curve.growth is not None else ""
        yield f"drift up to {figure(size, 2)} (step {step}){grows}"


def _shown(curve: CurveReport, common: int, verbose: bool) -> set[int]:
    if verbose:
        return set(range(common))
    marks = [k for k in (curve.diverges, curve.other_data) if k is not None]
    around = {k + near for k in marks for near in (-1, 0, 1)}
    return {k for k in {*range(FIRST), *around, common - 1} if 0 <= k < common}


def _row(curve: CurveReport, reference: Curve, target: Curve, k: int) -> list[Cell]:
    ours, theirs = reference.steps[k], target.steps[k]
    judged = k < curve.judged
    said: Cell = f"allowed {figure(allowed(curve, k, ours.loss), 2)}" if judged else ""
    if k == curve.other_data:
        said = ("other data from here on", "warn")
    elif k == curve.diverges:
        said = (f"DIVERGES, allowed {figure(allowed(curve, k, ours.loss), 2)}", "bad")
    drift = figure(curve.drift[k], 2) if judged else "-"
    return [str(ours.number), str(ours.epoch), *apart(ours.loss, theirs.loss, 6), drift, said]


def allowed(curve: CurveReport, step: int, reference: float) -> float:
    """Give the relative difference that a step is allowed; infinite where the reference's loss is 0."""
    if not reference or not math.isfinite(reference):
        return math.inf
    return (step + 1) * (curve.rtol + curve.atol / abs(reference))

"""Charts of a training: both losses, and how far they drift apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from libbench.curves import CurveReport
from libbench.report.charts.chart import Axis, Chart, Dots, Line, Mark
from libbench.report.trained import allowed
from libbench.report.words import apart, figure
from libbench.result import Comparison

MOST_POINTS = 300
"""Steps of a line that are drawn; of a longer one, so many evenly."""


def training_charts(comparison: Comparison) -> Iterator[Chart]:
    """Give the loss curves and the drift; none of what does not train."""
    report, ours, theirs = comparison.curve, comparison.reference.curve, comparison.target.curve
    if report is None or ours is None or theirs is None or not ours.steps or not theirs.steps:
        return
    losses = [step.loss for step in ours.steps], [step.loss for step in theirs.steps]
    yield _losses(losses, report)
    if any(size > 0 for size in report.drift):
        yield _drift(report, losses[0])


def _losses(losses: tuple[Sequence[float], Sequence[float]], report: CurveReport) -> Chart:
    steps = [_picked(len(side)) for side in losses]
    lines: list[Mark] = [
        Line(steps[0], [losses[0][k] for k in steps[0]], "reference"),
        Line(steps[1], [losses[1][k] for k in steps[1]], "target", dashed=True),
    ]
    if report.diverges is not None:
        lines.append(Dots((report.diverges,), (losses[0][report.diverges],), "bad", cross=True, large=True))
    known = [value for side in losses for value in side]
    x = Axis.over("step", [0.0, *(float(len(side) - 1) for side in losses)], lambda value: f"{value:,.6g}", log=False)
    legend: list[tuple[Mark, str]] = [
        (Line((0, 1), (0, 0), "reference"), "reference"), (Line((0, 1), (0, 0), "target", dashed=True), "target"),
    ]  # fmt: skip
    where = ""
    if report.diverges is not None:
        legend.append((Dots((0,), (0,), "bad", cross=True), "diverges"))
        where = f" They diverge from step {report.diverges}."
    ends = [f"{name} {figure(side[0], 4)} to {figure(side[-1], 4)}" for name, side in
            zip(("reference", "target"), losses, strict=True)]  # fmt: skip
    common = range(min(map(len, losses)))
    rows = tuple((str(k), *apart(losses[0][k], losses[1][k], 6)) for k in _picked(len(common), 25))
    return Chart(
        "loss", "Loss, step by step", f"The loss of both sides: {', '.join(ends)}.{where}", x,
        Axis.over("loss", known, lambda value: f"{value:.6g}"), tuple(lines), tuple(legend),
        ("step", "reference", "target"), rows,
    )  # fmt: skip


def _drift(report: CurveReport, reference: Sequence[float]) -> Chart:
    bounds = [allowed(report, k, reference[k]) for k in range(len(report.drift))]
    picked = _picked(len(bounds))
    # What is exactly the same has no place on a logarithmic axis: the line breaks there.
    sizes = [size if size > 0 else math.nan for size in report.drift]
    known = [value for value in (*sizes, *bounds) if math.isfinite(value) and value > 0]
    marks = (
        Line(picked, [bounds[k] for k in picked], "quiet", dashed=True),
        Line(picked, [sizes[k] for k in picked], "target"),
    )
    legend = (
        (Line((0, 1), (0, 0), "target"), "drift"),
        (Line((0, 1), (0, 0), "quiet", dashed=True), "allowed"),
    )
    rows = tuple((str(k), figure(report.drift[k], 2), figure(bounds[k], 2)) for k in _picked(len(bounds), 25))
    growth = f" It grows {figure(report.growth)}x a step." if report.growth is not None else ""
    return Chart(
        "drift", "Drift of the loss", f"Relative difference of the two losses, and what is allowed.{growth}",
        Axis.over("step", [0.0, float(len(bounds) - 1)], lambda value: f"{value:,.6g}", log=False),
        Axis.over("relative difference", known, lambda value: f"{value:.0e}", log=True), marks, legend,
        ("step", "drift", "allowed"), rows,
    )  # fmt: skip


def _picked(count: int, most: int = MOST_POINTS) -> list[int]:
    """Give steps from the first to the last, all of them or so many evenly."""
    if count <= most:
        return list(range(count))
    return [k * (count - 1) // (most - 1) for k in range(most)]

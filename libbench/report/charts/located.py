"""A chart of where two sides part: the errors of every operator, in the order in which they run."""

from __future__ import annotations

import math
from collections.abc import Iterator

from libbench.located import Located, OpsReport
from libbench.report.charts.chart import Axis, Chart, Dots, Line, Mark
from libbench.report.words import figure, plural

_HIGHEST = 10.0
"""An error that is infinite is drawn so many times above the largest that is not."""


def located_charts(found: Located | None) -> Iterator[Chart]:
    """Give the errors along the graph; nothing where no operator was looked at or none differs."""
    report = found.operators if found is not None else None
    if report is not None and any(error for pair in report.errors for error in pair):
        yield _errors(report)


def _errors(report: OpsReport) -> Chart:
    known = [error for pair in report.errors for error in pair if error and math.isfinite(error)] or [1.0]
    top = _HIGHEST * max(known)
    local = {k: min(pair[0], top) for k, pair in enumerate(report.errors) if pair[0]}
    # What is exactly the same has no place on a logarithmic axis: the line breaks there.
    total = [min(pair[1], top) if pair[1] else math.nan for pair in report.errors]
    marks: list[Mark] = [
        Line(range(len(total)), total, "quiet"),
        Line((0, max(len(total) - 1, 1)), (report.usual, report.usual), "plain", dashed=True, thin=True),
        Dots(list(local), list(local.values()), "target"),
    ]
    legend: list[tuple[Mark, str]] = [
        (Dots((0,), (0,), "target"), "local error"),
        (Line((0, 1), (0, 0), "quiet"), "global error"),
        (Line((0, 1), (0, 0), "plain", dashed=True, thin=True), "usual local error"),
    ]
    where = "No single operator stands out."
    if report.culprit is not None:
        at = report.culprit.position
        marks.append(Dots((at,), (local.get(at, top),), "bad", cross=True, large=True))
        legend.append((Dots((0,), (0,), "bad", cross=True, large=True), "culprit"))
        where = f"The cross is {report.culprit.operator}, operator {at}."
    rows = tuple(
        (row.operator, str(row.position), figure(row.deviation.local), figure(row.deviation.total))
        for row in report.rows[:25]
    )
    x = Axis.over("operator", [0.0, float(max(len(total) - 1, 1))], lambda value: f"{value:,.6g}", log=False)
    values = [*local.values(), *(each for each in total if math.isfinite(each)), report.usual]
    words = f"Local and global error of {plural(len(total), 'operator')}; what agrees exactly is not drawn. {where}"
    return Chart(
        "located", "Errors along the graph", words,
        x, Axis.over("relative error", values, lambda value: f"{value:.0e}", log=True), tuple(marks), tuple(legend),
        ("operator", "position", "local error", "global error"), rows,
    )  # fmt: skip

"""What was found by compiling a side piece by piece, as text."""

from __future__ import annotations

import math
from collections.abc import Sequence

from libbench.findings import level_text
from libbench.located import SegmentRow, SegmentsReport, SettingRow
from libbench.report.page import Cell, Column, Page
from libbench.report.words import Tone, figure, one_line, plural

_MOST_ROWS = 8
_MOST_NAMES = 3
_SEGMENTS = (
    Column("segment", right=True), Column("operators", least=24), Column("local", right=True),
    Column("x usual", right=True), Column("outputs", right=True), Column("t*", right=True, drop=1), Column("verdict"),
    Column("from", least=14, drop=2),
)  # fmt: skip


def segment_headline(report: SegmentsReport) -> str:
    """Say in which operators a compiled side parts from what it is without its compiler.

    Raises:
        ValueError: no piece stands out.
    """
    row = report.culprit
    if row is None:
        raise ValueError("no piece stands out")
    what = _place(row.first)
    if row.stop - row.start > 1:
        joined = ", only when they are compiled together" if report.together else ""
        what = f"{plural(row.stop - row.start, 'operator')} from {what} to {_place(row.last)}{joined}"
    if report.alike:
        what = f"{what} and in {plural(report.alike, 'other piece')} that have such"
    helping = [each.setting for each in report.settings if each.gone]
    ends = f"; goes away with {helping[0]}" if helping else ""
    return f"{what}, as the {report.side}'s compiler makes it, {_times(row)}{ends}"


def write_segments(page: Page, report: SegmentsReport, verbose: bool) -> None:
    """Write the table of pieces, the worst of each cut first, then what comes of leaving out some of the work."""
    page.entry(
        "compiled",
        f"the {report.side}, {report.compiler}: an error of {figure(report.error)} in the outputs; "
        f"{plural(report.operators, 'operator')}, {_HOW[report.graph]}; "
        f"the usual local error is {figure(report.usual)}",
    )
    if report.why_recorded and verbose:
        page.item(f"not exported: {report.why_recorded}", "dim")
    rows = report.rows if verbose else _worst(report)
    if rows:
        page.table(_SEGMENTS, [_row(row, report.culprit) for row in rows])
    for row in rows:
        if row.note:
            page.item(f"{row.start}-{row.stop - 1}: {one_line(row.note)}", "dim")
    if len(report.rows) > len(rows):
        page.more(f"and {len(report.rows) - len(rows):,} more")
    page.gap()
    for number, setting in enumerate(report.settings):
        page.entry("" if number else "settings", _said(setting), "good" if setting.gone else "dim")
    if report.settings:
        page.gap()


_HOW = {"export": "as torch exports them", "record": "as they run"}


def _worst(report: SegmentsReport) -> Sequence[SegmentRow]:
    """Give the row of the culprit, and those that differ most, in the order in which they were compiled."""
    ordered = sorted(report.rows, key=lambda row: (row != report.culprit, -(row.deviation.total or 0.0)))
    chosen = ordered[:_MOST_ROWS]
    return [row for row in report.rows if row in chosen]


def _row(row: SegmentRow, culprit: SegmentRow | None) -> list[Cell]:
    found = row.deviation
    cells = [
        f"{row.start}-{row.stop - 1}", _names(row), figure(found.local),
        "-" if found.ratio is None else figure(found.ratio, 2), figure(found.total), level_text(found.level),
        row.verdict, _place(row.first).partition(" (")[2].rstrip(")"),
    ]  # fmt: skip
    tone: Tone = "bad" if row == culprit else "dim" if row.verdict == "same" else "plain"
    return [(cell, tone) for cell in cells]


def _names(row: SegmentRow) -> str:
    """Give the operators of a piece, the middle of many left out."""
    names = [name.removeprefix("aten.") for name in row.names]
    count = row.stop - row.start
    if count <= _MOST_NAMES:
        return ", ".join(names)
    return f"{names[0]} ... {row.last.partition(' in ')[0].removeprefix('aten.')}: {count:,}"


def _said(row: SettingRow) -> str:
    if row.note:
        return f"{row.setting}: cannot be tried: {one_line(row.note)}"
    if row.gone:
        return f"goes away with {row.setting}" + (f" (local error {figure(row.local)})" if row.local else "")
    return f"stays with {row.setting} (local error {figure(row.local)})"


def _place(text: str) -> str:
    """Give `name in module (file:line)` of a row's first or last operator."""
    name, _, line = text.partition(" at ")
    return name.removesuffix(" in the model") + (f" ({line.rpartition('/')[2]})" if line else "")


def _times(row: SegmentRow) -> str:
    found = row.deviation
    if found.local == math.inf:
        return "not finite, or of another shape"
    ratio = "-" if found.ratio is None else figure(found.ratio, 2)
    return f"local error {figure(found.local)}, {ratio} times the usual one"

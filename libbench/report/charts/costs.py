"""Charts of what each side costs once: its first call, and memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from libbench.report.charts.chart import Axis, Block, Chart, Mark, Role
from libbench.report.costs import first_call
from libbench.report.words import nbytes, seconds
from libbench.result import SIDES, Comparison

_ROLES: tuple[Role, Role] = ("reference", "target")
Bar = tuple[str, Role, float, str]
"""Its name, what it stands for, its length and its text."""


def cost_charts(comparison: Comparison) -> Iterator[Chart]:
    """Give bars of the first call with its compilation, and of memory; none of what is not known."""
    sides = comparison.reference, comparison.target
    firsts = [
        (name, role, value, seconds(value))
        for name, role, side in zip(SIDES, _ROLES, sides, strict=True)
        if (value := first_call(side.preparation)) is not None
    ]
    if firsts:
        words = "Seconds of compiling and of the first call together, in the process that ran all batches."
        yield _bars("first-call", "First call, compilation included", words, firsts, "seconds")
    memory = list(_memory(comparison))
    if memory:
        words = "Largest memory in a call, and what model and compiler keep; above what was there before."
        yield _bars("memory", "Memory", words, memory, "bytes")


def _memory(comparison: Comparison) -> Iterator[Bar]:
    sides = comparison.reference, comparison.target
    peaks = [side.evaluation.peak if side.evaluation else {} for side in sides]
    for kind in dict.fromkeys([*peaks[0], *peaks[1]]):
        for name, role, peak in zip(SIDES, _ROLES, peaks, strict=True):
            if kind in peak:
                yield f"peak {kind}, {name}", role, float(peak[kind]), nbytes(peak[kind])
    for name, role, side in zip(SIDES, _ROLES, sides, strict=True):
        kept = side.preparation.resident if side.preparation else None
        if kept is not None:
            yield f"resident, {name}", role, float(kept), nbytes(kept)


def _bars(name: str, title: str, words: str, bars: Sequence[Bar], unit: str) -> Chart:
    """Give bars below one another, each with its name above and its value at its end."""
    longest = max(max(value for _, _, value, _ in bars), 1e-12)
    marks: list[Mark] = []
    for row, (_, role, value, text) in enumerate(bars):
        marks.append(Block(0.0, row - 0.3, max(value, 0.0), row + 0.3, role, text))
    x = Axis("", 0.0, longest * 1.35)
    rows = tuple((label, text) for label, _, _, text in bars)
    return Chart(
        name, title, words, x, Axis.of_names([label for label, _, _, _ in bars]), tuple(marks),
        heads=("", unit), rows=rows, height=24.0 * len(bars) + 4,
    )  # fmt: skip

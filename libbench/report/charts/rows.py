"""Charts of a list that need no score: how many rows came out how, and how fast each was."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from libbench.comparability import no_speedup
from libbench.measured import Speedup
from libbench.report.charts.chart import Axis, Block, Chart, Dots, Line, Mark, Role
from libbench.report.headline import wall
from libbench.report.many import ORDER, TONES, verdict_word
from libbench.report.words import plural, ratio
from libbench.result import Comparison

Named = tuple[str, Comparison]
_FEW = 60
"""Rows up to which a point may be large."""
_ROLES: dict[str, Role] = {"good": "good", "bad": "bad"}


def row_charts(rows: Sequence[Named]) -> Iterator[Chart]:
    """Give the verdicts of all rows, and the speedups of the same ones where two have an interval."""
    counts = Counter(verdict_word(comparison) for _, comparison in rows)
    words = [word for word in reversed(ORDER) if counts[word]]
    if words:
        yield _verdicts(words, counts)
    timed = [(name, speedup) for name, comparison in rows if (speedup := _of_same(comparison)) is not None]
    if len(timed) > 1:
        yield _sorted(sorted(timed, key=lambda each: each[1].ratio))


def _of_same(comparison: Comparison) -> Speedup | None:
    speedup = wall(comparison)
    if verdict_word(comparison) != "same" or no_speedup(comparison):
        return None
    return speedup if speedup is not None and speedup.low is not None else None


def _verdicts(words: Sequence[str], counts: Counter[str]) -> Chart:
    marks = tuple(
        Block(
            0.0, row - 0.3, float(counts[word]), row + 0.3, _ROLES.get(TONES.get(word, ""), "warn"), f"{counts[word]:,}"
        )
        for row, word in enumerate(words)
    )
    total = sum(counts.values())
    return Chart(
        "verdicts", "Verdicts", f"How {plural(total, 'row')} came out.", Axis("", 0.0, 1.2 * max(counts.values())),
        Axis.of_names([word.lower() for word in words]), marks, heads=("verdict", "rows"),
        rows=tuple((word.lower(), f"{counts[word]:,}") for word in words), height=24.0 * len(words) + 4,
    )  # fmt: skip


def _sorted(rows: Sequence[tuple[str, Speedup]]) -> Chart:
    """Show the speedup of every row with its interval, from the slowest to the fastest."""
    places = [float(k) for k in range(1, len(rows) + 1)]
    ratios = [speedup.ratio for _, speedup in rows]
    ends = [(float(speedup.low or 0), float(speedup.high or 0)) for _, speedup in rows]
    bars = [(x, y) for x, (low, high) in zip(places, ends, strict=True) for y in (low, high, math.nan)]
    known = [value for pair in ends for value in pair if value > 0]
    marks: tuple[Mark, ...] = (
        Line((0.0, len(rows) + 1.0), (1.0, 1.0), "plain", dashed=True, thin=True),
        Line([x for x, _ in bars], [y for _, y in bars], "target", thin=True),
        Dots(places, ratios, "plain", large=len(rows) <= _FEW),
    )
    words = (
        "Each point is a row whose outputs are the same, from the slowest to the fastest, with its 95 % interval; "
        "above the dashed 1 the target is faster."
    )
    texts = [ratio(speedup.ratio, speedup.low, speedup.high) for _, speedup in rows]
    return Chart(
        "speedups", "Speedups of the same rows, sorted", words,
        Axis("row by rank", 0.0, len(rows) + 1.0, tuple((x, f"{x:.0f}") for x in (1.0, float(len(rows))))),
        Axis.over("speedup", [*known, 1.0], lambda value: f"{value:.6g}x"), marks,
        ((Dots((0,), (0,), "plain"), "speedup"), (Line((0, 0), (0, 1), "target", thin=True), "95 % interval")),
        ("row", "speedup", "95 % interval", "verdict"),
        tuple((name, f"{value}x", f"{a} to {b}", speedup.verdict)
              for (name, speedup), (value, a, b) in zip(rows, texts, strict=True)),
    )  # fmt: skip

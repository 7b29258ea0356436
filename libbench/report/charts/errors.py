"""Charts of how far outputs lie apart: distances in units of the last place, tolerance levels, and a truth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from libbench.findings import LeafReport, LeafTruth, level_text
from libbench.report.charts.chart import Axis, Block, Chart, Dots, Line, Mark
from libbench.report.words import figure, plural, shorten
from libbench.result import Comparison

MOST_LEAVES = 4
LEVELS = range(-10, 6)
_NAME = 40
_ROW = 16
"""Characters of a name that stands for a whole chart, and for a row of one."""


def error_charts(comparison: Comparison) -> Iterator[Chart]:
    """Give a histogram of distances for each of the worst leaves that has one, and the levels that outputs pass."""
    leaves = comparison.outputs.leaves if comparison.outputs else ()
    shown = [leaf for leaf in leaves if leaf.ulp_counts and leaf.ulp_max]
    for number, leaf in enumerate(shown[:MOST_LEAVES], start=1):
        yield _histogram(leaf, number)
    graded = [leaf for leaf in leaves if leaf.grid]
    if graded:
        yield _grid(graded)
    truths = [leaf for leaf in (comparison.truth.leaves if comparison.truth else ()) if leaf.rmse]
    if truths:
        yield _truth(truths[: 2 * MOST_LEAVES], comparison.truth.dtype if comparison.truth else "")


def _histogram(leaf: LeafReport, number: int) -> Chart:
    """Show how many sampled values are 0, 1, 2 to 3, 4 to 7 ... units apart."""
    counts, total = leaf.ulp_counts, sum(leaf.ulp_counts)
    names = [_class(digits) for digits in range(len(counts))]
    shares = [100 * count / total for count in counts]
    step = -(-len(names) // 7)
    ticks = tuple((float(k), name) for k, name in enumerate(names) if k % step == 0)
    x = Axis("distance in units of the last place", -0.6, len(counts) - 0.4, ticks)
    bars = tuple(Block(k - 0.4, 0.0, k + 0.4, share, "target") for k, share in enumerate(shares) if share)
    path = shorten(leaf.path, _NAME)
    words = (
        f"Of {plural(total, 'sampled value')} of {path}, half are at most {figure(leaf.ulp_p50)} and 99 % at most "
        f"{figure(leaf.ulp_p99)} units of the last place apart; the largest distance of all values is "
        f"{figure(leaf.ulp_max)}."
    )
    rows = tuple(
        (name, f"{count:,}", f"{share:.3g} %") for name, count, share in zip(names, counts, shares, strict=True)
    )
    return Chart(
        f"errors-{number}", f"Distances in {path}", words, x, Axis.over("share of values, %", [0.0, *shares]), bars,
        heads=("distance", "values", "share"), rows=rows, height=130.0,
    )  # fmt: skip


def _class(digits: int) -> str:
    """Name a class of distances by its first and last."""
    if digits < 2:
        return str(digits)
    low, high = 1 << (digits - 1), (1 << digits) - 1
    return f"{low}-{high}" if high < 100 else f"{low:,}+" if low < 10_000 else f"2^{digits - 1}+"


def _grid(leaves: Sequence[LeafReport]) -> Chart:
    """Show which of the 64 pairs of dtype and level all outputs pass together."""
    dtypes = list(dict.fromkeys(dtype for leaf in leaves for dtype in leaf.grid or {}))
    passing = {dtype: _least([(leaf.grid or {}).get(dtype) for leaf in leaves]) for dtype in dtypes}
    marks: list[Mark] = []
    for row, dtype in enumerate(dtypes):
        least = passing[dtype]
        passed = [level for level in LEVELS if least is not None and level >= least]
        if passed:
            marks.append(Block(passed[0] - 0.5, row - 0.32, passed[-1] + 0.5, row + 0.32, "good"))
        failing = [level for level in LEVELS if level not in passed]
        marks.append(Dots([float(level) for level in failing], [float(row)] * len(failing), "bad", cross=True))
    levels = [leaf.level for leaf in leaves if leaf.level is not None]
    worst = max(levels, default=-math.inf)
    inside = LEVELS[0] - 0.5 <= worst <= LEVELS[-1] + 0.5
    if inside:
        marks.append(Line((worst, worst), (-0.5, len(dtypes) - 0.5), "plain", dashed=True))
    x = Axis("tolerance level t", LEVELS[0] - 0.6, LEVELS[-1] + 0.6, tuple((float(t), str(t)) for t in LEVELS[::5]))
    told = [
        f"{dtype} {'at no level' if level is None else f'from level {level} on'}" for dtype, level in passing.items()
    ]
    words = (
        f"By the tolerances that go with each dtype, {plural(len(leaves), 'floating leaf', 'floating leaves')} "
        f"{'passes' if len(leaves) == 1 else 'together pass'} {', '.join(told)}; a cross is a level that fails. "
    )
    words += f"The dashed line is t* of the worst, {level_text(worst)}." if inside else f"t* is {level_text(worst)}."
    legend: list[tuple[Mark, str]] = [
        (Block(0, 0, 1, 1, "good"), "passes"), (Dots((0,), (0,), "bad", cross=True), "fails"),
    ]  # fmt: skip
    legend += [(Line((0, 0), (0, 1), "plain", dashed=True), "t*")] if inside else []
    rows = tuple((dtype, "none" if level is None else str(level)) for dtype, level in passing.items())
    return Chart(
        "levels", "Tolerance levels that all outputs pass", words, x, Axis.of_names(dtypes), tuple(marks),
        tuple(legend), ("dtype of the tolerances", "smallest level that passes"), rows, height=24.0 * len(dtypes) + 8,
    )  # fmt: skip


def _least(levels: Sequence[int | None]) -> int | None:
    """Give the level that all leaves pass; None where one passes none."""
    known = [level for level in levels if level is not None]
    return max(known) if len(known) == len(levels) else None


def _truth(leaves: Sequence[LeafTruth], dtype: str) -> Chart:
    """Show both sides' distances from the truth, leaf by leaf."""
    pairs = [leaf.rmse for leaf in leaves if leaf.rmse]
    known = [value for pair in pairs for value in pair if value > 0]
    least = min(known, default=1.0)
    shown = [[max(pair[side], least) for pair in pairs] for side in range(2)]
    places = [float(k) for k in range(len(pairs))]
    marks: list[Mark] = [Line((ours, theirs), (k, k), "quiet") for k, ours, theirs in zip(places, *shown, strict=True)]
    marks += [Dots(shown[0], places, "reference", large=True), Dots(shown[1], places, "target", cross=True, large=True)]
    x = Axis.over(f"RMSE from the {dtype} copy", known, lambda value: f"{value:.0e}", log=True)
    rows = tuple(
        (leaf.path, figure(pair[0], 2), figure(pair[1], 2), f"{figure(leaf.rmse_ratio)}x")
        for leaf, pair in zip(leaves, pairs, strict=True)
    )
    words = (
        f"How far each side is from a {dtype} copy of the reference, leaf by leaf: a dot for the reference, a cross "
        "for the target. The farther right, the larger the error."
    )
    legend = ((Dots((0,), (0,), "reference"), "reference"), (Dots((0,), (0,), "target", cross=True), "target"))
    return Chart(
        "truth", f"Error against {dtype}", words, x, Axis.of_names([shorten(leaf.path, _ROW) for leaf in leaves]),
        tuple(marks), legend, ("leaf", "RMSE reference", "target", "ratio"), rows, height=24.0 * len(leaves) + 8,
    )  # fmt: skip

"""Charts of the timing: every pair's ratio, and every trial's seconds."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

from libbench.measured import Measurement, Speedup, Timing
from libbench.report.charts.chart import Axis, Block, Chart, Dots, Line, Mark, Role
from libbench.report.headline import wall
from libbench.report.words import plural, ratio, seconds, time_unit
from libbench.result import SIDES, Comparison

MOST_DOTS = 240
"""Trials of one row that are drawn; of more, so many evenly out of their order by size, the ends among them."""
_ROLES: tuple[Role, Role] = ("reference", "target")


def speed_charts(comparison: Comparison) -> Iterator[Chart]:
    """Give the charts of what was timed; none where nothing was."""
    speedup = wall(comparison)
    if speedup is None:
        return
    paired = [m for m in comparison.measurements if m.paired and all(speedup.clock in side for side in m.clocks)]
    if paired:
        yield _ratios(comparison, speedup, paired)
        sides = [[m.clocks[side][speedup.clock] for m in paired] for side in range(2)]
    else:
        sides = [_own(side.timings, speedup.clock) for side in (comparison.reference, comparison.target)]
    if all(sides):
        yield _times(speedup, sides)


def _ratios(comparison: Comparison, speedup: Speedup, measurements: Sequence[Measurement]) -> Chart:
    """Show each process's pairs, its median, and the interval over the processes."""
    rows = [(f"process {k}", _of_pairs(m.clocks[0][speedup.clock], m.clocks[1][speedup.clock]), "target")
            for k, m in enumerate(measurements, start=1)]  # fmt: skip
    null = [each for m in measurements if len(m.null) == 2 for each in _of_pairs(*m.null)]
    if null:
        rows.append(("own noise", null, "quiet"))
    ends = [x for x in (speedup.low, speedup.high) if x is not None]
    drawn = [_thinned(values) for _, values, _ in rows]
    x = Axis.over(
        "reference time / target time", [*_inner(drawn), *ends, speedup.ratio, 1.0], lambda value: f"{value:.6g}x"
    )
    marks: list[Mark] = [Line((1.0, 1.0), (-0.5, len(rows) - 0.5), "plain", dashed=True, thin=True)]
    if len(ends) == 2:
        marks.append(Block(ends[0], -0.5, ends[1], len(measurements) - 0.5, "target", faint=True))
    for k, ((_, values, role), some) in enumerate(zip(rows, drawn, strict=True)):
        marks += _strip(some, k, "quiet" if role == "quiet" else "target", statistics.median(values))
    value, low, high = ratio(speedup.ratio, speedup.low, speedup.high)
    interval = f"95 % interval {low} to {high}" if len(ends) == 2 else "no interval"
    words = (
        f"Each point is one pair: reference time over target time, right of the dashed 1 where the target was faster. "
        f"The bars are the medians of {plural(len(measurements), 'process', 'processes')}; all in all {value}x, "
        f"{interval}."
    )
    words += " Own noise is the reference against a copy of itself." if null else ""
    legend = ((Dots((0,), (0,), "target"), "one pair"), (Line((0, 0), (0, 1), "plain"), "median"))
    shaded = ((Block(0, 0, 1, 1, "target", faint=True), "95 % interval"),) if len(ends) == 2 else ()
    return Chart(
        "speedup", f"Speedup, pair by pair ({speedup.clock})", words, x, Axis.of_names([name for name, _, _ in rows]),
        tuple(marks), (*legend, *shaded), ("", "pairs", "25 %", "median", "75 %"),
        tuple((name, f"{len(values):,}", *_quartiles(values, _times_text)) for name, values, _ in rows),
        height=26.0 * len(rows) + 8,
    )  # fmt: skip


def _times(speedup: Speedup, sides: Sequence[Sequence[Timing]]) -> Chart:
    """Show every trial of both sides."""
    values = [[second for timing in side for second in timing.seconds] for side in sides]
    medians = [speedup.reference, speedup.target]
    drawn = [_thinned(each) for each in values]
    factor, unit = time_unit(max(medians))
    x = Axis.over("per call", [*_inner(drawn), *medians], lambda value: f"{value * factor:.6g} {unit}")
    marks = [m for k, some in enumerate(drawn) for m in _strip(some, k, _ROLES[k], medians[k])]
    words = (
        f"Each point is one trial by the {speedup.clock} clock, each bar the median over processes: "
        f"{seconds(medians[0])} in the reference, {seconds(medians[1])} in the target."
    )
    rows = tuple((name, f"{len(each):,}", *_quartiles(each, seconds)) for name, each in zip(SIDES, values, strict=True))
    legend = ((Dots((0,), (0,), "plain"), "one trial"), (Line((0, 0), (0, 1), "plain"), "median"))
    return Chart(
        "times", f"Time per call, trial by trial ({speedup.clock})", words, x, Axis.of_names(SIDES), tuple(marks),
        legend, ("", "trials", "25 %", "median", "75 %"), rows, height=76.0,
    )  # fmt: skip


def _strip(values: Sequence[float], row: int, role: Role, median: float) -> list[Mark]:
    """Give the points of a row, spread so that they can be told apart, and a bar at their median."""
    # The golden section spreads neighbours, and puts the same points in the same place each time.
    spread = [row + 0.6 * ((k * 0.6180339887) % 1.0 - 0.5) for k in range(len(values))]
    return [Dots(values, spread, role), Line((median, median), (row - 0.4, row + 0.4), "plain")]


def _of_pairs(reference: Timing, target: Timing) -> list[float]:
    pairs = zip(reference.seconds, target.seconds, strict=False)
    return [ours / theirs for ours, theirs in pairs if theirs > 0]


def _own(timings: Sequence[Mapping[str, Timing]], clock: str) -> list[Timing]:
    return [timing[clock] for timing in timings if clock in timing]


def _thinned(values: Sequence[float]) -> list[float]:
    ordered = sorted(values)
    if len(ordered) <= MOST_DOTS:
        return ordered
    return [ordered[k * (len(ordered) - 1) // (MOST_DOTS - 1)] for k in range(MOST_DOTS)]


def _inner(rows: Sequence[Sequence[float]]) -> list[float]:
    """Give the ends of each row without its farthest hundredth, which would press the others together."""
    found = []
    for values in rows:
        cut = len(values) // 100
        found += [values[cut], values[-1 - cut]] if values else []
    return found


def _quartiles(values: Sequence[float], text: Callable[[float], str]) -> tuple[str, ...]:
    ordered = sorted(values)
    picked = [ordered[round(share * (len(ordered) - 1))] for share in (0.25, 0.5, 0.75)] if ordered else []
    return tuple(text(value) for value in picked) or ("-",) * 3


def _times_text(value: float) -> str:
    return f"{ratio(value)[0]}x"

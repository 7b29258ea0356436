"""Charts of a list: the scores by tolerance level, and the speedups by category."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from libbench.report.charts.chart import Axis, Chart, Dots, Line, Mark, Role, Shape
from libbench.report.words import figure, plural, ratio, shorten
from libbench.scores import Interval, Point, Run, Sample, Scores

MOST_RUNS = 4
MOST_CATEGORIES = 12
ALL = "all"
"""What the samples of no category are called."""
_LOOKS: tuple[tuple[Role, bool], ...] = (("target", False), ("reference", True), ("plain", False), ("quiet", True))
_NAME = 18
_HEIGHT = 44.0
_FEW = 4
"""Samples from which on a shape tells more than their points."""


def score_charts(scores: Scores) -> Iterator[Chart]:
    """Give S(t) and ES(t) of at most four runs, and the speedups of the first by category; none without samples."""
    runs = [run for run in scores.runs if run.samples][:MOST_RUNS]
    if not runs:
        return
    yield _curves(scores, runs, "s")
    yield _curves(scores, runs, "es")
    timed = [sample for run in runs for sample in run.samples if sample.speedup is not None]
    if timed:
        yield _violins([sample for run in runs for sample in run.samples])


def _curves(scores: Scores, runs: Sequence[Run], which: str) -> Chart:
    marks: list[Mark] = []
    legend: list[tuple[Mark, str]] = []
    values: list[float] = [1.0]
    for run, (role, dashed) in zip(runs, _LOOKS, strict=False):
        points = scores.counted(run).points
        line = _steps([(float(p.level), _value(p, which)) for p in points], which)
        values += [_value(p, which) for p in points]
        interval = [(float(p.level), _interval(p, which)) for p in points]
        if len(runs) == 1 and all(ends is not None for _, ends in interval):
            low = _steps([(t, ends[0]) for t, ends in interval if ends], which)
            high = _steps([(t, ends[1]) for t, ends in interval if ends], which)
            ring = [*low, *reversed(high)]
            marks.append(Shape([x for x, _ in ring], [y for _, y in ring], role))
            values += [y for _, y in ring]
            legend.append((Shape((0, 1, 1, 0), (0, 0, 1, 1), role), "95 % interval"))
        marks.append(Line([x for x, _ in line], [y for _, y in line], role, dashed))
        legend.insert(
            len(marks) - 1, (Line((0, 1), (0, 0), role, dashed), run.name if len(runs) > 1 else _TITLES[which])
        )
    levels = [p.level for p in scores.counted(runs[0]).points]
    x = Axis("tolerance level t", levels[0] - 0.5, levels[-1] + 0.5,
             tuple((float(t), str(t)) for t in levels if t % 5 == 0))  # fmt: skip
    marks.append(Line((x.low, x.high), (1.0, 1.0), "plain", dashed=True, thin=True))
    return Chart(
        "s" if which == "s" else "es", f"{_TITLES[which]}: {_WORDS[which]}", _told(scores, runs, which), x,
        Axis.over("geometric mean", values, "{:.6g}".format, log=True), tuple(marks), tuple(legend),
        _heads(runs), tuple(_rows(scores, runs, which)), height=170.0,
    )  # fmt: skip


_TITLES = {"s": "S(t)", "es": "ES(t)"}
_WORDS = {"s": "what fails is counted in", "es": "errors are tolerated"}


def _value(point: Point, which: str) -> float:
    return point.s if which == "s" else point.es


def _interval(point: Point, which: str) -> Interval | None:
    return point.s_interval if which == "s" else point.es_interval


def _steps(points: Sequence[tuple[float, float]], which: str) -> list[tuple[float, float]]:
    """Give the points of a line; of ES(t) it goes by steps from level 0 on, where errors come to be tolerated."""
    if which == "s":
        return list(points)
    found: list[tuple[float, float]] = []
    for t, value in points:
        if found and t > 0:
            found.append((t, found[-1][1]))
        found.append((t, value))
    return found


def _told(scores: Scores, runs: Sequence[Run], which: str) -> str:
    said = []
    for run in runs:
        score = scores.counted(run)
        ends = [score.points[0], score.points[-1]]
        values = " to ".join(f"{figure(_value(p, which))} at t = {p.level}" for p in ends)
        who = f"{run.name}, " if len(runs) > 1 else ""
        said.append(f"{who}{plural(score.samples, 'sample')}: {values}")
    penalty = f"What does not pass counts {figure(scores.settings.penalty, 2)}"
    tolerated = ", errors from level 1 on at most 1 by their class" if which == "es" else ""
    return f"{'; '.join(said)}. {penalty}{tolerated}."


def _heads(runs: Sequence[Run]) -> tuple[str, ...]:
    if len(runs) == 1:
        return ("t", "passing", "value", "95 % interval")
    return ("t", *(run.name for run in runs))


def _rows(scores: Scores, runs: Sequence[Run], which: str) -> Iterator[tuple[str, ...]]:
    columns = [scores.counted(run).points for run in runs]
    for points in zip(*columns, strict=True):
        values = [figure(_value(p, which)) for p in points]
        if len(runs) > 1:
            yield (str(points[0].level), *values)
            continue
        ends = _interval(points[0], which)
        interval = "-" if ends is None else f"{figure(ends[0])} to {figure(ends[1])}"
        yield (str(points[0].level), f"{points[0].passing:,}", *values, interval)


def _violins(samples: Sequence[Sample]) -> Chart:
    """Show how the speedups of what is right are spread in each category; what is wrong is marked below, by itself."""
    groups = _groups(samples)
    marks: list[Mark] = []
    rows = []
    speedups = [sample.speedup for sample in samples if sample.speedup is not None]
    for row, (name, members) in enumerate(groups):
        right = sorted(s.speedup for s in members if s.speedup is not None and s.error is None)
        wrong = [s.speedup for s in members if s.speedup is not None and s.error is not None]
        untimed = sum(s.speedup is None for s in members)
        if len(right) >= _FEW:
            marks.append(_violin(right, row))
        marks.append(Dots(right, [row + 0.1 * (k % 3 - 1) for k in range(len(right))], "plain"))
        marks.append(Dots(wrong, [row + 0.42] * len(wrong), "bad", cross=True))
        middle = figure(math.exp(math.fsum(map(math.log, right)) / len(right))) + "x" if right else "-"
        rows.append((name, f"{len(right):,}", middle, f"{sum(s.error is not None for s in members):,}", f"{untimed:,}"))
    x = _octaves([*speedups, 1.0])
    marks.insert(0, Line((1.0, 1.0), (-0.5, len(groups) - 0.5), "plain", dashed=True, thin=True))
    wrongs = sum(sample.error is not None for sample in samples)
    words = (
        f"Each point is a sample whose outputs pass at t = 1; the area shows how they are spread. "
        f"{plural(wrongs, 'sample')} with wrong outputs or a failure {'is' if wrongs == 1 else 'are'} left out of the "
        f"area, and marked by a cross where timed."
    )
    legend = (
        (Dots((0,), (0,), "plain"), "right"),
        (Dots((0,), (0,), "bad", cross=True), "wrong"),
        (Shape((0, 1, 1, 0), (0, 0, 1, 1), "target"), "spread of the right"),
    )
    return Chart(
        "speedup-by-category", "Speedup by category, log2", words, x,
        Axis.of_names([shorten(name, _NAME) for name, _ in groups]), tuple(marks), legend,
        ("category", "right and timed", "geometric mean", "wrong", "not timed"), tuple(rows),
        height=_HEIGHT * len(groups) + 8,
    )  # fmt: skip


def _groups(samples: Sequence[Sample]) -> list[tuple[str, list[Sample]]]:
    """Give the samples by category, the largest first; what is beyond the most that are shown together at the end."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        found.setdefault(sample.category or ALL, []).append(sample)
    ordered = sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))
    rest = [sample for _, members in ordered[MOST_CATEGORIES:] for sample in members]
    return ordered[:MOST_CATEGORIES] + ([(f"{len(ordered) - MOST_CATEGORIES} more", rest)] if rest else [])


def _violin(values: Sequence[float], row: int) -> Shape:
    """Give the area of a Gaussian kernel density of the logarithms (Silverman, 1986, equation 3.31)."""
    logs = np.log2(np.array(values))
    quartiles = np.subtract(*np.percentile(logs, [75, 25])) / 1.34
    spread = min(float(logs.std(ddof=1)), float(quartiles)) or float(logs.std(ddof=1)) or 0.01
    width = max(0.9 * spread * len(logs) ** -0.2, 0.005)
    at = np.linspace(logs.min() - 2 * width, logs.max() + 2 * width, 60)
    density = np.exp(-0.5 * ((at[:, None] - logs) / width) ** 2).sum(axis=1)
    half = 0.36 * density / density.max()
    xs = [*np.exp2(at).tolist(), *np.exp2(at[::-1]).tolist()]
    return Shape(xs, [*(row - half).tolist(), *(row + half[::-1]).tolist()], "target")


def _octaves(speedups: Sequence[float]) -> Axis:
    """Give a logarithmic axis with powers of two, where it reaches over several."""
    axis = Axis.over("speedup", speedups, lambda value: f"{value:.6g}x", log=True)
    first, last = math.ceil(math.log2(axis.low)), math.floor(math.log2(axis.high))
    step = -(-(last - first + 1) // 6)
    powers = range(first, last + 1, step)
    ticks = tuple((2.0**k, f"{ratio(2.0**k)[0].rstrip('0').rstrip('.')}x") for k in powers)
    return Axis(axis.label, axis.low, axis.high, ticks if len(ticks) > 2 else axis.ticks, log=True)

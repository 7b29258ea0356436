"""Charts of the scores of lists, by tolerance level."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from libbench.report.charts.chart import Axis, Chart, Line, Mark, Role, Shape
from libbench.report.charts.violins import violins
from libbench.report.words import figure, plural
from libbench.scores import Interval, Point, Run, Scores

MOST_RUNS = 4
_LOOKS: tuple[tuple[Role, bool], ...] = (("target", False), ("reference", True), ("plain", False), ("quiet", True))


def score_charts(scores: Scores) -> Iterator[Chart]:
    """Give S(t) and ES(t) of at most four runs, and how speedups are spread; none without samples."""
    runs = [run for run in scores.runs if run.samples][:MOST_RUNS]
    if not runs:
        return
    yield _curves(scores, runs, "s")
    yield _curves(scores, runs, "es")
    if any(sample.speedup is not None for run in runs for sample in run.samples):
        yield violins(runs)


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
    drawn = len(scores.runs) <= MOST_RUNS
    most = "" if drawn else f" Of {len(scores.runs)} lists, the first {MOST_RUNS} are drawn."
    return f"{'; '.join(said)}. {penalty}{tolerated}.{most}"


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

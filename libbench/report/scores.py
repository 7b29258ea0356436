"""Scores of many samples: the aggregate of each run, its S(t) and ES(t), and its categories."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from libbench.config.places import short
from libbench.report.page import Cell, Column, Page, TextPage
from libbench.report.words import figure, one_line, plural
from libbench.scores import FROZEN, Difference, Doubt, ErrorClass, Interval, Run, Score, Scores

_TOGETHER = 3
"""Runs whose levels stand side by side in a table."""
_DOUBTS: dict[Doubt, str] = {
    "reference": "with a failing reference",
    "stochastic": "stochastic",
    "vacuous": "vacuous",
    "unjudged": "that could not be judged",
}
_ERRORS: dict[ErrorClass, str] = {
    "accuracy": "accuracy", "nan": "NaN", "inf": "infinity", "type": "type", "shape": "shape", "runtime": "runtime",
    "compile": "compile", "reference": "reference failed", "unjudged": "unjudged",
}  # fmt: skip
_USUAL = -5
"""The level of torch.testing's tolerances."""


def headline(scores: Scores) -> str:
    """Give the aggregate of each run, and how many samples count, as one line of plain text."""
    return " · ".join(_pieces(scores))


def render(scores: Scores, *, colour: bool = False, width: int = 100) -> str:
    """Give the report of scores.

    Args:
        colour, width: as for `render` of a comparison.
    """
    page = TextPage(width, colour)
    write_scores(page, scores)
    return page.text()


def write_scores(page: Page, scores: Scores) -> None:
    """Write what the runs come to, level by level and by category."""
    page.pieces([(piece, "strong") for piece in _pieces(scores)])
    page.gap()
    _write_settings(page, scores)
    for run in scores.runs:
        _write_run(page, scores, run)
    page.gap()
    if len(scores.runs) == 1:
        _write_levels(page, scores, scores.runs[0])
    else:
        for first in range(0, len(scores.runs), _TOGETHER):
            page.gap()
            _write_side_by_side(page, scores, first)
    _write_categories(page, scores)


def _pieces(scores: Scores) -> list[str]:
    if len(scores.runs) == 1:
        counted = scores.counted(scores.runs[0])
        return [
            f"AGGREGATE {_with_interval(counted)}",
            f"{plural(counted.samples, 'sample')} {_count(counted.samples)}",
        ]
    found = []
    for letter, run in zip(_letters(scores), scores.runs, strict=True):
        counted = scores.counted(run)
        found.append(f"{letter} {one_line(run.name)} {_with_interval(counted)} of {plural(counted.samples, 'sample')}")
    return found


def _count(samples: int) -> str:
    return "counts" if samples == 1 else "count"


def _with_interval(score: Score | Difference, sign: str = "") -> str:
    ends = "no interval" if score.interval is None else f"95 % interval {_ends(score.interval)}"
    return f"{round(score.aggregate, 3) + 0.0:{sign}.3f} ({ends})"


def _write_settings(page: Page, scores: Scores) -> None:
    used = scores.settings
    which = "judged samples alone" if used.judged else "all samples"
    page.entry("scored", f"{which}, b = {used.penalty:g}, p = {used.power:g}, errors {used.errors}")
    page.entry("aggregate", "mean of log10 ES(t), weighted by level; 0 is the reference itself, more is better")
    page.entry("intervals", f"samples drawn again {used.draws:,} times, seed {used.seed}")
    names = [{sample.name for sample in run.samples} for run in scores.runs]
    shared = set.intersection(*names) if names else set()
    if any(each != shared for each in names):
        page.entry("not alike", f"the runs do not have the same samples: {len(shared):,} are in all of them", "warn")


def _write_run(page: Page, scores: Scores, run: Run) -> None:
    counted = scores.counted(run)
    page.gap()
    letter = f"run {_letters(scores)[scores.runs.index(run)]}" if len(scores.runs) > 1 else "results"
    page.entry(letter, one_line(short(run.file)))
    errors = [f"{counted.errors[error]:,} {word}" for error, word in _ERRORS.items() if error in counted.errors]
    passing = counted.at(FROZEN).passing
    page.entry(
        "samples",
        f"{counted.samples:,}, of which {passing:,} {'passes' if passing == 1 else 'pass'} at level {FROZEN}"
        + (f"; others: {', '.join(errors)}" if errors else ""),
    )
    page.entry("judged", _judged(run))
    page.entry("speed", _speed(counted))
    if run.beside is not None:
        page.entry(f"against {_letters(scores)[0]}", _beside(run.beside))
    again = len(run.samples) - len({sample.name for sample in run.samples})
    if again:
        page.entry("twice", f"{plural(again, 'sample')} of a name that came before, which {_count(again)}, too", "warn")


def _judged(run: Run) -> str:
    if not run.doubts:
        return "all of them"
    out = [f"{run.doubts[doubt]:,} {words}" for doubt, words in _DOUBTS.items() if doubt in run.doubts]
    return f"{run.judged.samples:,} of {len(run.samples):,}, without {', '.join(out)}: {_with_interval(run.judged)}"


def _speed(score: Score) -> str:
    without = f" ({score.no_interval:,} of them without an interval)" if score.no_interval else ""
    odd = [
        (score.inconclusive, f"inconclusive{without}: the point estimate counts"),
        (score.unsaid, "as a log has them, without an interval"),
        (score.untimed, "without a speedup: 1 counts"),
    ]
    found = [f"{count:,} {text}" for count, text in odd if count]
    return "; ".join(found) or "all are decided"


def _beside(beside: Difference) -> str:
    if not beside.samples:
        return "no sample is in both"
    return f"{_with_interval(beside, '+')} in the aggregate of {plural(beside.samples, 'sample')} that both have"


def _write_levels(page: Page, scores: Scores, run: Run) -> None:
    score = scores.counted(run)
    beside = bool(run.doubts) and not scores.settings.judged
    columns = [
        Column("t", right=True),
        Column("pass", right=True),
        Column("S(t)", right=True),
        Column("95 %", drop=1),
        Column("ES(t)", right=True),
        Column("95 %", drop=1),
    ]
    rows: list[list[Cell]] = [
        [str(p.level), f"{p.passing:,}", _number(p.s), _ends(p.s_interval), _number(p.es), _ends(p.es_interval)]
        for p in score.points
    ]
    if beside:
        columns += [Column("judged pass", right=True), Column("S(t)", right=True), Column("95 %", drop=1)]
        for row, point in zip(rows, run.judged.points, strict=True):
            row += [f"{point.passing:,}", _number(point.s), _ends(point.s_interval)]
    page.table(columns, rows)


def _write_side_by_side(page: Page, scores: Scores, first: int) -> None:
    runs = scores.runs[first : first + _TOGETHER]
    beside = any(run.doubts for run in runs) and not scores.settings.judged
    columns, rows = [Column("t", right=True)], [[str(point.level)] for point in runs[0].all.points]
    for letter, run in zip(_letters(scores)[first : first + _TOGETHER], runs, strict=True):
        heads = [f"{letter} pass", "S(t)", "ES(t)", *(["judged"] if beside else [])]
        columns += [Column(head, right=True) for head in heads]
        points = zip(rows, scores.counted(run).points, run.judged.points, strict=True)
        for row, point, judged in points:
            row += [f"{point.passing:,}", _number(point.s), _number(point.es), *([_number(judged.s)] if beside else [])]
    page.table(columns, rows)


def _write_categories(page: Page, scores: Scores) -> None:
    several = len(scores.runs) > 1
    found = sorted(
        (category, letter, score)
        for letter, run in zip(_letters(scores), scores.runs, strict=True)
        for category, score in run.categories.items()
    )
    if len({category for category, _, _ in found}) < 2:
        return
    columns = [
        Column("category", least=12),
        Column("run"),
        Column("samples", right=True),
        Column("aggregate", right=True),
        Column("95 %"),
        Column(f"S({_USUAL})", right=True),
        Column("ES(1)", right=True),
        Column("speedup", right=True),
    ]
    rows: list[list[Cell]] = [
        [
            one_line(category), letter, f"{score.samples:,}", _number(score.aggregate), _ends(score.interval),
            _number(score.at(_USUAL).s), _number(score.at(FROZEN).es), f"{_number(score.at(FROZEN).alpha)}x",
        ]
        for category, letter, score in found
    ]  # fmt: skip
    page.gap()
    keep = [i for i, column in enumerate(columns) if several or column.head != "run"]
    page.table([columns[i] for i in keep], [[row[i] for i in keep] for row in rows])


def _letters(scores: Scores) -> Sequence[str]:
    count = len(scores.runs)
    return ascii_uppercase[:count] if count <= len(ascii_uppercase) else [str(i) for i in range(1, count + 1)]


def _number(value: float) -> str:
    return f"{round(value, 3) + 0.0:.3f}" if value < 10 else figure(value, 4)


def _ends(interval: Interval | None) -> str:
    return "-" if interval is None else " to ".join(map(_number, interval))

"""A chart of how speedups are spread, by category or by list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from libbench.report.charts.chart import Axis, Chart, Dots, Line, Mark, Shape
from libbench.report.words import plural, ratio, shorten
from libbench.scores import Run, Sample

MOST_GROUPS = 12
ALL = "all"
"""What the samples of no category are called."""
_NAME = 18
_HEIGHT = 44.0
_FEW = 4
"""Samples from which on a shape tells more than their points."""


@dataclass(frozen=True)
class _Group:
    """The speedups of some samples, by what they are worth.

    Attributes:
        right: of those that pass at level 1 and are evidence.
        wrong: of those that do not pass.
        empty: of those that pass and prove nothing, as outputs that are constant do.
        failing: how many do not pass, timed or not.
        untimed: how many have no speedup.
    """

    name: str
    right: list[float]
    wrong: list[float]
    empty: list[float]
    failing: int
    untimed: int

    @classmethod
    def of(cls, name: str, samples: Sequence[Sample]) -> _Group:
        passing = [sample for sample in samples if sample.error is None]
        return cls(
            name,
            right=sorted(_speedups([sample for sample in passing if sample.doubt is None])),
            wrong=_speedups([sample for sample in samples if sample.error is not None]),
            empty=_speedups([sample for sample in passing if sample.doubt is not None]),
            failing=len(samples) - len(passing),
            untimed=sum(sample.speedup is None for sample in samples),
        )

    @property
    def row(self) -> tuple[str, ...]:
        logs = [math.log(speedup) for speedup in self.right]
        mean = f"{ratio(math.exp(math.fsum(logs) / len(logs)))[0]}x" if logs else "-"
        counts = (self.failing, len(self.empty), self.untimed)
        return self.name, f"{len(self.right):,}", mean, *(f"{count:,}" for count in counts)


def violins(runs: Sequence[Run]) -> Chart:
    """Show how the speedups of what is right are spread: in each category of one run, or in each of several runs.

    What is wrong, or proves nothing, is marked below by itself, and no part of a shape.

    Args:
        runs: with at least one speedup.
    """
    groups = _by_category(runs[0].samples) if len(runs) == 1 else [_Group.of(run.name, run.samples) for run in runs]
    by = "category" if len(runs) == 1 else "list"
    marks: list[Mark] = [Line((1.0, 1.0), (-0.5, len(groups) - 0.5), "plain", dashed=True, thin=True)]
    for row, group in enumerate(groups):
        if len(group.right) >= _FEW:
            marks.append(_violin(group.right, row))
        marks.append(Dots(group.right, [row + 0.1 * (k % 3 - 1) for k in range(len(group.right))], "plain"))
        marks.append(Dots(group.wrong, [row + 0.42] * len(group.wrong), "bad", cross=True))
        marks.append(Dots(group.empty, [row + 0.42] * len(group.empty), "quiet"))
    failing, empty = sum(group.failing for group in groups), sum(len(group.empty) for group in groups)
    legend: list[tuple[Mark, str]] = [
        (Dots((0,), (0,), "plain"), "right"), (Shape((0, 1, 1, 0), (0, 0, 1, 1), "target"), "their spread"),
    ]  # fmt: skip
    legend += [(Dots((0,), (0,), "bad", cross=True), "wrong, below")] if failing else []
    legend += [(Dots((0,), (0,), "quiet"), "no evidence, below")] if empty else []
    known = [speedup for group in groups for speedup in (*group.right, *group.wrong, *group.empty)]
    return Chart(
        f"speedup-by-{by}", f"Speedup by {by}, log2", _words(failing, empty), _octaves([*known, 1.0]),
        Axis.of_names([shorten(group.name, _NAME) for group in groups]), tuple(marks), tuple(legend),
        (by, "right and timed", "geometric mean", "wrong", "no evidence", "not timed"),
        tuple(group.row for group in groups), height=_HEIGHT * len(groups) + 8,
    )  # fmt: skip


def _words(failing: int, empty: int) -> str:
    words = "Each point is a sample whose outputs pass at t = 1; the area shows how they are spread."
    if failing:
        stand = "is" if failing == 1 else "are"
        words += (
            f" {plural(failing, 'sample')} with wrong outputs or a failure {stand} left out, and marked below if timed."
        )
    if empty:
        stand = "stands" if empty == 1 else "stand"
        words += f" {plural(empty, 'sample')} whose agreement proves nothing {stand} below, too."
    return words


def _speedups(samples: Sequence[Sample]) -> list[float]:
    return [sample.speedup for sample in samples if sample.speedup is not None]


def _by_category(samples: Sequence[Sample]) -> list[_Group]:
    """Give the samples by category, the largest first; what is beyond the most that are shown together at the end."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        found.setdefault(sample.category or ALL, []).append(sample)
    ordered = sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))
    shown = [_Group.of(name, members) for name, members in ordered[:MOST_GROUPS]]
    rest = [sample for _, members in ordered[MOST_GROUPS:] for sample in members]
    return shown + ([_Group.of(f"{len(ordered) - MOST_GROUPS} more", rest)] if rest else [])


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
    powers = tuple((2.0**k, f"{2.0**k:g}x") for k in range(first, last + 1, max(1, step)))
    return Axis(axis.label, axis.low, axis.high, powers if len(powers) > 2 else axis.ticks, log=True)

"""S(t) and ES(t) of many samples: correctness and speed as one number for each tolerance level.

Formulas: appendices B and C of GraphNet's technical report; docs/scores.md has them all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from libbench.scores import (
    FROZEN,
    LEVELS,
    TOLERATED,
    WEIGHTS,
    Difference,
    Interval,
    Point,
    Run,
    Sample,
    Score,
    Scores,
    Scoring,
)

Floats = NDArray[np.float64]

_AT_A_TIME = 4_000_000
"""Drawn samples that are held in memory at a time."""


def score_runs(runs: Iterable[tuple[str, str, Sequence[Sample]]], settings: Scoring | None = None) -> Scores:
    """Score several runs, and set each beside the first.

    Args:
        runs: name, file and samples of each.
        settings: by default b = 0.1, p = 0 and the errors "default".
    """
    settings = settings or Scoring()
    given = list(runs)
    counted = [_counted(samples, settings) for _, _, samples in given]
    found = [
        Run(
            name=name,
            file=file,
            samples=tuple(samples),
            all=score(samples, settings),
            judged=score(_judged(samples), settings),
            categories=_by_category(counting, settings),
            doubts=dict(Counter(sample.doubt for sample in samples if sample.doubt is not None)),
            beside=_beside(counted[0], counting, settings) if number else None,
        )
        for number, ((name, file, samples), counting) in enumerate(zip(given, counted, strict=True))
    ]
    return Scores(settings=settings, runs=tuple(found))


def _judged(samples: Sequence[Sample]) -> list[Sample]:
    return [sample for sample in samples if sample.doubt is None]


def _counted(samples: Sequence[Sample], settings: Scoring) -> Sequence[Sample]:
    return _judged(samples) if settings.judged else samples


def _by_category(samples: Sequence[Sample], settings: Scoring) -> dict[str, Score]:
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(sample.category, []).append(sample)
    return {name: score(groups[name], settings) for name in sorted(groups)} if any(groups) else {}


def _beside(first: Sequence[Sample], samples: Sequence[Sample], settings: Scoring) -> Difference:
    """Compare the aggregate of samples with that of the same ones in another run; of one name the last counts."""
    ours, theirs = ({sample.name: sample for sample in each} for each in (samples, first))
    both = [name for name in ours if name in theirs]
    columns = [_columns([each[name] for name in both], settings)[:, -1:] for each in (ours, theirs)]
    apart = columns[0] - columns[1]
    ends = _intervals(apart, settings)
    return Difference(
        samples=len(both),
        aggregate=float(apart.mean()) if both else 0.0,
        interval=None if ends is None else _ends(ends[:, 0]),
    )


def score(samples: Sequence[Sample], settings: Scoring | None = None) -> Score:
    """Score a set of samples; S(t) and ES(t) of none are 1, and their aggregate is 0.

    Args:
        samples: in an order that matters to nothing but the draws of the intervals.
        settings: as for `score_runs`.
    """
    settings = settings or Scoring()
    columns = _columns(samples, settings)
    means = columns.mean(axis=0) if len(samples) else np.zeros(columns.shape[1])
    ends = _intervals(columns, settings)
    passing = [sample for sample in samples if sample.passes]
    return Score(
        samples=len(samples),
        aggregate=float(means[-1]),
        interval=None if ends is None else _ends(ends[:, -1]),
        points=tuple(
            _point(samples, t, settings, means[2 * i : 2 * i + 2], None if ends is None else ends[:, 2 * i : 2 * i + 2])
            for i, t in enumerate(LEVELS[settings.errors])
        ),
        errors=dict(Counter(sample.error for sample in samples if sample.error is not None)),
        untimed=sum(sample.speedup is None for sample in passing),
        inconclusive=sum(sample.speed == "inconclusive" for sample in passing),
        no_interval=sum(sample.speed is not None and not sample.interval for sample in passing),
        unsaid=sum(sample.speedup is not None and sample.speed is None for sample in passing),
    )


def _columns(samples: Sequence[Sample], settings: Scoring) -> Floats:
    """Give a row for each sample: what it counts for in S(t) and ES(t) of each level, as ln, and in the aggregate.

    All scores are means of logarithms over samples, so that what they come to is the mean of a column.
    """
    levels = LEVELS[settings.errors]
    counts = [
        [each for t in levels for each in (_counts(sample, t, settings), _counts_tolerated(sample, t, settings))]
        for sample in samples
    ]
    logs = np.log(np.array(counts).reshape(len(samples), 2 * len(levels)))
    weights = np.array([WEIGHTS.get(t, 0.0) for t in levels])
    return np.column_stack([logs, logs[:, 1::2] @ (weights / weights.sum() / math.log(10))])


def _counts(sample: Sample, level: int, settings: Scoring) -> float:
    """Give r(t) of a sample: what it counts for in S(t)."""
    if level not in sample.passes:
        return settings.penalty
    speedup = _speedup(sample)
    return speedup if speedup >= 1 else speedup ** (1 + settings.power)


def _counts_tolerated(sample: Sample, level: int, settings: Scoring) -> float:
    """Give what a sample counts for in ES(t)."""
    if level < FROZEN or sample.error is None:
        return _counts(sample, min(level, FROZEN), settings)
    return 1.0 if level >= TOLERATED[settings.errors][sample.error] else settings.penalty


def _speedup(sample: Sample) -> float:
    return 1.0 if sample.speedup is None else sample.speedup


def _point(samples: Sequence[Sample], level: int, settings: Scoring, means: Floats, ends: Floats | None) -> Point:
    passing = [_speedup(sample) for sample in samples if level in sample.passes]
    below = [speedup for speedup in passing if speedup < 1]
    return Point(
        level=level,
        passing=len(passing),
        s=math.exp(means[0]),
        es=math.exp(means[1]),
        s_interval=None if ends is None else _ends(np.exp(ends[:, 0])),
        es_interval=None if ends is None else _ends(np.exp(ends[:, 1])),
        alpha=_mean(passing),
        beta=_mean(below),
        share=len(passing) / len(samples) if samples else 1.0,
        slow=len(below) / len(passing) if passing else 0.0,
        gamma=_gamma(samples, level, settings),
    )


def _gamma(samples: Sequence[Sample], level: int, settings: Scoring) -> float:
    if level < FROZEN:
        return settings.penalty
    errors = [sample.error for sample in samples if sample.error is not None]
    left = sum(level < TOLERATED[settings.errors][error] for error in errors)
    return settings.penalty ** (left / len(errors)) if errors else 1.0


def closed_s(point: Point, settings: Scoring) -> float:
    """Give S(t) by the closed form, from a point's other figures."""
    return _closed(point, settings.power, settings.penalty)


def closed_es(score: Score, level: int, settings: Scoring) -> float:
    """Give ES(t) by the closed form, from the other figures of the points.

    Raises:
        KeyError: the score has no point at this level.
    """
    return _closed(score.at(min(level, FROZEN)), settings.power, score.at(level).gamma)


def _closed(point: Point, power: float, penalty: float) -> float:
    slowed: float = point.beta ** (point.share * point.slow * power)
    return float(point.alpha**point.share * slowed * penalty ** (1 - point.share))


def _mean(values: Sequence[float]) -> float:
    """Give the geometric mean; 1 of nothing."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else 1.0


def _intervals(columns: Floats, settings: Scoring) -> Floats | None:
    """Give the ends of the 95 % interval of each column's mean, by drawing rows with replacement.

    Percentile bootstrap (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13); None for fewer
    than two rows.
    """
    rows = len(columns)
    if rows < 2 or not settings.draws:
        return None
    random = np.random.default_rng(settings.seed)
    step = max(1, _AT_A_TIME // rows)
    sizes = [min(step, settings.draws - done) for done in range(0, settings.draws, step)]
    means = [random.multinomial(rows, np.full(rows, 1 / rows), size) @ columns / rows for size in sizes]
    return np.asarray(np.percentile(np.concatenate(means), [2.5, 97.5], axis=0))


def _ends(ends: Floats) -> Interval:
    return float(ends[0]), float(ends[1])

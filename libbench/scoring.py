"""S(t) and ES(t) of many samples: correctness and speed as one number for each tolerance level.

Formulas: appendices B and C of GraphNet's technical report; docs/scores.md has them all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from libbench.scores import FROZEN, LEVELS, TOLERATED, WEIGHTS, Interval, Point, Run, Sample, Score, Scores, Scoring

Floats = NDArray[np.float64]

_AT_A_TIME = 4_000_000
"""Drawn samples that are held in memory at a time."""


def score_runs(runs: Iterable[tuple[str, str, Sequence[Sample]]], settings: Scoring | None = None) -> Scores:
    """Score several runs.

    Args:
        runs: name, file and samples of each.
        settings: by default b = 0.1, p = 0 and the errors "default".
    """
    settings = settings or Scoring()
    return Scores(settings=settings, runs=tuple(_run(name, file, samples, settings) for name, file, samples in runs))


def _run(name: str, file: str, samples: Sequence[Sample], settings: Scoring) -> Run:
    judged = [sample for sample in samples if sample.doubt is None]
    groups: dict[str, list[Sample]] = {}
    for sample in judged if settings.judged else samples:
        groups.setdefault(sample.category, []).append(sample)
    return Run(
        name=name,
        file=file,
        samples=tuple(samples),
        all=score(samples, settings),
        judged=score(judged, settings),
        categories={key: score(groups[key], settings) for key in sorted(groups)} if any(groups) else {},
        doubts=dict(Counter(sample.doubt for sample in samples if sample.doubt is not None)),
    )


def score(samples: Sequence[Sample], settings: Scoring | None = None) -> Score:
    """Score a set of samples; S(t) and ES(t) of none are 1, and their aggregate is 0.

    Args:
        samples: in an order that matters to nothing but the draws of the intervals.
        settings: as for `score_runs`.
    """
    settings = settings or Scoring()
    levels = LEVELS[settings.errors]
    strict = [[_counts(sample, t, settings) for t in levels] for sample in samples]
    tolerant = [[_counts_tolerated(sample, t, settings) for t in levels] for sample in samples]
    logs = [np.log(np.array(each).reshape(len(samples), len(levels))) for each in (strict, tolerant)]
    weights = np.array([WEIGHTS.get(t, 0.0) for t in levels])
    # A level's scores are means of logarithms, and so is the aggregate: one of each sample's weighted ones.
    columns = np.column_stack([*logs, logs[1] @ (weights / weights.sum() / math.log(10))])
    means = columns.mean(axis=0) if len(samples) else np.zeros(columns.shape[1])
    ends = _intervals(columns, settings)
    return Score(
        samples=len(samples),
        aggregate=float(means[-1]),
        interval=None if ends is None else _ends(ends[:, -1]),
        points=tuple(
            _point(samples, t, settings, means[i :: len(levels)], None if ends is None else ends[:, i :: len(levels)])
            for i, t in enumerate(levels)
        ),
        errors=dict(Counter(sample.error for sample in samples if sample.error is not None)),
        untimed=sum(sample.speedup is None for sample in samples),
        inconclusive=sum(sample.speed == "inconclusive" for sample in samples),
        no_interval=sum(sample.speed is not None and not sample.interval for sample in samples),
    )


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

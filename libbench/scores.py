"""What many comparisons come to: the records of S(t) and ES(t), which `libbench.scoring` works out.

The names are those of GraphNet's technical report; docs/scores.md has the formulas.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from libbench.measured import SpeedVerdict

SCHEMA = "libbench.scores"
SCHEMA_VERSION = 1

ErrorClass = Literal["accuracy", "nan", "inf", "type", "shape", "runtime", "compile", "reference", "unjudged"]
"""What is wrong with a sample, as `Sample.error` has it."""
ErrorSet = Literal["default", "mismatch_extended"]
Doubt = Literal["reference", "stochastic", "vacuous", "unjudged"]
"""Why a sample is no evidence about the target, as `Sample.doubt` has it."""
Interval = tuple[float, float]

FROZEN = 1
"""ES(t) takes the samples that pass at this level for those that pass at all higher ones."""
NEVER = 99
TOLERATED: Mapping[ErrorSet, Mapping[ErrorClass, int]] = {
    "default": {
        "accuracy": 1, "nan": 3, "inf": 3, "type": 3, "shape": 3, "runtime": 3, "compile": 3, "reference": 3,
        "unjudged": 3,
    },
    "mismatch_extended": {
        "accuracy": 1, "nan": 2, "inf": 2, "type": 2, "shape": 2, "runtime": 3, "compile": 4, "reference": NEVER,
        "unjudged": NEVER,
    },
}  # fmt: skip
"""The level from which ES(t) tolerates an error."""
LEVELS: Mapping[ErrorSet, range] = {"default": range(-10, 5), "mismatch_extended": range(-10, 6)}
WEIGHTS: Mapping[int, float] = (
    dict.fromkeys(range(-10, -7), 0.001) | {-7: 0.13, -6: 0.4} | dict.fromkeys(range(-5, 5), 0.48)
)
"""What a level counts for in the aggregate, before they are normalised; level 5 counts for nothing."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One comparison, as far as a score sees it.

    Attributes:
        name: what tells it from the others.
        passes: the levels of -10 to 5 at which both sides ran and every output passes.
        error: what is wrong where level 1 is not among them; None where it is. "accuracy": values; "nan", "inf": not
            finite at other places; "type", "shape": the form of an output, or which outputs there are; "runtime" and
            "compile": the target failed; "reference": that one failed; "unjudged": nothing was compared.
        speedup: reference time over target time by the wall clock; None where there is none, and 1 counts.
        speed: the verdict on it; None where none was given.
        interval: whether the speedup has a confidence interval.
        doubt: why it is no evidence about the target: the reference failed, or gives other outputs each time
            ("stochastic"), any other target would have passed, too ("vacuous"), or it could not be judged; None
            where it is one.
        category: the group that it is counted in, too; empty where there is none.

    Raises:
        ValueError: an error at level 1 is missing or too much, or the speedup is not a finite number above 0.
    """

    name: str
    passes: tuple[int, ...] = ()
    error: ErrorClass | None = None
    speedup: float | None = None
    speed: SpeedVerdict | None = None
    interval: bool = False
    doubt: Doubt | None = None
    category: str = ""

    def __post_init__(self) -> None:
        if (self.error is None) != (FROZEN in self.passes):
            raise ValueError(
                f"{self.name}: wanted an error for what does not pass at level {FROZEN}, and only for that, "
                f"got {self.error!r} and levels {self.passes}"
            )
        if self.speedup is not None and not 0 < self.speedup < math.inf:
            raise ValueError(f"{self.name}: the speedup must be a finite number above 0, got {self.speedup!r}")


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """How samples are scored.

    Attributes:
        penalty: b, what a sample that does not pass counts for, above 0 and at most 1.
        power: p; the speedup s of a sample that got slower counts as s^(1 + p).
        errors: from which level which error is tolerated.
        judged: whether only samples that are evidence count.
        seed: of the draws of the intervals.
        draws: how often samples are drawn again for the intervals; 0 for none.

    Raises:
        ValueError: one of them is out of its range.
    """

    penalty: float = 0.1
    power: float = 0.0
    errors: ErrorSet = "default"
    judged: bool = False
    seed: int = 0
    draws: int = 2000

    def __post_init__(self) -> None:
        if not 0 < self.penalty <= 1:
            raise ValueError(f"penalty must be above 0 and at most 1, got {self.penalty!r}")
        if not 0 <= self.power < math.inf:
            raise ValueError(f"power must be a finite number of at least 0, got {self.power!r}")
        if self.errors not in TOLERATED:
            raise ValueError(f"errors must be one of {', '.join(TOLERATED)}, got {self.errors!r}")
        if self.seed < 0 or self.draws < 0:
            raise ValueError(f"seed and draws must be at least 0, got {self.seed!r} and {self.draws!r}")


@dataclass(frozen=True, kw_only=True)
class Point:
    """The scores at one level, and what the closed forms make them of.

    S(t) is alpha^share * beta^(share * slow * p) * b^(1 - share). ES(t) is the same with gamma in the place of b and,
    from level 1 on, with the other four of level 1. An empty geometric mean is 1.

    Attributes:
        level: t.
        passing: how many samples pass.
        s: S(t), the geometric mean of what samples count for.
        es: ES(t).
        s_interval, es_interval: 95 %; None for fewer than two samples.
        alpha: geometric mean of the speedups of what passes.
        beta: the same of those below 1.
        share: lambda, the share of samples that pass.
        slow: eta, the share of speedups below 1 among what passes.
        gamma: what an error counts for on average.
    """

    level: int
    passing: int
    s: float
    es: float
    s_interval: Interval | None
    es_interval: Interval | None
    alpha: float
    beta: float
    share: float
    slow: float
    gamma: float


@dataclass(frozen=True, kw_only=True)
class Score:
    """What a set of samples comes to.

    Attributes:
        samples: how many they are.
        aggregate: the weighted mean of log10 ES(t).
        interval: 95 %, as in `Point`.
        points: one for each level, in their order.
        errors: how many samples have which error at level 1.
        untimed: of those that pass at any level, how many have no speedup, so that 1 counts.
        inconclusive: of how many of them it is not known whether they are faster or slower.
        no_interval: how many of them have a speedup without an interval; these are inconclusive, too.
        unsaid: how many of them have a speedup of which nothing more is said, as in a log.
    """

    samples: int
    aggregate: float
    interval: Interval | None
    points: tuple[Point, ...]
    errors: Mapping[ErrorClass, int] = field(default_factory=dict)
    untimed: int = 0
    inconclusive: int = 0
    no_interval: int = 0
    unsaid: int = 0

    def at(self, level: int) -> Point:
        """Give the point of a level.

        Raises:
            KeyError: the level has none.
        """
        for point in self.points:
            if point.level == level:
                return point
        raise KeyError(level)


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One run against another, sample by sample.

    Attributes:
        samples: how many both have.
        aggregate: that of this run without that of the other one, of these samples alone; 0 of none.
        interval: 95 %, as in `Point`.
    """

    samples: int
    aggregate: float
    interval: Interval | None


@dataclass(frozen=True, kw_only=True)
class Run:
    """One file of results, scored.

    Attributes:
        name: what the report calls it.
        file: where it was read.
        samples: all of them.
        all: the score of all of them.
        judged: the score of those that are evidence about the target.
        categories: by category, the score of its samples; with `Scoring.judged` of those that are evidence.
        doubts: how many samples are no evidence, by what makes them so.
        beside: this run against the first one; None for that itself.
    """

    name: str
    file: str
    samples: tuple[Sample, ...]
    all: Score
    judged: Score
    categories: Mapping[str, Score]
    doubts: Mapping[Doubt, int]
    beside: Difference | None = None


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Several runs, scored alike.

    Attributes:
        settings: how.
        runs: in the order in which they were given.
    """

    settings: Scoring
    runs: tuple[Run, ...]

    def counted(self, run: Run) -> Score:
        """Give the score that counts, of all samples or of the judged ones, as the settings have it."""
        return run.judged if self.settings.judged else run.all

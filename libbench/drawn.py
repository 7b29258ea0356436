"""What calls from several seeds show of how a side draws at random: records made of plain values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PLACE = "value "
"""What the names of features begin with that are the value in one place."""


@dataclass(frozen=True, kw_only=True)
class LeafDraws:
    """What one output was like, call by call.

    Attributes:
        path: as in `LeafReport`.
        features: by name, one number for each call, as `libbench.features` has them; NaN where a call has none.
    """

    path: str
    features: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, kw_only=True)
class Draws:
    """Calls of one side on its first batch, each from a seed of its own.

    Attributes:
        calls: how many.
        leaves: the outputs that were not the same from all seeds, and those that were asked for.
        note: why there are none; empty where there are.
    """

    calls: int
    leaves: tuple[LeafDraws, ...] = ()
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class LeafDistribution:
    """Whether an output that is drawn at random comes from one distribution on both sides.

    Calls are what is drawn: whose they are is shuffled, and the features of the two groups are compared. Pairs are
    (reference, target).

    Attributes:
        calls: of each side.
        feature: the one in which the sides lie farthest apart.
        reference: its mean and its standard deviation over the calls.
        target: likewise.
        score: how far they lie apart: the difference of the means in standard deviations of all calls, times the
            square root of the calls that this is worth; of several places together, the sum of the squares of these,
            less its mean over the shuffles, in its standard deviations.
        limit: the score that shuffled calls pass, in any feature of any output, with a probability of 0.001.
        chance: the share of shuffles with as large a score in any feature of any output.
        shift: the least shift of the mean of the output's values that would have passed the limit; None without values.
        fixed: whether the target gives the same from every seed.
    """

    calls: tuple[int, int]
    feature: str
    reference: tuple[float, float]
    target: tuple[float, float]
    score: float
    limit: float
    chance: float
    shift: float | None = None
    fixed: bool = False

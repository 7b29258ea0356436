"""What counts as the verdict that a target has flipped, and whether a config between it and the reference does so, too.

Each of these is made of the comparison of the target itself, and then asked of others.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Protocol

from libbench.comparability import no_speedup
from libbench.decisive import Asked, Outcome
from libbench.measured import Speedup, by_wall
from libbench.result import Comparison, Failure
from libbench.speed import ALONE, ZONE

SHARE = 0.5
"""The part of the target's speedup, as a logarithm, that a set must have by itself to be called what makes it."""


class Flip(Protocol):
    """Tells what comes of a comparison with the same reference.

    Attributes:
        of: what it is asked of.
    """

    @property
    def of(self) -> Asked: ...

    def outcome(self, comparison: Comparison) -> Outcome: ...


@dataclass(frozen=True)
class OutputsFlip:
    """Outputs, or a metric, differ."""

    of: Asked = "outputs"

    def outcome(self, comparison: Comparison) -> Outcome:
        if comparison.reference.failure or comparison.target.failure or comparison.exit_code == 2:
            return "unresolved"
        return "flips" if comparison.exit_code == 1 else "holds"


@dataclass(frozen=True)
class FailureFlip:
    """The target fails, in one stage and in one way; a failure of another kind tells nothing."""

    failure: Failure
    of: Asked = "failure"

    def outcome(self, comparison: Comparison) -> Outcome:
        failure = comparison.target.failure
        if comparison.reference.failure:
            return "unresolved"
        if failure is None:
            return "holds"
        return "flips" if _kind_of(failure) == _kind_of(self.failure) else "unresolved"


@dataclass(frozen=True)
class SpeedFlip:
    """The target is faster, or slower, by so much.

    A set does the same where its verdict is the same and its whole interval reaches half of the target's speedup, as a
    logarithm: what is worth 3 % is not the cause of 60 %. What certainly does not reach it holds.
    """

    whole: Speedup
    of: Asked = "speed"

    def outcome(self, comparison: Comparison) -> Outcome:
        speedup = speedup_of(comparison)
        if speedup is None or speedup.low is None or speedup.high is None:
            return "unresolved"
        if speedup.verdict == "inconclusive" and speedup.note not in ("", ALONE):
            return "unresolved"
        sign = 1 if self.whole.verdict == "faster" else -1
        low, high = sorted(sign * math.log(ratio) for ratio in (speedup.low, speedup.high))
        least = max(math.log1p(ZONE), SHARE * abs(math.log(self.whole.ratio)))
        if speedup.verdict == self.whole.verdict and low >= least:
            return "flips"
        return "holds" if high < least else "unresolved"


def speedup_of(comparison: Comparison) -> Speedup | None:
    """Give the speedup by the wall clock; None where a side failed, was not timed, or does other work."""
    failed = comparison.reference.failure or comparison.target.failure
    return None if failed or no_speedup(comparison) else by_wall(comparison.speedups)


def flip_of(comparison: Comparison, asked: Asked) -> Flip | None:
    """Give what the target has flipped; None where it has not, or where that cannot be told.

    Args:
        comparison: of the target itself.
        asked: "outputs" or "speed"; of a target that fails, it is the failure in either case.
    """
    failure, speedup = comparison.target.failure, speedup_of(comparison)
    if failure is not None:
        # What this machine cannot do, or a clock cannot show, is no doing of the config.
        told = failure.kind in ("unavailable", "clock") or comparison.reference.failure is not None
        return None if told else FailureFlip(failure)
    if asked == "outputs":
        return OutputsFlip() if OutputsFlip().outcome(comparison) == "flips" else None
    return SpeedFlip(speedup) if speedup is not None and speedup.verdict in ("faster", "slower") else None


def _kind_of(failure: Failure) -> tuple[str, str, str]:
    """Give what two failures of one kind have in common: numbers and places in the config may be others."""
    return failure.stage, failure.kind, re.sub(r"\d+", "#", failure.message.partition(" (")[0])

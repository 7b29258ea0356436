"""What timing leaves behind: frozen records, written as JSON."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

STRAYED = "a timed call gave other outputs than an untimed one"
SpeedVerdict = Literal["faster", "slower", "level", "inconclusive"]


def no_time(clocks: Any, *, nothing: bool = False) -> str:
    """Say what is wrong with the seconds of a trial by clock; empty where they can be times.

    A clock besides `wall` may show 0, as one of processor time does for a short call.

    Args:
        nothing: nothing was called, for which every clock may show 0.
    """
    if not isinstance(clocks, Mapping):
        return f"wanted seconds by clock, got {clocks!r}"
    if "wall" not in clocks:
        return f"there is no clock 'wall', only {', '.join(map(repr, clocks)) or 'none at all'}"
    for clock, seconds in clocks.items():
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if not number or not 0 <= seconds < math.inf:
            return f"the clock {clock!r} shows {seconds!r} seconds, which cannot be"
        if seconds == 0 and clock == "wall" and not nothing:
            return f"the clock {clock!r} shows {seconds!r} seconds: it stands still, or is too coarse for such calls"
    return ""


@dataclass(frozen=True)
class Timing:
    """What one clock showed for one side in one process: seconds per call, trial by trial."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median trial in seconds; NaN without a trial."""
        return statistics.median(self.seconds) if self.seconds else float("nan")


@dataclass(frozen=True)
class Measurement:
    """The timed rounds of one process, with one side or two.

    Attributes:
        clocks: for each side, in the order of the jobs, its timing by clock. Trial i of all sides is pair i.
        inner: for each side, calls in one trial.
        warmup: for each side, calls before the first timed one.
        seconds: what the timed rounds took.
        together: whether both sides were in one process, call by call; else each had its own, and rounds alternated.
        null: the wall timing of the reference and of a copy of it, pair by pair; empty where that was not measured.
        redrawn: pairs that were thrown away and measured again, since the kernel had interrupted a trial.
        interrupted: pairs that were kept although a trial was interrupted.
        compiled: for each side, graphs that its compiler made in the timed rounds.
        ran: for each side, how often compiled code ran in one call, in the trial in which it ran least: 0 where one
            ran without; None where its compiler does not tell.
        kept: for each side, "same" when the outputs of a timed call, drawn at random, are those of an untimed call
            on the same input; else what differed; empty where it was not looked at.
        unmet: for each side, how many times as long a call takes on values that it has not met as on the same values
            again; NaN where no such values can be made, empty where it was not looked at.
        one_thread: for each side, seconds per call with one thread; empty where there is no more than one anyway.
        others: cores that other processes kept busy meanwhile; None where that cannot be told.
        first: for each side, seconds of compiling and of the first call in this process.
        cold: for each side, whether its compiler's cache was empty before; None when there is no such thing.
        took: seconds from the start of the process to its end.
    """

    clocks: tuple[Mapping[str, Timing], ...]
    inner: tuple[int, ...]
    warmup: tuple[int, ...]
    seconds: float
    together: bool = True
    null: tuple[Timing, ...] = ()
    redrawn: int = 0
    interrupted: int = 0
    compiled: tuple[int, ...] = ()
    ran: tuple[float | None, ...] = ()
    kept: tuple[str, ...] = ()
    unmet: tuple[float, ...] = ()
    one_thread: tuple[float, ...] = ()
    others: float | None = None
    first: tuple[float, ...] = ()
    cold: tuple[bool | None, ...] = ()
    took: float = 0.0

    @property
    def strayed(self) -> tuple[str, ...]:
        """For each side, in what a timed call's outputs were not those of an untimed one; empty where in nothing."""
        return tuple("" if text == "same" else text for text in self.kept)

    @property
    def paired(self) -> bool:
        """Whether there are two sides, and not one by itself."""
        return len(self.clocks) == 2


@dataclass(frozen=True)
class Speedup:
    """Reference time over target time by one clock; above 1 the target is faster.

    Attributes:
        ratio: the median over processes of each one's median pair ratio.
        low, high: the 95 % interval; None where there is too little for one.
        verdict: "inconclusive" also where no verdict may be given; `note` says why.
        reference, target: seconds per call, the median over processes of each one's median trial.
        pairs: pairs in each process; empty where the sides were timed apart, one of them when it was saved.
        further: about how many more processes would decide an inconclusive ratio; None where that cannot be told.
    """

    clock: str
    ratio: float
    low: float | None
    high: float | None
    verdict: SpeedVerdict
    reference: float
    target: float
    pairs: tuple[int, ...]
    note: str = ""
    further: int | None = None


def by_wall(speedups: Sequence[Speedup]) -> Speedup | None:
    """Give the speedup by the wall clock, or by the first clock there is."""
    by_name = {speedup.clock: speedup for speedup in speedups}
    return by_name.get("wall") or next(iter(speedups), None)


@dataclass(frozen=True)
class NullArm:
    """The reference against a copy of itself, in the processes that timed the pair: what no difference looks like.

    Attributes:
        ratio: the median over processes of each one's median pair ratio; far from 1 on a machine that cannot be
            trusted.
        half_width: half the width of its 95 % interval, as a share: this machine's own noise.
        pairs: pairs in each process.
    """

    ratio: float
    half_width: float
    pairs: tuple[int, ...]

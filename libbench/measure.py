"""The timed rounds: one side, or two that alternate call by call."""

from __future__ import annotations

import gc
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from libbench.interval import median_interval
from libbench.measured import Measurement, Timing
from libbench.settings import Timer
from libbench.speed import LEAST_PAIRS

SHORTEST_TRIAL = 200e-6
"""A trial is made of enough calls to last this many seconds, so that the clock's own cost does not count."""
AROUND = 16.0
"""It lasts at least so many times as long as what is done around it, where most of the time would go otherwise."""
LONGEST_FILLED = 1e-3
"""Calls are not put together to a longer trial than this, since a long one is more likely to be interrupted."""
MOST_CALLS = 10_000
"""Not even of an empty call there are more in a trial."""
ROUND = 10
"""Pairs between two looks at the interval and the budget."""
ENOUGH_PAIRS = 30
"""Before so many pairs a narrow interval may be luck."""
MOST_PAIRS = 5000
"""More would fill files without telling more."""
OVERRUN = 3.0
"""How far the budget may be passed, as a multiple, for the pairs that an interval needs."""
REDRAWS = 3
"""How often a pair is measured again when the kernel took the processor away; never more pairs than are kept, since
on a machine that interrupts everything it would help nothing and take most of the time."""
REDRAWN = 0.05
"""Nor is a pair with a trial of more seconds: it is always interrupted, and by a small share of its time."""
NULL_PAIRS = 20
"""Pairs of the reference against a copy of itself; more, up to those of the two sides, where the machine is noisy."""
NULL_SHARE = 0.25
"""The share of the budget that these may take."""
LONGEST_WARMUP = 3.0
WARMUP_SHARE = 0.25
"""Nor does the warm-up of a side take more than this share of the budget, which it is no part of."""
LEAST_WARMUP = 6
STEADY = 0.05
"""Two halves of the last calls agree when their medians differ by no more than this share."""


class Trial(NamedTuple):
    """What one trial showed.

    Attributes:
        clocks: seconds by clock, of all of its calls together.
        switches: how often the kernel took the processor away from this process meanwhile.
        compiled: graphs that the side's compiler made meanwhile.
        ran: how often compiled code ran meanwhile; None where the compiler does not tell.
    """

    clocks: Mapping[str, float]
    switches: int = 0
    compiled: int = 0
    ran: int | None = None


Pair = list[Mapping[str, float]]
Watch = Callable[[int, int | None], None]


class Timed(Protocol):
    """A side as the timing loop sees it."""

    def refresh(self, number: int) -> None:
        """Give the pool of inputs other values, the same for the same round `number` on every side."""
        ...

    def trial(self, first: int, inner: int, *, keep: bool = False) -> Trial:
        """Run `inner` calls, from a position in the order of inputs on; `keep` may keep what the last one returned."""
        ...


def measure(
    sides: Sequence[Timed],
    timer: Timer,
    rng: random.Random,
    watch: Watch,
    *,
    copy: Timed | None = None,
    shortest: float = SHORTEST_TRIAL,
    longest: float = LONGEST_FILLED,
    most_calls: int | None = None,
    alike: bool = True,
) -> Measurement:
    """Time one side or two in this process.

    Each pair is one trial of every side, in an order drawn at random, on the same input. The rounds end when the
    interval of the median is narrow enough, when there are enough pairs or when the time is used up; never because
    a difference was seen. A pair in which a trial was interrupted is measured again. Of one round, drawn at
    random, the sides keep what calls return.

    Args:
        timer: its budget is this process's own; the warm-up is not counted.
        watch: called between rounds with the pairs done and their planned number, None when that is open.
        copy: a second copy of the first side. Pairs of the two, before the rounds and after, are the null arm: what
            two equal sides show here.
        shortest: seconds that a trial should last at least.
        longest: seconds beyond which no calls are put together.
        most_calls: in a trial; None sets no limit.
        alike: whether all inputs take the same time; where they do not, both sides make as many calls in a trial, so
            that they make them on the same inputs.
    """
    with quiet():
        warm = [_warm_up(side, timer) for side in (*sides, *([] if copy is None else [copy]))]
        shortest = max(shortest, AROUND * max(each.around for each in warm))
        inner = [min(_calls(each.seconds, shortest, longest), most_calls or MOST_CALLS) for each in warm]
        inner = inner if alike else [max(inner)] * len(inner)
        begin = time.perf_counter()
        null = None if copy is None else _Rounds([sides[0], copy], [inner[0], inner[-1]], rng)
        most = NULL_SHARE / 2 * timer.budget
        if null is not None:
            null.pairs_within(most, lambda: len(null.pairs) >= NULL_PAIRS // 2)
        rounds = _Rounds(sides, inner[: len(sides)], rng, keep=True)
        while not _enough(rounds.pairs, timer, (time.perf_counter() - begin) / timer.budget):
            rounds.pair()
            if len(rounds.pairs) % ROUND == 0:
                watch(len(rounds.pairs), timer.pairs)
        if null is not None:
            null.pairs_within(most, lambda: _settled(null.pairs, len(rounds.pairs), timer))
        seconds = time.perf_counter() - begin
    return Measurement(
        clocks=_timings(rounds.pairs),
        inner=tuple(inner[: len(sides)]),
        warmup=tuple(each.calls for each in warm[: len(sides)]),
        seconds=seconds,
        null=() if null is None else tuple(side["wall"] for side in _timings(null.pairs)),
        redrawn=rounds.redrawn,
        interrupted=rounds.interrupted,
        compiled=tuple(rounds.compiled),
        ran=tuple(rounds.ran),
    )


def _calls(seconds: float, shortest: float, longest: float) -> int:
    """Give the number of calls in a trial, where one call takes so many seconds."""
    if seconds >= longest or seconds <= 0:
        return 1
    return min(math.ceil(shortest / seconds), max(1, int(longest / seconds)))


class _Rounds:
    """Pairs of trials, in rounds that each have inputs of their own.

    Attributes:
        pairs: what was kept, seconds of one call.
        redrawn: how many pairs were thrown away since a trial was interrupted.
        interrupted: how many were kept all the same.
        compiled: for each side, graphs that were compiled in its trials.
        ran: for each side, how often compiled code ran in one call, in the trial in which it ran least.
    """

    def __init__(self, sides: Sequence[Timed], inner: Sequence[int], rng: random.Random, *, keep: bool = False) -> None:
        self.pairs: list[Pair] = []
        self.redrawn = self.interrupted = 0
        self.compiled = [0] * len(sides)
        self.ran: list[float | None] = [None] * len(sides)
        self._sides, self._inner, self._rng = sides, inner, rng
        self._keep = keep
        self._chosen = -1
        self._position = 0

    def pairs_within(self, seconds: float, enough: Callable[[], bool]) -> None:
        """Make pairs until there are enough, or as many as the time allows, at least one."""
        begin = time.perf_counter()
        self.pair()
        while not enough() and time.perf_counter() - begin <= seconds:
            self.pair()

    def pair(self) -> None:
        """Make one pair."""
        number = len(self.pairs)
        if number % ROUND == 0:
            self._begin(number // ROUND)
        keep = self._keep and number // ROUND == self._chosen
        pair, switched = self._draw(keep=keep)
        for _ in range(REDRAWS):
            if not switched or self.redrawn > number or self._longest(pair) > REDRAWN:
                break
            self.redrawn += 1
            pair, switched = self._draw(keep=keep)
        self.interrupted += switched
        self.pairs.append(pair)

    def _longest(self, pair: Pair) -> float:
        return max(side["wall"] * calls for side, calls in zip(pair, self._inner, strict=True))

    def _begin(self, round_number: int) -> None:
        for side in self._sides:
            side.refresh(round_number)
        # Every round is chosen with the same probability in the end, however many there will be.
        if self._rng.random() * (round_number + 1) < 1:
            self._chosen = round_number

    def _draw(self, *, keep: bool) -> tuple[Pair, bool]:
        order = list(range(len(self._sides)))
        self._rng.shuffle(order)
        trials: dict[int, Trial] = {}
        for i in order:
            trials[i] = self._sides[i].trial(self._position, self._inner[i], keep=keep)
            self.compiled[i] += trials[i].compiled
            self.ran[i] = least([self.ran[i], _per_call(trials[i].ran, self._inner[i])])
        # Also a pair that is drawn again has another input: a model may keep its last answer.
        self._position += max(self._inner)
        per_call = [{c: s / self._inner[i] for c, s in trials[i].clocks.items()} for i in range(len(order))]
        return list(per_call), any(trial.switches for trial in trials.values())


def least(counts: Sequence[float | None]) -> float | None:
    """Give the smallest of the counts that are known; None where none is."""
    return min((count for count in counts if count is not None), default=None)


def _per_call(count: int | None, calls: int) -> float | None:
    return None if count is None else count / calls


def _timings(pairs: Sequence[Pair]) -> tuple[Mapping[str, Timing], ...]:
    return tuple(
        {clock: Timing(tuple(pair[i][clock] for pair in pairs)) for clock in pairs[0][i]} for i in range(len(pairs[0]))
    )


def _enough(pairs: Sequence[Pair], timer: Timer, spent: float) -> bool:
    """Tell whether to stop; `spent` is the share of the budget that is used up."""
    n = len(pairs)
    if n >= (timer.pairs or MOST_PAIRS):
        return True
    # A few more pairs give an interval at all; that is worth an overrun, but not any.
    least = max(LEAST_PAIRS, timer.least or 0)
    if (spent > 1 and n >= least) or (spent > OVERRUN and n > 0):
        return True
    # The more pairs there are the less one changes, and the longer a look at all of them takes.
    due = n >= max(ENOUGH_PAIRS, least) and n % (ROUND * max(1, n // 100)) == 0
    return timer.pairs is None and due and _narrow(pairs, timer.precision)


def _settled(pairs: Sequence[Pair], most: int, timer: Timer) -> bool:
    """Tell whether the null arm has enough pairs: it must not be what leaves a verdict open."""
    n = len(pairs)
    if n < NULL_PAIRS:
        return False
    return n >= most or (n % ROUND == 0 and _narrow(pairs, timer.precision))


def _narrow(pairs: Sequence[Pair], precision: float) -> bool:
    if len(pairs[0]) == 2:
        logs = [math.log(reference["wall"] / target["wall"]) for reference, target in pairs]
    else:
        logs = [math.log(side["wall"]) for (side,) in pairs]
    interval = median_interval(logs)
    return interval is not None and (interval[1] - interval[0]) / 2 <= precision


class _Warm(NamedTuple):
    """What the calls before the timed ones showed: seconds of one and around one, and how many there were."""

    seconds: float
    around: float
    calls: int


def _warm_up(side: Timed, timer: Timer) -> _Warm:
    """Call so many times, or until the calls are steady."""
    calls, longest = timer.warmup, min(LONGEST_WARMUP, WARMUP_SHARE * timer.budget)
    side.refresh(0)
    seconds: list[float] = []
    begin = now = time.perf_counter()
    around: list[float] = []
    while not _warmed(seconds, now - begin > longest, calls):
        seconds.append(side.trial(len(seconds), 1).clocks["wall"])
        before, now = now, time.perf_counter()
        around.append(max(0.0, now - before - seconds[-1]))
    last = seconds[-3:] if calls is not None else seconds[len(seconds) // 2 :]
    return _Warm(statistics.median(last), statistics.median(around), len(seconds))


def _warmed(seconds: list[float], late: bool, calls: int | None) -> bool:
    """Tell whether there were enough calls; of one that takes all the time there is, those before have to do."""
    if calls is not None:
        return late or len(seconds) >= max(calls, 1)
    return late or (len(seconds) >= LEAST_WARMUP and _steady(seconds))


def _steady(seconds: list[float]) -> bool:
    last = seconds[-20:]
    first, second = statistics.median(last[: len(last) // 2]), statistics.median(last[len(last) // 2 :])
    return abs(first - second) <= STEADY * second


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the garbage collector out of the timed calls."""
    enabled, frozen = gc.isenabled(), gc.get_freeze_count() > 0
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        # What somebody else has frozen stays so: to go through it at the next collection may take as long as a round.
        if not frozen:
            gc.unfreeze()
        if enabled:
            gc.enable()

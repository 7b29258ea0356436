"""The timed rounds: one side, or two that alternate call by call."""

from __future__ import annotations

import gc
import math
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from libbench.result import Measurement, Timing
from libbench.settings import Timer
from libbench.speed import LEAST_PAIRS, half_width, median_interval

SHORTEST_TRIAL = 200e-6
"""A trial is made of enough calls to last this many seconds, so that the clock's own cost does not count."""
ROUND = 10
"""Pairs between two looks at the interval and the budget."""
ENOUGH_PAIRS = 30
"""Before so many pairs a narrow interval may be luck."""
MOST_PAIRS = 5000
"""More would fill files without telling more."""
OVERRUN = 3.0
"""How far the budget may be passed, as a multiple, for the pairs that an interval needs."""
LONGEST_WARMUP = 3.0
LEAST_WARMUP = 6
STEADY = 0.05
"""Two halves of the last calls agree when their medians differ by no more than this share."""


Pair = list[Mapping[str, float]]


class Timed(Protocol):
    """A side as the timing loop sees it."""

    def trial(self, number: int, inner: int) -> Mapping[str, float]:
        """Run `inner` calls on input `number` of a pool; give their seconds by clock, together."""
        ...


def measure(
    sides: Sequence[Timed], timer: Timer, rng: random.Random, watch: Callable[[int, int | None], None]
) -> Measurement:
    """Time one side or two in this process.

    Each pair is one trial of every side, in an order drawn at random, on the same input. The rounds end when the
    interval of the median is narrow enough, when there are enough pairs or when the time is used up; never because
    a difference was seen.

    Args:
        timer: its budget is this process's own; the warm-up is not counted.
        watch: called between rounds with the pairs done and their planned number, None when that is open.
    """
    with _quiet():
        warm = [_warm_up(side, timer.warmup) for side in sides]
        inner = [max(1, math.ceil(SHORTEST_TRIAL / seconds)) for seconds, _ in warm]
        pairs: list[Pair] = []
        begin = time.perf_counter()
        while not _enough(pairs, timer, (time.perf_counter() - begin) / timer.budget):
            pairs.append(_pair(sides, inner, len(pairs), rng))
            if len(pairs) % ROUND == 0:
                watch(len(pairs), timer.pairs)
        seconds = time.perf_counter() - begin
    clocks = tuple(
        {clock: Timing(tuple(pair[i][clock] for pair in pairs)) for clock in pairs[0][i]} for i in range(len(sides))
    )
    return Measurement(clocks, tuple(inner), tuple(count for _, count in warm), seconds)


def _enough(pairs: Sequence[Pair], timer: Timer, spent: float) -> bool:
    """Tell whether to stop; `spent` is the share of the budget that is used up."""
    n = len(pairs)
    if n >= (timer.pairs or MOST_PAIRS):
        return True
    # A few more pairs give an interval at all; that is worth an overrun, but not any.
    if (spent > 1 and n >= LEAST_PAIRS) or (spent > OVERRUN and n > 0):
        return True
    # The more pairs there are the less one changes, and the longer a look at all of them takes.
    due = n >= ENOUGH_PAIRS and n % (ROUND * max(1, n // 200)) == 0
    return timer.pairs is None and due and _narrow(pairs, timer.precision)


def _narrow(pairs: Sequence[Pair], precision: float) -> bool:
    walls = [Timing(tuple(pair[i]["wall"] for pair in pairs)) for i in range(len(pairs[0]))]
    if len(walls) == 2:
        return half_width({"wall": walls[0]}, {"wall": walls[1]}) <= precision
    interval = median_interval([math.log(s) for s in walls[0].seconds])
    return interval is not None and (interval[1] - interval[0]) / 2 <= precision


def _pair(sides: Sequence[Timed], inner: Sequence[int], number: int, rng: random.Random) -> Pair:
    order = list(range(len(sides)))
    rng.shuffle(order)
    trials: dict[int, Mapping[str, float]] = {}
    for i in order:
        trials[i] = {clock: s / inner[i] for clock, s in sides[i].trial(number, inner[i]).items()}
    return [trials[i] for i in range(len(sides))]


def _warm_up(side: Timed, calls: int | None) -> tuple[float, int]:
    """Call until the calls are steady; give the seconds of one and how many there were."""
    if calls is not None:
        seconds = [side.trial(i, 1)["wall"] for i in range(max(calls, 1))]
        return statistics.median(seconds[-3:]), len(seconds)
    seconds, begin = [], time.perf_counter()
    while len(seconds) < LEAST_WARMUP or not _steady(seconds):
        seconds.append(side.trial(len(seconds), 1)["wall"])
        if time.perf_counter() - begin > LONGEST_WARMUP and len(seconds) >= 2:
            break
    return statistics.median(seconds[len(seconds) // 2 :]), len(seconds)


def _steady(seconds: list[float]) -> bool:
    last = seconds[-20:]
    first, second = statistics.median(last[: len(last) // 2]), statistics.median(last[len(last) // 2 :])
    return abs(first - second) <= STEADY * second


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the garbage collector out of the timed calls."""
    enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.unfreeze()
        if enabled:
            gc.enable()

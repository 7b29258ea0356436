"""CPU time of two sides in turn, and the ratio that their pairs have."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LEAST = 0.02
"""CPU seconds that one trial takes at least; short calls are repeated in it."""


@dataclass(frozen=True)
class Pairs:
    """What two sides took, pair by pair, in CPU seconds per call."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The median of the ratios of the pairs, ours over theirs."""
        return statistics.median(one / two for one, two in zip(self.ours, self.theirs, strict=True))


def in_pairs(ours: Callable[[], Any], theirs: Callable[[], Any], pairs: int) -> Pairs:
    """Time two sides in turn; which one goes first changes from pair to pair."""
    sides = ours, theirs
    inner = [_inner(side) for side in sides]
    found: tuple[list[float], list[float]] = ([], [])
    for number in range(pairs):
        for which in (0, 1) if number % 2 else (1, 0):
            found[which].append(seconds(sides[which], inner[which]))
    return Pairs(tuple(found[0]), tuple(found[1]))


def in_stages(
    ours: tuple[Callable[[], Any], Callable[[Any], Any]],
    theirs: tuple[Callable[[], Any], Callable[[Any], Any]],
    pairs: int,
    inner: int,
) -> tuple[Pairs, Pairs, list[Any]]:
    """Time two sides in turn, each of which loads and then builds what it loaded, so many times in one trial.

    Returns:
        Loading and building together, building alone, and what either side built last.
    """
    whole: tuple[list[float], list[float]] = ([], [])
    alone: tuple[list[float], list[float]] = ([], [])
    built: list[Any] = [None, None]
    for number in range(pairs):
        for which in (0, 1) if number % 2 else (1, 0):
            load, build = (ours, theirs)[which]
            # What the other side made is freed before the clock starts.
            loaded = built[which] = None
            gc.collect()
            begin = time.process_time()
            for _ in range(inner):
                loaded = load()
            middle = time.process_time()
            for _ in range(inner):
                built[which] = build(loaded)
            end = time.process_time()
            whole[which].append((end - begin) / inner)
            alone[which].append((end - middle) / inner)
    return Pairs(tuple(whole[0]), tuple(whole[1])), Pairs(tuple(alone[0]), tuple(alone[1])), built


def seconds(call: Callable[[], Any], inner: int = 1) -> float:
    """Give the CPU seconds of one call, as the mean of so many."""
    gc.collect()
    begin = time.process_time()
    for _ in range(inner):
        call()
    return (time.process_time() - begin) / inner


def median_seconds(call: Callable[[], Any], trials: int) -> float:
    """Give the median over trials of the CPU seconds of one call."""
    inner = _inner(call)
    return statistics.median(seconds(call, inner) for _ in range(trials))


def _inner(call: Callable[[], Any]) -> int:
    once = seconds(call)
    if once < LEAST:
        once = min(once, seconds(call))
    return max(1, round(LEAST / max(once, 1e-7)))

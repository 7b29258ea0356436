"""What a reader should know of the timed rounds before trusting their figures."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence

from libbench.measured import Measurement
from libbench.pool import SIZE as POOL
from libbench.result import SIDES, Comparison

OCCUPIED = 0.5
"""Cores taken by others, beyond those that are left over, that are worth a word."""
INTERRUPTED = 0.1
"""Share of pairs with an interrupted trial that is worth a word."""
FROM_MEMORY = 2.0
"""How many times as long a side may take for values that it has not met, beyond which that is worth a word."""
FASTER_ALONE = 0.95
"""One thread is worth a word where it takes no more than this share of the time that all of them take."""


def timing_remarks(comparison: Comparison) -> Iterator[str]:
    """Say what spoiled, or may have spoiled, the timed rounds."""
    measurements = comparison.measurements
    environment = comparison.reference.environment
    threads, cores = environment.get("threads", 1), environment.get("cores", 1)
    yield from _busy(measurements, threads, cores)
    yield from _interruptions(measurements)
    yield from _more_threads(measurements, threads)
    for index, side in enumerate(SIDES):
        graphs = sum(m.compiled[index] for m in measurements if len(m.compiled) > index)
        if graphs:
            yield f"the {side} was compiled again while it was timed: {graphs:,} graphs"
    yield from _from_memory(comparison)
    if measurements and comparison.reference.curve is not None:
        yield "a call is a training step: in every round both sides train on from the first step, equally many steps"
    if any(m.together and not m.null for m in measurements):
        yield (
            "no second copy of the reference was timed beside the two, for want of memory or of time: the machine's "
            "own noise is not known"
        )


def _from_memory(comparison: Comparison) -> Iterator[str]:
    """Say which side is quick with what it has met only, and where that would not be seen."""
    measurements, sides = comparison.measurements, (comparison.reference, comparison.target)
    for index, name in enumerate(SIDES):
        ratios = [m.unmet[index] for m in measurements if len(m.unmet) > index and not math.isnan(m.unmet[index])]
        if ratios and statistics.median(ratios) > FROM_MEMORY:
            times = statistics.median(ratios)
            yield (
                f"the {name} seems to answer from memory: it takes {times:.1f}x as long for values that it has not met "
                f"before, and the speed is that of values that come again"
            )
    if measurements and any(side.preparation and side.preparation.batches == 1 for side in sides):
        yield (
            "there is one batch only, so that a side that answers from memory would not be seen: give the data more "
            f"samples, or a smaller batch size, for {POOL} batches or more"
        )


def _busy(measurements: Sequence[Measurement], threads: int, cores: int) -> Iterator[str]:
    others = [m.others for m in measurements if m.others is not None]
    if others and max(others) > max(0, cores - threads) + OCCUPIED:
        yield f"the machine was busy: others kept {max(others):.1f} of {cores} cores busy while it was timed"


def _interruptions(measurements: Sequence[Measurement]) -> Iterator[str]:
    pairs = sum(len(m.clocks[0]["wall"].seconds) for m in measurements)
    redrawn, kept = sum(m.redrawn for m in measurements), sum(m.interrupted for m in measurements)
    if pairs and redrawn + kept > INTERRUPTED * pairs:
        yield (
            f"trials were interrupted by other processes: {redrawn:,} pairs were measured again for the {pairs:,} "
            f"that count, and {kept:,} of these were interrupted all the same"
        )


def _more_threads(measurements: Sequence[Measurement], threads: int) -> Iterator[str]:
    for index, side in enumerate(SIDES):
        ratios = [
            m.one_thread[index] / m.clocks[index]["wall"].median for m in measurements if len(m.one_thread) > index
        ]
        if ratios and statistics.median(ratios) < FASTER_ALONE:
            share = 1 / statistics.median(ratios)
            yield f"{threads} threads make the {side} slower: with one it is {share:.2f}x as fast"

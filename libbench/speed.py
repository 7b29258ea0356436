"""From timed pairs to a speedup with an interval and a verdict."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from libbench.interval import median_interval, student
from libbench.measured import STRAYED, Measurement, NullArm, Speedup, SpeedVerdict, Timing

ZONE = 0.02
"""A ratio whose interval lies inside 1 +- ZONE is level, outside it faster or slower."""
LONE_ZONE = 0.05
"""The same for a single process, whose memory layout alone may be worth that much."""
ALONE = "one process, layout effects not covered"
"""What is noted of the interval of a single process."""
LEAST_PAIRS = 6
"""Fewer pairs have no 95 % interval."""
MOST_FURTHER = 1000
"""More processes than this are not proposed to anybody."""
ELSEWHERE = "no interval and no verdict: the sides ran on different machines, which may be all of the difference"
APART_ZONE = 0.30
"""The same for sides that were timed apart: what drifts between two times is worth 12 to 29 % in one case in ten."""


def log_ratios(reference: Timing, target: Timing) -> list[float]:
    """Give the log of reference time over target time, pair by pair."""
    return [math.log(r / t) for r, t in zip(reference.seconds, target.seconds, strict=True)]


def process_logs(measurements: Sequence[Measurement], clock: str) -> list[float]:
    """Give, for each process, the median log ratio of its pairs by a clock."""
    return [statistics.median(log_ratios(m.clocks[0][clock], m.clocks[1][clock])) for m in measurements]


def null_arm(measurements: Sequence[Measurement]) -> NullArm | None:
    """Combine the processes' pairs of the reference and its copy; None where one has too few for an interval."""
    arms = [log_ratios(*m.null) if m.null else [] for m in measurements]
    if not arms or min(len(arm) for arm in arms) < LEAST_PAIRS:
        return None
    medians = [statistics.median(arm) for arm in arms]
    interval, _ = _interval(arms, medians)
    low, high = interval if interval is not None else (0.0, 0.0)
    return NullArm(math.exp(statistics.median(medians)), (high - low) / 2, tuple(len(arm) for arm in arms))


def speedups(measurements: Sequence[Measurement]) -> tuple[Speedup, ...]:
    """Combine the processes' timed pairs to one speedup for each clock that both sides have.

    Point: the median over processes of each one's median log pair ratio. Interval: Student's over the processes'
    medians; pooled pairs would leave out what differs from process to process. One process gives its own interval
    and is said to be alone.
    """
    if not measurements:
        return ()
    sides = [side for m in measurements for side in m.clocks]
    clocks = [c for c in measurements[0].clocks[0] if all(c in side and _positive(side[c]) for side in sides)]
    null = null_arm(measurements)
    found = [_speedup(clock, measurements, null) for clock in clocks]
    if any(any(m.strayed) for m in measurements):
        return tuple(replace(each, verdict="inconclusive", note=STRAYED, further=None) for each in found)
    return tuple(_doubted(each, found, measurements) for each in found)


def _doubted(speedup: Speedup, all_clocks: Sequence[Speedup], measurements: Sequence[Measurement]) -> Speedup:
    """Take the verdict from a wall clock that shows whom the kernel let wait, where most trials were interrupted."""
    cpu = next((each for each in all_clocks if each.clock == "cpu"), None)
    pairs = sum(len(m.clocks[0][speedup.clock].seconds) for m in measurements)
    if speedup.clock != "wall" or cpu is None or 2 * sum(m.interrupted for m in measurements) <= pairs:
        return speedup
    if abs(math.log(speedup.ratio / cpu.ratio)) <= math.log1p(LONE_ZONE):
        return speedup
    note = f"most pairs were interrupted by other processes; by the time on processors it is {cpu.ratio:.3g}x"
    return replace(speedup, verdict="inconclusive", note=note, further=None)


def _positive(timing: Timing) -> bool:
    return all(seconds > 0 for seconds in timing.seconds)


def speedups_apart(
    reference: Sequence[Mapping[str, Timing]],
    target: Sequence[Mapping[str, Timing]],
    unlike: str = "",
    *,
    elsewhere: bool = False,
) -> tuple[Speedup, ...]:
    """Compare two sides of which each was timed by itself: one speedup for each clock that all processes have.

    Point: the ratio of the medians over processes. Interval: Welch's over the logs of the processes' medians. It does
    not cover what has changed between the two times; a verdict is given only where all of it lies beyond `APART_ZONE`.

    Args:
        reference: each process's timing by clock.
        target: likewise.
        unlike: in what the sides differ so that no verdict may be given; empty where they do not.
        elsewhere: whether the sides ran on different machines, of which an interval would tell as much as of the sides.
    """
    if not reference or not target:
        return ()
    both = (*reference, *target)
    clocks = [c for c in reference[0] if all(c in process and _positive(process[c]) for process in both)]
    found = [_apart(clock, reference, target, unlike) for clock in clocks]
    return tuple(replace(each, low=None, high=None, note=ELSEWHERE) if elsewhere else each for each in found)


def _apart(
    clock: str, reference: Sequence[Mapping[str, Timing]], target: Sequence[Mapping[str, Timing]], unlike: str
) -> Speedup:
    medians = [[process[clock].median for process in side] for side in (reference, target)]
    logs = [[math.log(median) for median in side] for side in medians]
    interval = welch(logs[0], logs[1])
    notes = [
        "not alternated with the reference: measured at another time, so that only what lies wholly beyond "
        f"{APART_ZONE:.0%} is called faster or slower"
    ]
    verdict: SpeedVerdict = "inconclusive"
    low = high = None
    if interval is None:
        notes.insert(0, "no interval: fewer than 2 processes on a side")
    else:
        low, high = math.exp(interval[0]), math.exp(interval[1])
        verdict = "faster" if low > 1 + APART_ZONE else "slower" if high < 1 - APART_ZONE else "inconclusive"
    if unlike:
        verdict = "inconclusive"
        notes.append(f"no verdict: {unlike} differ" + ("" if "," in unlike else "s"))
    middle = [statistics.median(side) for side in medians]
    return Speedup(
        clock=clock,
        ratio=middle[0] / middle[1],
        low=low,
        high=high,
        verdict=verdict,
        reference=middle[0],
        target=middle[1],
        pairs=(),
        note="; ".join(notes),
    )


def welch(reference: Sequence[float], target: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Give the interval of the difference of two means; None for fewer than two values of either.

    Welch's (Biometrika 34, 1947), with the degrees of freedom of Satterthwaite (Biometrics Bulletin 2, 1946), rounded
    down.
    """
    sides = reference, target
    if min(map(len, sides)) < 2:
        return None
    shares = [statistics.variance(side) / len(side) for side in sides]
    total, difference = sum(shares), statistics.fmean(reference) - statistics.fmean(target)
    parts = [share**2 / (len(side) - 1) for share, side in zip(shares, sides, strict=True)]
    freedom = int(total**2 / sum(parts)) if sum(parts) > 0 else min(map(len, sides)) - 1
    half = student(freedom, confidence) * math.sqrt(total)
    return difference - half, difference + half


def _speedup(clock: str, measurements: Sequence[Measurement], null: NullArm | None) -> Speedup:
    sides = [(m.clocks[0][clock], m.clocks[1][clock]) for m in measurements]
    ratios = [log_ratios(reference, target) for reference, target in sides]
    medians = process_logs(measurements, clock)
    interval, note = _interval(ratios, medians)
    alone = len(medians) == 1
    zone = LONE_ZONE if alone else ZONE
    low, high = (None, None) if interval is None else (math.exp(interval[0]), math.exp(interval[1]))
    verdict = verdict_of(low, high, zone, alone=alone)
    if null is not None and not 1 - zone <= null.ratio <= 1 + zone:
        verdict, note = "inconclusive", f"the reference against a copy of itself came out at {null.ratio:.3f}x"
    return Speedup(
        clock=clock,
        ratio=math.exp(statistics.median(medians)),
        low=low,
        high=high,
        verdict=verdict,
        reference=statistics.median(reference.median for reference, _ in sides),
        target=statistics.median(target.median for _, target in sides),
        pairs=tuple(len(r) for r in ratios),
        note=note,
        further=_further(medians) if verdict == "inconclusive" and not note else None,
    )


def _interval(ratios: Sequence[Sequence[float]], medians: Sequence[float]) -> tuple[tuple[float, float] | None, str]:
    if min(len(r) for r in ratios) < LEAST_PAIRS:
        return None, f"no interval: fewer than {LEAST_PAIRS} pairs in a process"
    if len(medians) == 1:
        return median_interval(ratios[0]), ALONE
    mean = statistics.fmean(medians)
    half = _half(statistics.stdev(medians), len(medians))
    return (mean - half, mean + half), ""


def _half(deviation: float, n: int) -> float:
    """Give half of Student's 95 % interval of a mean of n values."""
    return student(n - 1) * deviation / math.sqrt(n)


def _further(medians: Sequence[float]) -> int | None:
    """Give how many more processes like these would bring the interval to one side of the zone, or into it."""
    mean, deviation = statistics.fmean(medians), statistics.stdev(medians)
    edges = math.log1p(-ZONE), math.log1p(ZONE)
    room = min(abs(mean - edge) for edge in edges)
    for n in range(len(medians) + 1, MOST_FURTHER):
        if _half(deviation, n) <= room:
            return n - len(medians)
    return None


def verdict_of(low: float | None, high: float | None, zone: float, *, alone: bool = False) -> SpeedVerdict:
    """Judge a ratio by its interval: outside 1 +- zone, inside, or neither.

    Args:
        alone: whether the interval leaves something out, so that what lies inside is not shown to be level.
    """
    if low is None or high is None:
        return "inconclusive"
    if low > 1 + zone:
        return "faster"
    if high < 1 - zone:
        return "slower"
    inside = 1 - zone <= low and high <= 1 + zone
    return "level" if inside and not alone else "inconclusive"

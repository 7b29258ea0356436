"""One run as a history keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from libbench.result import Unlike

GRADES: Mapping[str, int] = {"same": 0, "ran": 0, "TOO SLOW": 1, "DIFFERENT": 2, "FAILED": 3}
"""Verdicts on a run, the best first; one that is not here says that the run could not be judged."""


@dataclass(frozen=True)
class Entry:
    """What a history keeps of one run of a pair, or of one side that was run by itself.

    Attributes:
        known_by: hash of both configs without limits, or of the one; runs of the same pair share it.
        name: what the report calls the pair.
        source: the file that it was read from.
        began: when it was begun, in seconds since 1970 (UTC).
        verdict: on the run by itself: "same", "TOO SLOW", "DIFFERENT", "FAILED", "not judged" or "interrupted"; of one
            side "ran", "FAILED", "not judged" or "interrupted".
        finding: what stands behind it, in a few words.
        paired: whether there are two sides.
        levels: t* by leaf; -inf for one that agrees exactly, inf for one that never does.
        environment: what it ran on and by, by name; texts.
        seconds: per call of reference and target by the wall clock; None where it was not timed, or there is no such
            side.
        logs: of each process the log of how fast the target is: of a pair the median log ratio of its pairs, of one
            side minus the log of its median seconds.
        ratio, low, high: the run's own speedup with its 95 % interval; None where there is none.
        doubt: why its times are no ground for a verdict; empty where they are.
        first_call: seconds of compiling and of the first call of the target; None where it was not reached.
        peak: largest memory in a call of the target in bytes, by kind of memory.
    """

    known_by: str
    name: str
    source: str
    began: float
    verdict: str
    finding: str
    paired: bool
    levels: Mapping[str, float] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    seconds: tuple[float | None, float | None] = (None, None)
    logs: tuple[float, ...] = ()
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    doubt: str = ""
    first_call: float | None = None
    peak: Mapping[str, int] = field(default_factory=dict)


def unlike_runs(before: Entry, after: Entry) -> tuple[Unlike, ...]:
    """List what has changed between two runs besides what came out; the earlier one takes the reference's place."""
    names = dict.fromkeys([*before.environment, *after.environment])
    values = [(name, before.environment.get(name, "-"), after.environment.get(name, "-")) for name in names]
    return tuple(Unlike(*each) for each in values if each[1] != each[2])

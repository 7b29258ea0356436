"""One side while it is timed."""

from __future__ import annotations

import math
import mmap
import random
import resource
import statistics
from collections.abc import Callable, Mapping
from typing import Any

from libbench.errors import LibbenchError
from libbench.group import whole
from libbench.measure import Trial
from libbench.pool import SIZE, Pool
from libbench.reruns import compare_runs
from libbench.side import Side
from libbench.tree import Snapshot, snapshot

WATCHED = 2
"""Inputs of the pool whose first outputs are remembered, for those of timed calls to be compared with."""


class TimedSide:
    """A side with a pool of full batches to be called on.

    Args:
        side: one that is prepared.
        mark: a byte in which a side leaves its index while it runs, for whoever finds the process dead.
        rng: draws the inputs whose outputs are watched.
    """

    def __init__(self, side: Side, mark: mmap.mmap, rng: random.Random) -> None:
        self._side = side
        self._mark = mark
        self._kept: tuple[int, Snapshot] | None = None
        self._turns = 0
        self._step = side.parts.workload.step
        with side.during("measure"):
            self._pool = Pool(side.full(SIZE), side.fresh)
            # What it gives before it is worn by timing is what it must give while it is timed.
            watched = rng.sample(range(self._pool.size), min(WATCHED, self._pool.size))
            self._expected = {n: snapshot(side.call(side.fresh(self._pool.batch(n)))) for n in watched}

    @property
    def most_calls(self) -> int | None:
        """The calls that may be timed together; None sets no limit."""
        return self._side.parts.device.most_calls

    def clock_cost(self) -> float:
        """Give the seconds that the device's clocks take for a call that does nothing."""
        with self._side.during("measure", announce=False):
            return statistics.median(self._clocked(_nothing).get("wall", 0.0) for _ in range(20))

    @property
    def alike(self) -> bool:
        """Whether all inputs are of one form."""
        return self._pool.alike

    def go_on(self) -> None:
        """Let the next turns follow those of the rounds before, instead of beginning again."""
        self._turns += 1
        self._kept = None

    def refresh(self, number: int) -> None:
        """Give the pool the values of a round."""
        self._mark[0] = self._side.index
        with self._side.during("measure", announce=False):
            self._pool.refresh(self._turns + number)

    def trial(self, first: int, inner: int, *, keep: bool = False) -> Trial:
        """Run `inner` calls on inputs of the pool, from a position on.

        Args:
            keep: keep what the last one returned, if its input is one of those that are watched.
        """
        self._mark[0] = self._side.index
        # Never one input twice in a row, where there are two: a model may keep its last answer.
        places = range(first, first + inner)
        number = self._pool.number(places[-1])
        keep = keep and number in self._expected
        batches = [self._pool.at(place) for place in places]
        if self._side.mutates:
            batches = [self._side.fresh(batch) for batch in batches]
        parts, call = self._side.parts, self._side.compiled.call
        step, outputs = self._step, []

        def calls() -> None:
            for each in batches:
                step(call, each)

        def kept_calls() -> None:
            for each in batches[:-1]:
                step(call, each)
            outputs.append(step(call, batches[-1]))

        with self._side.during("measure", announce=False), parts.workload.mode():
            graphs, switches = self._graphs(), _switches()
            clocks = dict(self._clocked(kept_calls if keep else calls))
            trial = Trial(clocks, _switches() - switches, self._graphs() - graphs)
            self._check(clocks)
            if keep:
                self._kept = number, snapshot(whole(outputs.pop()))
            return trial

    def _clocked(self, calls: Callable[[], None]) -> Mapping[str, float]:
        return self._side.parts.device.time(calls)

    def _check(self, clocks: Mapping[str, float]) -> None:
        name = type(self._side.parts.device).__qualname__
        if "wall" not in clocks:
            raise LibbenchError(f"{name}.time() must give 'wall', got {', '.join(clocks) or 'no clock'}")
        for clock, seconds in clocks.items():
            if not 0 <= seconds < math.inf or (clock == "wall" and seconds == 0):
                raise LibbenchError(f"{name}.time() must give seconds above 0, got {clock} {seconds!r}")

    def kept(self) -> str:
        """Say "same", or in what the kept outputs of a timed call were not those of the first call on its input.

        Returns:
            An empty text where nothing was kept, or where no two calls agree anyway.
        """
        again = self._side.again
        if self._kept is None or (again is not None and again.verdict == "different"):
            return ""
        number, outputs = self._kept
        found = compare_runs("a timed call", self._expected[number], outputs)
        return found.note if found.verdict == "different" else "same"

    def _graphs(self) -> int:
        facts = self._side.compiled.facts
        return (facts().graphs or 0) if facts else 0


def _nothing() -> Any:
    pass


def _switches() -> int:
    """Give how often the kernel has taken the processor away from a thread of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw

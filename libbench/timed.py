"""One side while it is timed."""

from __future__ import annotations

import mmap
import resource
import statistics
from itertools import takewhile
from typing import Any

from libbench.errors import LibbenchError
from libbench.interfaces import Batch
from libbench.measure import Trial
from libbench.pool import SIZE, Pool
from libbench.reruns import compare_runs
from libbench.side import Side
from libbench.tree import Snapshot, snapshot


class TimedSide:
    """A side with a pool of full batches to be called on.

    Args:
        side: one that is prepared.
        mark: a byte in which a side leaves its index while it runs, for whoever finds the process dead.
    """

    def __init__(self, side: Side, mark: mmap.mmap) -> None:
        self._side = side
        self._mark = mark
        self._kept: tuple[Snapshot, Batch] | None = None
        with side.during("measure"):
            source = side.data()
            first = next(source)
            full = takewhile(lambda batch: len(batch.indices) >= len(first.indices), source)
            self._pool = Pool([first, *(batch for _, batch in zip(range(SIZE - 1), full, strict=False))], side.fresh)

    @property
    def most_calls(self) -> int | None:
        """The calls that may be timed together; None sets no limit."""
        return self._side.parts.device.most_calls

    def clock_cost(self) -> float:
        """Give the seconds that the device's clocks take for a call that does nothing."""
        with self._side.during("measure", announce=False):
            return statistics.median(self._side.parts.device.time(_nothing).get("wall", 0.0) for _ in range(20))

    def refresh(self, number: int) -> None:
        """Give the pool the values of a round."""
        self._mark[0] = self._side.index
        with self._side.during("measure", announce=False):
            self._pool.refresh(number)

    def trial(self, number: int, inner: int, *, keep: bool = False) -> Trial:
        """Run `inner` calls on inputs of the pool; keep what the last one returned, or not."""
        self._mark[0] = self._side.index
        # Never one input twice in a row, where there are two: a model may keep its last answer.
        places = range(number * inner, (number + 1) * inner)
        batches = [self._pool.at(place) for place in places]
        if self._side.mutates:
            batches = [self._side.fresh(batch) for batch in batches]
        parts, call = self._side.parts, self._side.compiled.call
        step, outputs = parts.workload.step, []

        def calls() -> None:
            for each in batches:
                step(call, each)

        def kept_calls() -> None:
            for each in batches[:-1]:
                step(call, each)
            outputs.append(step(call, batches[-1]))

        with self._side.during("measure", announce=False), parts.workload.mode():
            graphs, switches = self._graphs(), _switches()
            clocks = dict(parts.device.time(kept_calls if keep else calls))
            trial = Trial(clocks, _switches() - switches, self._graphs() - graphs)
            if "wall" not in clocks:
                name = type(parts.device).__qualname__
                raise LibbenchError(f"{name}.time() must give 'wall', got {', '.join(clocks) or 'no clock'}")
            if keep:
                self._kept = snapshot(outputs.pop()), self._pool.original(places[-1])
            return trial

    def kept(self) -> str:
        """Say "same", or what the kept outputs of a timed call and those of an untimed call did not agree in.

        Returns:
            An empty text where nothing was kept, or where no two calls agree anyway.
        """
        side = self._side
        if self._kept is None or (side.again is not None and side.again.verdict == "different"):
            return ""
        outputs, batch = self._kept
        with side.during("measure"):
            # Another input first, in other memory: what is kept of the last one is not the answer.
            side.call(side.fresh(self._pool.original(1)))
            found = compare_runs("an untimed call", outputs, snapshot(side.call(side.fresh(batch)), copy=False))
            return found.note if found.verdict == "different" else "same"

    def _graphs(self) -> int:
        facts = self._side.compiled.facts
        return (facts().graphs or 0) if facts else 0


def _nothing() -> Any:
    pass


def _switches() -> int:
    """Give how often the kernel has taken the processor away from a thread of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw

"""One side while it is timed."""

from __future__ import annotations

import math
import mmap
import random
import resource
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from libbench.errors import ClockError
from libbench.group import whole
from libbench.interfaces import Batch, Stepping
from libbench.measure import Trial
from libbench.measured import no_time
from libbench.noise import AGAIN
from libbench.pool import SIZE, Pool
from libbench.reruns import compare_runs
from libbench.result import CompileFacts
from libbench.side import Side
from libbench.tree import Snapshot, fingerprint, map_tensors, snapshot

WATCHED = 2
"""Inputs of the pool whose first outputs are remembered, for those of timed calls to be compared with."""


PROBES = 5
"""Values that a side has not met, on which it is called to find out whether it answers from memory."""


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
        self._clocks: dict[str, float] = {}
        with side.during("measure"):
            self._pool = Pool(side.full(SIZE), side.fresh)
            # What it gives before it is worn by timing is what it must give while it is timed.
            # A step gives something else each time, since the steps before it have changed the model.
            self.steps = isinstance(side.parts.workload, Stepping)
            size = self._pool.size
            watched = [] if self.steps else rng.sample(range(size), min(WATCHED, size))
            self._expected = {n: self._given(self._pool.batch(n)) for n in watched}

    def _given(self, batch: Batch) -> Snapshot:
        """Give what the side returns for a batch; of the one that it was called on first, that is known."""
        known = self._side.first_given(batch)
        return snapshot(self._side.call(self._side.fresh(batch))) if known is None else known

    @property
    def most_calls(self) -> int | None:
        """The calls that may be timed together; None sets no limit."""
        return self._side.parts.device.most_calls

    def clock_cost(self) -> float:
        """Give the seconds that the device's clocks take for a call that does nothing."""
        with self._side.during("measure", announce=False):
            return statistics.median(self._time(_nothing, nothing=True)["wall"] for _ in range(20))

    @property
    def alike(self) -> bool:
        """Whether all inputs are of one form, and any number of calls leaves the model as it is."""
        return self._pool.alike and not self.steps

    def go_on(self) -> None:
        """Let the next turns follow those of the rounds before, instead of beginning again."""
        self._turns += 1
        self._kept = None

    def refresh(self, number: int) -> None:
        """Give the pool the values of a round, and let steps begin again, so that every side comes equally far."""
        self._mark[0] = self._side.index
        with self._side.during("measure", announce=False):
            self._side.restart()
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
            before, switches = self._facts(), _switches()
            clocks = self._time(kept_calls if keep else calls)
            trial = Trial(clocks, _switches() - switches, *_since(before, self._facts()))
            if keep:
                self._kept = number, snapshot(whole(outputs.pop()))
            return trial

    def _clocked(self, calls: Callable[[], Any]) -> Mapping[str, float]:
        return self._side.parts.device.time(calls)

    def _time(self, call: Callable[[], Any], *, nothing: bool = False) -> dict[str, float]:
        """Let the device time a call; what its clocks show must be times, of the same clocks as ever."""
        clocks = self._clocked(call)
        wrong = no_time(clocks, nothing=nothing)
        if not wrong and clocks.keys() != (self._clocks or clocks).keys():
            wrong = f"the clocks were {', '.join(self._clocks)}, and are {', '.join(clocks)} now"
        if wrong:
            name = type(self._side.parts.device).__qualname__
            raise ClockError(f"the device {name} is at fault, whose time() times the call: {wrong}")
        self._clocks = dict(clocks)
        return self._clocks

    def unmet(self, most: float) -> float:
        """Give how many times as long a call takes on values that the side has not met as on the same values again.

        The values are those of batches whose samples stand in another order. Both calls get tensors of their own, and
        each follows one on an input that is well known.

        Args:
            most: seconds after which no more values are tried.

        Returns:
            The median; NaN where the samples of no batch can be put in another order.
        """
        ratios: list[float] = []
        begin = time.monotonic()
        with self._side.during("measure", announce=False), self._side.parts.workload.mode():
            for probe in range(PROBES):
                batch = _reordered(self._pool.batch(probe % self._pool.size), 1 + probe // self._pool.size)
                if batch is not None and (not ratios or time.monotonic() - begin < most):
                    first, second = (self._after_a_known_one(self._side.fresh(batch)) for _ in range(2))
                    ratios.append(first / second)
        return statistics.median(ratios) if ratios else math.nan

    def _after_a_known_one(self, batch: Batch) -> float:
        step, call = self._side.parts.workload.step, self._side.compiled.call
        step(call, self._side.fresh(self._pool.at(0)))
        return self._time(lambda: step(call, batch))["wall"]

    def kept(self) -> str:
        """Say "same", or in what the kept outputs of a timed call were not those of the first call on its input.

        Returns:
            An empty text where nothing was kept, or where no two calls agree anyway.
        """
        if self._kept is None:
            return ""
        number, outputs = self._kept
        found = compare_runs("a timed call", self._expected[number], outputs)
        if found.verdict != "different":
            return "same"
        return found.note if self._repeats(self._pool.batch(number)) else ""

    def _repeats(self, batch: Batch) -> bool:
        """Tell whether two calls on one batch agree."""
        with self._side.during("measure", announce=False):
            first, second = (snapshot(self._side.call(self._side.fresh(batch))) for _ in range(2))
        return compare_runs(AGAIN, first, second).verdict != "different"

    def _facts(self) -> CompileFacts | None:
        facts = self._side.compiled.facts
        return facts() if facts else None


def _since(before: CompileFacts | None, now: CompileFacts | None) -> tuple[int, int | None]:
    """Give how many graphs were made between two looks, and how often compiled code ran."""
    if before is None or now is None:
        return 0, None
    graphs = (now.graphs or 0) - (before.graphs or 0)
    return graphs, None if before.calls is None or now.calls is None else now.calls - before.calls


def _reordered(batch: Batch, by: int) -> Batch | None:
    """Give the batch with its samples moved on by so many; None where that gives no other values."""
    count = len(batch.indices)

    def moved(tensor: torch.Tensor) -> torch.Tensor:
        by_sample = not tensor.is_nested and tensor.layout is torch.strided and tensor.shape[:1] == (count,)
        return tensor.roll(by, 0) if by_sample else tensor

    if by >= count:
        return None
    inputs = map_tensors(moved, batch.inputs)
    return None if fingerprint(inputs) == fingerprint(batch.inputs) else replace(batch, inputs=inputs)


def _nothing() -> Any:
    pass


def _switches() -> int:
    """Give how often the kernel has taken the processor away from a thread of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw

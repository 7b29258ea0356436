"""The Worker: what builds, compiles, runs and times. A runner says where it lives."""

from __future__ import annotations

import mmap
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import torch

from libbench import environment
from libbench.attempts import Attempts
from libbench.drawn import Draws
from libbench.faults import Attempt, Called
from libbench.findings import Rerun
from libbench.interfaces import Event, Watch
from libbench.job import Job
from libbench.located import Located
from libbench.measure import LONGEST_FILLED, SHORTEST_TRIAL, measure
from libbench.measured import Measurement
from libbench.occupied import Others
from libbench.records import decode
from libbench.reruns import threads
from libbench.result import Evaluation, Failure, Output, Preparation
from libbench.settings import Timer, Tolerance
from libbench.shares import Everything
from libbench.side import Side
from libbench.speed import LEAST_PAIRS
from libbench.state import random_state_put_back
from libbench.timed import TimedSide

CLOCK_COSTS = 50
"""A trial lasts at least so many times as long as reading the clocks."""
PROBED = 0.05
"""The share of the budget in which each side is called on values that it has not met."""
PROGRESS = 0.2
"""Seconds between two words on how far the timing is."""
GAPS = 16
LARGEST_GAP = 2**17
"""Bytes, below which the C library takes memory from the heap."""
SEARCH = "libbench.locate.locating"
"""The module that looks for where two sides part."""
RUNNING = "running"
"""The file of a session that says which side is being timed."""


class Worker:
    """A session in this process: one side to evaluate, or two to time against each other.

    Args:
        jobs: one, two, or three of which the last is the first once more, for the null arm.
        folder: where the snapshots go.
        watch: called with every event.
        threads: torch's threads; None for all usable cores but one.
        rng: draws in which order the sides are built and what is looked at while they are timed.
        share: what of the data the sides run; None for all.
    """

    _longest = LONGEST_FILLED

    def __init__(
        self,
        jobs: Sequence[Job],
        folder: Path,
        watch: Watch,
        threads: int | None,
        rng: random.Random | None = None,
        share: Everything | None = None,
    ) -> None:
        self._life = ExitStack()
        self._life.enter_context(_global_state_put_back())
        self._rng = rng or random.Random()
        torch.set_num_threads(threads or max(1, environment.usable_cores() - 1))
        self._sides = [Side(job, i, folder, watch, self._life, share) for i, job in enumerate(jobs)]
        self._watch = watch
        self._folder = folder
        self._attempts = Attempts(self._sides[0])
        self._timed: list[TimedSide] = []
        self._moved: list[torch.Tensor] = []
        self._environment: Mapping[str, Any] | None = None

    def environment(self) -> Mapping[str, Any]:
        """Describe the machine, the software and the first side's device."""
        if self._environment is None:
            self._environment = {**environment.describe(self._sides[0].job.file), **self._sides[0].describe_device()}
        return self._environment

    def prepare(self) -> tuple[Preparation, ...]:
        """Build and compile the sides, in an order drawn at random."""
        done = {}
        for side in self._rng.sample(self._sides, len(self._sides)):
            if side.job.timed:
                self._moved += _gaps(self._rng)
            done[side.index] = side.prepare()
        return tuple(done[side.index] for side in self._sides)

    def batches(self) -> Iterator[Output]:
        """Run every batch of the first side, leaving a snapshot of each in the folder."""
        return self._sides[0].batches()

    def metrics(self) -> Evaluation:
        """Give the first side's metrics and memory, after its last batch."""
        return self._sides[0].metrics()

    def rerun(self) -> Rerun:
        """Compare the first side's first call with one that it had every right to make otherwise."""
        return self._sides[0].rerun()

    def draws(self, seeds: Sequence[int], wanted: Sequence[str]) -> Draws:
        """Give what the first side's first batch gives from each of several seeds."""
        return self._sides[0].draws(seeds, wanted)

    def explained(self, seconds: float) -> Failure:
        """Say all that can be found out of why the only side could not be compiled; as for `Attempts`."""
        return self._attempts.explained(seconds)

    def called(self, inside: str, seconds: float) -> tuple[Called, ...]:
        """Give the modules called in one of the only side's model; no limit of time can be kept here."""
        return self._attempts.called(inside)

    def attempt(self, path: str, inside: str, seconds: float) -> Attempt:
        """Compile one of these modules alone; no limit of time can be kept here."""
        return self._attempts.attempt(path, inside)

    def locate(self, tolerance: Mapping[str, Any], **asked: Any) -> Located:
        """Look for where the two sides part, after `prepare`.

        Args:
            tolerance: by which outputs differ, as JSON values.
            asked: as for `located` of the module `SEARCH`.
        """
        # The search stands above the worker, and is loaded where it is asked for.
        found: Located = import_module(SEARCH).located(self._sides, self._folder, decode(Tolerance, tolerance), **asked)
        return found

    def measure(self, timer: Timer) -> Measurement:
        """Time the sides."""

        told = 0.0

        def progress(done: int, total: int | None) -> None:
            # Who is told wakes up, which takes a processor from somebody.
            nonlocal told
            now = time.monotonic()
            if now - told >= PROGRESS:
                told = now
                self._watch(Event(0, "measure", done, total))

        first_time = self._begin_rounds()
        sides, copies = self._timed[:2], self._timed[2:]
        with self._kernels(), Others(self._own_seconds) as others:
            found = measure(
                sides,
                timer,
                random.Random(),
                progress,
                copy=next(iter(copies), None),
                shortest=max(SHORTEST_TRIAL, CLOCK_COSTS * max(side.clock_cost() for side in self._timed)),
                longest=self._longest,
                most_calls=min((side.most_calls for side in self._timed if side.most_calls), default=None),
                alike=all(side.alike for side in self._timed),
            )
        found = replace(found, others=others.cores, kept=self._kept())
        if not first_time:
            return found
        with self._kernels():
            return replace(found, unmet=self._unmet(timer), one_thread=self._one_thread(timer))

    def _kernels(self) -> AbstractContextManager[None]:
        """Hold the kernels of the sides' operator library, which is the same for all that share a process.

        They stay for all rounds: to swap them takes longer than a call.
        """
        return self._sides[0].kernels(counted=False)

    def _begin_rounds(self) -> bool:
        """Hold the sides ready to be timed; tell whether it is for the first time."""
        first_time = not self._timed
        if first_time:
            mark = self._life.enter_context(running_side(self._folder))
            self._timed = [self._timed_side(side, mark) for side in self._sides]
        else:
            for each in self._timed:
                each.go_on()
        return first_time

    def _timed_side(self, side: Side, mark: mmap.mmap) -> TimedSide:
        return TimedSide(side, mark, self._rng)

    def _own_seconds(self) -> float:
        """Give the processor time that all of this worker has taken."""
        return time.process_time()

    def _kept(self) -> tuple[str, ...]:
        return tuple(side.kept() for side in self._timed[:2])

    def _unmet(self, timer: Timer) -> tuple[float, ...]:
        """Give by how much each side is slower on values that it has not met; nothing for steps: all are new."""
        sides = self._timed[:2]
        if any(side.steps for side in sides):
            return ()
        return tuple(side.unmet(PROBED * timer.budget) for side in sides)

    def _one_thread(self, timer: Timer) -> tuple[float, ...]:
        """Give the seconds per call with one thread, for as little time as tells; nothing where there is one anyway."""
        if torch.get_num_threads() == 1:
            return ()
        few = replace(timer, pairs=LEAST_PAIRS, warmup=2, budget=timer.budget / 10)
        with threads(1):
            alone = [measure([side], few, random.Random(), lambda done, total: None) for side in self._timed[:2]]
        return tuple(each.clocks[0]["wall"].median for each in alone)

    def close(self) -> None:
        """Put back what was changed in this process."""
        self._life.close()


def _gaps(rng: random.Random) -> list[torch.Tensor]:
    """Take memory here and there, so that what is built next does not lie where it lies in every other process.

    All of them are forked from one and would have the same layout, of which some give one side a few percent.
    """
    return [torch.empty(rng.randrange(64, LARGEST_GAP, 64), dtype=torch.uint8) for _ in range(GAPS)]


@contextmanager
def running_side(folder: Path) -> Iterator[mmap.mmap]:
    """Give a byte that outlives this process: who finds the process dead reads from it which side was running."""
    with (folder / RUNNING).open("wb+") as file:
        file.write(b"\0")
        file.flush()
        with mmap.mmap(file.fileno(), 1) as mark:
            yield mark


@contextmanager
def _global_state_put_back() -> Iterator[None]:
    threads = torch.get_num_threads()
    with random_state_put_back():
        try:
            yield
        finally:
            torch.set_num_threads(threads)

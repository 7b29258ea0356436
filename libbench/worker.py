"""The Worker: what builds, compiles, runs and times. A runner says where it lives."""

from __future__ import annotations

import mmap
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from libbench import environment
from libbench.findings import Rerun
from libbench.interfaces import Event, Watch
from libbench.job import Job
from libbench.measure import SHORTEST_TRIAL, measure
from libbench.measured import Measurement
from libbench.occupied import Others
from libbench.reruns import threads
from libbench.result import Evaluation, Output, Preparation
from libbench.settings import Timer
from libbench.side import Side
from libbench.speed import LEAST_PAIRS
from libbench.state import random_state_put_back
from libbench.timed import TimedSide

CLOCK_COSTS = 50
"""A trial lasts at least so many times as long as reading the clocks."""
RUNNING = "running"
"""The file of a session that says which side is being timed."""


class Worker:
    """A session in this process: one side to evaluate, or two to time against each other.

    Args:
        jobs: one, two, or three of which the last is the first once more, for the null arm.
        folder: where the snapshots go.
        watch: called with every event.
        threads: torch's threads; None for all usable cores but one.
    """

    def __init__(self, jobs: Sequence[Job], folder: Path, watch: Watch, threads: int | None) -> None:
        self._life = ExitStack()
        self._life.enter_context(_global_state_put_back())
        torch.set_num_threads(threads or max(1, environment.usable_cores() - 1))
        self._sides = [Side(job, i, folder, watch, self._life) for i, job in enumerate(jobs)]
        self._watch = watch
        self._folder = folder
        self._timed: list[TimedSide] = []

    def environment(self) -> Mapping[str, Any]:
        """Describe the machine, the software and the first side's device."""
        return {**environment.describe(self._sides[0].job.file), **self._sides[0].describe_device()}

    def prepare(self) -> tuple[Preparation, ...]:
        """Build and compile the sides, in an order drawn at random."""
        order = random.Random().sample(self._sides, len(self._sides))
        done = {side.index: side.prepare() for side in order}
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

    def measure(self, timer: Timer) -> Measurement:
        """Time the sides."""

        def progress(done: int, total: int | None) -> None:
            self._watch(Event(0, "measure", done, total))

        first_time = not self._timed
        if first_time:
            mark = self._life.enter_context(running_side(self._folder))
            self._timed = [TimedSide(side, mark) for side in self._sides]
        else:
            for each in self._timed:
                each.go_on()
        sides, copies = self._timed[:2], self._timed[2:]
        with Others() as others:
            found = measure(
                sides,
                timer,
                random.Random(),
                progress,
                copy=next(iter(copies), None),
                shortest=max(SHORTEST_TRIAL, CLOCK_COSTS * max(side.clock_cost() for side in self._timed)),
                most_calls=min((side.most_calls for side in self._timed if side.most_calls), default=None),
                alike=all(side.alike for side in self._timed),
            )
        found = replace(found, others=others.cores, kept=tuple(side.kept() for side in sides))
        return replace(found, one_thread=self._one_thread(timer)) if first_time else found

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

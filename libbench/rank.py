"""The worker of one rank: what it does alone, and what all ranks do at once."""

from __future__ import annotations

import mmap
import os
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import torch

from libbench import environment
from libbench.alignment import Probe, rounds_of
from libbench.curves import LOSS
from libbench.group import Group, Seat, arrived
from libbench.interfaces import Batch, Stepping, Watch
from libbench.job import Job
from libbench.measure import Trial, quiet
from libbench.measured import Measurement
from libbench.result import Evaluation
from libbench.settings import Timer
from libbench.shares import SPLITS
from libbench.side import Side
from libbench.timed import TimedSide
from libbench.tree import fingerprint, form_of, map_tensors, save_snapshot, snapshot
from libbench.worker import Worker

PROBE = "probe"
"""The folder in a rank's own in which it leaves the outputs of a probe."""
_TURNS = 8
"""Of a real run, so many batches tell what a rank is fed."""


class RankWorker(Worker):
    """A worker that does all that it does at the same time as those of the other ranks.

    Every method has to be called on all ranks, in the same order: a collective in the model waits for every rank.

    Args:
        jobs, folder, watch: as for `Worker`; the folder is this rank's own.
        threads: torch's threads; None for an equal part of all usable cores but one.
    """

    # That all ranks meet, before and after a trial, takes longer than to read a clock.
    _longest = 0.05

    def __init__(self, jobs: Sequence[Job], folder: Path, watch: Watch, threads: int | None, seat: Seat) -> None:
        self._group = Group(seat)
        share = SPLITS[seat.split](seat.rank, seat.world)
        each = max(1, (environment.usable_cores() - 1) // seat.world)
        super().__init__(jobs, folder, watch, threads or each, random.Random(seat.draw), share)
        self._life.callback(self._group.leave)
        self._processes = [psutil.Process(pid) for pid in self._group.gather(os.getpid())]

    def environment(self) -> Mapping[str, Any]:
        """Describe this rank's machine and device, and the group."""
        seat = self._group.seat
        return {**super().environment(), "world size": seat.world, "backend": seat.backend, "split": seat.split}

    def judge(self, others: Sequence[str], folder: str) -> Evaluation:
        """Give what is known after the last batch; on rank 0 with the metrics of all ranks' records.

        Args:
            others: the folders of the other ranks whose records count, in their order.
            folder: where the records of all ranks go.
        """
        side = self._sides[0]
        if self._group.rank == 0:
            side.join_records([Path(other) for other in others], Path(folder))
        return side.metrics(judge=self._group.rank == 0)

    def measure(self, timer: Timer) -> Measurement:
        """Time the sides; rank 0 says what is called when, and its clocks wait for the slowest rank."""
        if self._group.rank == 0:
            found = super().measure(timer)
            self._group.tell([Order.END, 0, 0, 0, 0])
            return found
        self._begin_rounds()
        with self._kernels(), quiet():
            follow(self._group, self._timed)
        return Measurement(clocks=(), inner=(), warmup=(), seconds=0.0, kept=self._kept())

    def probe(self) -> Probe:
        """Feed the model the first full batches, as `rounds_of` has it, and keep what it gives."""
        side, world = self._sides[0], self._group.world
        folder = self._folder / PROBE
        folder.mkdir()
        with side.during("evaluate"):
            run = [
                batch
                for batch in islice(side.data(), _TURNS)
                if not batch.padding or batch.padding < len(batch.indices)
            ]
            fed = tuple((batch.indices, fingerprint(batch.inputs)) for batch in run)
            parts = self._exchanged(side) if self._group.seat.split == "own" else side.unsplit(world)
            marks = {fingerprint(part.inputs) for part in parts}
            rounds = rounds_of(world)
            for number, assigned in enumerate(rounds):
                part = parts[assigned[self._group.rank] % len(parts)]
                side.restart()
                outputs = side.call(side.fresh(part))
                workload = side.parts.workload
                if isinstance(workload, Stepping):
                    # What a step leaves of gradients and parameters comes from all ranks, as it should.
                    outputs = {LOSS: torch.tensor(workload.loss().mean)}
                save_snapshot(snapshot(outputs, copy=False), folder, number)
        return Probe(str(folder), rounds, fed, len(marks) == world)

    def _exchanged(self, side: Side) -> list[Batch]:
        """Give every rank's first batch; this rank's alone where they differ in more than the values of tensors."""
        (mine,) = side.full(1)
        forms = self._group.gather(int(form_of(mine.inputs)[:15], 16))
        if len(set(forms)) > 1:
            return [mine]
        return [
            replace(mine, inputs=map_tensors(partial(self._group.tensor_of, rank), mine.inputs))
            for rank in range(self._group.world)
        ]

    def _timed_side(self, side: Side, mark: mmap.mmap) -> TimedSide:
        kind = LeadingSide if self._group.rank == 0 else RankSide
        return kind(side, mark, self._rng, self._group)

    def _unmet(self, timer: Timer) -> tuple[float, ...]:
        return ()  # the other ranks would have to call along

    def _one_thread(self, timer: Timer) -> tuple[float, ...]:
        return ()  # threads of several ranks are no question of one

    def _own_seconds(self) -> float:
        """Give the processor time that all ranks have taken."""
        return sum(times.user + times.system for times in (each.cpu_times() for each in self._processes))


class Order(IntEnum):
    """What rank 0 tells the others to do while it measures; four numbers follow."""

    END = 0
    REFRESH = 1
    TRIAL = 2
    CLOCKS = 3


class RankSide(TimedSide):
    """A side that is timed on all ranks at once: a trial begins when all are there and ends when all are done."""

    def __init__(self, side: Side, mark: mmap.mmap, rng: random.Random, group: Group) -> None:
        super().__init__(side, mark, rng)
        self._group = group
        self._synchronize = side.parts.device.synchronize
        step = self._step
        self._step = lambda call, batch: arrived(step(call, batch))

    def _clocked(self, calls: Callable[[], None]) -> Mapping[str, float]:
        def calls_of_all() -> None:
            calls()
            self._synchronize()
            self._group.barrier()

        self._group.barrier()
        return super()._clocked(calls_of_all)


class LeadingSide(RankSide):
    """The side of rank 0, which tells the others what it is about to do."""

    def refresh(self, number: int) -> None:
        self._tell(Order.REFRESH, number)
        super().refresh(number)

    def trial(self, first: int, inner: int, *, keep: bool = False) -> Trial:
        self._tell(Order.TRIAL, first, inner, int(keep))
        return super().trial(first, inner, keep=keep)

    def clock_cost(self) -> float:
        self._tell(Order.CLOCKS)
        return super().clock_cost()

    def _tell(self, order: Order, *numbers: int) -> None:
        filled = (*numbers, 0, 0, 0)[:3]
        with self._side.during("measure", announce=False):
            self._group.tell([order, self._side.index, *filled])


def follow(group: Group, sides: Sequence[TimedSide]) -> None:
    """Do what rank 0 tells, until it is done."""
    while True:
        order, index, *numbers = group.tell([0, 0, 0, 0, 0])
        match order:
            case Order.REFRESH:
                sides[index].refresh(numbers[0])
            case Order.TRIAL:
                sides[index].trial(numbers[0], numbers[1], keep=bool(numbers[2]))
            case Order.CLOCKS:
                sides[index].clock_cost()
            case _:
                return

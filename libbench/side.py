"""One job in this process: built, compiled, run, timed."""

from __future__ import annotations

import itertools
import operator
import os
import random
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch

from libbench.aliases import Held
from libbench.creation import off_device, uncompiled
from libbench.drawn import Draws
from libbench.errors import LibbenchError
from libbench.evaluation import Collected, allowed_by, drop_empty, evaluate, give_folder, noted, process
from libbench.features import draws_of, features
from libbench.findings import Rerun
from libbench.group import whole
from libbench.imported import imports_timed
from libbench.interfaces import Batch, Event, Stepping, Watch
from libbench.job import Job
from libbench.methods import method_of
from libbench.noise import AGAIN, SEEDED
from libbench.parts import Parts, build_parts
from libbench.recordfiles import RecordWriter, load_records
from libbench.reruns import compare_runs, repeats, threads
from libbench.result import Evaluation, Failure, KernelFacts, Output, Preparation, SideFailed, Stage
from libbench.shares import Everything
from libbench.state import changed, modes_put_back, random_mark, random_state_put_back, seed_at, state_of
from libbench.stepping import evaluation, named_step, steps_of, told_of
from libbench.tree import Snapshot, fingerprint, load_snapshot, own_copy, save_snapshot, snapshot, tensors

CACHE_VARIABLE = "TORCHINDUCTOR_CACHE_DIR"
FILES = "files"
"""The folder in a session's that the evaluator writes to."""


class Side:
    """One job in this process.

    Args:
        index: its position in the session.
        folder: where its snapshots go.
        watch: called with every event.
        life: what it enters is left when the session is closed.
        share: what of the data it runs.

    Attributes:
        failed: what was raised last; None where nothing was.
    """

    def __init__(
        self, job: Job, index: int, folder: Path, watch: Watch, life: ExitStack, share: Everything | None = None
    ) -> None:
        self._share = share or Everything()
        self.job = job
        self.index = index
        self._folder = folder
        self._watch = watch
        self._life = life
        self.parts: Parts
        self.collected = Collected()
        self._samples: set[int] = set()
        self._memory_before: Mapping[str, int] = {}
        self._peak: dict[str, int] = {}
        self.mutates = False
        self.failed: BaseException | None = None

    def describe_device(self) -> Mapping[str, Any]:
        return dict(self.parts.device.describe())

    def prepare(self) -> Preparation:
        seconds: dict[str, float] = {}
        with self.during("instantiate"), _clock(seconds, "instantiate"):
            first = self._instantiate()
        named, kernels = self._devices_named(first), self.kernels(counted=False)
        with self.during("compile"), named, kernels, _clock(seconds, "compile"), _import_clock(seconds):
            self.compiled = self.parts.compiler.compile(self.parts.model, self.fresh(first), self._method)
        if self.compiled.release is not None:
            self._life.callback(self.compiled.release)
        # The first call compiles, for a compiler that works lazily; the second shows what a call does by itself.
        facts = self.compiled.facts
        with self.during("compile" if facts else "evaluate"), self._devices_named(first):
            self.restart()
            fed = self.fresh(first)
            held = Held(fed.inputs, self.parts.model)
            with self.kernels(counted=False), _clock(seconds, "first"), _import_clock(seconds):
                outputs = self._call(fed)
            aliases = held.returned(outputs)
            mutated = _changed(first.inputs, fed.inputs)
            before = snapshot(outputs)
            save_snapshot(before, first_outputs(self._folder, self.index), 0)
            again = seeded = None
            if not self.job.timed:  # then it was called twice when it was evaluated
                self.restart()
                fed = fed if not mutated else self.fresh(first)
                with self.kernels(), _clock(seconds, "second"):
                    outputs = self._call(fed)
                again = compare_runs(AGAIN, before, snapshot(outputs, copy=False))
                seeded = self._from_one_seed(first, before) if again.verdict == "different" else None
            del before, outputs  # they are no part of what the model keeps
            self.restart()
        self.mutates = bool(mutated)
        resident = _above(self.parts.device.memory(), self._memory_before)
        here = self.job.timed or self.parts.device.describe().get("device") == "cpu"
        off_device = () if here else self._off_device(first)
        return Preparation(
            seconds=seconds,
            compiler=self.compiled.version,
            facts=facts() if facts else None,
            cold=self.compiled.is_cold(),
            parameters=_parameters(self.parts.model),
            samples=_length(getattr(self.parts.data, "dataset", None)),
            batches=steps_of(self.parts.workload) or _length(self.parts.data),
            repeats=repeats(again) if again else "same",
            mutated=mutated,
            resident=next(iter(resident.values()), None),
            again=again,
            aliases=aliases,
            seeded=seeded,
            off_device=off_device,
            kernels=self._kernel_facts(),
        )

    def batches(self) -> Iterator[Output]:
        total = steps_of(self.parts.workload) or _length(self.parts.data)
        with self.during("evaluate"):
            self.restart()
            self._state = state_of(self.parts.model)
            self.parts.device.reset_peak()
            self._memory_before = self.parts.device.memory()
            source = evaluation(self.data, self.parts.workload)
            if self.parts.evaluator is not None:
                give_folder(self.parts.evaluator, self._folder / FILES)
                self._written = self._life.enter_context(closing(RecordWriter(self._folder)))
        for number in itertools.count():
            with self.during("evaluate", announce=False):
                batch = next(source, None)
                if batch is None:
                    self.restart()
                    return
                output = self._evaluate(number, batch)
            self._watch(Event(self.index, "evaluate", number + 1, total))
            yield output

    def metrics(self, *, judge: bool = True) -> Evaluation:
        """Give what is known after the last batch.

        Args:
            judge: False leaves the records to the evaluator of another rank.
        """
        evaluator, facts = self.parts.evaluator, self.compiled.facts
        with self.during("evaluate", announce=False):
            now = changed(self._state, state_of(self.parts.model))
            done = facts() if facts else None
            peak, kernels = _above(self._peak, self._memory_before), self._kernel_facts()
            found = Evaluation(None, peak, changed=now, facts=done, kernels=kernels)
            if evaluator is None:
                return found
            records = self.collected.records
            missing = len(self._samples - records.keys())
            found = replace(found, missing=missing, disputed=len(self.collected.disputed))
            if judge:
                with modes_put_back(self.parts.model):
                    metrics = evaluate(evaluator, records)
                found = replace(found, metrics=metrics, allowed=allowed_by(evaluator))
            drop_empty(self._folder / FILES)
            return found

    def join_records(self, others: Sequence[Path], folder: Path) -> None:
        """Take in the records of other ranks, and write all of them.

        Args:
            others: the folders of the other ranks, in their order.
            folder: where those of all ranks go.
        """
        with self.during("evaluate", announce=False):
            if self.parts.evaluator is None:
                return
            for other in others:
                self.collected.add(load_records(other))
            with closing(RecordWriter(folder)) as written:
                written.add(self.collected.records)

    def rerun(self) -> Rerun:
        """Make the first call once more, from the same seed, with another number of threads; compare the two.

        Compiled code is left alone, since torch compiles anew for another number of threads.
        """
        now = torch.get_num_threads()
        other = 2 if now == 1 else 1
        setting = f"{other} thread{'s' if other > 1 else ''} instead of {now}"
        if self.compiled.facts is not None:
            note = "not made: for another number of threads, everything would be compiled again"
            return Rerun(setting=setting, verdict="unjudged", note=note)
        with self.during("evaluate"):
            self.restart()
            fed = self.fresh(self._first)
            with threads(other):
                taken = snapshot(self.call(fed), copy=False)
            return compare_runs(setting, load_snapshot(first_outputs(self._folder, self.index), 0), taken)

    def draws(self, seeds: Sequence[int], wanted: Collection[str]) -> Draws:
        """Give what the first batch gives from each of several seeds, in a few numbers for each output."""
        found = []
        with self.during("evaluate"):
            for seed in seeds:
                self.restart()
                fed = self.fresh(self._first)
                self._seed(seed)
                with self.kernels(counted=False):
                    found.append(features(snapshot(self._call(fed), copy=False)))
            self.restart()
        return draws_of(found, wanted)

    def _from_one_seed(self, first: Batch, before: Snapshot) -> Rerun:
        """Call once more, from the seed from which the first call was made."""
        self.restart()
        fed = self.fresh(first)
        self._seed(self.job.seed)
        with self.kernels(counted=False):
            return compare_runs(SEEDED, before, snapshot(self._call(fed), copy=False))

    @property
    def _method(self) -> str:
        return str(self.parts.workload.method)

    def _instantiate(self) -> Batch:
        self.parts = build_parts(self.job)
        device = self.parts.device
        self._memory_before = self.parts.memory_before
        self.parts.model = device.put(self.parts.model)
        self._life.enter_context(self.parts.workload.setup(self.parts.model))
        if iter(self.parts.data) is self.parts.data:
            kind = type(self.parts.data).__qualname__
            raise LibbenchError(f"data are gone through several times, which a {kind} cannot be; wrap it in a class")
        first = next(self.data(), None)
        if first is None:
            raise LibbenchError("data gave no batch")
        self._first = first
        return first

    def first(self) -> Batch:
        """Give the first batch with inputs of its own; build the parts where that is not done."""
        if not hasattr(self, "_first"):
            with self.during("instantiate"):
                self._instantiate()
        return self.fresh(self._first)

    def data(self) -> Iterator[Batch]:
        """Give the batches that this side runs."""
        # A step of a training on padding would train on some samples twice.
        pad = not isinstance(self.parts.workload, Stepping)
        return self._share.turns(self._batches(self._share.of(self.parts.data, pad)), pad)

    def full(self, most: int) -> list[Batch]:
        """Give the full batches among the first of them, from one to so many."""
        return self._share.full(self._batches(self._share.of(self.parts.data)), most)

    def unsplit(self, most: int) -> list[Batch]:
        """Give the full batches among the first that the data give, whatever of them this side runs."""
        return Everything().full(self._batches(self.parts.data), most)

    def _batches(self, data: Iterable[Any]) -> Iterator[Batch]:
        first = 0
        for number, batch in enumerate(data):
            if not isinstance(batch, Batch):
                raise LibbenchError(f"data must give libbench.interfaces.Batch, got {type(batch).__qualname__}")
            try:
                indices = tuple(operator.index(index) for index in batch.indices)
            except TypeError as error:
                raise LibbenchError(f"indices of batch {number} must be ints, got {batch.indices!r}") from error
            # How often the data were looked at before is this side's affair: the evaluation is the first epoch.
            first = batch.epoch if number == 0 else first
            yield replace(batch, indices=indices, number=number, epoch=batch.epoch - first)

    def restart(self) -> None:
        """Begin again from the first step, where calls are steps; any other call does not depend on those before."""
        if isinstance(self.parts.workload, Stepping):
            self.parts.workload.restart()
            self._seed(self.job.seed)

    def fresh(self, batch: Batch) -> Batch:
        """Give the batch with inputs of its own on the device, so that a model that changes them harms nobody."""
        return replace(batch, inputs=self.parts.device.put(own_copy(batch.inputs)))

    def kernels(self, *, counted: bool = True) -> AbstractContextManager[None]:
        """Hold the kernels of this side's operator library in place of torch's, where it has one.

        What is around its calls (data, evaluator, comparing) has torch's own.
        """
        op_lib = self.parts.op_lib
        return nullcontext() if op_lib is None else op_lib.active(counted=counted)

    def _kernel_facts(self) -> KernelFacts | None:
        return None if self.parts.op_lib is None else self.parts.op_lib.facts()

    def first_given(self, batch: Batch) -> Snapshot | None:
        """Give what the first call returned, where the batch is the one that it was made on."""
        if fingerprint(batch.inputs) != fingerprint(self._first.inputs):
            return None
        return load_snapshot(first_outputs(self._folder, self.index), 0)

    def call(self, batch: Batch) -> Any:
        with self.kernels():
            return self._call(batch)

    def _call(self, batch: Batch) -> Any:
        workload = self.parts.workload
        with workload.mode():
            outputs = workload.step(self.compiled.call, batch)
        self.parts.device.synchronize()
        return whole(outputs)

    def _evaluate(self, number: int, batch: Batch) -> Output:
        device, fed = self.parts.device, self.fresh(batch)
        device.reset_peak()
        with named_step(self.parts.workload, number, batch), self._own_numbers(batch):
            before = random_mark()
            outputs = self.call(fed)
            after = random_mark()
        for kind, size in device.peak_memory().items():
            self._peak[kind] = max(size, self._peak.get(kind, 0))
        inputs = fingerprint(batch.inputs)
        if batch.padding and batch.padding == len(batch.indices):
            return Output(number, batch.epoch, batch.indices, inputs, 0, padding=batch.padding)
        # Written before the evaluator may change it and before the next call may overwrite it.
        taken = snapshot(outputs, copy=False)
        save_snapshot(taken, self._folder, number)
        if self.parts.evaluator is not None:
            with modes_put_back(self.parts.model):
                found = process(self.parts.evaluator, batch, outputs)
            unpadded = batch.indices[: len(batch.indices) - batch.padding]
            records = {index: record for index, record in found.items() if index in unpadded}
            with noted(f"what {type(self.parts.evaluator).__qualname__}.process gave"):
                self._written.add(records)
            self.collected.add(records)
            self._samples.update(unpadded)
        told = {**told_of(self.parts.workload), "drawn": after if after != before else ""}
        return Output(number, batch.epoch, batch.indices, inputs, taken.nbytes, padding=batch.padding, **told)

    @contextmanager
    def _devices_named(self, first: Batch) -> Iterator[None]:
        """Add to a failure that speaks of devices what the model makes on another one than its own."""
        try:
            yield
        except Exception as error:
            # An exception's own text may be what cannot be had.
            if "device" in Failure.of("compile", error).message:
                for place in self._off_device(first):
                    error.add_note(f"made on another device: {place}")
            raise

    def _off_device(self, first: Batch) -> tuple[str, ...]:
        """Call the model uncompiled once more, and look where its tensors come to be."""
        workload, model, fed = self.parts.workload, self.parts.model, self.fresh(first)

        def call() -> None:
            with workload.mode(), self.kernels(counted=False), uncompiled():
                workload.step(method_of(model, self._method), fed)

        found = off_device(call, model, fed.inputs)
        self.restart()
        return found

    @contextmanager
    def _own_numbers(self, batch: Batch) -> Iterator[None]:
        """Give a call random numbers by its batch, so that neither those before it nor the data have a say in them.

        Steps go on with those of the steps before.
        """
        if isinstance(self.parts.workload, Stepping):
            yield
            return
        with random_state_put_back():
            self._seed(seed_at(self.job.seed, batch.number))
            yield

    def _seed(self, seed: int) -> None:
        random.seed(seed)
        np.random.seed(seed % 2**32)
        # Before there is a device, torch seeds those that it knows.
        seeded = self.parts.device.seed if hasattr(self, "parts") else torch.manual_seed
        seeded(seed)

    def during(self, stage: Stage, *, announce: bool = True) -> AbstractContextManager[None]:
        """Say what this side is doing, and turn what it raises into its failure."""
        if announce:
            self._watch(Event(self.index, stage))
            self._seed(self.job.seed)
        return _During(self, stage)


class _During:
    """A stretch of a side's work. Every trial is one: a generator would take as long as a small model's call."""

    def __init__(self, side: Side, stage: Stage) -> None:
        self._side = side
        self._stage = stage
        self._folder: str | None = None

    def __enter__(self) -> None:
        # Inductor has this side's own cache, unless the user has chosen one.
        if self._side.job.cache is not None and CACHE_VARIABLE not in os.environ:
            self._folder = os.environ[CACHE_VARIABLE] = self._side.job.cache

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._folder is not None:
            os.environ.pop(CACHE_VARIABLE, None)
        if error is not None and not isinstance(error, KeyboardInterrupt):
            self._side.failed = error
            raise SideFailed(Failure.of(self._stage, error), self._side.index) from error


def first_outputs(folder: Path, index: int) -> Path:
    """Give where a session leaves the outputs of a side's first call, as snapshot 0, for others to compare with."""
    place = folder / f"first-{index}"
    place.mkdir(exist_ok=True)
    return place


def _changed(before: Any, after: Any) -> tuple[str, ...]:
    """Give the paths of the inputs that a call has changed; `inputs` where it was no tensor, or all of them."""
    if fingerprint(before) == fingerprint(after):
        return ()
    known = {path: fingerprint(tensor) for path, tensor in tensors(before)}
    paths = [path for path, tensor in tensors(after) if known.get(path) != fingerprint(tensor)]
    return tuple("inputs" if path == "output" else path for path in paths) or ("inputs",)


def _above(now: Mapping[str, int], before: Mapping[str, int]) -> Mapping[str, int]:
    return {kind: max(0, value - before[kind]) for kind, value in now.items() if kind in before}


def _parameters(model: Any) -> int | None:
    return sum(p.numel() for p in model.parameters()) if isinstance(model, torch.nn.Module) else None


def _length(sized: Any) -> int | None:
    try:
        return len(sized)
    except Exception:
        # A length is only shown; data without one, or with a wrong one, are still data.
        return None


@contextmanager
def _import_clock(seconds: dict[str, float]) -> Iterator[None]:
    """Add what is spent on importing modules."""
    with imports_timed() as spent:
        yield
    seconds["imports"] = seconds.get("imports", 0.0) + spent()


@contextmanager
def _clock(seconds: dict[str, float], name: str) -> Iterator[None]:
    begin = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - begin

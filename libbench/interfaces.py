"""The roles that plug-ins play. Anything with these methods will do; only `Evaluator` is a class to inherit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from libbench.curves import Loss
from libbench.drawn import Draws
from libbench.findings import MetricReport, Rerun
from libbench.job import Job
from libbench.judge import judge_metrics
from libbench.measured import Measurement
from libbench.result import CompileFacts, Evaluation, KernelFacts, Output, Preparation, Stage
from libbench.settings import Timer, Tolerance
from libbench.tokens import Generated


@dataclass(frozen=True)
class Batch:
    """What one call of the model gets.

    Attributes:
        indices: the dataset index of each sample.
        inputs: as the data gave them. A tuple or list is called as `model(*inputs)`, a dict as `model(**inputs)`,
            anything else as `model(inputs)`.
        number: position in the epoch, from 0.
        epoch: from 0.
        padding: how many of the last samples stand in only so that every rank has as many; they are another rank's.
        source: where data come from several loaders, the name of this batch's.
        own: the batch as that loader gave it, with indices of its own dataset.
    """

    indices: tuple[int, ...]
    inputs: Any
    number: int
    epoch: int = 0
    padding: int = 0
    source: str = ""
    own: Batch | None = None


def feed(call: Callable[..., Any], inputs: Any) -> Any:
    """Call the model with a batch's inputs, as `Batch` says."""
    if isinstance(inputs, tuple | list):
        return call(*inputs)
    if isinstance(inputs, dict):
        return call(**inputs)
    return call(inputs)


@dataclass(frozen=True)
class Compiled:
    """What a compiler gives.

    Attributes:
        call: called in place of the model's method, with the same arguments.
        version: name and version of the compiler, for the report.
        facts: says, after calls, what was compiled; None for a compiler that leaves the model as it is.
        cold: whether the compiler's cache was empty before; None when it keeps none; a function where that shows only
            in the first call.
        release: forgets what the compiler keeps in this process, when no side needs it any more.
    """

    call: Callable[..., Any]
    version: str
    facts: Callable[[], CompileFacts] | None = None
    cold: bool | Callable[[], bool | None] | None = None
    release: Callable[[], None] | None = None

    def is_cold(self) -> bool | None:
        """Tell whether the compiler's cache was empty before the first call, which has been made."""
        return self.cold() if callable(self.cold) else self.cold


class Compiler(Protocol):
    """Turns the model into what is timed."""

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Compile `method` of `model`; `example` is a batch on the device, to trace with, not to change.

        Compilation may also happen in the first call. A package that is not there raises `MissingPackageError`.
        """
        ...


@runtime_checkable
class Adjustable(Protocol):
    """What a compiler has, besides, that can be told to leave out some of its work."""

    def milder(self) -> Iterable[tuple[str, Compiler]]:
        """Give compilers like this one that each leave something out, with the overrides of a config that say so.

        Those that leave out the least come first. They are tried on what is found to go wrong when it is compiled.
        """
        ...


class Device(Protocol):
    """Where tensors live, how to wait for them, which clocks there are.

    Attributes:
        most_calls: calls that may be timed together; None sets no limit.
    """

    @property
    def most_calls(self) -> int | None: ...

    def put(self, tree: Any) -> Any:
        """Give the same tree, or module, with its tensors on this device."""
        ...

    def synchronize(self) -> None:
        """Wait until everything that was asked of the device is done."""
        ...

    def time(self, call: Callable[[], Any]) -> Mapping[str, float]:
        """Run `call` and wait for it; give seconds by clock. `wall` is always one of the clocks."""
        ...

    def seed(self, n: int) -> None:
        """Seed every source of random numbers."""
        ...

    def reset_peak(self) -> None:
        """Forget the largest memory so far."""
        ...

    def memory(self) -> Mapping[str, int]:
        """Give bytes in use now, by kind of memory; empty where it cannot be read."""
        ...

    def peak_memory(self) -> Mapping[str, int]:
        """Give the largest bytes in use since `reset_peak`, by kind of memory."""
        ...

    def describe(self) -> Mapping[str, Any]:
        """Say which device it is."""
        ...


class OpLib(Protocol):
    """Puts kernels of its own in place of torch's: while a side compiles and around its calls, and at no other time."""

    def active(self, *, counted: bool) -> AbstractContextManager[None]:
        """Swap the kernels, and put torch's back at the end, also after an exception.

        Args:
            counted: whether the calls of a kernel are counted, which would take time from calls that are timed.
        """
        ...

    def facts(self) -> KernelFacts:
        """Say which library it is, which operators it has kernels for, and how often each was counted so far."""
        ...


class Workload(Protocol):
    """What one call is."""

    @property
    def method(self) -> str:
        """The model's method that is compiled and called."""
        ...

    def setup(self, model: Any) -> AbstractContextManager[None]:
        """Hold the model ready (its train or eval mode, say) and put it back."""
        ...

    def mode(self) -> AbstractContextManager[None]:
        """Hold what must be switched on around calls, such as inference mode."""
        ...

    def step(self, call: Callable[..., Any], batch: Batch) -> Any:
        """Do one call; give the outputs as the model returned them."""
        ...


@runtime_checkable
class Stepping(Protocol):
    """What a workload has, besides, whose calls change the model from one to the next, as training does.

    Attributes:
        steps: calls of an evaluation, at least 1; the data are gone through as often as that takes.
    """

    steps: int

    def restart(self) -> None:
        """Put the model back to where the first call of this, which comes before the first step, has found it."""
        ...

    def loss(self) -> Loss:
        """Give the loss of the last step."""
        ...


@runtime_checkable
class Generating(Protocol):
    """What a workload has, besides, that generates tokens one by one."""

    def generated(self) -> Generated | None:
        """Give how fast the tokens of the last call came; None where that was not seen."""
        ...


class Evaluator(ABC):
    """Metrics from indices and raw outputs.

    No call counter is needed: the first batch is the one with `batch.number == 0`, and `evaluate` is called when the
    last one has come.

    Attributes:
        tolerances: by glob of metric name, the absolute difference that is allowed where the config sets none.
        folder: where files may be written, such as pictures; set before the first `process`. They are kept with the
            side when it is saved. None where nothing is run: while a side is timed, and when saved records are
            judged again.
    """

    tolerances: ClassVar[Mapping[str, float]] = {}
    folder: Path | None = None

    @abstractmethod
    def process(self, batch: Batch, outputs: Any) -> Mapping[int, Any]:
        """Give one record for each sample of a batch.

        Args:
            batch: what was fed; `batch.indices` are the dataset indices, `batch.inputs` what the data gave.
            outputs: exactly what the model returned: same object, same device, nothing sliced. Its tensors must
                not be changed in place.

        Returns:
            By dataset index: numbers, strings, None, small tensors or arrays, and lists, tuples and dicts of them. Of
            a sample that comes again, as padding makes it, the first record is kept.
        """

    @abstractmethod
    def evaluate(self, records: Mapping[int, Any]) -> Mapping[str, float]:
        """Give metrics by name from the records of all batches and ranks, in index order."""

    def compare(
        self, reference: Mapping[str, float], target: Mapping[str, float], tolerance: Tolerance
    ) -> tuple[MetricReport, ...]:
        """Judge the target's metrics by the reference's; by default, number by number."""
        return judge_metrics(reference, target, tolerance, self.tolerances)

    def compare_records(self, reference: Mapping[int, Any], target: Mapping[int, Any]) -> Iterable[str]:
        """Say what the two sides' records tell beside their metrics, sample by sample, such as a paired test.

        Args:
            reference, target: of the same samples, in index order; at least one.

        Returns:
            A sentence each, for the report; they change no verdict. By default there are none.
        """
        return ()


@dataclass(frozen=True)
class Event:
    """A sign of life from a session.

    Attributes:
        side: position of the job in `Runner.open`.
        stage: what it is doing.
        done, total: how far it has come, in batches or pairs; total is None when it is not known.
        note: what it is doing instead, such as waiting; may be empty.
    """

    side: int
    stage: Stage
    done: int = 0
    total: int | None = None
    note: str = ""


Watch = Callable[[Event], None]


class Session(Protocol):
    """A Worker seen from outside. Every method but `close` raises `SideFailed` when a side fails."""

    def environment(self) -> Mapping[str, Any]:
        """Describe the machine and the software that the worker runs on, as they were when this was first asked.

        What has changed since, such as the node of a cluster, is added; asking again takes no time.
        """
        ...

    def prepare(self) -> tuple[Preparation, ...]:
        """Instantiate and compile every job; one record for each, in order."""
        ...

    def batches(self) -> Iterator[Output]:
        """Run every batch of the only job; the snapshot of each lies in the folder when it is given."""
        ...

    def metrics(self) -> Evaluation:
        """Give what the evaluator says, after the last batch."""
        ...

    def rerun(self) -> Rerun:
        """Call the only job's first batch once more with another legal choice, such as another number of threads."""
        ...

    def draws(self, seeds: Sequence[int], wanted: Sequence[str]) -> Draws:
        """Call the only job's first batch from each of several seeds.

        Args:
            wanted: paths of outputs that are kept even where they are the same from all seeds.
        """
        ...

    def measure(self, timer: Timer) -> Measurement:
        """Time the jobs, alternating between them when there are two."""
        ...

    def close(self) -> None:
        """End it and everything that it started. May be called twice."""
        ...


class Runner(Protocol):
    """Says where a Worker lives.

    Attributes:
        processes: how many fresh processes a timing takes.
    """

    @property
    def processes(self) -> int: ...

    def open(self, *jobs: Job, folder: Path, watch: Watch) -> Session:
        """Open a session for one job, to evaluate it, or for two, to time them against each other.

        A third job is the first once more: a copy of the reference for the null arm.

        Args:
            folder: an empty folder on this machine, for snapshots and what the worker writes to its output.
            watch: called with every event.
        """
        ...

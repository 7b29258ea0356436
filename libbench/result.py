"""What a run leaves behind: frozen records, written as JSON."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from libbench.config import Change
from libbench.curves import Curve, CurveReport, Loss
from libbench.decisive import Decisive
from libbench.drawn import Draws
from libbench.errors import ClockError, MissingPackageError, UnavailableError, UnsupportedError
from libbench.faults import Fault, Smallest
from libbench.findings import MetricReport, OutputsReport, Rerun, TruthReport
from libbench.located import Located
from libbench.measured import Measurement, NullArm, Speedup, Timing
from libbench.settings import Timer, Tolerance
from libbench.tokens import Generated, TokensReport

RESULT_SCHEMA = "libbench.result"
SCHEMA_VERSION = 1
"""Raised when a field changes its meaning or goes; a new field leaves it."""

SIDES = ("reference", "target")
"""What the two sides of a comparison are called, in the order in which they are always given."""
Stage = Literal["instantiate", "compile", "evaluate", "measure"]
Kind = Literal["exception", "signal", "timeout", "memory", "unavailable", "clock", "lost"]
Verdict = Literal["same", "different", "unjudged"]


@dataclass(frozen=True)
class Failure:
    """How a side failed.

    Attributes:
        stage: what the side was doing.
        kind: "exception" raised by it, "signal" that ended its process, "timeout", "memory" that ran out, a package or
            compiler that is "unavailable" here, a "clock" of the device that shows what cannot be a time, or
            "lost": the machine that it ran on, of which it says nothing.
        message: one line.
        traceback: the Python traceback, or the last lines that the process wrote; may be empty.
        compiler: class of the compiler that was at work; empty where none was.
        faults: what of the model the compiler cannot take, as far as that is known.
        smallest: the smallest module that it cannot take; None where that was not looked for.
    """

    stage: Stage
    kind: Kind
    message: str
    traceback: str = ""
    compiler: str = ""
    faults: tuple[Fault, ...] = ()
    smallest: Smallest | None = None

    @classmethod
    def of(cls, stage: Stage, error: BaseException) -> Failure:
        """Record an exception, with the notes that were added to it on its way."""
        text = _text(error)
        first = next(iter(text.splitlines()), "")
        where = [f"({str(note).strip()})" for note in getattr(error, "__notes__", ())]
        if not isinstance(error, UnsupportedError):
            first = f"{type(error).__name__}: {first}" if first else type(error).__name__
        message = " ".join([first, *where])
        faults = error.faults if isinstance(error, UnsupportedError) else ()
        return cls(stage, _kind(error), " ".join(message.split()), _traceback(error), faults=faults)


class SideFailed(Exception):
    """Carries a side's failure from a session to whoever asked it to work.

    Attributes:
        failure: what happened.
        side: the position of the job, as given to `Runner.open`, that failed; None when it cannot be told.
    """

    def __init__(self, failure: Failure, side: int | None = 0) -> None:
        super().__init__(f"{failure.stage}: {failure.message}")
        self.failure = failure
        self.side = side


@dataclass(frozen=True)
class CompileFacts:
    """What a compiler did, as far as it can tell. None: it cannot tell.

    Attributes:
        graphs: compiled graphs; 0 means that nothing was compiled.
        breaks: places where a graph had to end.
        recompiles: how often code was compiled again, for inputs or a state that its first graph does not serve.
        fallbacks: operators that were not compiled.
        artefact_bytes: size of what was compiled.
        calls: how often compiled code ran so far; of a call with several graphs, each counts.
        notes: what else a reader should know of it, as the precision that it computes in.
        baked: what tracing has fixed that another call may do otherwise, as numbers drawn at random, with its place.
    """

    graphs: int | None = None
    breaks: int | None = None
    recompiles: int | None = None
    fallbacks: tuple[str, ...] = ()
    artefact_bytes: int | None = None
    calls: int | None = None
    notes: tuple[str, ...] = ()
    baked: tuple[str, ...] = ()

    @property
    def idle(self) -> bool:
        """Whether nothing was compiled, or nothing of it ran."""
        return 0 in (self.graphs, self.calls)


@dataclass(frozen=True)
class KernelFacts:
    """What an operator library did.

    Attributes:
        version: its name and version.
        calls: by operator whose kernel it has put in place of torch's, how often that ran so far; neither
            the first call, with what was compiled until then, nor timed calls are counted.
    """

    version: str
    calls: Mapping[str, int]

    @property
    def idle(self) -> bool:
        """Whether none of its kernels ran."""
        return not any(self.calls.values())


@dataclass(frozen=True)
class Preparation:
    """A side that is built and compiled.

    Attributes:
        seconds: wall time of "instantiate", "compile", "first" (call) and "second" (call), and of what "compile" and
            "first" have spent on importing modules: "imports".
        compiler: name and version of the compiler.
        facts: what it did; None for one that changes nothing.
        cold: whether the compiler's cache was empty before; None when there is no such thing.
        parameters: number of the model's parameters; None for a model that is not a module.
        samples: samples in the data; None when the data do not tell.
        batches: batches in the data; None likewise.
        repeats: "same" when two calls on the first batch agreed, else what differed.
        mutated: paths of the inputs that the model changed in place.
        resident: bytes that the model and its compiler keep in memory; None where it cannot be read.
        again: the two calls that `repeats` speaks of, leaf by leaf.
        aliases: paths of the outputs that are whole inputs, or weights of the model, as they were.
        seeded: where two calls do not agree, the first one against another from the same seed; None where they do.
        off_device: what the model makes on another device than its weights and inputs are on, with its place.
        kernels: what the operator library did; None without one.
    """

    seconds: Mapping[str, float]
    compiler: str
    facts: CompileFacts | None
    cold: bool | None
    parameters: int | None
    samples: int | None
    batches: int | None
    repeats: str
    mutated: tuple[str, ...]
    resident: int | None
    again: Rerun | None = None
    aliases: tuple[str, ...] = ()
    seeded: Rerun | None = None
    off_device: tuple[str, ...] = ()
    kernels: KernelFacts | None = None

    @property
    def draws(self) -> bool:
        """Whether calls differ, but not those from one seed: it draws at random, and keeps no state."""
        return self.seeded is not None and self.seeded.verdict == "same"

    @property
    def first_call(self) -> float:
        """Seconds of compiling and of the first call together; NaN where it was not reached."""
        return self.seconds.get("compile", 0.0) + self.seconds.get("first", float("nan"))

    @property
    def compilation(self) -> float | None:
        """Seconds of compiling alone: the first call without a call's own time, and without importing the compiler.

        None where nothing is compiled, or it is not known.
        """
        if self.facts is None or not {"second", "imports"} <= self.seconds.keys():
            return None
        return max(0.0, self.first_call - self.seconds["second"] - self.seconds["imports"])


@dataclass(frozen=True)
class Output:
    """One batch that a side has run. Its outputs are a snapshot on disk, found by `number` in the session's folder.

    Attributes:
        number, epoch, indices: as in the `Batch`.
        inputs: fingerprint of the inputs, as the data gave them.
        nbytes: size of the snapshot.
        padding: as in the `Batch`; where all samples are padding, there is no snapshot.
        losses: of a training step, one for each rank; `number` then counts the steps over all epochs.
        generated: how fast the tokens came, of a call that generates.
        drawn: mark of the random numbers' state after the call; empty where it has drawn none.
    """

    number: int
    epoch: int
    indices: tuple[int, ...]
    inputs: str
    nbytes: int
    padding: int = 0

    @property
    def unpadded(self) -> tuple[int, ...]:
        """The indices without padding."""
        return self.indices[: len(self.indices) - self.padding]

    losses: tuple[Loss, ...] = ()
    generated: Generated | None = None
    drawn: str = ""


@dataclass(frozen=True)
class Evaluation:
    """What is known of a side after its last batch.

    Attributes:
        metrics: by name; None without an evaluator.
        missing: samples that were run and for which the evaluator gave no record.
        changed: parameters and buffers that the calls of the evaluation have changed, as BatchNorm in train mode does.
        peak: largest memory in a call of the model, in bytes above what was there before the first, by kind of memory.
        facts: what the compiler had done when all batches were run; None for one that changes nothing.
        odd_ranks: of several ranks, those that did not do what they should, as one that gave other outputs than rank 0
            where all run the same; one sentence for each.
        disputed: samples that came more than once and got another record then; the first one counts.
        allowed: by glob of metric name, the difference that the evaluator allows.
        kernels: what the operator library had done when all batches were run; None without one.
    """

    metrics: Mapping[str, float] | None
    peak: Mapping[str, int]
    missing: int = 0
    changed: tuple[str, ...] = ()
    facts: CompileFacts | None = None
    odd_ranks: tuple[str, ...] = ()
    disputed: int = 0
    allowed: Mapping[str, float] = field(default_factory=dict)
    kernels: KernelFacts | None = None


@dataclass(frozen=True)
class JobRecord:
    """Which job it was: what it was loaded from, and the config that ran, after overrides.

    Attributes:
        digest: hash of the config.
        known_by: hash of the config without its runner's limits, which is the same from run to run; the code that the
            config names is not part of it. Empty where it is not known.
    """

    name: str
    file: str | None
    overrides: tuple[str, ...]
    seed: int
    digest: str
    config: str
    known_by: str = ""


@dataclass(frozen=True)
class Result:
    """One side, as far as it came. What failed later takes nothing away from what was won before.

    Attributes:
        timings: of a side that was timed by itself, each process's timing by clock.
        saved: the folder that it was read from; None for a side that ran now.
        reruns: the first call against others with another legal choice; of a reference only.
        curve: the losses of a training; None for what does not train.
        generated: of a side that generates tokens, how fast they came, one for each batch.
        began: when it began to run, in seconds since 1970 (UTC); None for a side that did not.
        draws: calls from other seeds, of a side that draws at random, or is beside one; None where there are none.
    """

    job: JobRecord
    environment: Mapping[str, Any] = field(default_factory=dict)
    preparation: Preparation | None = None
    evaluation: Evaluation | None = None
    timings: tuple[Mapping[str, Timing], ...] = ()
    failure: Failure | None = None
    reruns: tuple[Rerun, ...] = ()
    saved: str | None = None
    curve: Curve | None = None
    generated: tuple[Generated, ...] = ()
    began: float | None = None
    draws: Draws | None = None

    @property
    def metrics(self) -> Mapping[str, float] | None:
        """The metrics by name; None when there is no evaluator, or when it was not reached."""
        return self.evaluation.metrics if self.evaluation else None

    @property
    def facts(self) -> CompileFacts | None:
        """What its compiler did, after all batches where it came so far; None for one that changes nothing."""
        evaluated = self.evaluation.facts if self.evaluation else None
        return evaluated or (self.preparation.facts if self.preparation else None)

    @property
    def kernels(self) -> KernelFacts | None:
        """What its operator library did, after all batches where it came so far; None without one."""
        evaluated = self.evaluation.kernels if self.evaluation else None
        return evaluated or (self.preparation.kernels if self.preparation else None)


@dataclass(frozen=True)
class Check:
    """One question answered."""

    name: str
    verdict: Verdict
    found: str
    wanted: str = ""


@dataclass(frozen=True)
class Unlike:
    """Something besides the config in which the sides differ, so that a figure of one is not that of the other.

    Attributes:
        name: "inputs", "batch size", "dtype", "shape", or a name of the environment.
        reference, target: what it is on each side.
    """

    name: str
    reference: str
    target: str


@dataclass(frozen=True)
class Comparison:
    """All that was asked about two sides, and both results.

    Attributes:
        changes: the difference of the two configs.
        comparability: what else differs between the sides.
        inputs: fingerprint of the inputs of all batches that both sides ran; None when they differ or are none,
            empty where the same samples went to other numbers of ranks.
        outputs: judged by tolerance; None when no batch was compared.
        truth: both sides judged by a float64 copy of the reference, which then decides on floating values; None where
            none was asked for.
        truth_side: that copy.
        measurements: the timed rounds, one for each process, reference first; none where a side was saved, since
            each side then has timings of its own.
        speedups: one for each clock.
        null: None where it was not measured.
        tolerance: what the outputs and metrics were judged by; None when they were not.
        timer: what the timing was told; None when there was none.
        notes: what a reader should know before trusting a figure.
        seconds: what the comparison took.
        complete: False while it runs, and for one that was interrupted.
        seeds: the same question at further seeds, without speed.
        curve: both loss curves, step by step; None unless both sides train.
        tokens: the generated tokens of both sides; None unless both generate.
        located: where the outputs part; None where they do not, and where it was not asked.
        began: when it was begun, in seconds since 1970 (UTC); None where that is not known.
        decisive: which differences of the configs make the outputs differ; None as for `located`.
    """

    reference: Result
    target: Result
    changes: tuple[Change, ...] = ()
    comparability: tuple[Unlike, ...] = ()
    checks: tuple[Check, ...] = ()
    inputs: str | None = None
    outputs: OutputsReport | None = None
    metrics: tuple[MetricReport, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    speedups: tuple[Speedup, ...] = ()
    null: NullArm | None = None
    tolerance: Tolerance | None = None
    timer: Timer | None = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    complete: bool = False
    truth: TruthReport | None = None
    truth_side: Result | None = None
    seeds: tuple[Comparison, ...] = ()
    curve: CurveReport | None = None
    tokens: TokensReport | None = None
    located: Located | None = None
    began: float | None = None
    decisive: Decisive | None = None

    @property
    def vacuous(self) -> bool:
        """Whether the outputs agree and none of them proves anything."""
        return self.outputs is not None and self.outputs.vacuous

    @property
    def exit_code(self) -> int:
        """0 same, 1 different, 2 could not be judged, as `diff(1)`; the largest of all seeds.

        A reference that cannot be trusted ends the question, whatever else was found; a difference that was found
        outweighs a check that could not be made.
        """
        return max([self._own_code(), *(seed.exit_code for seed in self.seeds)])

    def at_each_seed(self) -> tuple[Comparison, ...]:
        """Give this comparison at its first seed alone, and then those at the further seeds."""
        own = len(self.checks) - len(self.seeds)  # the further seeds' checks come last, one for each
        return (replace(self, checks=self.checks[:own], seeds=()), *self.seeds)

    def _own_code(self) -> int:
        unjudged = [check for check in self.checks if check.verdict == "unjudged"]
        if not self.complete or self.reference.failure or any(c.name.startswith("reference") for c in unjudged):
            return 2
        if any(check.verdict == "different" for check in self.checks):
            return 1
        return 2 if unjudged or not self.checks else 0


def _kind(error: BaseException) -> Kind:
    if isinstance(error, MissingPackageError | UnavailableError):
        return "unavailable"
    if isinstance(error, ClockError):
        return "clock"
    # torch's own class for this is not looked up, since records are read without torch.
    names = {kind.__name__ for kind in type(error).__mro__}
    return "memory" if names & {"MemoryError", "OutOfMemoryError"} else "exception"


def _text(error: BaseException) -> str:
    try:
        return str(error).strip()
    except Exception:
        return "its text cannot be read"


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except Exception:
        return "".join(traceback.format_tb(error.__traceback__))

"""Are these two the same, and which is faster?"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from omegaconf import DictConfig

from libbench.checks import checks
from libbench.config import difference
from libbench.errors import ConfigError, LibbenchError
from libbench.findings import MetricReport
from libbench.interfaces import Evaluator, Event
from libbench.job import Job
from libbench.matching import Matcher
from libbench.result import Comparison, Output, Result, SideFailed
from libbench.settings import Timer, Tolerance
from libbench.snapshots import Snapshots
from libbench.speed import speedups
from libbench.timing import measurements, one_runner, runner_of

Watch = Callable[[str, Event], None]
Keep = Callable[[Comparison], None]
Setting = TypeVar("Setting", Timer, Tolerance)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is asked of a comparison.

    Attributes:
        rtol, atol: win over the configs' tolerance; None leaves it.
        timer: wins over the configs'; None takes the target's, then the reference's, then the default.
        speed: False leaves the timing out.
        min_speedup: adds a check that the target is at least so many times as fast, by the wall clock.
        spill: bytes of reference outputs that are kept for comparing; batches beyond them are not compared.
        save: a folder for outputs, which is made and must be empty; None keeps no outputs.
    """

    rtol: float | None = None
    atol: float | None = None
    timer: Timer | None = None
    speed: bool = True
    min_speedup: float | None = None
    spill: int = 4 * 2**30
    save: Path | None = None


def diff(
    reference: Job | Mapping[str, Any] | DictConfig | str | Path,
    target: Job | Mapping[str, Any] | DictConfig | str | Path,
    plan: Plan | None = None,
    *,
    watch: Watch = lambda name, event: None,
    keep: Keep = lambda comparison: None,
) -> Comparison:
    """Compare two configs.

    Args:
        reference: the side that is trusted: a job, a config, or the path of a config file.
        target: the side that is judged.
        plan: what is asked; by default outputs, metrics and speed.
        watch: called with a side's name and an event, to show progress.
        keep: called with the comparison so far, each time something has been won.

    Raises:
        ConfigError: a config is wrong, or the two cannot be compared.
    """
    sides = _job(reference, "reference"), [_job(target, "target")]
    return next(diff_all(*sides, plan or Plan(), watch=watch, keep=keep))


def diff_all(
    reference: Job,
    targets: Sequence[Job],
    plan: Plan,
    *,
    watch: Watch = lambda name, event: None,
    keep: Keep = lambda comparison: None,
) -> Generator[Comparison]:
    """Compare one reference, which is run once, with each of several targets; give each comparison as it is done."""
    # Whatever can be wrong with a question is found before the first answer costs anything.
    settings = [_settings(reference, target, plan) for target in targets]
    with _folder(plan.save) as folder:
        begin = time.monotonic()
        reference = replace(reference, cache=str(folder / "cache" / "reference"))
        snapshots = Snapshots(folder / "reference", limit=plan.spill)
        known: Result | None = None
        for number, (job, setting) in enumerate(zip(targets, settings, strict=True), start=1):
            place = folder / (f"target-{number}" if len(targets) > 1 else "target")
            target = replace(job, cache=str(folder / "cache" / place.name))
            pair = _Pair(reference, target, setting, plan, watch, keep)
            known = pair.run_reference(snapshots) if known is None else known
            pair.update(reference=known)
            if known.failure is None:
                pair.run_target(snapshots, place)
                pair.time(place)
            pair.update(seconds=time.monotonic() - begin, complete=True)
            yield pair.comparison
            begin = time.monotonic()


def run(job: Job, plan: Plan, *, watch: Watch = lambda name, event: None) -> Result:
    """Run one side by itself: metrics, memory, and its time per call unless the plan leaves speed out."""
    with _folder(plan.save) as folder:
        job = replace(job, cache=str(folder / "cache"))
        snapshots = Snapshots(folder / "outputs", limit=0 if plan.save is None else plan.spill)
        *_, result = _stages(job, snapshots.folder, lambda event: watch(job.name, event), snapshots.add)
        if plan.speed and result.failure is None:
            timer = plan.timer or _setting("timer", Timer, job)
            try:
                for measurement in measurements([job], timer, folder, watch):
                    result = replace(result, timings=(*result.timings, measurement.clocks[0]))
            except SideFailed as error:
                result = replace(result, failure=error.failure)
    return result


class _Pair:
    """A comparison that grows: whatever is won is in it, and is handed to `keep`, before the next step begins."""

    def __init__(
        self, reference: Job, target: Job, settings: tuple[Tolerance, Timer], plan: Plan, watch: Watch, keep: Keep
    ) -> None:
        self._jobs = reference, target
        self._tolerance, self._timer = settings
        self._plan = plan
        self._watch = watch
        self._keep = keep
        changes = difference(reference.config, target.config)
        self.comparison = Comparison(Result(reference.record()), Result(target.record()), changes)

    def update(self, **changes: Any) -> None:
        grown = replace(self.comparison, **changes)
        self.comparison = replace(grown, checks=checks(grown, self._plan.min_speedup))
        self._keep(self.comparison)

    def run_reference(self, snapshots: Snapshots) -> Result:
        job = self._jobs[0]
        for result in _stages(job, snapshots.folder, lambda event: self._watch(job.name, event), snapshots.add):
            self.update(reference=result)
        return self.comparison.reference

    def run_target(self, snapshots: Snapshots, folder: Path) -> None:
        reference, target = self._jobs
        self.update(tolerance=self._tolerance)
        matcher = Matcher(snapshots, folder, self._tolerance, keep=self._plan.save is not None)
        for result in _stages(target, folder, lambda event: self._watch(target.name, event), matcher.add):
            self.update(target=result, outputs=matcher.report(), inputs=matcher.inputs())
        if not self.comparison.target.failure:
            self.update(outputs=matcher.final_report())
        metrics = _metrics(reference, self.comparison, self._tolerance)
        self.update(metrics=metrics, notes=(*matcher.notes(), *_notes(self.comparison)))

    def time(self, folder: Path) -> None:
        if not self._plan.speed or self.comparison.target.failure:
            return
        self.update(timer=self._timer)
        if not one_runner(self._jobs):
            note = "the sides name different runners: each was timed in its own process, in alternating rounds"
            self.update(notes=(*self.comparison.notes, note))
        try:
            for measurement in measurements(self._jobs, self._timer, folder, self._watch):
                timed = (*self.comparison.measurements, measurement)
                self.update(measurements=timed, speedups=speedups(timed))
        except SideFailed as error:
            # Who ended a process that holds both cannot always be told; the reference has run by itself before.
            name = "reference" if error.side == 0 else "target"
            self.update(**{name: replace(getattr(self.comparison, name), failure=error.failure)})


def _stages(job: Job, folder: Path, watch: Callable[[Event], None], take: Callable[[Output], None]) -> Iterator[Result]:
    """Run one side; give its result after every stage, and with the failure when there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    result = Result(job.record())
    try:
        with closing(runner_of(job).open(job, folder=folder, watch=watch)) as session:
            result = replace(result, preparation=session.prepare()[0], environment=session.environment())
            yield result
            for output in session.batches():
                take(output)
            yield replace(result, evaluation=session.metrics())
    except SideFailed as error:
        yield replace(result, failure=error.failure)


def _metrics(reference: Job, comparison: Comparison, tolerance: Tolerance) -> tuple[MetricReport, ...]:
    """Let the reference's evaluator judge both sides' metrics; nothing is judged when a side has none."""
    ours, theirs = comparison.reference.metrics, comparison.target.metrics
    if ours is None or theirs is None:
        return ()
    evaluator: Evaluator = reference.build("evaluator")["evaluator"]
    return tuple(evaluator.compare(ours, theirs, tolerance))


def _notes(comparison: Comparison) -> Iterator[str]:
    """Say what a reader should know before trusting a figure."""
    for name, result in (("reference", comparison.reference), ("target", comparison.target)):
        if result.preparation and result.preparation.mutated:
            yield f"the {name} changes its inputs in place: {', '.join(result.preparation.mutated)}"
    target = comparison.target.preparation
    if target and target.repeats != "same":
        yield f"the target does not repeat itself: {target.repeats}"
    metrics = comparison.reference.metrics, comparison.target.metrics
    if not comparison.target.failure and metrics.count(None) == 1:
        yield f"only the {'target' if metrics[0] is None else 'reference'} has an evaluator: no metric was compared"
    threads = [r.environment.get("threads") for r in (comparison.reference, comparison.target)]
    if None not in threads and threads[0] != threads[1]:
        yield f"threads differ: {threads[0]} and {threads[1]}"


def _settings(reference: Job, target: Job, plan: Plan) -> tuple[Tolerance, Timer]:
    """Give what a pair is judged and timed by, and check that it can be compared."""
    if target.seed != reference.seed:
        raise ConfigError(f"different seeds cannot be judged: {reference.seed} and {target.seed} ({target.name})")
    for job in (reference, target):
        runner_of(job)
    tolerance = _setting("tolerance", Tolerance, target, reference)
    tolerance = tolerance if plan.rtol is None else replace(tolerance, rtol=plan.rtol)
    tolerance = tolerance if plan.atol is None else replace(tolerance, atol=plan.atol)
    timer = _setting("timer", Timer, target, reference)
    return tolerance, plan.timer or timer


def _setting(name: str, kind: type[Setting], *jobs: Job) -> Setting:
    """Give the first job's timer or tolerance that is there, or the default."""
    for job in jobs:
        value = job.build(name)[name]
        if isinstance(value, kind):
            return value
        if value is not None:
            raise ConfigError(f"{name} of {job.name} must be a {kind.__name__}, got {value!r}")
    return kind()


def _job(side: Job | Mapping[str, Any] | DictConfig | str | Path, name: str) -> Job:
    if isinstance(side, Job):
        return side
    return Job.load(side) if isinstance(side, str | Path) else Job.of(side, name)


@contextmanager
def _folder(save: Path | None) -> Iterator[Path]:
    """Give an empty folder to work in: the one to be kept, or one that goes when this is over."""
    if save is None:
        with tempfile.TemporaryDirectory(prefix="libbench-") as folder:
            yield Path(folder)
        return
    if save.exists() and (not save.is_dir() or any(save.iterdir())):
        raise LibbenchError(f"{save} is not an empty folder; results are never written over others")
    save.mkdir(parents=True, exist_ok=True)
    try:
        yield save
    finally:
        shutil.rmtree(save / "cache", ignore_errors=True)

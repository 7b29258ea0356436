"""Two sides on their way to a comparison."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from libbench.checks import checks
from libbench.config import difference
from libbench.findings import MetricReport, Rerun
from libbench.interfaces import Evaluator, Event, Session
from libbench.job import Job
from libbench.matching import Matcher
from libbench.noise import bands, notes, within_noise
from libbench.plan import Plan
from libbench.result import Comparison, Output, Result, SideFailed
from libbench.settings import Timer, Tolerance
from libbench.side import first_outputs
from libbench.snapshots import Snapshots
from libbench.speed import speedups
from libbench.timing import Watch, measurements, one_runner, runner_of
from libbench.tree import fingerprint, load_snapshot
from libbench.trusted import Trusted
from libbench.truths import truth_of

Keep = Callable[[Comparison], None]


class Pair:
    """A comparison that grows: whatever is won is in it, and is handed to `keep`, before the next step begins."""

    def __init__(
        self,
        reference: Job,
        target: Job,
        settings: tuple[Tolerance, Timer],
        plan: Plan,
        watch: Watch,
        keep: Keep,
        begin: float,
    ) -> None:
        self._jobs = reference, target
        self._tolerance, self._timer = settings
        self._plan = plan
        self._watch = watch
        self._keep = keep
        self._begin = begin
        changes = difference(reference.config, target.config)
        self.comparison = Comparison(Result(reference.record()), Result(target.record()), changes)
        # A place that cannot be written to is found now, not when there is something to lose.
        self.update()

    def update(self, **changes: Any) -> None:
        grown = replace(self.comparison, **changes, seconds=time.monotonic() - self._begin)
        self.comparison = replace(grown, checks=checks(grown, self._plan.min_speedup))
        self._keep(self.comparison)

    def run_reference(self, trusted: Trusted) -> None:
        """Run the reference and, where one is asked for, the truth, or take what is known of them."""
        if trusted.result is None:
            job, outputs = trusted.job, trusted.outputs
            for result in stages(job, outputs.folder, partial(self._watch, job.name), outputs.add, rerun=True):
                self.update(reference=result)
            trusted.result = self.comparison.reference
        self.update(reference=trusted.result)
        if trusted.truths is None or trusted.result.failure:
            return
        if trusted.truth is None:
            job, outputs = trusted.truth_job(), trusted.truths
            for result in stages(job, outputs.folder, partial(self._watch, job.name), outputs.add):
                trusted.truth = result
        self.update(truth_side=trusted.truth, truth=truth_of(trusted.truth, None))

    def run_target(self, trusted: Trusted, folder: Path) -> None:
        reference, target = self._jobs
        self.update(tolerance=self._tolerance)
        keep, truths, truth = self._plan.save is not None, trusted.truths, trusted.truth
        matcher = Matcher(trusted.outputs, folder, self._tolerance, keep=keep, truths=truths)
        noise = bands(self.comparison.reference)
        for result in stages(target, folder, lambda event: self._watch(target.name, event), matcher.add):
            outputs = within_noise(matcher.report(), noise)
            self.update(target=result, outputs=outputs, inputs=matcher.inputs(), truth=truth_of(truth, matcher.truth()))
        if not self.comparison.target.failure:
            self.update(outputs=within_noise(matcher.final_report(), noise))
        metrics = _metrics(reference, self.comparison, self._tolerance)
        self.update(metrics=metrics, notes=(*matcher.notes(), *_notes(self.comparison)))

    def repeat(self, trusted: Trusted, target: Job, folder: Path) -> None:
        """Ask the same at another seed."""
        target = replace(target, name=self._jobs[1].name, cache=self._jobs[1].cache)
        done = self.comparison.seeds
        plan = replace(self._plan, speed=False, min_speedup=None, seeds=1)

        def watch(name: str, event: Event) -> None:
            self._watch(f"{name}, seed {target.seed}", event)

        def keep(comparison: Comparison) -> None:
            self.update(seeds=(*done, comparison))

        settings = self._tolerance, self._timer
        pair = Pair(trusted.job, target, settings, plan, watch, keep, time.monotonic())
        pair.run_reference(trusted)
        if not pair.comparison.reference.failure:
            pair.run_target(trusted, folder)
        pair.update(complete=True)

    def note_seeds(self, trusted: Trusted, others: Sequence[Trusted]) -> None:
        """Say so where further seeds have changed nothing: they are no further evidence."""
        first = self.comparison.inputs, _first(trusted)
        found = [(c.inputs, _first(other)) for c, other in zip(self.comparison.seeds, others, strict=True)]
        if found and None not in first and all(each == first for each in found):
            note = "no seed changes the reference's inputs or its first outputs: all seeds show the same"
            self.update(notes=(*self.comparison.notes, note))

    def time(self, snapshots: Snapshots, folder: Path) -> None:
        if not self._plan.speed or self.comparison.target.failure:
            return
        self.update(timer=self._timer)
        results = self.comparison.reference, self.comparison.target
        alone = [
            place if result.preparation and result.preparation.repeats == "same" else None
            for place, result in zip((snapshots.folder, folder), results, strict=True)
        ]
        try:
            for measurement in measurements(self._jobs, self._timer, folder, self._watch, alone):
                if not measurement.together and not self.comparison.measurements:
                    note = f"each side was timed in its own process: {self._why()}"
                    self.update(notes=(*self.comparison.notes, note))
                timed = (*self.comparison.measurements, measurement)
                self.update(measurements=timed, speedups=speedups(timed))
        except SideFailed as error:
            # Where it cannot be told who ended a process that holds both, the reference has at least run by itself.
            name = "reference" if error.side == 0 else "target"
            self.update(**{name: replace(getattr(self.comparison, name), failure=error.failure)})

    def _why(self) -> str:
        if not one_runner(self._jobs):
            return "the sides name different runners"
        return "in one process a side gave other outputs than alone (modules of one name, or a global switch?)"


def stages(
    job: Job, folder: Path, watch: Callable[[Event], None], take: Callable[[Output], None], *, rerun: bool = False
) -> Iterator[Result]:
    """Run one side; give its result after every stage, and with the failure when there is one.

    Args:
        rerun: measure the side's own noise at the end; that it could not be measured is no failure of the side.
    """
    folder.mkdir(parents=True, exist_ok=True)
    result = Result(job.record())
    (folder / "config.yaml").write_text(result.job.config, encoding="utf-8")
    try:
        with closing(runner_of(job).open(job, folder=folder, watch=watch)) as session:
            result = replace(result, preparation=session.prepare()[0], environment=session.environment())
            yield result
            for output in session.batches():
                take(output)
            result = replace(result, evaluation=session.metrics())
            yield result
            if rerun:
                yield replace(result, reruns=(_rerun(session),))
    except SideFailed as error:
        yield replace(result, failure=error.failure)


def _rerun(session: Session) -> Rerun:
    try:
        return session.rerun()
    except SideFailed as error:
        return Rerun(setting="another run", verdict="unjudged", note=f"failed: {error.failure.message}")


def _first(trusted: Trusted) -> str | None:
    """Give the fingerprint of a reference's first outputs; None where it did not come to them."""
    if trusted.result is None or trusted.result.preparation is None:
        return None
    return fingerprint(dict(load_snapshot(first_outputs(trusted.outputs.folder, 0), 0).leaves))


def _metrics(reference: Job, comparison: Comparison, tolerance: Tolerance) -> tuple[MetricReport, ...]:
    """Let the reference's evaluator judge both sides' metrics; nothing is judged when a side has none."""
    ours, theirs = comparison.reference.metrics, comparison.target.metrics
    if ours is None or theirs is None:
        return ()
    try:
        evaluator: Evaluator = reference.build("evaluator")["evaluator"]
        return tuple(evaluator.compare(ours, theirs, tolerance))
    except Exception as error:
        # It is the user's code; what else was found stands.
        why = f"compare failed: {type(error).__name__}: {error}"
        return tuple(
            MetricReport(
                name=name, reference=ours.get(name), target=theirs.get(name), difference=None,
                allowed=0.0, verdict="unjudged", note=why,
            )
            for name in {**ours, **theirs}
        )  # fmt: skip


def _notes(comparison: Comparison) -> Iterator[str]:
    """Say what a reader should know before trusting a figure."""
    for name, result in (("reference", comparison.reference), ("target", comparison.target)):
        if result.evaluation and result.evaluation.missing:
            yield f"the {name}'s evaluator gave no record for {result.evaluation.missing:,} samples"
        if result.preparation and result.preparation.mutated:
            yield f"the {name} changes its inputs in place: {', '.join(result.preparation.mutated)}"
        if result.evaluation and result.evaluation.changed:
            yield f"the {name}'s calls change what the model keeps: {_few(result.evaluation.changed)}"
        yield from notes(name, result)
    target = comparison.target.preparation
    if target and target.repeats != "same":
        yield f"the target does not repeat itself: {target.repeats}"
    metrics = comparison.reference.metrics, comparison.target.metrics
    if not comparison.target.failure and metrics.count(None) == 1:
        yield f"only the {'target' if metrics[0] is None else 'reference'} has an evaluator: no metric was compared"
    for result in (comparison.reference, comparison.target):
        load, cores = result.environment.get("load", 0), result.environment.get("cores", 1)
        if load > cores:
            yield f"the machine was busy: load {load} on {cores} cores"
            break
    threads = [r.environment.get("threads") for r in (comparison.reference, comparison.target)]
    if None not in threads and threads[0] != threads[1]:
        yield f"threads differ: {threads[0]} and {threads[1]}"


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")

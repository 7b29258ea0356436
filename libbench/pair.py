"""Two sides on their way to a comparison."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from libbench.checks import checks
from libbench.comparability import changes_between, comparability, speed_differs
from libbench.distribution import by_distribution
from libbench.drawing import Ask, ask_reference, ask_target, drawing_notes
from libbench.findings import OutputsReport
from libbench.interfaces import Event
from libbench.job import Job
from libbench.matching import Matcher
from libbench.metrics import judged
from libbench.noise import bands, notes, within_noise
from libbench.plan import Plan
from libbench.remarks import timing_remarks
from libbench.result import SIDES, Comparison, Failure, Result, SideFailed
from libbench.saved import AnySide, SavedSide
from libbench.settings import Timer, Tolerance
from libbench.side import first_outputs
from libbench.snapshots import Snapshots
from libbench.speed import null_arm, speedups, speedups_apart
from libbench.stages import stages
from libbench.timing import Watch, call_of, measurements, one_op_lib, one_runner, timed_alone
from libbench.trainings import curves_of, judged_by_curve
from libbench.tree import fingerprint, load_snapshot
from libbench.trusted import Trusted
from libbench.truths import truth_of
from libbench.vacuous import marked

Keep = Callable[[Comparison], None]


class Pair:
    """A comparison that grows: whatever is won is in it, and is handed to `keep`, before the next step begins."""

    def __init__(
        self,
        reference: AnySide,
        target: AnySide,
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
        changes, sides = changes_between(reference, target), (Result(reference.record()), Result(target.record()))
        self.comparison = Comparison(*sides, changes, began=time.time())
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
            watch = partial(self._watch, job.name)
            for result in stages(job, outputs.folder, watch, outputs.add, rerun=True, ask=ask_reference):
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
        target, truth = self._jobs[1], trusted.truth
        self.update(tolerance=self._tolerance)
        matcher = self._matcher(trusted, folder)
        reference, found = self.comparison.reference, partial(self._found, matcher)

        def ask(result: Result) -> Ask | None:
            return ask_target(reference, result, other_draws=matcher.other_draws)

        for result in stages(target, folder, partial(self._watch, target.name), matcher.add, ask=ask):
            curve = curves_of(reference, result, self._tolerance)
            outputs = judged_by_curve(found(matcher.report(), result), curve)
            also = {"truth": truth_of(truth, matcher.truth()), "curve": curve, "tokens": matcher.tokens()}
            self.update(target=result, outputs=outputs, inputs=matcher.inputs(), **also)
        if not self.comparison.target.failure:
            report = found(matcher.final_report(), self.comparison.target)
            self.update(outputs=judged_by_curve(report, self.comparison.curve))
        results = self.comparison.reference, self.comparison.target
        folders = trusted.outputs.folder, target.outputs if isinstance(target, SavedSide) else folder
        metrics, said = judged(self._jobs, results, folders, self._tolerance)
        unlike = comparability(self.comparison, matcher.unlike())
        self.update(metrics=metrics, comparability=unlike, notes=(*matcher.notes(), *_notes(self.comparison), *said))
        drawing = drawing_notes(self.comparison, other_draws=matcher.other_draws)
        self.update(notes=(*self.comparison.notes, *drawing))

    def _found(self, matcher: Matcher, report: OutputsReport, target: Result) -> OutputsReport:
        """Give what was found by tolerance with what the reference's run, and calls from other seeds, say of it."""
        reference = self.comparison.reference
        aliases = reference.preparation.aliases if reference.preparation else ()
        report = within_noise(report, bands(reference))
        report = marked(report, aliases, by_truth=self._plan.truth is not None)
        if reference.draws is None or not matcher.other_draws:
            return report
        tokens = matcher.tokens()
        parting = tokens.first.text if tokens is not None and tokens.first is not None else ""
        return by_distribution(report, reference.draws, target.draws, parting)

    def _matcher(self, trusted: Trusted, folder: Path) -> Matcher:
        target, sides = self._jobs[1], (trusted.outputs, folder, self._tolerance)
        if isinstance(target, SavedSide):
            sides = trusted.outputs, target.outputs, self._tolerance
            lacking, limit = target.lacking, target.spill
            return Matcher(*sides, keep=True, lacking=lacking, limit=limit, truths=trusted.truths)
        return Matcher(*sides, keep=self._plan.save is not None, truths=trusted.truths)

    def repeat(self, trusted: Trusted, target: Job, folder: Path) -> None:
        """Ask the same at another seed."""
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
        if not others:
            return
        first = self.comparison.inputs, _first(trusted)
        found = [(c.inputs, _first(other)) for c, other in zip(self.comparison.seeds, others, strict=True)]
        if None not in first and all(each == first for each in found):
            note = "no seed changes the reference's inputs or its first outputs: all seeds show the same"
            self.update(notes=(*self.comparison.notes, note))

    def time(self, snapshots: Snapshots, folder: Path) -> None:
        if not self._plan.speed or self.comparison.target.failure:
            return
        jobs = [job for job in self._jobs if isinstance(job, Job)]
        if len(jobs) < len(self._jobs) or (self._elsewhere() and not one_runner(jobs)):
            self._time_apart(jobs, folder)
            return
        self.update(timer=self._timer)
        results = self.comparison.reference, self.comparison.target
        alone = [
            place if result.preparation and result.preparation.repeats == "same" else None
            for place, result in zip((snapshots.folder, folder), results, strict=True)
        ]
        call = max(map(call_of, results))
        try:
            for measurement in measurements(jobs, self._timer, folder, self._watch, alone, self._plan.processes, call):
                if not measurement.together and not self.comparison.measurements:
                    note = f"each side was timed in its own process: {self._why()}"
                    self.update(notes=(*self.comparison.notes, note))
                timed = (*self.comparison.measurements, measurement)
                self.update(measurements=timed, speedups=speedups(timed), null=null_arm(timed))
            self.update(notes=(*self.comparison.notes, *timing_remarks(self.comparison)))
        except SideFailed as error:
            # Where it cannot be told who ended a process that holds both, the reference has at least run by itself.
            self._failed("reference" if error.side == 0 else "target", error.failure)

    def _time_apart(self, jobs: Sequence[Job], folder: Path) -> None:
        """Compare the times of a side that was saved with those of the other, which is timed by itself."""
        for name, side in zip(SIDES, self._jobs, strict=True):
            if isinstance(side, SavedSide) and side.untimed():
                self._note_untimed(side.untimed())
                if side.timing_failure is not None and side.timing_failure.kind != "clock":
                    self._failed(name, side.timing_failure)
                return
        self._compare_times()
        for job in jobs:
            name = SIDES[self._jobs.index(job)]
            self.update(timer=self._timer)
            known: Result = getattr(self.comparison, name)
            for result in timed_alone(known, job, self._timer, folder / name, self._watch, self._plan.processes):
                if result.failure is not None:
                    self._failed(name, result.failure)
                    return
                self.update(**{name: result})
                self._compare_times()

    def _compare_times(self) -> None:
        timings = self.comparison.reference.timings, self.comparison.target.timings
        unlike = speed_differs(self.comparison.comparability)
        self.update(speedups=speedups_apart(*timings, unlike=unlike, elsewhere=self._elsewhere()))

    def _elsewhere(self) -> bool:
        """Tell whether the sides ran on different nodes of a cluster."""
        return any(each.name == "node" for each in self.comparison.comparability)

    def _note_untimed(self, why: str) -> None:
        """Say why there is no speed; times that were taken before are no ground for one."""
        self.update(speedups=(), notes=(*self.comparison.notes, f"speed not measured: {why}"))

    def _failed(self, name: str, failure: Failure) -> None:
        """Take note of a failure of the timing, which is none of the side where a clock is to blame."""
        if failure.kind == "clock":
            self._note_untimed(failure.message)
        else:
            self.update(**{name: replace(getattr(self.comparison, name), failure=failure)})

    def _why(self) -> str:
        jobs = [job for job in self._jobs if isinstance(job, Job)]
        if not one_runner(jobs):
            return "the sides name different runners"
        if not one_op_lib(jobs):
            return "the kernels of one side's op_lib would be those of the other, too"
        return "in one process a side gave other outputs than alone (modules of one name, or a global switch?)"


def _first(trusted: Trusted) -> str | None:
    """Give the fingerprint of a reference's first outputs; None where it did not come to them."""
    if trusted.result is None or trusted.result.preparation is None:
        return None
    return fingerprint(dict(load_snapshot(first_outputs(trusted.outputs.folder, 0), 0).leaves))


def _notes(comparison: Comparison) -> Iterator[str]:
    """Say what a reader should know before trusting a figure."""
    for name, result in (("reference", comparison.reference), ("target", comparison.target)):
        if result.evaluation and result.evaluation.missing:
            yield f"the {name}'s evaluator gave no record for {result.evaluation.missing:,} samples"
        if result.evaluation:
            yield from (f"the {name}'s {odd}" for odd in result.evaluation.odd_ranks)
        if result.evaluation and result.evaluation.disputed:
            again = f"{result.evaluation.disputed:,} samples that came again"
            yield f"the {name}'s evaluator gave other records for {again}; the first ones count"
        if result.preparation and result.preparation.mutated:
            yield f"the {name} changes its inputs in place: {', '.join(result.preparation.mutated)}"
        if result.evaluation and result.evaluation.changed:
            yield f"the {name}'s calls change what the model keeps: {_few(result.evaluation.changed)}"
        yield from notes(name, result)
    target, reference = comparison.target.preparation, comparison.reference.preparation
    if target and target.repeats != "same" and not (reference and reference.draws):
        yield f"the target does not repeat itself: {target.repeats}"
    metrics = comparison.reference.metrics, comparison.target.metrics
    if not comparison.target.failure and metrics.count(None) == 1:
        yield f"only the {'target' if metrics[0] is None else 'reference'} has an evaluator: no metric was compared"


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")

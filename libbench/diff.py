"""Are these two the same, and which is faster?"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from libbench.errors import LibbenchError
from libbench.job import Job
from libbench.pair import Keep, Pair, stages
from libbench.plan import Plan, settings_of, timer_of
from libbench.result import Comparison, Result, SideFailed
from libbench.snapshots import Snapshots
from libbench.timing import Watch, measurements, runner_of

__all__ = ["Plan", "diff", "diff_all", "run"]


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
    settings = [settings_of(reference, target, plan) for target in targets]
    for each in (reference, *targets):
        runner_of(each)
    with work_folder(plan.save) as folder:
        begin = time.monotonic()
        reference = replace(reference, cache=str(folder / "cache" / "reference"))
        snapshots = Snapshots(folder / "reference", limit=plan.spill)
        known: Result | None = None
        for number, (job, setting) in enumerate(zip(targets, settings, strict=True), start=1):
            place = folder / (f"target-{number}" if len(targets) > 1 else "target")
            target = replace(job, cache=str(folder / "cache" / place.name))
            pair = Pair(reference, target, setting, plan, watch, keep, begin)
            known = pair.run_reference(snapshots) if known is None else known
            pair.update(reference=known)
            if known.failure is None:
                pair.run_target(snapshots, place)
                pair.time(snapshots, place)
            pair.update(complete=True)
            yield pair.comparison
            begin = time.monotonic()


def run(
    job: Job,
    plan: Plan,
    *,
    watch: Watch = lambda name, event: None,
    keep: Callable[[Result], None] = lambda result: None,
) -> Result:
    """Run one side by itself: metrics, memory, and its time per call unless the plan leaves speed out.

    Args:
        watch: as for `diff`.
        keep: called with the result so far: at the beginning, and each time something has been won.
    """
    timer = timer_of(plan, job)
    with work_folder(plan.save) as folder:
        job = replace(job, cache=str(folder / "cache"))
        snapshots = Snapshots(folder / "outputs", limit=0 if plan.save is None else plan.spill)
        result = Result(job.record())
        # A place that cannot be written to is found now, not when there is something to lose.
        keep(result)
        for result in stages(job, snapshots.folder, lambda event: watch(job.name, event), snapshots.add):
            keep(result)
        if plan.speed and result.failure is None:
            try:
                for measurement in measurements([job], timer, folder, watch):
                    result = replace(result, timings=(*result.timings, measurement.clocks[0]))
                    keep(result)
            except SideFailed as error:
                result = replace(result, failure=error.failure)
                keep(result)
    return result


def _job(side: Job | Mapping[str, Any] | DictConfig | str | Path, name: str) -> Job:
    if isinstance(side, Job):
        return side
    return Job.load(side) if isinstance(side, str | Path) else Job.of(side, name)


@contextmanager
def work_folder(save: Path | None) -> Iterator[Path]:
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

"""Are these two the same, and which is faster?"""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from libbench.drawing import ask_reference
from libbench.errors import LibbenchError
from libbench.job import Job
from libbench.pair import Keep, Pair
from libbench.plan import Plan, settings_of, timer_of
from libbench.result import Comparison, Output, Result
from libbench.saved import OUTPUTS, AnySide, SavedSide, SavedSideWriter
from libbench.settings import Timer
from libbench.snapshots import Snapshots
from libbench.stages import stages
from libbench.timing import Watch, runner_of, timed_alone
from libbench.trusted import Trusted

__all__ = ["Plan", "diff", "diff_all", "load_side", "run"]

Given = AnySide | Mapping[str, Any] | DictConfig | str | Path
"""What a user may name a side by."""


def diff(
    reference: Given,
    target: Given,
    plan: Plan | None = None,
    *,
    watch: Watch = lambda name, event: None,
    keep: Keep = lambda comparison: None,
) -> Comparison:
    """Compare two configs.

    Args:
        reference: the side that is trusted: a job, a config, the path of a config file, or that of a folder in which
            `run` has saved a side.
        target: the side that is judged.
        plan: what is asked; by default outputs, metrics and speed.
        watch: called with a side's name and an event, to show progress.
        keep: called with the comparison so far, each time something has been won.

    Raises:
        ConfigError: a config is wrong, or the two cannot be compared.
    """
    sides = _side(reference, "reference"), [_side(target, "target")]
    return next(diff_all(*sides, plan or Plan(), watch=watch, keep=keep))


def diff_all(
    reference: AnySide,
    targets: Sequence[AnySide],
    plan: Plan,
    *,
    watch: Watch = lambda name, event: None,
    keep: Keep = lambda comparison: None,
) -> Generator[Comparison]:
    """Compare one reference, which is run once, with each of several targets; give each comparison as it is done."""
    # Whatever can be wrong with a question is found before the first answer costs anything.
    settings = [settings_of(reference, target, plan) for target in targets]
    for each in (reference, *targets):
        if isinstance(each, Job):
            runner_of(each)
    seeds = range(reference.seed + 1, reference.seed + plan.seeds)
    reference, *targets = _in_one_group((reference, *targets))
    moved = [_at_seeds(target, seeds) for target in targets]
    with work_folder(plan.save) as folder:
        begin = time.monotonic()
        reference = _with_cache(reference, folder / "cache" / "reference")
        trusted = Trusted.of(reference, folder, plan)
        others = [Trusted.of(job, folder / f"seed-{job.seed}", plan) for job in _at_seeds(reference, seeds)]
        for number, (job, setting) in enumerate(zip(targets, settings, strict=True), start=1):
            place = folder / (f"target-{number}" if len(targets) > 1 else "target")
            cache = folder / "cache" / place.name
            target = _with_cache(job, cache)
            pair = Pair(reference, target, setting, plan, watch, keep, begin)
            same = [replace(each, name=target.name, cache=str(cache)) for each in moved[number - 1]]
            work_off(pair, trusted, place, others, same)
            yield pair.comparison
            begin = time.monotonic()


def work_off(
    pair: Pair, trusted: Trusted, place: Path, others: Sequence[Trusted] = (), moved: Sequence[Job] = ()
) -> None:
    """Ask all that is asked of a pair, one thing after another.

    Args:
        trusted: the reference, which is run if it has not been.
        place: the target's folder.
        others: the reference at further seeds.
        moved: the target, likewise.
    """
    pair.run_reference(trusted)
    if pair.comparison.reference.failure is None:
        pair.run_target(trusted, place)
        for other, same in zip(others, moved, strict=True):
            pair.repeat(other, same, other.outputs.folder.parent / place.name)
        pair.note_seeds(trusted, others)
        pair.time(trusted.outputs, place)
    pair.update(complete=True)


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

    Where the plan says where to save, the folder becomes what `diff` takes in place of a config.
    """
    timer = timer_of(plan, job)
    with work_folder(plan.save) as folder:
        job = replace(job, cache=str(folder / "cache"), group=uuid.uuid4().hex)
        snapshots = Snapshots(folder / OUTPUTS, limit=0 if plan.save is None else plan.spill)
        result = Result(job.record(), began=time.time())
        # A place that cannot be written to is found now, not when there is something to lose.
        keep(result)
        with _written(folder, job, plan) as writer:

            def take(output: Output) -> None:
                kept = snapshots.add(output)
                if writer is not None:
                    writer.add(output, kept=kept)

            for result in _results(job, timer, plan, folder, watch, take):
                if writer is not None:
                    writer.write(result)
                keep(result)
            if writer is not None:
                writer.write(result, complete=True)
    return result


def _results(
    job: Job, timer: Timer, plan: Plan, folder: Path, watch: Watch, take: Callable[[Output], None]
) -> Iterator[Result]:
    """Run and time one side; give its result each time that there is more of it."""
    result = Result(job.record())
    saved = plan.save is not None
    ask = ask_reference if saved else lambda result: None
    for result in stages(job, folder / OUTPUTS, partial(watch, job.name), take, rerun=saved, ask=ask):
        yield result
    if not plan.speed or result.failure is not None:
        return
    yield from timed_alone(result, job, timer, folder, watch, plan.processes)


@contextmanager
def _written(folder: Path, job: Job, plan: Plan) -> Iterator[SavedSideWriter | None]:
    """Give what writes a side into its folder; None where it is not to be saved."""
    if plan.save is None:
        yield None
        return
    with closing(SavedSideWriter(folder, job, plan.spill)) as writer:
        yield writer


def _in_one_group(sides: Sequence[AnySide]) -> list[AnySide]:
    """Say of all sides that they belong together."""
    name = uuid.uuid4().hex
    return [replace(side, group=name) if isinstance(side, Job) else side for side in sides]


def _at_seeds(side: AnySide, seeds: Iterable[int]) -> list[Job]:
    return [side.at_seed(seed) for seed in seeds] if isinstance(side, Job) else []


def _with_cache(side: AnySide, folder: Path) -> AnySide:
    return replace(side, cache=str(folder)) if isinstance(side, Job) else side


def load_side(
    path: str | Path, overrides: Sequence[str] = (), seed: int | None = None, sample: str | None = None
) -> AnySide:
    """Load a config file as `Job.load` does, or a folder with a saved side, which no override can change."""
    if not Path(path).is_dir():
        return Job.load(path, overrides, seed, sample)
    side = SavedSide.load(path)
    if sample is not None:
        raise LibbenchError(f"{path} is a saved side, and is what it was: no graph sample can be its model")
    if overrides:
        raise LibbenchError(f"{path} is a saved side, and is what it was: {' '.join(overrides)} cannot change it")
    if seed not in (None, side.seed):
        raise LibbenchError(f"{path} was saved with seed {side.seed}, and is what it was: seed {seed} cannot change it")
    return side


def _side(side: Given, name: str) -> AnySide:
    if isinstance(side, Job | SavedSide):
        return side
    return load_side(side) if isinstance(side, str | Path) else Job.of(side, name)


@contextmanager
def work_folder(save: Path | None) -> Iterator[Path]:
    """Give an empty folder to work in: the one to be kept, or one that goes when this is over."""
    if save is None:
        with tempfile.TemporaryDirectory(prefix="libbench-") as folder:
            yield Path(folder)
        return
    check_empty(save)
    save.mkdir(parents=True, exist_ok=True)
    try:
        yield save
    finally:
        shutil.rmtree(save / "cache", ignore_errors=True)


def check_empty(folder: Path) -> None:
    """Check that a folder, if it is there, is an empty one.

    Raises:
        LibbenchError: it is not.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LibbenchError(f"{folder} is not an empty folder; results are never written over others")

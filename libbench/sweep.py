"""Many at once: every reference of a sweep with its targets, every config of a sweep by itself."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from libbench.diff import diff_all, run, work_folder
from libbench.job import Job
from libbench.pair import Keep
from libbench.plan import Plan, settings_of
from libbench.result import Comparison, Result
from libbench.saved import AnySide
from libbench.timing import Watch, runner_of

Group = tuple[AnySide, Sequence[AnySide]]
"""A reference, which is run once, and its targets."""


def diff_groups(
    groups: Sequence[Group],
    plan: Plan,
    *,
    watch: Watch = lambda name, event: None,
    keep: Keep = lambda comparison: None,
) -> Generator[Comparison]:
    """Compare every reference with each of its targets, one group after another, as `diff_all` does.

    With several groups, each has a folder of its own in `plan.save`: `group-1` and so on.

    Raises:
        ConfigError: a config is wrong, or two cannot be compared; this is found before anything runs.
    """
    if len(groups) == 1:
        yield from diff_all(*groups[0], plan, watch=watch, keep=keep)
        return
    for reference, targets in groups:
        for target in targets:
            settings_of(reference, target, plan)
            if isinstance(target, Job):
                runner_of(target)
    for own, (reference, targets) in zip(_plans(plan, "group", len(groups)), groups, strict=False):
        yield from diff_all(reference, targets, own, watch=watch, keep=keep)


def run_all(
    jobs: Sequence[Job],
    plan: Plan,
    *,
    watch: Watch = lambda name, event: None,
    keep: Callable[[int, Result], None] = lambda number, result: None,
) -> Iterator[Result]:
    """Run each of several configs by itself, as `run` does; give each result as it is done.

    With several configs, each has a folder of its own in `plan.save`: `config-1` and so on.

    Args:
        keep: called with the number of the config, from 0, and its result so far.
    """
    for job in jobs:
        runner_of(job)
    plans = [plan] if len(jobs) == 1 else _plans(plan, "config", len(jobs))
    for number, (own, job) in enumerate(zip(plans, jobs, strict=False)):
        yield run(job, own, watch=watch, keep=functools.partial(keep, number))


def _plans(plan: Plan, name: str, count: int) -> Iterator[Plan]:
    """Give a plan for each of several steps, with a folder of its own where outputs are kept."""
    if plan.save is None:
        yield from [plan] * count
        return
    with work_folder(plan.save):
        for number in range(1, count + 1):
            yield replace(plan, save=Path(plan.save) / f"{name}-{number}")

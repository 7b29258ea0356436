"""`libbench diff`."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from libbench.cli.kept import Kept
from libbench.cli.output import put, style_of
from libbench.cli.plans import jobs_flags, plan_of, with_traceback
from libbench.cli.progress import Progress
from libbench.config import expand
from libbench.diff import load_side
from libbench.errors import LibbenchError
from libbench.report.json import to_json
from libbench.report.text import render, render_many
from libbench.result import Comparison
from libbench.saved import AnySide
from libbench.sweep import Group, diff_groups


def main(arguments: argparse.Namespace) -> int:
    """Compare, print, and give the largest exit code of all targets."""
    groups = _groups(arguments)
    kept = Kept(arguments, "comparison", sum(len(targets) for _, targets in groups) > 1, to_json)

    def keep(comparison: Comparison) -> None:
        kept.keep(sum(each.complete for each in kept.all), comparison)

    try:
        with Progress() as progress:
            comparisons = diff_groups(groups, plan_of(arguments), watch=progress.watch, keep=keep)
            with closing(comparisons):
                for comparison in comparisons:
                    progress.print(_report(comparison, arguments))
    except BaseException:
        # Whatever stops it, what has been won is shown.
        for last in kept.all[-1:]:
            if not last.complete and last.reference.preparation is not None:
                put(_report(last, arguments))
        raise
    if len(kept.all) > 1:
        put(render_many(kept.all, **style_of()))
    kept.tell_broken()
    return max(comparison.exit_code for comparison in kept.all)


def _report(comparison: Comparison, arguments: argparse.Namespace) -> str:
    text = render(comparison, verbose=arguments.verbose, **style_of())
    sides = [side for each in (comparison, *comparison.seeds) for side in (each.reference, each.target)]
    return with_traceback(text, arguments, *sides)


def _groups(arguments: argparse.Namespace) -> list[Group]:
    """Load every reference of the sweep, or the one there is, with all of its targets."""
    if arguments.tgt is None and Path(arguments.ref).is_dir():
        load_side(arguments.ref)
        raise LibbenchError(f"--tgt is needed: {arguments.ref} is a saved side, which no --tgt-set can change")
    both = [*arguments.set, *jobs_flags(arguments)]
    end = len(both) + len(arguments.ref_set)
    sides: dict[tuple[str, ...], list[tuple[str, tuple[str, ...]]]] = {}
    overrides = [*both, *arguments.ref_set, *arguments.tgt_set]
    whose = [""] * len(both) + ["ref"] * len(arguments.ref_set) + ["tgt"] * len(arguments.tgt_set)
    for line in expand(overrides, arguments.zip, arguments.exclude, whose):
        targets = sides.setdefault(line[:end], [])
        targets += [(file, line[: len(both)] + line[end:]) for file in arguments.tgt or [arguments.ref]]
    load = functools.cache(functools.partial(_load, limits=frozenset(jobs_flags(arguments)), seed=arguments.seed))
    return [_told_apart(load(arguments.ref, line), [load(*each) for each in own]) for line, own in sides.items()]


def _load(path: str, line: tuple[str, ...], limits: frozenset[str], seed: int | None) -> AnySide:
    """Load a side; limits are for those that run, and a side that was saved runs no more."""
    if Path(path).is_dir():
        line = tuple(each for each in line if each not in limits)
    return load_side(path, line, seed)


def _told_apart(reference: AnySide, targets: Sequence[AnySide]) -> Group:
    """Give each target a name that no other side has, so that progress and report can be read."""
    taken, named = {reference.name}, []
    for number, target in enumerate(targets, start=1):
        suffix = f" (target{f' {number}' if number > 1 else ''})" if target.name in taken else ""
        named.append(replace(target, name=target.name + suffix))
        taken.add(target.name + suffix)
    return reference, named

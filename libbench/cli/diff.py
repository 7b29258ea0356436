"""`libbench diff`."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from libbench.cli.output import put
from libbench.cli.plans import jobs_flags, plan_of, style_of, with_traceback
from libbench.cli.progress import Progress
from libbench.config import expand
from libbench.diff import load_side
from libbench.errors import LibbenchError
from libbench.records import write_json
from libbench.report.json import to_json
from libbench.report.text import render, render_many
from libbench.result import Comparison
from libbench.saved import AnySide
from libbench.sweep import Group, diff_groups


def main(arguments: argparse.Namespace) -> int:
    """Compare, print, and give the largest exit code of all targets."""
    groups = _groups(arguments)
    kept = _Kept(arguments, sum(len(targets) for _, targets in groups))
    try:
        with Progress() as progress:
            comparisons = diff_groups(groups, plan_of(arguments), watch=progress.watch, keep=kept.keep)
            with closing(comparisons):
                for comparison in comparisons:
                    progress.print(_report(comparison, arguments))
    except BaseException:
        # Whatever stops it, what has been won is shown.
        if kept.last is not None and not kept.last.complete and kept.last.reference.preparation is not None:
            put(_report(kept.last, arguments))
        raise
    kept.tell_broken()
    if len(kept.done) > 1:
        put(render_many(kept.done, **style_of()))
    return max(comparison.exit_code for comparison in kept.done)


def _report(comparison: Comparison, arguments: argparse.Namespace) -> str:
    text = render(comparison, verbose=arguments.verbose, **style_of())
    return with_traceback(text, arguments, comparison.reference, comparison.target)


class _Kept:
    """Writes what has been won, as it comes."""

    def __init__(self, arguments: argparse.Namespace, comparisons: int) -> None:
        self._json: Path | None = arguments.json
        self._save: Path | None = arguments.save
        self._many = comparisons > 1
        self.done: list[Comparison] = []
        self.last: Comparison | None = None
        self._broken: dict[Path, OSError] = {}

    def keep(self, comparison: Comparison) -> None:
        self.last = comparison
        if comparison.complete:
            self.done.append(comparison)
        all_of_them = self.done if comparison.complete else [*self.done, comparison]
        documents = [to_json(each) for each in all_of_them]
        for file in (self._json, self._save and self._save / "comparison.json"):
            if file is not None and file not in self._broken:
                self._write(file, {"comparisons": documents} if self._many else documents[0])

    def _write(self, file: Path, document: Any) -> None:
        """Write a file; one that cannot be written is trouble at the beginning, and told at the end later."""
        try:
            write_json(file, document)
        except OSError as error:
            if self.last is None or self.last.reference.preparation is None:
                raise
            self._broken[file] = error

    def tell_broken(self) -> None:
        """Raise what kept a file from being written, when the report has been printed."""
        for file, error in self._broken.items():
            raise LibbenchError(f"{file} is not complete: {error}")


def _groups(arguments: argparse.Namespace) -> list[Group]:
    """Load every reference of the sweep, or the one there is, with all of its targets."""
    if arguments.tgt is None and Path(arguments.ref).is_dir():
        raise LibbenchError(f"--tgt is needed: {arguments.ref} is a saved side, which no --tgt-set can change")
    both = [*arguments.set, *jobs_flags(arguments)]
    end = len(both) + len(arguments.ref_set)
    sides: dict[tuple[str, ...], list[tuple[str, tuple[str, ...]]]] = {}
    for line in expand([*both, *arguments.ref_set, *arguments.tgt_set], arguments.zip, arguments.exclude):
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

"""`libbench diff`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from libbench.cli.plans import jobs_flags, plan_of, style_of, with_traceback
from libbench.cli.progress import Progress
from libbench.diff import diff_all
from libbench.errors import LibbenchError
from libbench.job import Job
from libbench.records import write_json
from libbench.report.json import to_json
from libbench.report.text import render, render_many
from libbench.result import Comparison


def main(arguments: argparse.Namespace) -> int:
    """Compare, print, and give the largest exit code of all targets."""
    reference, targets = _jobs(arguments)
    kept = _Kept(arguments, len(targets))
    try:
        with Progress() as progress:
            comparisons = diff_all(reference, targets, plan_of(arguments), watch=progress.watch, keep=kept.keep)
            with closing(comparisons):
                for comparison in comparisons:
                    progress.print(_report(comparison, arguments))
    except BaseException:
        # Whatever stops it, what has been won is shown.
        if kept.last is not None and not kept.last.complete and kept.last.reference.preparation is not None:
            print(_report(kept.last, arguments))
        raise
    kept.tell_broken()
    if len(kept.done) > 1:
        print(render_many(kept.done, **style_of()))
    return max(comparison.exit_code for comparison in kept.done)


def _report(comparison: Comparison, arguments: argparse.Namespace) -> str:
    text = render(comparison, verbose=arguments.verbose, **style_of())
    return with_traceback(text, arguments, comparison.reference, comparison.target)


class _Kept:
    """Writes what has been won, as it comes."""

    def __init__(self, arguments: argparse.Namespace, targets: int) -> None:
        self._json: Path | None = arguments.json
        self._save: Path | None = arguments.save
        self._many = targets > 1
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


def _jobs(arguments: argparse.Namespace) -> tuple[Job, Sequence[Job]]:
    both = [*arguments.set, *jobs_flags(arguments)]
    reference = Job.load(arguments.ref, [*both, *arguments.ref_set], arguments.seed)
    files = arguments.tgt or [arguments.ref]
    targets = [Job.load(file, [*both, *arguments.tgt_set], arguments.seed) for file in files]
    return reference, [_told_apart(target, i, [reference, *targets[:i]]) for i, target in enumerate(targets)]


def _told_apart(target: Job, position: int, others: Sequence[Job]) -> Job:
    """Give a job a name that no other has, so that progress and report can be read."""
    if all(target.name != other.name for other in others):
        return target
    return replace(target, name=f"{target.name} (target{f' {position + 1}' if position else ''})")

"""`libbench run`."""

from __future__ import annotations

import argparse
from pathlib import Path

from libbench.cli.output import put
from libbench.cli.plans import jobs_flags, plan_of, style_of, with_traceback
from libbench.cli.progress import Progress
from libbench.config import expand
from libbench.job import Job
from libbench.records import write_json
from libbench.report.json import result_to_json
from libbench.report.text import render_result, render_results
from libbench.result import Result
from libbench.sweep import run_all


def main(arguments: argparse.Namespace) -> int:
    """Run a config, or each combination of a sweep; give 0, or 2 when one failed."""
    overrides = [*jobs_flags(arguments), *arguments.overrides, *arguments.set]
    lines = expand(overrides, arguments.zip, arguments.exclude)
    jobs = [Job.load(arguments.config, line, arguments.seed) for line in lines]
    kept = _Kept(arguments, len(jobs))
    shown = 0
    try:
        with Progress() as progress:
            for result in run_all(jobs, plan_of(arguments), watch=progress.watch, keep=kept.keep):
                shown += 1
                progress.print(_report(result, arguments))
    finally:
        # Whatever stops it, what has been won is shown.
        for result in kept.results[shown:]:
            put(_report(result, arguments))
    if len(jobs) > 1:
        put(f"\n{render_results(kept.results, **style_of())}")
    return 2 if any(result.failure for result in kept.results) else 0


def _report(result: Result, arguments: argparse.Namespace) -> str:
    return with_traceback(render_result(result, verbose=arguments.verbose, **style_of()), arguments, result)


class _Kept:
    """Writes what has been won, as it comes."""

    def __init__(self, arguments: argparse.Namespace, configs: int) -> None:
        self._json: Path | None = arguments.json
        self._save: Path | None = arguments.save
        self._many = configs > 1
        self.results: list[Result] = []

    def keep(self, number: int, result: Result) -> None:
        self.results[number:] = [result]
        documents = [result_to_json(each) for each in self.results]
        # A single side is written into its folder by what runs it.
        for file in (self._json, self._save / "result.json" if self._save and self._many else None):
            if file is not None:
                write_json(file, {"results": documents} if self._many else documents[0])

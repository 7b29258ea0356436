"""`libbench run`."""

from __future__ import annotations

import argparse

from libbench.cli.kept import Kept, json_files, summary_files
from libbench.cli.output import style_of
from libbench.cli.plans import jobs_flags, plan_of, with_traceback
from libbench.cli.progress import Progress
from libbench.config import expand
from libbench.job import Job
from libbench.report.json import result_to_json
from libbench.report.summaries import of_results
from libbench.report.text import render_result, render_results
from libbench.result import Result
from libbench.sweep import run_all


def main(arguments: argparse.Namespace) -> int:
    """Run a config, or each combination of a sweep; give 0, or 2 when one failed."""
    overrides = [*jobs_flags(arguments), *arguments.overrides, *arguments.set]
    lines = expand(overrides, arguments.zip, arguments.exclude)
    jobs = [Job.load(arguments.config, line, arguments.seed) for line in lines]
    many = len(jobs) > 1
    # A single side is written into its folder by what runs it.
    files = json_files(arguments, "result", many, result_to_json, folder=many)
    kept: Kept[Result] = Kept({**files, **summary_files(arguments, of_results)})
    shown = 0
    try:
        with Progress() as progress:
            for result in run_all(jobs, plan_of(arguments), watch=progress.watch, keep=kept.keep):
                shown += 1
                if not kept.prints:
                    progress.print(_report(result, arguments))
    finally:
        # Whatever stops it, what has been won is shown.
        for result in kept.all[shown:]:
            if result.preparation is not None or result.failure is not None:
                kept.put(_report(result, arguments))
        kept.close()
    if many:
        kept.put(f"\n{render_results(kept.all, **style_of())}")
    kept.tell_broken()
    return 2 if any(result.failure for result in kept.all) else 0


def _report(result: Result, arguments: argparse.Namespace) -> str:
    return with_traceback(render_result(result, verbose=arguments.verbose, **style_of()), arguments, result)

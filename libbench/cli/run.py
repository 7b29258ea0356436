"""`libbench run`."""

from __future__ import annotations

import argparse

from libbench.cli.plans import jobs_flags, plan_of, style_of, with_traceback
from libbench.cli.progress import Progress
from libbench.diff import run
from libbench.job import Job
from libbench.records import write_json
from libbench.report.json import result_to_json
from libbench.report.text import render_result
from libbench.result import Result


def main(arguments: argparse.Namespace) -> int:
    """Run one config; give 0, or 2 when it failed."""
    job = Job.load(arguments.config, [*jobs_flags(arguments), *arguments.overrides], arguments.seed)
    results: list[Result] = []

    def keep(result: Result) -> None:
        results.append(result)
        for file in (arguments.json, arguments.save and arguments.save / "result.json"):
            if file is not None:
                write_json(file, result_to_json(result))

    keep(Result(job.record()))
    try:
        with Progress() as progress:
            run(job, plan_of(arguments), watch=progress.watch, keep=keep)
    finally:
        # Whatever stops it, what has been won is shown.
        if len(results) > 1:
            text = render_result(results[-1], verbose=arguments.verbose, **style_of())
            print(with_traceback(text, arguments, results[-1]))
    return 2 if results[-1].failure else 0

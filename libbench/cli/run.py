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


def main(arguments: argparse.Namespace) -> int:
    """Run one config; give 0, or 2 when it failed."""
    job = Job.load(arguments.config, [*jobs_flags(arguments), *arguments.overrides], arguments.seed)
    with Progress() as progress:
        result = run(job, plan_of(arguments), watch=progress.watch)
    document = result_to_json(result)
    for file in (arguments.json, arguments.save and arguments.save / "result.json"):
        if file is not None:
            write_json(file, document)
    print(with_traceback(render_result(result, **style_of(arguments)), arguments, result))
    return 2 if result.failure else 0

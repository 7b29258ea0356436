"""`libbench ranks`."""

from __future__ import annotations

import argparse
import tempfile
from contextlib import closing
from pathlib import Path

from libbench.alignment import Found
from libbench.cli.main import EXIT_TROUBLE
from libbench.cli.output import put, tell
from libbench.cli.plans import jobs_flags
from libbench.errors import LibbenchError
from libbench.job import Job
from libbench.result import SideFailed
from libbench.timing import runner_of


def main(arguments: argparse.Namespace) -> int:
    """Say what each rank reads; give 0 where all is as it should be, 1 where it is not, 2 where it cannot be told."""
    job = Job.load(arguments.config, [*jobs_flags(arguments), *arguments.overrides], arguments.seed)
    runner = runner_of(job)
    with (
        tempfile.TemporaryDirectory(prefix="libbench-") as folder,
        closing(runner.open(job, folder=Path(folder), watch=lambda event: None)) as session,
    ):
        probe = getattr(session, "probe", None)
        if probe is None:
            kind = type(runner).__qualname__
            raise LibbenchError(f"{job.name} runs on no ranks: its runner must be Distributed, got {kind}")
        try:
            session.prepare()
            found = probe()
        except SideFailed as error:
            failure = error.failure
            tell(f"libbench: {job.name} failed in {failure.stage}: {failure.message}")
            if arguments.traceback and failure.traceback:
                tell(failure.traceback)
            return EXIT_TROUBLE
    put(render(found))
    return code_of(found)


def render(found: tuple[Found, ...]) -> str:
    """Give the report: a verdict, then a line for each thing that was found of a rank."""
    verdict = {0: "ALIGNED", 1: "NOT ALIGNED", 2: "CANNOT BE TOLD"}[code_of(found)]
    marks = {True: "", False: "WRONG: ", None: "not told: "}
    return "\n".join([verdict, "", *(f"rank {each.rank}  {marks[each.right]}{each.text}" for each in found)])


def code_of(found: tuple[Found, ...]) -> int:
    """Give the exit code: 1 for anything wrong, else 2 for anything that cannot be told."""
    if any(each.right is False for each in found):
        return 1
    return EXIT_TROUBLE if not found or any(each.right is None for each in found) else 0

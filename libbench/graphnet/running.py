"""What `eval_backend_perf` does."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path

from libbench.cli.output import put
from libbench.cli.plans import with_traceback
from libbench.cli.progress import Progress
from libbench.diff import run
from libbench.graphnet.arguments import args_of
from libbench.graphnet.jobs import job_of, samples_of
from libbench.graphnet.kept import Kept
from libbench.graphnet.keys import Args
from libbench.graphnet.log import Told, result_lines
from libbench.graphnet.writing import Log
from libbench.plan import Plan
from libbench.samples.recording import record_of

FAILED = 2
"""The exit code where a sample failed."""


def main(arguments: argparse.Namespace) -> int:
    """Run the config on every sample; give 0, or 2 where one failed."""
    args = args_of(arguments.config, "config", arguments)
    samples = samples_of(arguments, args)
    output = arguments.output_path or args.output_path
    with Log(arguments.log) as log, Progress(lines=False) as progress:
        codes = [
            _one(path, folder, args, None if output is None else Path(output), arguments, log, progress)
            for path, folder in samples.items()
        ]
    return max(codes)


def _one(
    path: str,
    folder: Path,
    args: Args,
    output: Path | None,
    arguments: argparse.Namespace,
    log: Log,
    progress: Progress,
) -> int:
    job = job_of(args, folder, path)
    with Kept(output, str(folder)) if output is not None else nullcontext() as kept:
        result = run(job, Plan(save=kept.folder if kept else None), watch=progress.watch)
        lines = list(result_lines(Told(str(folder), record_of(folder, path, args.seed).name, (args,)), result))
        if kept is not None:
            kept.write(lines)
        where = f"  {kept.folder}" if kept else ""
        with progress.aside():
            log.write(lines)
            put(with_traceback(f"{'failed' if result.failure else 'done':<6}  {path}{where}", arguments, result))
    return FAILED if result.failure else 0

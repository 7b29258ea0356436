"""What `eval_backend_diff` does."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from libbench.cli.graphs import row_on
from libbench.cli.pages import check_pages
from libbench.cli.sweep import run_list
from libbench.graphnet.arguments import args_of
from libbench.graphnet.jobs import job_of, samples_of
from libbench.graphnet.keys import Args
from libbench.graphnet.log import Told, comparison_lines
from libbench.graphnet.writing import Log
from libbench.result import SIDES, Comparison
from libbench.rows import Row


def main(arguments: argparse.Namespace) -> int:
    """Compare both configs on every sample, and give the largest exit code."""
    check_pages(arguments)
    texts = arguments.reference_config, arguments.target_config
    configs = {side: args_of(text, f"{side} config", arguments) for side, text in zip(SIDES, texts, strict=True)}
    samples = samples_of(arguments, configs[SIDES[0]])
    rows = [_row(folder, path, configs) for path, folder in samples.items()]
    with Log(arguments.log) as log:

        def tell_row(row: Row, comparison: Comparison) -> None:
            assert row.sample is not None
            told = Told(str(samples[row.sample.path]), row.sample.name, tuple(configs.values()))
            log.write(comparison_lines(told, comparison))

        return run_list(rows, arguments, tell_row)


def _row(folder: Path, path: str, configs: Mapping[str, Args]) -> Row:
    reference, target = (job_of(args, folder, side) for side, args in configs.items())
    return row_on(folder, path, reference, target)

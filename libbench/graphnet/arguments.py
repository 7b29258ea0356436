"""The flags of GraphNet's command lines."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from libbench.cli.flags import add_limits, add_list, add_pages, add_summaries
from libbench.graphnet.keys import Args, check_and_complete_args, meanings, read_config

_JSON = "JSON, plain or as base64, or a file with it"


def diff_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line of `eval_backend_diff`."""
    parser = _parser("eval_backend_diff", "Compare two backends on graph samples, each a row of a list.")
    _add_samples(parser)
    for side in ("reference", "target"):
        parser.add_argument(f"--{side}-config", required=True, metavar="CONFIG", help=f"of the {side}: {_JSON}")
    _add_log(parser)
    add_list(parser, required=False)
    add_limits(parser)
    add_summaries(parser)
    add_pages(parser)
    parser.add_argument("--no-speed", action="store_true", help="do not time")
    _add_traceback(parser)
    # What libbench diff asks besides has no flag here.
    parser.set_defaults(budget=None, quick=False, table=None)
    return parser.parse_args(argv)


def perf_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line of `eval_backend_perf`."""
    parser = _parser("eval_backend_perf", "Run one backend on graph samples, and keep outputs and log of each.")
    _add_samples(parser)
    parser.add_argument("--config", metavar="CONFIG", help=_JSON)
    parser.add_argument("--output-path", type=Path, metavar="DIR", help="keep what is found; by default it is not")
    _add_log(parser)
    add_limits(parser)
    _add_traceback(parser)
    return parser.parse_args(argv)


def args_of(text: str | None, name: str, arguments: argparse.Namespace) -> Args:
    """Give the config that a flag holds, with what other flags say in place of its own.

    Args:
        name: what errors call the config.

    Raises:
        ConfigError: the config is wrong.
    """
    args = check_and_complete_args(read_config(text, name), name)
    return replace(
        args,
        timeout=args.timeout if arguments.timeout is None else arguments.timeout,
        memory=args.memory if arguments.memory is None else arguments.memory,
    )


def _parser(name: str, text: str) -> argparse.ArgumentParser:
    keys = "\n".join(
        f"  {key} ({default!r}): {meaning.replace('`', '')}" for key, (default, meaning) in meanings().items()
    )
    return argparse.ArgumentParser(
        prog=name,
        description=f"{text} Running a sample runs its code, in a process of its own.",
        epilog=f"keys of a config, with their defaults:\n{keys}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_samples(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model-path", type=Path, metavar="DIR", help="graph sample, or folder with some")
    parser.add_argument("--model-path-list", type=Path, metavar="FILE", help="graph samples, a path a line")


def _add_log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--log", type=Path, metavar="FILE", help="write the log there, too")


def _add_traceback(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--traceback", action="store_true", help="print tracebacks of errors and failures")

"""Flags that several commands have."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from libbench.cli.quantities import count, duration, not_negative, positive, size

_OR_SAVED = "or the folder of a saved one"


def add_samples(lists: Any, parser: argparse.ArgumentParser) -> None:
    """Add the flags of graph samples, of which `lists` are alternatives."""
    lists.add_argument("--samples", type=Path, metavar="DIR", help="run both sides on every graph sample below it")
    lists.add_argument(
        "--sample-list", type=Path, metavar="FILE", help="run both sides on graph samples, a path a line"
    )
    parser.add_argument("--prefix", type=Path, metavar="DIR", help="what the paths of --sample-list are relative to")


def add_list(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the flags of a list of rows; `required`: it has to be kept."""
    more = "" if required else ", of graph samples"
    parser.add_argument(
        "--to", type=Path, required=required, metavar="FILE", help=f"the rows{more}, as JSON lines; gone on with"
    )
    parser.add_argument("--retry", action="store_true", help=f"run rows{more} again in which a side failed")
    parser.add_argument("--jobs", type=count, default=1, metavar="N", help=f"rows{more} at a time")


def add_sides(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the configs of both sides and their overrides."""
    parser.add_argument(
        "--ref", required=required, metavar="FILE", help=f"config of the side that is trusted, {_OR_SAVED}"
    )
    parser.add_argument(
        "--tgt",
        nargs="+",
        action="extend",
        metavar="FILE",
        help=f"configs of the sides to judge, {_OR_SAVED}; may be repeated",
    )
    for flag, whose in (("--ref-set", "the reference"), ("--tgt-set", "every target"), ("--set", "all sides")):
        add_overrides(parser, flag, whose=whose)


def add_judging(parser: argparse.ArgumentParser) -> None:
    """Add what both sides are judged by."""
    add_tolerances(parser)
    parser.add_argument(
        "--truth", choices=("float64",), help="judge floating outputs by a float64 copy of the reference"
    )
    parser.add_argument(
        "--seeds", type=count, default=1, metavar="N", help="compare outputs at N seeds; the worst counts"
    )
    parser.add_argument(
        "--min-speedup", type=positive, metavar="X", help="make it a check that the target is X times as fast"
    )
    parser.add_argument(
        "--spill", type=size, default=4 * 2**30, metavar="SIZE", help="reference outputs kept on disk (4GB)"
    )


def add_tolerances(parser: argparse.ArgumentParser) -> None:
    """Add the tolerances."""
    parser.add_argument("--rtol", type=not_negative, help="relative tolerance; by default the reference dtype's")
    parser.add_argument("--atol", type=not_negative, help="absolute tolerance; by default the reference dtype's")


def add_overrides(parser: argparse.ArgumentParser, *flags: str, whose: str) -> None:
    """Add flags that override values, all to the name of the first."""
    text = f"override values of {whose}; several, a=1,2, are a sweep"
    parser.add_argument(
        *flags,
        dest=flags[0].strip("-").replace("-", "_"),
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help=text,
    )


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add what every command that runs configs takes."""
    parser.set_defaults(parser=parser)
    parser.add_argument("--zip", action="store_true", help="sweep values in step, not in all combinations")
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="KEY=VALUE[,KEY=VALUE...]",
        help="leave combinations of a sweep out: those that have all of these; ref.KEY and tgt.KEY mean one side's",
    )
    add_timing(parser)
    parser.add_argument("--no-speed", action="store_true", help="do not time")
    parser.add_argument("--seed", type=int, help="seed of all sides; by default the configs' own")
    add_limits(parser)
    add_summaries(parser)
    parser.add_argument("--traceback", action="store_true", help="print tracebacks of errors and failures")


def add_timing(parser: argparse.ArgumentParser) -> None:
    """Add how long is timed."""
    parser.add_argument("--quick", action="store_true", help="time for about 6 seconds, in at most 3 processes")
    parser.add_argument("--budget", type=duration, metavar="TIME", help="time for so long at most, as 60s or 5m (30s)")


def add_summaries(parser: argparse.ArgumentParser) -> None:
    """Add the flags of what a CI reads."""
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML, as it comes")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write a summary for GitHub, as it comes; -: print it instead"
    )


def add_keeping(parser: argparse.ArgumentParser) -> None:
    """Add what is kept of one comparison."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found, as it comes")
    parser.add_argument("--save", type=Path, metavar="DIR", help="keep outputs, results and configs in an empty folder")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every detail")


def add_pages(parser: argparse.ArgumentParser) -> None:
    """Add the flags of what is drawn."""
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page for a browser")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="write its plots, as SVG and PNG")


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the limits of a side."""
    parser.add_argument("--timeout", type=positive, metavar="SECONDS", help="limit of each stage of a side")
    parser.add_argument("--memory", type=size, metavar="SIZE", help="limit of what a side's process may take")

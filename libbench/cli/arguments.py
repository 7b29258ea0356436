"""The flags of every command."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

import libbench

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parser_of() -> argparse.ArgumentParser:
    """Make the parser of `libbench` and its commands."""
    parser = argparse.ArgumentParser(prog="libbench", description="Are these two the same, and which is faster?")
    parser.add_argument("--version", action="version", version=libbench.__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_diff(commands.add_parser("diff", help="compare two configs", description=_DIFF, epilog=_EXIT_CODES))
    _add_run(commands.add_parser("run", help="run one config", description="Metrics and speed of one config."))
    return parser


_DIFF = (
    "Compare a target with a reference: config, outputs, metrics, speed, memory, compile time. Without --tgt the "
    "target is the reference's file with --tgt-set."
)
_EXIT_CODES = (
    "Exit code: 0 same; 1 the target failed, or an output or a metric differs; 2 it could not be judged (the "
    "reference failed or is stochastic, a config or flag is wrong, nothing was compared); 130 interrupted."
)


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ref", required=True, metavar="FILE", help="config of the side that is trusted")
    parser.add_argument(
        "--tgt", nargs="+", action="extend", metavar="FILE", help="configs of the sides to judge; may be repeated"
    )
    for flag, whose in (("--ref-set", "the reference"), ("--tgt-set", "every target"), ("--set", "all sides")):
        parser.add_argument(
            flag, nargs="+", action="extend", default=[], metavar="KEY=VALUE", help=f"override values of {whose}"
        )
    parser.add_argument("--rtol", type=_not_negative, help="relative tolerance; by default the reference dtype's")
    parser.add_argument("--atol", type=_not_negative, help="absolute tolerance; by default the reference dtype's")
    parser.add_argument(
        "--min-speedup", type=_positive, metavar="X", help="make it a check that the target is X times as fast"
    )
    parser.add_argument(
        "--spill", type=_size, default=4 * 2**30, metavar="SIZE", help="reference outputs kept on disk (4GB)"
    )
    _add_common(parser)


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """Read a command line; overrides of `run` may stand before, between and after the flags.

    Raises:
        SystemExit: it is wrong, with code 2, or asks for help, with code 0.
    """
    arguments, rest = parser_of().parse_known_args(argv)
    if rest and (arguments.command != "run" or any(word.startswith("-") for word in rest)):
        arguments.parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest:
        arguments.overrides += rest
    return arguments


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", metavar="CONFIG", help="config file")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="override values of the config")
    _add_common(parser)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(parser=parser)
    parser.add_argument("--quick", action="store_true", help="time for about 6 seconds instead of 30")
    parser.add_argument("--no-speed", action="store_true", help="do not time")
    parser.add_argument("--seed", type=int, help="seed of all sides; by default the configs' own")
    parser.add_argument("--timeout", type=_positive, metavar="SECONDS", help="limit of each stage of a side")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found, as it comes")
    parser.add_argument("--save", type=Path, metavar="DIR", help="keep outputs, results and configs in an empty folder")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every detail")
    parser.add_argument("--traceback", action="store_true", help="print tracebacks of errors and failures")


def _positive(text: str) -> float:
    return _number(text, above_zero=True)


def _not_negative(text: str) -> float:
    return _number(text, above_zero=False)


def _number(text: str, *, above_zero: bool) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value > 0 or (value == 0 and not above_zero):
        return value
    wanted = "a number above 0" if above_zero else "a number of at least 0"
    raise argparse.ArgumentTypeError(f"wanted {wanted}, got {text!r}")


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text, re.IGNORECASE)
    if match is None:
        raise argparse.ArgumentTypeError(f"wanted a size such as 500MB or 4GB, got {text!r}")
    return int(float(match[1]) * _UNITS[match[2].upper()])

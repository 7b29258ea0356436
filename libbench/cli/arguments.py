"""The flags of every command."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import libbench

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def parser_of() -> argparse.ArgumentParser:
    """Make the parser of `libbench` and its commands."""
    parser = argparse.ArgumentParser(prog="libbench", description="Are these two the same, and which is faster?")
    parser.add_argument("--version", action="version", version=libbench.__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_diff(commands.add_parser("diff", help="compare two configs", description=_DIFF, epilog=_EXIT_CODES))
    _add_sweep(commands.add_parser("sweep", help="compare a list of pairs", description=_SWEEP, epilog=_EXIT_CODES))
    _add_run(commands.add_parser("run", help="run one config", description="Metrics and speed of one config."))
    _add_locate(commands.add_parser("locate", help="find where two configs part", description=_LOCATE))
    _add_ranks(commands.add_parser("ranks", help="check what each rank reads", description=_RANKS))
    _add_compare(commands.add_parser("compare", help="compare two files of tensors", description=_COMPARE))
    _add_evaluate(commands.add_parser("evaluate", help="judge a saved side's records again", description=_EVALUATE))
    _add_score(commands.add_parser("score", help="score the rows of lists", description=_SCORE))
    _add_report(commands.add_parser("report", help="make a page or plots of results", description=_REPORT))
    _add_sample(commands.add_parser("sample", help="make, check and list graph samples", description=_SAMPLE))
    _add_history(commands.add_parser("history", help="has a pair become worse or slower?", description=_HISTORY))
    _add_config(commands.add_parser("config", help="show, check, compare and save configs", description=_CONFIG))
    return parser


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """Read a command line, on which flags and overrides may stand in any order.

    Raises:
        SystemExit: it is wrong, with code 2, or asks for help, with code 0.
    """
    parser = parser_of()
    arguments, rest = parser.parse_known_args(argv)
    wrong = rest if not hasattr(arguments, "overrides") else [each for each in rest if each.startswith("-")]
    if wrong:
        getattr(arguments, "parser", parser).error(f"unrecognized arguments: {' '.join(wrong)}")
    if rest:
        arguments.overrides = [*arguments.overrides, *rest]
    return arguments


_CONFIG = "Look at configs without running them."
_SAMPLE = "Computation graphs on disk, in the format of GraphNet. Running one runs its code, in a process of its own."
_SCORE = (
    "S(t) and ES(t) of the rows that a list has left, or of the log of a GraphNet bench: correctness and speed as one "
    "number for each tolerance level, and one for all levels together. Several files are scored side by side."
)
_REPORT = (
    "Make a page for a browser, plots, or both of results on disk: of one comparison its report, of several a list "
    "whose rows open to their detail. Nothing is run."
)
_DIFF = (
    "Compare a target with a reference: config, outputs, metrics, speed, memory, compile time. Without --tgt the "
    "target is the reference's file with --tgt-set. With graph samples, each is a row, as in libbench sweep."
)
_COMPARE = (
    "Compare two files of tensors: .safetensors, .npz, .npy, or .pt with weights only. Exit code: 0 same, 1 different, "
    "2 it could not be judged (a file cannot be read, nothing was compared)."
)
_RANKS = (
    "Feed the ranks of a config different parts, the same parts in another order, and one part to all; say which rank "
    "reads what. Exit code: 0 as it should be, 1 not, 2 it could not be told."
)
_LOCATE = (
    "Find the module and the operator in which a target parts from its reference. Exit code: 0 nothing to locate, 1 "
    "located, or no single culprit, 2 it cannot be judged."
)
_SWEEP = (
    "Compare many pairs, each a row: those of the flags and their sweeps, those of a list, or those of the flags on "
    "each of many graph samples. Rows are kept as they are done, and a list that was interrupted is gone on with."
)
_EVALUATE = (
    "Metrics of a saved side from the records in its folder, without its model: by the evaluator of another config, or "
    "by its own. With --ref, exit code: 0 same, 1 a metric differs, 2 it could not be judged."
)
_HISTORY = (
    "Judge the newest run of every pair by an earlier one, from the files that diff --json, run --json, sweep --to and "
    "--save have written. Exit code: 0 no regression; 1 a pair came out worse or is slower; 2 it could not be judged."
)
_EXIT_CODES = (
    "Exit code: 0 same; 1 the target failed, or an output or a metric differs; 2 it could not be judged (the "
    "reference failed or is stochastic, a config or flag is wrong, nothing was compared); 130 interrupted."
)


_OR_SAVED = "or the folder of a saved one"


def _add_diff(parser: argparse.ArgumentParser) -> None:
    _add_sides(parser, required=True)
    _add_samples(parser.add_mutually_exclusive_group(), parser)
    add_list(parser, required=False)
    parser.set_defaults(list=None)
    _add_judging(parser)
    parser.add_argument("--locate", action="store_true", help="find where outputs that differ part")
    _add_common(parser)
    _add_keeping(parser)
    add_pages(parser)


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    _add_sides(parser, required=False)
    lists = parser.add_mutually_exclusive_group()
    lists.add_argument(
        "--list",
        type=Path,
        metavar="FILE",
        help="a pair a line: REFERENCE TARGET [KEY=VALUE ...], ref.KEY for one side",
    )
    _add_samples(lists, parser)
    add_list(parser, required=True)
    _add_judging(parser)
    _add_common(parser)
    add_pages(parser)


def _add_samples(lists: Any, parser: argparse.ArgumentParser) -> None:
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
    parser.add_argument("--jobs", type=_count, default=1, metavar="N", help=f"rows{more} at a time")


def _add_sides(parser: argparse.ArgumentParser, *, required: bool) -> None:
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
        _add_overrides(parser, flag, whose=whose)


def _add_judging(parser: argparse.ArgumentParser) -> None:
    _add_tolerances(parser)
    parser.add_argument(
        "--truth", choices=("float64",), help="judge floating outputs by a float64 copy of the reference"
    )
    parser.add_argument(
        "--seeds", type=_count, default=1, metavar="N", help="compare outputs at N seeds; the worst counts"
    )
    parser.add_argument(
        "--min-speedup", type=_positive, metavar="X", help="make it a check that the target is X times as fast"
    )
    parser.add_argument(
        "--spill", type=_size, default=4 * 2**30, metavar="SIZE", help="reference outputs kept on disk (4GB)"
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", metavar="CONFIG", help="config file")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="override values of the config")
    _add_overrides(parser, "--set", "--tgt-set", whose="the config, too")
    _add_common(parser)
    _add_keeping(parser)


def _add_locate(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(parser=parser, zip=False, exclude=[], save=None)
    _add_sides(parser, required=True)
    _add_tolerances(parser)
    parser.add_argument(
        "--graph",
        choices=("export", "record"),
        default="export",
        help="operators as torch exports them, or as they run",
    )
    parser.add_argument("--whole", action="store_true", help="look at all operators, not at the worst module's alone")
    parser.add_argument("--reproduce", type=Path, metavar="DIR", help="write a script that shows the finding again")
    parser.add_argument("--seed", type=int, help="seed of both sides; by default the configs' own")
    add_limits(parser)
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw the errors along the graph, as SVG and PNG")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every detail")
    parser.add_argument("--traceback", action="store_true", help="print tracebacks of errors")


def _add_ranks(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(parser=parser)
    parser.add_argument("config", metavar="CONFIG", help="config file, with a runner that has ranks")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="override values of the config")
    parser.add_argument("--seed", type=int, help="seed; by default the config's own")
    add_limits(parser)
    parser.add_argument("--traceback", action="store_true", help="print tracebacks of errors")


def _add_compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("reference", metavar="REFERENCE", help="the file that is trusted")
    parser.add_argument("target", metavar="TARGET", help="the file that is judged")
    _add_tolerances(parser)
    parser.add_argument(
        "--dtype", choices=("exact", "any"), default="exact", help="any: another floating dtype is no difference"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every detail")
    parser.add_argument("--traceback", action="store_true", help="print tracebacks of errors")


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(parser=parser)
    parser.add_argument("folder", metavar="DIR", help="folder of a saved side")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="override values of the evaluator's config")
    parser.add_argument("--evaluator", metavar="CONFIG", help="config whose evaluator judges; by default its own")
    parser.add_argument("--ref", metavar="DIR", help="saved side to compare its metrics with")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found")
    parser.add_argument("--traceback", action="store_true", help="print tracebacks of errors")


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS", help="files of --json or --to, or folders of diff --save"
    )
    add_pages(parser)
    parser.add_argument("--traceback", action="store_true", help="print tracebacks of errors")


def _add_score(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS", help="JSON lines or logs, or folders with such files"
    )
    parser.add_argument(
        "--penalty", type=_penalty, default=0.1, metavar="B", help="what a sample that does not pass counts for (0.1)"
    )
    parser.add_argument(
        "--power", type=_not_negative, default=0.0, metavar="P", help="a speedup s below 1 counts as s^(1 + P) (0)"
    )
    parser.add_argument(
        "--errors",
        choices=("default", "mismatch_extended"),
        default="default",
        help="from which level ES(t) tolerates which error",
    )
    parser.add_argument("--judged", action="store_true", help="score only samples that are evidence about the target")
    parser.add_argument(
        "--category",
        action="append",
        default=[],
        metavar="NAME=GLOB",
        help="source, tag or folder; or a category and a glob of sample names; may be repeated",
    )
    parser.add_argument("--seed", type=_natural, default=0, metavar="N", help="of what is drawn for the intervals (0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found")
    parser.add_argument("--traceback", action="store_true", help="print tracebacks of errors")


def _add_history(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="files of results, or folders with some")
    parser.add_argument(
        "--by",
        choices=("config", "name"),
        default="config",
        help="what is one pair: equal configs, but for limits, or equal names of both sides",
    )
    parser.add_argument(
        "--baseline",
        default="previous",
        metavar="previous|first|FILE",
        help="the run to judge by: the one before, the oldest one, or the newest in a file",
    )
    parser.add_argument(
        "--only",
        type=Path,
        action="append",
        metavar="PATH",
        help="judge only pairs with a run in it; may be repeated",
    )
    parser.add_argument(
        "--zone", type=_share, default=0.02, metavar="SHARE", help="a change of speed that is none (2%%)"
    )
    parser.add_argument("--levels", type=_positive, default=1.0, metavar="N", help="a rise of t* that is worse (1)")
    parser.add_argument("--across-machines", action="store_true", help="judge speedups of other machines, too")
    parser.add_argument(
        "--strict", action="store_true", help="exit with 2 for a new pair or an inconclusive speed, too"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found")
    add_summaries(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print every run")
    parser.add_argument("--traceback", action="store_true", help="print tracebacks of errors")


def _add_tolerances(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rtol", type=_not_negative, help="relative tolerance; by default the reference dtype's")
    parser.add_argument("--atol", type=_not_negative, help="absolute tolerance; by default the reference dtype's")


def _add_config(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    shown = _one_config(actions, "show", "print every value by its path, as an override names it")
    shown.add_argument("--where", action="store_true", help="print where each value was set")
    shown.add_argument("--defaults", action="store_true", help="print what the config leaves at its default, too")
    _one_config(actions, "validate", "list every mistake; exit code 2 if there is one")
    saved = _one_config(actions, "save", "write the config with its overrides")
    saved.add_argument("--to", type=Path, required=True, metavar="FILE", help="file.yaml, file.json or file.py")
    compared = actions.add_parser(
        "diff", help="compare two configs", description="Exit code: 0 no difference that counts, 1 some, 2 trouble."
    )
    compared.add_argument("--ref", required=True, metavar="FILE", help="config to compare with")
    compared.add_argument("--tgt", metavar="FILE", help="config to compare; without it, the reference's file")
    for flag, whose in (("--ref-set", "the reference"), ("--tgt-set", "the target"), ("--set", "both")):
        compared.add_argument(
            flag, nargs="+", action="extend", default=[], metavar="KEY=VALUE", help=f"override values of {whose}"
        )
    compared.add_argument("--as-overrides", action="store_true", help="print the overrides that lead from --ref to it")
    compared.add_argument("--json", type=Path, metavar="FILE", help="write the differences")
    compared.add_argument("-v", "--verbose", action="store_true", help="print what does not count, too")
    _add_reading(compared)


def _add_sample(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    made = actions.add_parser("extract", help="write every graph that torch finds in a config's model")
    made.set_defaults(parser=made)
    made.add_argument("config", metavar="CONFIG", help="config file; its model is run on its first batch")
    made.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="override values of the config")
    made.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="a folder that does not exist")
    made.add_argument("--seed", type=int, help="seed; by default the config's own")
    made.add_argument("--dtype", metavar="NAME,...", help="cast to each, as float16,bfloat16; a folder for each")
    made.add_argument("--batch", metavar="N,...", help="with so many samples in the batch; a folder for each")
    made.add_argument(
        "--shape",
        action="append",
        default=[],
        metavar="INPUT=AxB,...",
        help="with these shapes of an input, several inputs in step; a folder for each",
    )
    made.add_argument("--dynamic", action="store_true", help="let sizes be symbols, where the model allows it")
    made.add_argument("--split", metavar="N|modules[:DEPTH]", help="cut each graph into N parts, or where modules meet")
    made.add_argument("--calls", type=_count, default=2, metavar="N", help="call the model so often (2)")
    checked = actions.add_parser(
        "validate",
        help="run samples and extract them again",
        description="Exit code: 0 the same graph came out, 1 another, 2 a sample does not run.",
    )
    checked.add_argument("folders", nargs="+", type=Path, metavar="DIR", help="samples, or folders with samples")
    for action in (made, checked):
        add_limits(action)
    listed = actions.add_parser("list", help="name the samples below a folder, without running them")
    listed.add_argument("folder", type=Path, metavar="DIR", help="folder with samples")
    listed.add_argument("--max-size", type=_size, metavar="SIZE", help="only those whose tensors take no more")
    listed.add_argument("--op", metavar="NAME", help="only those that call it, as linear or view")
    listed.add_argument("--dtype", metavar="NAME", help="only those with a tensor of it, as bfloat16")
    listed.add_argument("--source", metavar="NAME", help="only those of this source")
    for action in (made, checked, listed):
        action.add_argument("--traceback", action="store_true", help="print tracebacks of errors")


def _one_config(actions: Any, name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, help=text, description=f"{text.capitalize()}.")
    parser.add_argument("config", metavar="CONFIG", help="config file: Python, or a saved one")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="override values of the config")
    _add_reading(parser)
    return parser


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--allow", action="append", metavar="PREFIX", help="import only modules below this one; for a stranger's file"
    )
    parser.add_argument("--traceback", action="store_true", help="print tracebacks of errors")


def _add_overrides(parser: argparse.ArgumentParser, *flags: str, whose: str) -> None:
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


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(parser=parser)
    parser.add_argument("--zip", action="store_true", help="sweep values in step, not in all combinations")
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="KEY=VALUE[,KEY=VALUE...]",
        help="leave combinations of a sweep out: those that have all of these; ref.KEY and tgt.KEY mean one side's",
    )
    parser.add_argument("--quick", action="store_true", help="time for about 6 seconds, in at most 3 processes")
    parser.add_argument("--budget", type=_duration, metavar="TIME", help="time for so long at most, as 60s or 5m (30s)")
    parser.add_argument("--no-speed", action="store_true", help="do not time")
    parser.add_argument("--seed", type=int, help="seed of all sides; by default the configs' own")
    add_limits(parser)
    add_summaries(parser)
    parser.add_argument("--traceback", action="store_true", help="print tracebacks of errors and failures")


def add_summaries(parser: argparse.ArgumentParser) -> None:
    """Add the flags of what a CI reads."""
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML, as it comes")
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write a summary for GitHub, as it comes; -: print it instead"
    )


def _add_keeping(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found, as it comes")
    parser.add_argument("--save", type=Path, metavar="DIR", help="keep outputs, results and configs in an empty folder")
    parser.add_argument("-v", "--verbose", action="store_true", help="print every detail")


def add_pages(parser: argparse.ArgumentParser) -> None:
    """Add the flags of what is drawn."""
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page for a browser")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="write its plots, as SVG and PNG")


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the limits of a side."""
    parser.add_argument("--timeout", type=_positive, metavar="SECONDS", help="limit of each stage of a side")
    parser.add_argument("--memory", type=_size, metavar="SIZE", help="limit of what a side's process may take")


def _count(text: str) -> int:
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f"wanted a whole number of at least 1, got {text!r}")


def _natural(text: str) -> int:
    if text.isdecimal():
        return int(text)
    raise argparse.ArgumentTypeError(f"wanted a whole number of at least 0, got {text!r}")


def _penalty(text: str) -> float:
    value = _positive(text)
    if value > 1:
        raise argparse.ArgumentTypeError(f"wanted a number above 0 and at most 1, got {text!r}")
    return value


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


def _share(text: str) -> float:
    value = _not_negative(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if value < 1:
        return value
    raise argparse.ArgumentTypeError(f"wanted a share below 1 such as 5% or 0.05, got {text!r}")


def _duration(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?", text)
    if match is None or not float(match[1]) > 0:
        raise argparse.ArgumentTypeError(f"wanted a time above 0 such as 60s or 5m, got {text!r}")
    return float(match[1]) * {"m": 60, "min": 60, "h": 3600}.get(match[2], 1)


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", text, re.IGNORECASE)
    if match is None:
        raise argparse.ArgumentTypeError(f"wanted a size such as 500MB or 4GB, got {text!r}")
    return int(float(match[1]) * _UNITS[match[2].upper()])

"""The flags of every command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import libbench
from libbench.cli.actions import add_config, add_sample
from libbench.cli.flags import (
    add_common,
    add_judging,
    add_keeping,
    add_limits,
    add_list,
    add_overrides,
    add_pages,
    add_samples,
    add_sides,
    add_summaries,
    add_timing,
    add_tolerances,
)
from libbench.cli.quantities import natural, not_negative, penalty, positive, share


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
    add_sample(commands.add_parser("sample", help="make, check and list graph samples", description=_SAMPLE))
    _add_history(commands.add_parser("history", help="has a pair become worse or slower?", description=_HISTORY))
    add_config(commands.add_parser("config", help="show, check, compare and save configs", description=_CONFIG))
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
    "Find the module and the operator in which a target parts from its reference; or, with --by config, which "
    "differences of the two configs make its outputs differ, make it faster or slower, or make it fail. Exit code: 0 "
    "nothing to locate, 1 located, or no single culprit, 2 it cannot be judged."
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
    "reference failed or does not repeat itself, a config or flag is wrong, nothing was compared); 130 interrupted."
)


def _add_diff(parser: argparse.ArgumentParser) -> None:
    add_sides(parser, required=True)
    add_samples(parser.add_mutually_exclusive_group(), parser)
    add_list(parser, required=False)
    parser.set_defaults(list=None, table=None)
    add_judging(parser)
    parser.add_argument(
        "--locate",
        nargs="?",
        const="operator",
        choices=("operator", "config"),
        help="find where outputs that differ part (operator), or which differences of the configs it is (config)",
    )
    add_common(parser)
    add_keeping(parser)
    add_pages(parser)


def _add_sweep(parser: argparse.ArgumentParser) -> None:
    add_sides(parser, required=False)
    lists = parser.add_mutually_exclusive_group()
    lists.add_argument(
        "--list",
        type=Path,
        metavar="FILE",
        help="a pair a line: REFERENCE TARGET [KEY=VALUE ...], ref.KEY for one side",
    )
    add_samples(lists, parser)
    add_list(parser, required=True)
    parser.add_argument(
        "--table", metavar="KEY", help="print the rows as a table, too, with a column for each value of KEY"
    )
    add_judging(parser)
    add_common(parser)
    add_pages(parser)


def _add_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", metavar="CONFIG", help="config file")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="override values of the config")
    add_overrides(parser, "--set", "--tgt-set", whose="the config, too")
    add_common(parser)
    add_keeping(parser)


def _add_locate(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(parser=parser, zip=False, exclude=[], save=None, no_speed=False)
    add_sides(parser, required=True)
    add_tolerances(parser)
    parser.add_argument(
        "--by", choices=("operator", "config"), default="operator", help="what is looked for: operators, or differences"
    )
    parser.add_argument(
        "--graph", choices=("export", "record"), help="operators as torch exports them (export), or as they run"
    )
    parser.add_argument("--whole", action="store_true", help="look at all operators, not at the worst module's alone")
    parser.add_argument(
        "--of", choices=("outputs", "speed"), help="--by config: what the differences decide on (outputs)"
    )
    parser.add_argument("--to", type=Path, metavar="FILE", help="--by config: the runs, as JSON lines; gone on with")
    add_timing(parser)
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
    add_tolerances(parser)
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
        "--penalty", type=penalty, default=0.1, metavar="B", help="what a sample that does not pass counts for (0.1)"
    )
    parser.add_argument(
        "--power", type=not_negative, default=0.0, metavar="P", help="a speedup s below 1 counts as s^(1 + P) (0)"
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
    parser.add_argument("--seed", type=natural, default=0, metavar="N", help="of what is drawn for the intervals (0)")
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
        "--zone", type=share, default=0.02, metavar="SHARE", help="a change of speed that is none (2%%)"
    )
    parser.add_argument("--levels", type=positive, default=1.0, metavar="N", help="a rise of t* that is worse (1)")
    parser.add_argument("--across-machines", action="store_true", help="judge speedups of other machines, too")
    parser.add_argument(
        "--strict", action="store_true", help="exit with 2 for a new pair or an inconclusive speed, too"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found")
    add_summaries(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="print every run")
    parser.add_argument("--traceback", action="store_true", help="print tracebacks of errors")

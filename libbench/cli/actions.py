"""The flags of the commands that have actions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from libbench.cli.flags import add_limits
from libbench.cli.quantities import count, size


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `libbench config`."""
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


def add_sample(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `libbench sample`."""
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
    made.add_argument("--calls", type=count, default=2, metavar="N", help="call the model so often (2)")
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
    listed.add_argument("--max-size", type=size, metavar="SIZE", help="only those whose tensors take no more")
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

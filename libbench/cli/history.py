"""`libbench history`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from libbench.cli.output import put, style_of, tell
from libbench.entry import Entry
from libbench.errors import LibbenchError
from libbench.history import Rule, history
from libbench.records import write_json
from libbench.report.entries import read_entries
from libbench.report.history import render_history
from libbench.report.json import history_to_json


def main(arguments: argparse.Namespace) -> int:
    """Judge the newest run of every pair by an earlier one; give 0, 1 for a regression, 2 for what cannot be judged."""
    read = read_entries(arguments.paths)
    for line in read.left_out:
        tell(f"left out: {line}")
    if not read.entries:
        raise LibbenchError(f"there is no run in {', '.join(map(str, arguments.paths))}")
    rule = Rule(zone=arguments.zone, levels=arguments.levels, across=arguments.across_machines, strict=arguments.strict)
    found = history(read.entries, rule, by=arguments.by, baseline=_baseline(arguments))
    put(render_history(found, verbose=arguments.verbose, **style_of()))
    if arguments.json is not None:
        write_json(arguments.json, history_to_json(found, read.left_out))
    return found.exit_code


def _baseline(arguments: argparse.Namespace) -> Literal["previous", "first"] | Sequence[Entry]:
    """Give the flag as what it names: a run among those that are judged, or the runs of a file."""
    if arguments.baseline in ("previous", "first"):
        named: Literal["previous", "first"] = arguments.baseline
        return named
    read = read_entries([Path(arguments.baseline)])
    if not read.entries:
        raise LibbenchError(f"there is no run in {arguments.baseline}; wanted previous, first or a file with results")
    return read.entries

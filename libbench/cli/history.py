"""`libbench history`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from libbench.cli.kept import Kept, json_files, summary_files
from libbench.cli.output import style_of, tell
from libbench.entry import Entry
from libbench.errors import LibbenchError
from libbench.history import History, Rule, history
from libbench.report.entries import read_entries
from libbench.report.history import render_history
from libbench.report.json import history_to_json
from libbench.report.summaries import of_history


def main(arguments: argparse.Namespace) -> int:
    """Judge the newest run of every pair by an earlier one; give 0, 1 for a regression, 2 for what cannot be judged."""
    read = read_entries(arguments.paths)
    for line in read.left_out:
        tell(f"left out: {line}")
    if not read.entries:
        raise LibbenchError(f"there is no run in {', '.join(map(str, arguments.paths))}")
    rule = Rule(zone=arguments.zone, levels=arguments.levels, across=arguments.across_machines, strict=arguments.strict)
    only = None if arguments.only is None else read_entries(arguments.only).entries
    found = history(read.entries, rule, by=arguments.by, baseline=_baseline(arguments), only=only)
    if not found.trends:
        raise LibbenchError(f"no pair has a run in {', '.join(map(str, arguments.only))}")
    kept: Kept[History] = Kept(
        {
            **json_files(arguments, "history", False, lambda each: history_to_json(each, read.left_out), folder=False),
            **summary_files(arguments, lambda histories: of_history(histories[0])),
        }
    )
    kept.keep(0, found)
    kept.put(render_history(found, verbose=arguments.verbose, **style_of()))
    kept.close()
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

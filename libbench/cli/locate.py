"""`libbench locate`."""

from __future__ import annotations

import argparse

from libbench.cli.kept import Kept, json_files
from libbench.cli.output import style_of
from libbench.cli.pages import draw
from libbench.cli.pairs import groups_of
from libbench.cli.progress import Progress
from libbench.errors import LibbenchError
from libbench.job import Job
from libbench.locate.asking import Question, locate
from libbench.located import Located
from libbench.report import plots
from libbench.report.charts.located import located_charts
from libbench.report.json import located_to_json
from libbench.report.located import render_located
from libbench.saved import AnySide


def main(arguments: argparse.Namespace) -> int:
    """Say where each target parts from its reference; give the largest exit code."""
    _check_flags(arguments)
    pairs = [jobs_of(reference, target) for reference, targets in groups_of(arguments) for target in targets]
    if arguments.reproduce is not None and len(pairs) > 1:
        raise LibbenchError(f"--reproduce writes what is found of one target, got {len(pairs)}")
    if arguments.by == "config":
        from libbench.cli import deciding

        return deciding.main(arguments, pairs)
    if arguments.plots is not None:
        if len(pairs) > 1:
            raise LibbenchError(f"--plots shows what is found of one target, got {len(pairs)}")
        plots.check_installed()
    kept: Kept[Located] = Kept(json_files(arguments, "finding", len(pairs) > 1, located_to_json, folder=False))
    with Progress() as progress:
        for number, pair in enumerate(pairs):
            found = locate(*pair, question_of(arguments), watch=progress.watch)
            kept.keep(number, found)
            progress.print(render_located(found, verbose=arguments.verbose, **style_of()))
    if arguments.plots is not None:
        draw([chart for found in kept.all for chart in located_charts(found)], arguments.plots)
    kept.tell_broken()
    return max(found.exit_code for found in kept.all)


_OF_ONE = {"operator": ("graph", "whole", "plots"), "config": ("of", "to", "quick", "budget")}
"""What only one way to locate has flags for."""


def _check_flags(arguments: argparse.Namespace) -> None:
    for by, names in _OF_ONE.items():
        for name in names:
            if arguments.by != by and getattr(arguments, name):
                raise LibbenchError(f"--{name} is for --by {by}, not for --by {arguments.by}")


def jobs_of(*pair: AnySide) -> tuple[Job, Job]:
    """Check that both sides run.

    Raises:
        LibbenchError: a side is a saved one, which cannot be run.
    """
    reference, target = pair
    for side in pair:
        if not isinstance(side, Job):
            raise LibbenchError(f"{side.folder} is a saved side, and nothing can be located in what is not run")
    assert isinstance(reference, Job)
    assert isinstance(target, Job)
    return reference, target


def located(reference: AnySide, target: AnySide, question: Question, progress: Progress) -> Located:
    """Locate one target.

    Raises:
        LibbenchError: a side is a saved one, which cannot be run.
    """
    return locate(*jobs_of(reference, target), question, watch=progress.watch)


def question_of(arguments: argparse.Namespace) -> Question:
    """Give what the flags ask."""
    return Question(
        rtol=arguments.rtol,
        atol=arguments.atol,
        how=getattr(arguments, "graph", None) or Question.how,
        whole=getattr(arguments, "whole", Question.whole),
        reproduce=getattr(arguments, "reproduce", None),
    )

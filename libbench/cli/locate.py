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
    pairs = [(reference, target) for reference, targets in groups_of(arguments) for target in targets]
    if arguments.reproduce is not None and len(pairs) > 1:
        raise LibbenchError(f"--reproduce writes what is found of one target, got {len(pairs)}")
    if arguments.plots is not None:
        if len(pairs) > 1:
            raise LibbenchError(f"--plots shows what is found of one target, got {len(pairs)}")
        plots.check_installed()
    kept: Kept[Located] = Kept(json_files(arguments, "finding", len(pairs) > 1, located_to_json, folder=False))
    with Progress() as progress:
        for number, pair in enumerate(pairs):
            found = located(*pair, question_of(arguments), progress)
            kept.keep(number, found)
            progress.print(render_located(found, verbose=arguments.verbose, **style_of()))
    if arguments.plots is not None:
        draw([chart for found in kept.all for chart in located_charts(found)], arguments.plots)
    kept.tell_broken()
    return max(found.exit_code for found in kept.all)


def located(reference: AnySide, target: AnySide, question: Question, progress: Progress) -> Located:
    """Locate one target.

    Raises:
        LibbenchError: a side is a saved one, which cannot be run.
    """
    for side in (reference, target):
        if not isinstance(side, Job):
            raise LibbenchError(f"{side.folder} is a saved side, and nothing can be located in what is not run")
    assert isinstance(reference, Job)
    assert isinstance(target, Job)
    return locate(reference, target, question, watch=progress.watch)


def question_of(arguments: argparse.Namespace) -> Question:
    """Give what the flags ask."""
    return Question(
        rtol=arguments.rtol,
        atol=arguments.atol,
        how=getattr(arguments, "graph", Question.how),
        whole=getattr(arguments, "whole", Question.whole),
        reproduce=getattr(arguments, "reproduce", None),
    )

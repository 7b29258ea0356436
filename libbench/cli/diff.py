"""`libbench diff`."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace

from libbench.cli.kept import Kept
from libbench.cli.locate import located, question_of
from libbench.cli.output import put, style_of
from libbench.cli.pairs import groups_of
from libbench.cli.plans import plan_of, with_traceback
from libbench.cli.progress import Progress
from libbench.report.json import to_json
from libbench.report.located import render_located
from libbench.report.text import render, render_many
from libbench.result import Comparison
from libbench.sweep import diff_groups


def main(arguments: argparse.Namespace) -> int:
    """Compare, print, and give the largest exit code of all targets."""
    groups = groups_of(arguments)
    pairs = [(reference, target) for reference, targets in groups for target in targets]
    kept = Kept(arguments, "comparison", sum(len(targets) for _, targets in groups) > 1, to_json)

    def keep(comparison: Comparison) -> None:
        kept.keep(sum(each.complete for each in kept.all), comparison)

    try:
        with Progress() as progress:
            comparisons = diff_groups(groups, plan_of(arguments), watch=progress.watch, keep=keep)
            with closing(comparisons):
                for number, comparison in enumerate(comparisons):
                    progress.print(_report(comparison, arguments))
                    if arguments.locate and comparison.outputs and comparison.outputs.verdict == "different":
                        found = located(*pairs[number], question_of(arguments), progress)
                        kept.keep(number, replace(comparison, located=found))
                        progress.print(f"\n{render_located(found, verbose=arguments.verbose, **style_of())}")
    except BaseException:
        # Whatever stops it, what has been won is shown.
        for last in kept.all[-1:]:
            if not last.complete and last.reference.preparation is not None:
                put(_report(last, arguments))
        raise
    if len(kept.all) > 1:
        put(render_many(kept.all, **style_of()))
    kept.tell_broken()
    return max(comparison.exit_code for comparison in kept.all)


def _report(comparison: Comparison, arguments: argparse.Namespace) -> str:
    text = render(comparison, verbose=arguments.verbose, **style_of())
    sides = [side for each in (comparison, *comparison.seeds) for side in (each.reference, each.target)]
    return with_traceback(text, arguments, *sides)

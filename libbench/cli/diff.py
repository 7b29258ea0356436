"""`libbench diff`."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import replace

from libbench.cli.graphs import wants_samples
from libbench.cli.kept import Kept, json_files, summary_files
from libbench.cli.output import style_of
from libbench.cli.pages import check_pages, listed, write_pages
from libbench.cli.pairs import groups_of
from libbench.cli.plans import plan_of, with_traceback
from libbench.cli.progress import Progress
from libbench.cli.sweep import main as sweep
from libbench.errors import LibbenchError
from libbench.report.decisive import render_decisive
from libbench.report.json import to_json
from libbench.report.located import render_located
from libbench.report.summaries import of_comparisons
from libbench.report.text import render, render_many
from libbench.result import Comparison
from libbench.saved import AnySide
from libbench.sweep import diff_groups


def main(arguments: argparse.Namespace) -> int:
    """Compare, print, and give the largest exit code of all targets, or of all graph samples."""
    if wants_samples(arguments):
        return _on_samples(arguments)
    for flag, given in (("to", arguments.to), ("retry", arguments.retry), ("jobs", arguments.jobs > 1)):
        if given:
            raise LibbenchError(f"--{flag} is for rows of graph samples; libbench sweep has it for other rows")
    check_pages(arguments)
    groups = groups_of(arguments)
    pairs = [(reference, target) for reference, targets in groups for target in targets]
    many = sum(len(targets) for _, targets in groups) > 1
    kept: Kept[Comparison] = Kept(
        {**json_files(arguments, "comparison", many, to_json), **summary_files(arguments, of_comparisons)}
    )

    def keep(comparison: Comparison) -> None:
        kept.keep(sum(each.complete for each in kept.all), comparison)

    try:
        with Progress() as progress:
            comparisons = diff_groups(groups, plan_of(arguments), watch=progress.watch, keep=keep)
            with closing(comparisons):
                for number, comparison in enumerate(comparisons):
                    if not kept.prints:
                        progress.print(_report(comparison, arguments))
                    if arguments.locate and comparison.outputs and comparison.outputs.verdict == "different":
                        comparison, text = _located(comparison, pairs[number], arguments, progress)
                        kept.keep(number, comparison)
                        if not kept.prints:
                            progress.print(f"\n{text}")
    except BaseException:
        # Whatever stops it, what has been won is shown.
        for last in kept.all[-1:]:
            if not last.complete and last.reference.preparation is not None:
                kept.put(_report(last, arguments))
                write_pages(arguments, listed(kept.all))
        raise
    finally:
        kept.close()
    if len(kept.all) > 1:
        kept.put(render_many(kept.all, **style_of()))
    write_pages(arguments, listed(kept.all))
    kept.tell_broken()
    return max(comparison.exit_code for comparison in kept.all)


def _located(
    comparison: Comparison, pair: tuple[AnySide, AnySide], arguments: argparse.Namespace, progress: Progress
) -> tuple[Comparison, str]:
    """Give a comparison with what --locate finds, and that as text."""
    # The search is imported only where there is something to look for.
    from libbench.cli.locate import jobs_of, located, question_of

    if arguments.locate == "config":
        from libbench.cli.deciding import decided

        plan = replace(plan_of(arguments), speed=False, min_speedup=None, seeds=1, save=None)
        decisive = decided(jobs_of(*pair), "outputs", plan, progress)
        text = render_decisive(decisive, verbose=arguments.verbose, **style_of())
        return replace(comparison, decisive=decisive), text
    found = located(*pair, question_of(arguments), progress)
    return replace(comparison, located=found), render_located(found, verbose=arguments.verbose, **style_of())


def _on_samples(arguments: argparse.Namespace) -> int:
    for flag in ("json", "save", "verbose"):
        if getattr(arguments, flag):
            raise LibbenchError(f"--{flag} is for one comparison; of graph samples, --to FILE keeps the rows")
    return sweep(arguments)


def _report(comparison: Comparison, arguments: argparse.Namespace) -> str:
    text = render(comparison, verbose=arguments.verbose, **style_of())
    sides = [side for each in (comparison, *comparison.seeds) for side in (each.reference, each.target)]
    return with_traceback(text, arguments, *sides)

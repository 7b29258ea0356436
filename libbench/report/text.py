"""The report as text, for a terminal or a file. Nothing here prints."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from libbench.findings import OutputsReport
from libbench.report import background, changes, compared, costs, generated, judged, trained
from libbench.report.headline import LONGEST, Piece, headline, pieces, why_different, worst_first
from libbench.report.many import write_many, write_results
from libbench.report.page import Column, Page, TextPage
from libbench.report.words import Tone, cut, figure, one_line, plural, saved_name, seconds, side_name
from libbench.result import Comparison, Result, Verdict

__all__ = [
    "files_headline",
    "headline",
    "render",
    "render_evaluated",
    "render_files",
    "render_many",
    "render_recompared",
    "render_result",
    "render_results",
    "result_headline",
]


def render(comparison: Comparison, *, verbose: bool = False, colour: bool = False, width: int = 100) -> str:
    """Give the report of one comparison: the verdict first, then what it stands on.

    Args:
        comparison: may still be growing; what it has not reached is left out.
        verbose: adds every statistic, setting, version and traceback.
        colour: adds ANSI colours; without, the text is plain.
        width: columns that no line exceeds; at least 80 are used.

    Returns:
        Lines without a line break after the last one.
    """
    page = TextPage(width, colour)
    page.pieces(pieces(comparison))
    page.gap()
    page.entry("reference", saved_name(comparison.reference))
    page.entry("target", saved_name(comparison.target))
    # What was found is that of the worst seed, which the headline speaks of; what it costs, that of the first.
    worst = worst_first(comparison)[0] if comparison.complete else comparison
    write_failures(page, worst, verbose)
    page.gap()
    changes.write_config(page, comparison, verbose)
    background.write_comparability(page, worst)
    page.gap()
    trained.write_curve(page, worst, verbose)
    page.gap()
    judged.write_seeds(page, comparison)
    compared.write_outputs(page, worst, verbose)
    judged.write_noise(page, worst)
    if verbose and worst.outputs is not None:
        background.write_leaf_details(page, worst.outputs)
    page.gap()
    judged.write_truth(page, worst, verbose)
    page.gap()
    compared.write_metrics(page, worst, verbose)
    page.gap()
    costs.write_speed(page, comparison)
    if verbose:
        background.write_timing_details(page, comparison)
    costs.write_compiled(page, comparison)
    costs.write_kernels(page, comparison)
    page.gap()
    generated.write_tokens(page, comparison)
    page.gap()
    costs.write_memory(page, comparison)
    page.gap()
    write_notes(page, comparison)
    background.write_environment(page, comparison, verbose)
    if verbose:
        page.gap()
        background.write_settings(page, (comparison.reference, comparison.target), comparison)
        page.gap()
        background.write_checks(page, comparison)
    page.gap()
    background.write_end(page, (worst.reference, worst.target), comparison.seconds, verbose)
    return page.text()


def render_many(comparisons: Sequence[Comparison], *, colour: bool = False, width: int = 100) -> str:
    """Give one row for each target of a reference, the worst first, then a summary line.

    Args:
        comparisons: one or more; each run of them with the same reference has a table.
        colour, width: as for `render`.
    """
    page = TextPage(width, colour)
    write_many(page, comparisons)
    return page.text()


def render_results(results: Sequence[Result], *, colour: bool = False, width: int = 100) -> str:
    """Give one row for each of several sides that were run by themselves: metrics, time per call, first call.

    Args:
        colour, width: as for `render`.
    """
    page = TextPage(width, colour)
    write_results(page, results)
    return page.text()


def render_result(result: Result, *, verbose: bool = False, colour: bool = False, width: int = 100) -> str:
    """Give the report of one side that was run by itself: metrics, time per call, first call, memory.

    Args:
        verbose, colour, width: as for `render`.
    """
    page = TextPage(width, colour)
    page.pieces(_own_pieces(result))
    page.gap()
    page.entry("config", side_name(result.job))
    if result.failure is not None:
        background.write_failure(page, "", result.failure, verbose)
    page.gap()
    _write_own_metrics(page, result)
    for odd in result.evaluation.odd_ranks if result.evaluation else ():
        page.entry("ranks", odd, "warn")
    trained.write_losses(page, result, verbose)
    page.gap()
    _write_side_speed(page, result)
    generated.write_side_tokens(page, result)
    costs.write_side(page, result)
    page.gap()
    if verbose:
        background.write_settings(page, [result])
        page.gap()
        background.write_environment(page, Comparison(result, Result(result.job)), verbose)
        page.gap()
    background.write_end(page, [result], None, verbose)
    return page.text()


def result_headline(result: Result) -> str:
    """Give what came of a side that was run by itself as one line of plain text."""
    return " · ".join(text for text, _ in _own_pieces(result))


def _own_pieces(result: Result) -> list[Piece]:
    if result.failure is None:
        return [("RAN", "good"), (_per_call(result), "plain")]
    return [(f"FAILED in {result.failure.stage}: {cut(result.failure.message, LONGEST)}", "bad")]


def render_evaluated(result: Result, *, colour: bool = False, width: int = 100) -> str:
    """Give the metrics of a saved side whose records were judged again.

    Args:
        colour, width: as for `render`.
    """
    page = TextPage(width, colour)
    page.entry("side", saved_name(result))
    if result.failure is not None:
        background.write_failure(page, "", result.failure, verbose=True)
    _write_own_metrics(page, result)
    return page.text()


def render_recompared(comparison: Comparison, *, colour: bool = False, width: int = 100) -> str:
    """Give the metrics of two saved sides whose records were judged again.

    Args:
        colour, width: as for `render`.
    """
    page = TextPage(width, colour)
    page.pieces([_METRICS[comparison.exit_code]])
    page.gap()
    page.entry("reference", saved_name(comparison.reference))
    page.entry("target", saved_name(comparison.target))
    write_failures(page, comparison, verbose=True)
    page.gap()
    compared.write_metrics(page, comparison, verbose=True)
    page.gap()
    write_notes(page, comparison)
    return page.text()


_METRICS: tuple[Piece, ...] = (("SAME METRICS", "good"), ("DIFFERENT METRICS", "bad"), ("CANNOT BE JUDGED", "warn"))


def render_files(
    outputs: OutputsReport, files: tuple[str, str], *, verbose: bool = False, colour: bool = False, width: int = 100
) -> str:
    """Give the report of two files of tensors.

    Args:
        files: the names of reference and target.
        verbose, colour, width: as for `render`.
    """
    page = TextPage(width, colour)
    page.pieces([(files_headline(outputs), _FILES[outputs.verdict])])
    page.gap()
    page.entry("reference", one_line(files[0]))
    page.entry("target", one_line(files[1]))
    page.gap()
    page.entry("outputs", f"{compared.leaves_text(outputs)}, {plural(outputs.elements, 'value')}")
    compared.write_leaves(page, outputs, verbose)
    if verbose:
        background.write_leaf_details(page, outputs)
    return page.text()


def files_headline(outputs: OutputsReport) -> str:
    """Give the verdict on two files as one line of plain text."""
    if outputs.verdict == "different":
        return f"DIFFERENT: {why_different(outputs)}"
    if outputs.verdict == "same":
        return "SAME"
    leaf = next((leaf for leaf in outputs.leaves if leaf.verdict == "unjudged"), None)
    why = "nothing was compared" if leaf is None else f"{leaf.path}: {'; '.join(leaf.reasons)}"
    return f"CANNOT BE JUDGED: {cut(why, LONGEST)}"


_FILES: dict[Verdict, Tone] = {"same": "good", "different": "bad", "unjudged": "warn"}


def _write_own_metrics(page: Page, result: Result) -> None:
    if result.metrics is not None:
        page.entry("metrics", "" if result.metrics else "none")
        rows = [[name, figure(value, 4)] for name, value in result.metrics.items()]
        page.table((Column("", least=20), Column("", right=True)), rows, heads=False)
        if result.evaluation and result.evaluation.missing:
            page.item(f"{plural(result.evaluation.missing, 'sample')} without a record", "warn")
        page.gap()


def write_failures(page: Page, comparison: Comparison, verbose: bool) -> None:
    """Write how each side failed that did."""
    for name, result in (("reference", comparison.reference), ("target", comparison.target)):
        if result.failure is not None:
            background.write_failure(page, name, result.failure, verbose)


def write_notes(page: Page, comparison: Comparison) -> None:
    """Write what to know before trusting a figure, at every seed."""
    later = (
        f"at seed {each.reference.job.seed}: {note}"
        for each in comparison.seeds
        for note in each.notes
        if note not in comparison.notes
    )
    for number, note in enumerate((*comparison.notes, *later)):
        page.entry("" if number else "notes", note, "warn")
    page.gap()


def _per_call(result: Result) -> str:
    found = costs.call_seconds(result.timings)
    return "speed not measured" if found is None else f"{seconds(found)} per call"


def _write_side_speed(page: Page, result: Result) -> None:
    clocks = dict.fromkeys(clock for timing in result.timings for clock in timing)
    for clock in clocks:
        timings = [timing[clock] for timing in result.timings if clock in timing]
        medians = [timing.median for timing in timings]
        spread = f", {seconds(min(medians))} to {seconds(max(medians))}" if len(medians) > 1 else ""
        trials = sum(len(timing.seconds) for timing in timings)
        text = f"{seconds(statistics.median(medians))} per call by the {clock} clock"
        processes = plural(len(timings), "process", "processes")
        page.entry("speed", f"{text} (median of {plural(trials, 'trial')} in {processes}{spread})")

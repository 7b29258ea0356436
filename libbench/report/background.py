"""What stands behind the figures: failures, environment, and under --verbose every setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from libbench.findings import LeafReport, OutputsReport
from libbench.report.compared import extreme_text, shape_text
from libbench.report.headline import LONGEST
from libbench.report.judged import noise_words
from libbench.report.page import Cell, Column, Page
from libbench.report.words import apart, cut, differ, figure, listed, nbytes, one_line, plural, seconds, side_name, span
from libbench.result import Comparison, Failure, Preparation, Result

_ROWS = (Column("", least=16), Column("reference", least=20), Column("target", least=20))
_FAULTS = (
    Column("cannot be taken", least=24),
    Column("count", right=True),
    Column("module", least=16, drop=1),
    Column("line", least=32),
)
PASSING = ("load",)
"""What differs from one minute to the next and is no difference of the environment."""


def write_failure(page: Page, name: str, failure: Failure, verbose: bool) -> None:
    """Write how a side failed, with its traceback under --verbose; nothing where the headline has said all."""
    said = not verbose and failure.message == cut(failure.message, LONGEST)
    if said and not failure.faults:
        return
    where = f"{name}, " if name else ""
    by = f", {failure.compiler}" if failure.compiler else ""
    text = "" if said else f": {cut(failure.message, 10 * page.width)}"
    page.entry("failure", f"{where}{failure.stage}{by} ({failure.kind}){text}", "bad")
    if failure.faults:
        page.table(_FAULTS, [[each.what, str(each.count), each.module, each.source] for each in failure.faults])
        for why in list(dict.fromkeys(each.why for each in failure.faults if each.why))[: None if verbose else 1]:
            page.item(f"in the compiler's words: {why}" if verbose else cut(f"in the compiler's words: {why}", 150))
    if failure.smallest and failure.smallest.message and verbose:
        page.item(f"{failure.smallest.path} alone: {failure.smallest.message}")
    if verbose and failure.traceback:
        page.verbatim(failure.traceback)


def write_end(page: Page, results: Sequence[Result], spent: float | None, verbose: bool) -> None:
    """Write how long it took, and where there is more.

    Args:
        spent: seconds of a comparison; None for one side.
    """
    told = [] if spent is None else [f"took {seconds(spent)}"]
    failed = any(result.failure and result.failure.traceback for result in results)
    files = "--json FILE" if spent is None else "--json FILE, --html FILE"
    more = "" if verbose else "--verbose, "
    told.append(f"{'traceback and ' if failed and not verbose else ''}details: {more}{files}")
    page.item(" · ".join(told), "dim", indent=0)


def write_comparability(page: Page, comparison: Comparison) -> None:
    """Write what besides the configs differs; it stands before every ratio."""
    unlike = comparison.comparability
    if unlike:
        page.entry("not alike", listed((each.name for each in unlike), len(unlike)), "warn")
        page.table(_ROWS, [[each.name, each.reference, each.target] for each in unlike])


def write_environment(page: Page, comparison: Comparison, verbose: bool) -> None:
    """Write what else differs between the sides' environments; all of both under --verbose."""
    sides = [dict(flat(side.environment)) for side in (comparison.reference, comparison.target)]
    names = list(dict.fromkeys([*sides[0], *sides[1]]))
    others = [name for name in names if sides[0].get(name) != sides[1].get(name) and name not in PASSING]
    if not all(sides):
        others = []
    if not verbose:
        told = {each.name for each in comparison.comparability}
        others = [name for name in others if name not in told]
    if not others and not (verbose and names):
        return
    if others:
        page.entry("environment", f"{listed(others)} {differ(len(others))}", "warn")
    else:
        page.entry("environment", "the same on both sides" if all(sides) else "")
    shown = names if verbose else others
    if not others:
        known = sides[0] or sides[1]
        page.table(_ROWS[:2], [[name, known.get(name, "-")] for name in shown], heads=False)
        return
    rows: list[list[Cell]] = [
        [name, sides[0].get(name, "-"), sides[1].get(name, "-") if name in others else ("the same", "dim")]
        for name in shown
    ]
    page.table(_ROWS, rows)


def flat(environment: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Give every value of an environment as text, by its name; one of several by both names, as `packages numpy`."""
    for key, value in environment.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{above}{key} ")
        elif key.endswith("bytes") and isinstance(value, int):
            yield f"{above}{key.removesuffix('bytes').strip()}", nbytes(value)
        else:
            yield f"{above}{key}", "-" if value is None else str(value)


def write_settings(page: Page, results: Sequence[Result], comparison: Comparison | None = None) -> None:
    """Write what each side was, how long its stages took, and by what the two were judged."""
    rows: list[list[Cell]] = []
    columns = [dict(_settings(result)) for result in results]
    for name in dict.fromkeys(key for column in columns for key in column):
        rows.append([name, *(column.get(name, "-") for column in columns)])
    page.entry("settings", "")
    page.table(_ROWS[: 1 + len(results)], rows, heads=len(results) > 1)
    for setting in (comparison.tolerance, comparison.timer) if comparison else ():
        if setting is not None:
            page.item(repr(setting))


def _settings(result: Result) -> Iterator[tuple[str, str]]:
    job, preparation = result.job, result.preparation
    yield "config", side_name(job)
    yield "seed", str(job.seed)
    yield "overrides", " ".join(job.overrides) or "-"
    yield "config digest", job.digest[:12] or "-"
    if preparation is None:
        return
    yield "compiler", preparation.compiler
    yield "parameters", figure(preparation.parameters)
    yield "samples", figure(preparation.samples)
    yield "batches", figure(preparation.batches)
    yield "repeats itself", _repeats(preparation)
    for rerun in result.reruns:
        agreed = "exactly the same" if rerun.exact else "the same within tolerance"
        yield f"with {rerun.setting}", rerun.note or agreed
    for stage, spent in preparation.seconds.items():
        yield f"{stage} call" if stage in ("first", "second") else stage, seconds(spent)


def _repeats(preparation: Preparation) -> str:
    if preparation.repeats != "same":
        return f"no: {preparation.repeats}"
    again = preparation.again
    return "yes" if again is None else "yes, exactly" if again.exact else "yes, within tolerance"


def write_leaf_details(page: Page, outputs: OutputsReport) -> None:
    """Write every statistic of every leaf."""
    for leaf in outputs.leaves:
        page.item(leaf.path, "strong")
        for line in _leaf_lines(leaf):
            page.item(line, "dim", indent=4)


def _leaf_lines(leaf: LeafReport) -> Iterator[str]:
    shapes = dict.fromkeys(shape_text(shape) for shape in leaf.shapes)
    yield f"first shape {' -> '.join(shapes)}, {plural(leaf.elements, 'value')}"
    if leaf.rtol is not None or leaf.atol is not None:
        yield f"tolerance rtol {figure(leaf.rtol)}, atol {figure(leaf.atol)}"
    else:
        yield "compared exactly"
    for name, extreme in (("absolute", leaf.max_abs), ("relative", leaf.max_rel)):
        if extreme is not None:
            values = " against ".join(apart(extreme.reference, extreme.target, digits=6))
            yield f"largest {name} difference {extreme_text(extreme)} at {list(extreme.at)}: {values}"
    if leaf.noise is not None:
        yield noise_words(leaf).removeprefix(f"{leaf.path}: ")
    if leaf.first_mismatch is not None:
        yield f"first mismatch at {list(leaf.first_mismatch)}"
    named = (
        ("RMSE", figure(leaf.rmse)),
        ("cosine", figure(leaf.cosine, 7)),
        ("SNR", "-" if leaf.snr_db is None else f"{figure(leaf.snr_db)} dB"),
    )
    yield ", ".join(f"{name} {value}" for name, value in named)
    if leaf.ulp_max is not None:
        yield f"ULP p50 {figure(leaf.ulp_p50)}, p99 {figure(leaf.ulp_p99)}, max {figure(leaf.ulp_max)}"
    if leaf.grid:
        yield "smallest grid level " + ", ".join(
            f"{dtype} {'none' if level is None else level}" for dtype, level in leaf.grid.items()
        )
    if leaf.top1 is not None:
        shared = "" if leaf.top5 is None else f", {100 * leaf.top5:.3g} % of the top-5 is shared"
        yield f"top-1 agrees in {100 * leaf.top1:.4g} % of {plural(leaf.ranked_rows, 'row')}{shared}"
    if any((*leaf.nans, *leaf.infs)):
        nans, infs = (" against ".join(f"{count:,}" for count in counts) for counts in (leaf.nans, leaf.infs))
        yield f"NaN {nans}, infinite {infs}"


def write_timing_details(page: Page, comparison: Comparison) -> None:
    """Write how each process was timed."""
    for name, result in (("reference", comparison.reference), ("target", comparison.target)):
        for number, clocks in enumerate(result.timings, start=1):
            medians = ", ".join(f"{clock} {seconds(timing.median)}" for clock, timing in clocks.items())
            trials = span(len(timing.seconds) for timing in clocks.values())
            page.item(f"{name}, process {number}: {trials} trials; medians {medians}", "dim")
    for number, measurement in enumerate(comparison.measurements, start=1):
        clocks = measurement.clocks[0] if measurement.clocks else {}
        pairs = span(len(timing.seconds) for timing in clocks.values())
        calls = " and ".join(map(str, measurement.inner))
        warmup = " and ".join(map(str, measurement.warmup))
        medians = "; ".join(
            f"{clock} {' and '.join(seconds(side[clock].median) for side in measurement.clocks if clock in side)}"
            for clock in clocks
        )
        null = f", {len(measurement.null[0].seconds)} of the null arm" if measurement.null else ""
        page.item(
            f"process {number}: {pairs} pairs{null} in {seconds(measurement.seconds)} (all in all "
            f"{seconds(measurement.took)}), {calls} calls a trial, {warmup} calls before; "
            f"{measurement.redrawn} pairs drawn again, {measurement.interrupted} interrupted; medians {medians}",
            "dim",
        )


def write_checks(page: Page, comparison: Comparison) -> None:
    """Write every question that was asked, and the exit code that follows."""
    page.entry("checks", f"exit code {comparison.exit_code}")
    for check in comparison.checks:
        wanted = f" (wanted: {check.wanted})" if check.wanted else ""
        page.item(f"{check.verdict:<10} {one_line(check.name)}: {one_line(check.found)}{wanted}")

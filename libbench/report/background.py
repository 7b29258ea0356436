"""What stands behind the figures: failures, environment, and under --verbose every setting."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from libbench.findings import LeafReport, OutputsReport
from libbench.report.compared import extreme_text, shape_text
from libbench.report.page import Cell, Column, Page
from libbench.report.words import cut, figure, nbytes, plural, seconds, shorten, side_name, span
from libbench.result import Comparison, Failure, Measurement, Result

_ROWS = (Column("", least=16), Column("reference", least=20), Column("target", least=20))
_PASSING = ("load",)
"""What differs from one minute to the next and is no difference of the environment."""


def write_failure(page: Page, label: str, name: str, failure: Failure, verbose: bool) -> None:
    """Write how a side failed, with its traceback under --verbose."""
    kind = "" if failure.kind == "exception" else f" ({failure.kind})"
    page.entry(label, f"{name} in {failure.stage}{kind}: {cut(failure.message, 10 * page.width)}".strip(), "bad")
    if verbose and failure.traceback:
        page.verbatim(failure.traceback)
    elif failure.traceback:
        page.item("the traceback: --verbose", "dim")


def write_environment(page: Page, comparison: Comparison, verbose: bool) -> None:
    """Write what differs between the sides' environments; all of both under --verbose."""
    sides = [dict(_flat(side.environment)) for side in (comparison.reference, comparison.target)]
    names = list(dict.fromkeys([*sides[0], *sides[1]]))
    differ = [name for name in names if sides[0].get(name) != sides[1].get(name) and name not in _PASSING]
    if not all(sides):
        differ = []
    if not differ and not (verbose and names):
        return
    page.entry("environment", f"{', '.join(differ)} differ" if differ else "the same on both sides", "warn" if differ else "plain")
    rows: list[list[Cell]] = [
        [name, sides[0].get(name, "-"), sides[1].get(name, "-") if name in differ or not sides[0] else ""]
        for name in (names if verbose else differ)
    ]
    page.table(_ROWS, rows)


def _flat(environment: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in environment.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key} ")
        elif key.endswith("bytes") and isinstance(value, int):
            yield f"{above}{key.removesuffix('bytes').strip()}", nbytes(value)
        else:
            yield f"{above}{key}", "-" if value is None else str(value)


def write_settings(page: Page, results: Sequence[Result]) -> None:
    """Write what each side was and how long its stages took."""
    rows: list[list[Cell]] = []
    columns = [dict(_settings(result)) for result in results]
    for name in dict.fromkeys(key for column in columns for key in column):
        rows.append([name, *(column.get(name, "-") for column in columns)])
    page.entry("settings", "")
    page.table(_ROWS[: 1 + len(results)], rows, heads=len(results) > 1)


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
    yield "repeats itself", "yes" if preparation.repeats == "same" else f"no: {preparation.repeats}"
    for stage, spent in preparation.seconds.items():
        yield f"{stage} call" if stage in ("first", "second") else stage, seconds(spent)


def write_leaf_details(page: Page, outputs: OutputsReport) -> None:
    """Write every statistic of every leaf."""
    for leaf in outputs.leaves:
        page.item(leaf.path, "strong")
        for line in _leaf_lines(leaf):
            page.item(line, "dim", indent=4)


def _leaf_lines(leaf: LeafReport) -> Iterator[str]:
    shapes = [shape_text(shape) for shape in leaf.shapes]
    yield f"first shape {shapes[0] if shapes[0] == shapes[1] else ' -> '.join(shapes)}, {plural(leaf.elements, 'value')}"
    if leaf.rtol is not None or leaf.atol is not None:
        yield f"tolerance rtol {figure(leaf.rtol)}, atol {figure(leaf.atol)}"
    else:
        yield "compared exactly"
    for name, extreme in (("absolute", leaf.max_abs), ("relative", leaf.max_rel)):
        if extreme is not None:
            values = f"{figure(extreme.reference, 6)} against {figure(extreme.target, 6)}"
            yield f"largest {name} difference {extreme_text(extreme)} at {list(extreme.at)}: {values}"
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
    if any((*leaf.nans, *leaf.infs)):
        nans, infs = (" against ".join(f"{count:,}" for count in counts) for counts in (leaf.nans, leaf.infs))
        yield f"NaN {nans}, infinite {infs}"


def write_timing_details(page: Page, measurements: Sequence[Measurement]) -> None:
    """Write how each process was timed."""
    for number, measurement in enumerate(measurements, start=1):
        clocks = measurement.clocks[0] if measurement.clocks else {}
        pairs = span(len(timing.seconds) for timing in clocks.values())
        calls = " and ".join(map(str, measurement.inner))
        warmup = " and ".join(map(str, measurement.warmup))
        medians = "; ".join(
            f"{clock} {' and '.join(seconds(side[clock].median) for side in measurement.clocks if clock in side)}"
            for clock in clocks
        )
        page.item(
            f"process {number}: {pairs} pairs in {seconds(measurement.seconds)}, {calls} calls a trial, "
            f"{warmup} calls before; medians {medians}",
            "dim",
        )


def write_checks(page: Page, comparison: Comparison) -> None:
    """Write every question that was asked, and the exit code that follows."""
    page.entry("checks", f"exit code {comparison.exit_code}")
    rows: list[list[Cell]] = [
        [check.name, check.verdict, shorten(check.found, 200), shorten(check.wanted, 60)] for check in comparison.checks
    ]
    page.table((Column("", least=16), Column(""), Column("", least=20), Column("", least=12)), rows, heads=False)

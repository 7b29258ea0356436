"""What differs: the outputs, the metrics."""

from __future__ import annotations

from collections.abc import Sequence

from libbench.findings import Extreme, LeafReport, MetricReport, OutputsReport, level_text
from libbench.report.page import Cell, Column, Page
from libbench.report.words import Tone, apart, cut, differ, figure, one_line, plural, shorten
from libbench.result import Comparison, Verdict
from libbench.vacuous import why

MOST_LEAVES = 10
MOST_METRICS = 20

_LEAVES = (
    Column("leaf", least=24),
    Column("dtype", least=16),
    Column("shape", least=20, drop=3),
    Column("verdict"),
    Column("max abs", right=True),
    Column("at", drop=1),
    Column("max rel", right=True, drop=2),
    Column("mismatch", right=True),
    Column("t*", right=True),
)
_METRICS = (
    Column("metric", least=20),
    Column("reference", right=True),
    Column("target", right=True),
    Column("difference", right=True),
    Column("allowed", right=True),
    Column(least=20, end=True),
)


def write_outputs(page: Page, comparison: Comparison, verbose: bool) -> None:
    """Write what was compared, and what was found."""
    outputs = comparison.outputs
    if outputs is None:
        page.entry("outputs", "not compared")
        return
    page.entry("outputs", _compared(outputs, comparison.inputs))
    write_leaves(page, outputs, verbose)


def write_leaves(page: Page, outputs: OutputsReport, verbose: bool) -> None:
    """Write a table of the worst leaves, and why they differ."""
    leaves = outputs.leaves if verbose else outputs.leaves[:MOST_LEAVES]
    if leaves:
        page.table(_LEAVES, [_leaf_row(leaf) for leaf in leaves])
    rest = outputs.leaves[len(leaves) :]
    if rest:
        page.more(f"and {plural(len(rest), 'more leaf', 'more leaves')}: {_verdicts(rest)}")
    reasons = outputs.reasons if verbose else outputs.reasons[:MOST_LEAVES]
    for reason in reasons:
        page.item(reason, "bad")
    if len(outputs.reasons) > len(reasons):
        page.more(f"and {len(outputs.reasons) - len(reasons):,} more differences of structure")
    _write_reasons(page, outputs, leaves, verbose)
    for note in outputs.notes:
        page.item(f"note: {note}", "dim")
    for reason, count in outputs.skipped:
        page.item(f"{plural(count, 'batch', 'batches')} not compared: {reason}", "warn")


def _compared(outputs: OutputsReport, inputs: str | None) -> str:
    if not outputs.batches:
        return "no batch was compared"
    samples = f"{plural(outputs.samples, 'sample')} in {plural(outputs.batches, 'batch', 'batches')}"
    same = f"inputs identical (sha256 {inputs[:12]})" if inputs else "INPUTS DIFFER"
    if inputs == "":
        same = "the same samples on other ranks"
    return f"{leaves_text(outputs)}, {samples}, {plural(outputs.elements, 'value')}; {same}"


def leaves_text(outputs: OutputsReport) -> str:
    """Say how many leaves there are."""
    return plural(len(outputs.leaves), "leaf", "leaves")


def _verdicts(leaves: Sequence[LeafReport]) -> str:
    found = [leaf.verdict for leaf in leaves]
    kinds: tuple[Verdict, ...] = ("different", "unjudged", "same")
    return ", ".join(f"{found.count(kind):,} {kind}" for kind in kinds if kind in found)


def _write_reasons(page: Page, outputs: OutputsReport, leaves: Sequence[LeafReport], verbose: bool) -> None:
    """Write each reason once, with the leaves that have it; those that differences of structure have told stay out."""
    found: dict[tuple[str, Tone], list[str]] = {}
    for leaf in leaves:
        tone: Tone = "bad" if leaf.verdict == "different" else "warn"
        for reason in leaf.reasons:
            if not any(said.startswith(f"{leaf.path}: {reason}") for said in outputs.reasons):
                found.setdefault((reason, tone), []).append(leaf.path)
        for note in leaf.notes:
            found.setdefault((f"note: {note}", "dim"), []).append(leaf.path)
        if leaf.vacuous:
            found.setdefault((f"proves nothing: {why(leaf)}", "warn"), []).append(leaf.path)
    for (reason, tone), paths in found.items():
        others = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
        text = one_line(reason) if verbose else cut(reason, 3 * page.width)
        page.item(f"{shorten(paths[0], page.width // 2)}{others}: {text}", tone)


def _leaf_row(leaf: LeafReport) -> list[Cell]:
    dtypes = _pair(leaf.dtypes[0] or "-", leaf.dtypes[1] or "-")
    shapes = _pair(shape_text(leaf.shapes[0]), shape_text(leaf.shapes[1]))
    return [
        leaf.path, dtypes if any(leaf.dtypes) else leaf.kind, shapes, _leaf_verdict(leaf),
        extreme_text(leaf.max_abs), _position(leaf), extreme_text(leaf.max_rel), _mismatch(leaf),
        level_text(leaf.level),
    ]  # fmt: skip


def _pair(reference: str, target: str) -> str:
    return reference if reference == target else f"{reference}\n-> {target}"


def shape_text(shape: tuple[int, ...] | None) -> str:
    """Give a shape as Python writes it; "-" for none."""
    return "-" if shape is None else str(shape)


def extreme_text(extreme: Extreme | None) -> str:
    """Give a largest difference with two or three significant digits."""
    value = extreme.value if extreme else None
    return figure(value, 3 if value is not None and abs(value) >= 1e-3 else 2)


def _mismatch(leaf: LeafReport) -> str:
    if not leaf.elements:
        return "-"
    # Millions keep the column narrow; how many of them disagree stays exact.
    of = f"{leaf.elements:,}" if leaf.elements < 10**8 else f"{leaf.elements / 10**6:,.0f} M"
    return f"{leaf.mismatches:,} / {of}"


def _position(leaf: LeafReport) -> str:
    at = leaf.max_abs.at if leaf.max_abs and leaf.max_abs.value != 0 else leaf.first_mismatch
    return str(list(at)) if at else "-"


def _leaf_verdict(leaf: LeafReport) -> Cell:
    if leaf.draws is not None and leaf.verdict == "same":
        return "drawn alike", "good"
    return ("vacuous", "warn") if leaf.vacuous else verdict_cell(leaf.verdict)


def verdict_cell(verdict: Verdict) -> Cell:
    """Give a verdict as a table shows it."""
    tones: dict[Verdict, tuple[str, Tone]] = {
        "same": ("same", "good"),
        "different": ("DIFFERENT", "bad"),
        "unjudged": ("unjudged", "warn"),
    }
    return tones[verdict]


def write_metrics(page: Page, comparison: Comparison, verbose: bool) -> None:
    """Write every metric; those of the reference alone where the target never came to its own."""
    metrics = comparison.metrics
    reference = comparison.reference.metrics
    if not metrics and not reference:
        if reference is not None or comparison.target.metrics is not None:
            page.entry("metrics", "none were compared")
        return
    if not metrics:
        page.entry("metrics", "of the reference only")
        alone = [[name, figure(value, 4)] for name, value in (reference or {}).items()]
        page.table(_METRICS[:2], alone[: None if verbose else MOST_METRICS])
        return
    count = sum(metric.verdict == "different" for metric in metrics)
    page.entry("metrics", f"{count:,} of {len(metrics):,} {differ(count)}" if count else "within tolerance")
    worst = sorted(metrics, key=lambda metric: metric.verdict == "same")
    shown = worst if verbose else worst[:MOST_METRICS]
    page.table(_METRICS, [_metric_row(metric) for metric in shown])
    if len(worst) > len(shown):
        page.more(f"and {plural(len(worst) - len(shown), 'more metric')}")


def _metric_row(metric: MetricReport) -> list[Cell]:
    different = metric.verdict == "different"
    values = [figure(metric.reference, 4), figure(metric.target, 4)]
    if different:
        values = list(apart(metric.reference, metric.target))
    note = f": {one_line(metric.note)}" if metric.note else ""
    verdict: Cell = (f"DIFFERENT{note}", "bad") if different else ("ok" + note, "good")
    return [
        metric.name, *values,
        figure(metric.difference, 2), f"{metric.allowed:.3g}", verdict,
    ]  # fmt: skip

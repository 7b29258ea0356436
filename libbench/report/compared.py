"""What differs: the configs, the outputs, the metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence

from libbench.config import Change
from libbench.findings import Extreme, LeafReport, MetricReport, OutputsReport
from libbench.job import PARTS
from libbench.report.page import Cell, Column, Page
from libbench.report.words import Tone, cut, figure, one_line, plural, shorten
from libbench.result import Comparison, Verdict

MOST_LEAVES = 10
MOST_CHANGES = 20
MOST_METRICS = 20

_LEAVES = (
    Column("leaf", least=24),
    Column("dtype", least=16),
    Column("shape", least=20, drop=3),
    Column("verdict"),
    Column("max abs", right=True),
    Column("at", least=10, drop=1),
    Column("max rel", right=True, drop=2),
    Column("mismatch", right=True, least=12),
    Column("t*", right=True),
)
_METRICS = (
    Column("metric", least=20),
    Column("reference", right=True),
    Column("target", right=True),
    Column("difference", right=True),
    Column("allowed", right=True),
    Column(),
)


def write_config(page: Page, changes: Sequence[Change], verbose: bool) -> None:
    """Write one entry for each counted change."""
    counted = [change for change in changes if change.counted]
    parts = {change.part for change in counted}
    own = sorted(one_line(part) for part in parts if part not in PARTS)
    text = f"{len(parts) - len(own)} of {len(PARTS)} parts differ" if counted else "no difference"
    if own:
        text += f", and {plural(len(own), 'name')} of the config's own"
    page.entry("config", text)
    shown = list(changes) if verbose else counted[:MOST_CHANGES]
    for change in shown:
        _write_change(page, change)
    if len(counted) > len(shown):
        page.item(f"and {plural(len(counted) - len(shown), 'more difference')} (--verbose)", "dim")


def _write_change(page: Page, change: Change) -> None:
    """Write a change in one line where it fits, else the two values below each other."""
    head = shorten(change.path, page.width // 2)
    if change.kind != "changed":
        head += f"  ({one_line(change.kind)})" + ("" if change.counted else ", does not count")
    before, after = one_line(change.reference or "-"), one_line(change.target or "-")
    places = [one_line(str(place)) for place in (change.reference_origin, change.target_origin) if place]
    line = f"{head}  {before}  ->  {after}"
    where = ", ".join(dict.fromkeys(places))
    if len(line) + len(where) + 6 <= page.width:
        page.item(f"{line}" + (f"  ({where})" if where else ""))
        return
    page.item(head)
    for mark, value, place in (
        ("", before, change.reference_origin),
        ("-> ", after, change.target_origin),
    ):
        at = f"  ({shorten(str(place), page.width // 3)})" if place else ""
        page.item(mark + shorten(value, page.width * 2 - len(at) - 20) + at, indent=4)


def write_outputs(page: Page, comparison: Comparison, verbose: bool) -> None:
    """Write what was compared, a table of the worst leaves, and why they differ."""
    outputs = comparison.outputs
    if outputs is None:
        page.entry("outputs", "not compared")
        return
    page.entry("outputs", _compared(outputs, comparison.inputs))
    leaves = outputs.leaves if verbose else outputs.leaves[:MOST_LEAVES]
    if leaves:
        page.table(_LEAVES, [_leaf_row(leaf) for leaf in leaves])
    rest = outputs.leaves[len(leaves) :]
    if rest:
        page.item(f"and {plural(len(rest), 'more leaf', 'more leaves')}: {_verdicts(rest)} (--verbose)", "dim")
    reasons = outputs.reasons if verbose else outputs.reasons[:MOST_LEAVES]
    for reason in reasons:
        page.item(reason, "bad")
    if len(outputs.reasons) > len(reasons):
        page.item(f"and {len(outputs.reasons) - len(reasons):,} more differences of structure (--verbose)", "dim")
    _write_reasons(page, leaves, verbose)
    for note in outputs.notes:
        page.item(f"note: {note}", "dim")
    for reason, count in outputs.skipped:
        page.item(f"{plural(count, 'batch', 'batches')} not compared: {reason}", "warn")


def _compared(outputs: OutputsReport, inputs: str | None) -> str:
    if not outputs.batches:
        return "no batch was compared"
    samples = f"{plural(outputs.samples, 'sample')} in {plural(outputs.batches, 'batch', 'batches')}"
    same = f"inputs identical (sha256 {inputs[:12]})" if inputs else "INPUTS DIFFER"
    elements = plural(outputs.elements, "value")
    return f"{plural(len(outputs.leaves), 'leaf', 'leaves')}, {samples}, {elements}; {same}"


def _verdicts(leaves: Sequence[LeafReport]) -> str:
    found = [leaf.verdict for leaf in leaves]
    kinds: tuple[Verdict, ...] = ("different", "unjudged", "same")
    return ", ".join(f"{found.count(kind):,} {kind}" for kind in kinds if kind in found)


def _write_reasons(page: Page, leaves: Sequence[LeafReport], verbose: bool) -> None:
    for leaf in leaves:
        name = shorten(leaf.path, page.width // 2)
        tone: Tone = "bad" if leaf.verdict == "different" else "warn"
        for reason in leaf.reasons:
            page.item(f"{name}: {reason if verbose else cut(reason, 3 * page.width)}", tone)
        for note in leaf.notes:
            page.item(f"{name}: note: {note}", "dim")


def _leaf_row(leaf: LeafReport) -> list[Cell]:
    dtypes = _pair(leaf.dtypes[0] or leaf.kind, leaf.dtypes[1] or "-")
    shapes = _pair(shape_text(leaf.shapes[0]), shape_text(leaf.shapes[1]))
    mismatch = f"{leaf.mismatches:,} / {leaf.elements:,}" if leaf.elements else "-"
    return [
        leaf.path, dtypes if any(leaf.dtypes) else leaf.kind, shapes, verdict_cell(leaf.verdict),
        extreme_text(leaf.max_abs), _place(leaf), extreme_text(leaf.max_rel), mismatch, level_text(leaf.level),
    ]  # fmt: skip


def _pair(reference: str, target: str) -> str:
    return reference if reference == target else f"{reference}\n-> {target}"


def shape_text(shape: tuple[int, ...] | None) -> str:
    """Give a shape as Python writes it; "-" for none."""
    return "-" if shape is None else str(shape)


def extreme_text(extreme: Extreme | None) -> str:
    """Give a largest difference with two significant digits."""
    return figure(extreme.value if extreme else None, 2)


def level_text(level: float | None) -> str:
    """Give a tolerance level; "exact" for one that allows nothing, "never" for one that is not there."""
    if level is None or math.isnan(level):
        return "-"
    return f"{level:.2f}" if math.isfinite(level) else "exact" if level < 0 else "never"


def _place(leaf: LeafReport) -> str:
    at = leaf.max_abs.at if leaf.max_abs and leaf.max_abs.value != 0 else leaf.first_mismatch
    return str(list(at)) if at else "-"


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
        alone = [[name, figure(value, 4), "-", "-", "-", ""] for name, value in (reference or {}).items()]
        page.table(_METRICS, alone[: None if verbose else MOST_METRICS])
        return
    differ = sum(metric.verdict == "different" for metric in metrics)
    page.entry("metrics", f"{differ:,} of {len(metrics):,} differ" if differ else "within tolerance")
    worst = sorted(metrics, key=lambda metric: metric.verdict == "same")
    shown = worst if verbose else worst[:MOST_METRICS]
    page.table(_METRICS, [_metric_row(metric) for metric in shown])
    if len(worst) > len(shown):
        page.item(f"and {plural(len(worst) - len(shown), 'more metric')} (--verbose)", "dim")


def _metric_row(metric: MetricReport) -> list[Cell]:
    digits = 4
    values = metric.reference, metric.target
    # Two values that are judged apart must not look alike.
    while digits < 9 and values[0] != values[1] and figure(values[0], digits) == figure(values[1], digits):
        digits += 1
    digits = digits if metric.verdict == "different" else 4
    note = f": {one_line(metric.note)}" if metric.note else ""
    verdict: Cell = (cut(f"DIFFERENT{note}", 40), "bad") if metric.verdict == "different" else ("ok" + note, "good")
    return [
        metric.name, figure(values[0], digits), figure(values[1], digits),
        figure(metric.difference, 2), figure(metric.allowed, 2), verdict,
    ]  # fmt: skip

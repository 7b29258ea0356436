"""Where two sides part, as text."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from libbench.config.places import short
from libbench.findings import level_text
from libbench.located import Cost, Deviation, Located, ModuleRow, ModulesReport, OpRow, OpsReport
from libbench.report.headline import LONGEST
from libbench.report.page import Cell, Column, Page, TextPage
from libbench.report.segments import segment_headline, write_segments
from libbench.report.words import Tone, cut, figure, one_line, plural, seconds

MOST_ROWS = 8
_ERRORS = (Column("local", right=True), Column("x usual", right=True))
_MODULES = (
    Column("module", least=24), Column("call", right=True), Column("own"), *_ERRORS, Column("global", right=True),
    Column("t*", right=True, drop=1), Column("dtype", drop=2), Column("shape", drop=3), Column("forward at", least=16),
)  # fmt: skip
_OPERATORS = (
    Column("operator", least=16), Column("module", least=16), *_ERRORS, Column("inherited", right=True),
    Column("global", right=True), Column("gain", right=True, drop=3), Column("t*", right=True, drop=2),
    Column("dtype", drop=4), Column("shape", drop=5), Column("line", least=14),
)  # fmt: skip
_HOW = {"export": "as torch exports them", "record": "as they run"}


def located_headline(found: Located) -> str:
    """Give the verdict as one line of plain text."""
    if found.segments is not None and found.segments.culprit is not None:
        return f"LOCATED: {segment_headline(found.segments)}"
    operator = found.operators.culprit if found.operators else None
    module = found.modules.culprit if found.modules else None
    if found.verdict == "same":
        return f"NOTHING TO LOCATE: {found.reason}"
    if found.verdict == "unjudged":
        return f"CANNOT BE JUDGED: {cut(found.reason, LONGEST)}"
    if operator is not None:
        return f"LOCATED: {_named(operator)}, {_times(operator.deviation)}"
    if module is not None:
        return f"LOCATED: {module.path or 'the model'}, a {module.kind[1]}, {_times(module.deviation)}"
    return "NO SINGLE CULPRIT" + (f": {found.reason}" if found.reason else _spread(found))


def render_located(found: Located, *, verbose: bool = False, colour: bool = False, width: int = 100) -> str:
    """Give the report: the culprit first, then modules and operators, the worst first.

    Args:
        verbose: shows all rows that are kept, and all sentences.
        colour, width: as for `libbench.report.text.render`.
    """
    page = TextPage(width, colour)
    write_located(page, found, verbose)
    return page.text()


def write_located(page: Page, found: Located, verbose: bool) -> None:
    """Write all of it."""
    tones: dict[str, Tone] = {"same": "good", "located": "bad"}
    page.pieces([(located_headline(found), tones.get(found.verdict, "warn"))])
    page.gap()
    page.entry("reference", one_line(short_side(found.reference)))
    page.entry("target", one_line(short_side(found.target)))
    page.gap()
    if found.batch is not None:
        page.entry("outputs", f"batch {found.batch} differs")
        _sentences(page, found.outputs, verbose)
        page.gap()
    if found.modules is not None:
        _write_modules(page, found.modules, verbose)
    if found.operators is not None:
        _write_operators(page, found.operators, verbose)
    if found.segments is not None:
        write_segments(page, found.segments, verbose)
    if found.weights:
        page.entry("weights", "parameters and buffers differ by more than rounding")
        _sentences(page, found.weights, verbose)
        page.gap()
    for number, note in enumerate(found.notes):
        page.entry("" if number else "notes", note, "warn")
    page.gap()
    page.item(" · ".join(_costs(found)), "dim", indent=0)


def short_side(name: str) -> str:
    """Give a side's file, as seen from here, and its overrides."""
    file, _, rest = name.partition(" ")
    return f"{short(file)} {rest}".strip() if file else name


def _write_modules(page: Page, report: ModulesReport, verbose: bool) -> None:
    calls = _both(report.calls, "call")
    page.entry("modules", f"{calls}; the usual local error is {figure(report.usual)}")
    rows = report.rows if verbose else [row for row in report.rows if row.deviation.local != 0.0][:MOST_ROWS]
    if rows:
        page.table(_MODULES, [_module_row(row) for row in rows])
    else:
        page.item("all that could be fed the reference's inputs agree exactly", "dim")
    for row in rows:
        _write_remarks(page, row.path or "the model", _module_remarks(row))
    _sentences(page, report.structure, verbose)
    page.gap()


def _write_operators(page: Page, report: OpsReport, verbose: bool) -> None:
    where = f"of {report.inside}, call {report.call}" if report.inside else "of the model"
    count = _both(report.operators, "operator")
    page.entry("operators", f"{where}, {_HOW[report.graph]}: {count}; the usual local error is {figure(report.usual)}")
    if report.why_recorded and verbose:
        page.item(f"not exported: {report.why_recorded}", "dim")
    rows = report.rows if verbose else [row for row in report.rows if row.deviation.local][:MOST_ROWS]
    if rows:
        page.table(_OPERATORS, [_operator_row(row, report.inside) for row in rows])
    else:
        page.item("all agree exactly", "dim")
    for row in rows:
        _write_remarks(page, row.operator, _operator_remarks(row))
    _sentences(page, report.structure, verbose)
    page.gap()


def _module_row(row: ModuleRow) -> list[Cell]:
    found = row.deviation
    tone: Tone = "plain" if row.own else "dim"
    cells = [
        row.path or "(model)", str(row.call), "yes" if row.own else "no", figure(found.local), _ratio(found.ratio),
        figure(found.total), level_text(found.level), _pair(row.dtypes), _pair([_shape(shape) for shape in row.shapes]),
        _where(row.source),
    ]  # fmt: skip
    return [(cell, tone) for cell in cells]


def _operator_row(row: OpRow, inside: str) -> list[Cell]:
    found = row.deviation
    module = row.module.removeprefix(inside).removeprefix(".") if inside else row.module
    return [
        f"{row.operator}{' (added)' if row.additional else ''}", module or ("." if inside else "(model)"),
        figure(found.local), _ratio(found.ratio), figure(found.inherited), figure(found.total), figure(found.gain),
        level_text(found.level), _pair(row.dtypes), _shape(row.shape), _where(row.source),
    ]  # fmt: skip


def _module_remarks(row: ModuleRow) -> Iterator[str]:
    if row.not_finite:
        yield "the first whose outputs are NaN or infinite in the target alone"
    if row.config and row.path:
        yield f"in the config: {row.config}"
    if row.kind[0] != row.kind[1]:
        yield f"a {row.kind[0]} in the reference, a {row.kind[1]} in the target"
    if row.changed:
        yield f"one side alone changes its input {', '.join(row.changed)} in place"
    if row.note:
        yield row.note


def _operator_remarks(row: OpRow) -> Iterator[str]:
    if row.not_finite:
        yield "the first that gives NaN or infinity in the target alone"
    if row.additional:
        near = (("after", row.after), ("before", row.before))
        yield ", ".join(["the target alone has it", *(f"{word} {text}" for word, text in near if text)])
    if row.note:
        yield row.note


def _write_remarks(page: Page, name: str, remarks: Iterator[str]) -> None:
    for remark in remarks:
        page.item(f"{name}: {_shortened(remark)}", "dim")


def _sentences(page: Page, texts: Sequence[str], verbose: bool) -> None:
    shown = texts if verbose else texts[:5]
    for text in shown:
        page.item(_shortened(text))
    if len(texts) > len(shown):
        page.more(f"and {len(texts) - len(shown):,} more (--verbose)")


def _shortened(text: str) -> str:
    """Give a sentence with the files in it by their names alone."""
    return " ".join(word.rpartition("/")[2] if word.startswith("/") else word for word in text.split(" "))


def _named(row: OpRow) -> str:
    place = f" in {row.module}" if row.module else ""
    line = _where(row.source)
    alone = ", which the target alone has" if row.additional else ""
    return f"{row.operator}{place}{f' ({line})' if line else ''}{alone}"


def _times(found: Deviation) -> str:
    if found.local == math.inf:
        return "not finite, or of another shape, where the reference's is"
    return f"local error {figure(found.local)}, {_ratio(found.ratio)} times the usual one"


def _spread(found: Located) -> str:
    report = found.operators or found.modules
    if report is None or not report.rows:
        return ""
    worst = max((row.deviation.ratio or 0.0 for row in report.rows), default=0.0)
    what = "operator" if found.operators else "module"
    return f": the largest local error of an {what} is {_ratio(worst)} times the usual one"


def _costs(found: Located) -> Iterator[str]:
    cost: Cost = found.cost
    yield f"took {seconds(found.seconds)}"
    if cost.forward:
        yield f"one forward {seconds(cost.forward)}"
        yield f"modules {seconds(cost.modules)}"
    if cost.operators:
        yield f"finding the operators {seconds(cost.capture)}, running them {seconds(cost.operators)}"
    if cost.segments:
        yield f"{plural(cost.compiles, 'compilation')} in {seconds(cost.segments)}"
    yield "details: --verbose, --json FILE"


def _both(counts: tuple[int, int], noun: str) -> str:
    if counts[0] == counts[1]:
        return f"{plural(counts[0], noun)} on both sides"
    return f"{plural(counts[0], noun)} in the reference, {counts[1]:,} in the target"


def _ratio(value: float | None) -> str:
    return "-" if value is None else figure(value, 2)


def _pair(values: Sequence[str]) -> str:
    known = [value for value in values if value]
    return " -> ".join(dict.fromkeys(known))


def _shape(shape: tuple[int, ...] | None) -> str:
    return "" if shape is None else str(tuple(shape)).replace(",)", ")") if len(shape) == 1 else str(tuple(shape))


def _where(source: str) -> str:
    """Give the file's name and line of a source."""
    return source.split(": ")[0].rpartition("/")[2]

"""Rows of a list as a table with a column for each value of one key, and a line for each row that is not the same."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.cells import cell_len

from libbench.comparability import no_speedup, not_compiled
from libbench.drawing import drawn_apart
from libbench.findings import level_text
from libbench.report.headline import wall, why_different, worst_first
from libbench.report.many import TONES, finding, verdict_word
from libbench.report.page import GAP, Cell, Column, Page, TextPage
from libbench.report.words import Tone, cut, figure, listed, one_line, plural, ratio, seconds
from libbench.result import Comparison
from libbench.scored import equal

LEGEND = (
    "in a cell: verdict and t*; speedup with its 95 % interval, ? where it is inconclusive; the time of compiling, "
    "without importing the compiler"
)
_OUTPUTS_DIFFER = "outputs differ"
_LONGEST = 360
"""Columns of what a failure is told by."""


@dataclass(frozen=True)
class Square:
    """What a table shows of one row.

    Attributes:
        line: the title of its line.
        column: the title of its column.
        lines: what stands there; the note's number is not in it.
        tone: of all of it.
        note: why it is not simply the same, or has no speedup; empty where there is nothing to explain.
        machine: what both sides ran on, in a few words; empty where that is not known.
        began: in seconds since 1970 (UTC); None where that is not known.
        others: cores that other processes kept busy while it was timed; None where that is not known.
    """

    line: str
    column: str
    lines: tuple[str, ...]
    tone: Tone
    note: str = ""
    machine: str = ""
    began: float | None = None
    others: float | None = None


def square_of(line: str, column: str, comparison: Comparison) -> Square:
    """Take it from the comparison of a row."""
    word = verdict_word(comparison)
    level = _level(comparison)
    lines = [f"{word} {level}" if level else word, _speed(comparison), _compiling(comparison)]
    others = [each.others for each in comparison.measurements if each.others is not None]
    return Square(
        line,
        column,
        tuple(filter(None, lines)),
        TONES.get(word, "warn"),
        _note(comparison, word),
        _machine(comparison.reference.environment),
        comparison.began,
        statistics.fmean(others) if others else None,
    )


def _machine(environment: Mapping[str, Any]) -> str:
    known = [str(environment[name]) for name in ("processor", "machine") if name in environment][:1]
    known += [plural(environment[name], name[:-1]) for name in ("cores", "threads") if name in environment]
    return one_line(", ".join([*known, *(f"torch {environment[name]}" for name in ("torch",) if name in environment)]))


def _level(comparison: Comparison) -> str:
    """Give the largest level of all outputs at all seeds; empty where nothing was judged.

    What has no level, as integers, is exact or never right, as scores have it; what is drawn at random has none.
    """
    reports = [each.outputs for each in comparison.at_each_seed() if each.outputs is not None]
    if any(drawn_apart(report) for report in reports):
        return "by distribution"
    leaves = [leaf for report in reports for leaf in report.leaves if leaf.verdict != "unjudged"]
    levels = [(-math.inf if equal(leaf) else math.inf) if leaf.level is None else leaf.level for leaf in leaves]
    return level_text(max(levels)) if levels else ""


def _speed(comparison: Comparison) -> str:
    """Give a speedup with its interval; "-" where the ratio is none, empty where nothing was timed."""
    speedup = wall(comparison)
    if speedup is None:
        return ""
    if no_speedup(comparison):
        return "-"
    value, low, high = ratio(speedup.ratio, speedup.low, speedup.high)
    interval = "" if speedup.low is None else f" [{low}, {high}]"
    return f"{value}x{interval}" + (" ?" if speedup.verdict == "inconclusive" else "")


def _compiling(comparison: Comparison) -> str:
    """Give what compiling takes; empty where nothing was compiled, or it was not reached."""
    prepared = comparison.target.preparation
    taken = None if prepared is None or not_compiled(comparison, 1) else prepared.compilation
    return "" if taken is None else seconds(taken)


def _note(comparison: Comparison, word: str) -> str:
    """Say in one line what a reader asks who sees the cell."""
    failure = comparison.target.failure
    if word == "FAILED" and failure is not None:
        # What a compiler cannot take stands at the end of what it says, and is the whole point.
        return f"in {failure.stage}: {cut(failure.message, _LONGEST)}"
    said = [] if word == "same" else [finding(comparison, word)]
    outputs, facts = worst_first(comparison)[0].outputs, comparison.target.facts
    if word == "DIFFERENT" and said[0].startswith(_OUTPUTS_DIFFER) and outputs is not None:
        said[0] = f"{why_different(outputs)}; {said[0].removeprefix('outputs ')}"
    without, idle = no_speedup(comparison), not_compiled(comparison, 1)
    if without and (comparison.speedups or idle):
        said.append(f"no speedup: {without}")
    said += facts.notes if facts is not None and (word == "DIFFERENT" or idle) else ()
    return one_line("; ".join(said))


def numbered(squares: Sequence[Square]) -> Mapping[str, int]:
    """Give each note a number, in the order of the table."""
    notes = dict.fromkeys(square.note for _, square in sorted(_by_place(squares).items()) if square.note)
    return {note: number for number, note in enumerate(notes, start=1)}


def columns_of(squares: Iterable[Square]) -> list[str]:
    """Give the titles of the columns, in the order of the rows."""
    return list(dict.fromkeys(square.column for square in squares))


def table_lines(squares: Sequence[Square]) -> list[tuple[str, list[Cell]]]:
    """Give each line's title and its cells, an empty one where there is no row."""
    places, numbers = _by_place(squares), numbered(squares)
    titles = list(dict.fromkeys(square.line for square in squares))
    columns = range(len(columns_of(squares)))
    return [
        (title, [_cell(places.get((number, column)), numbers) for column in columns])
        for number, title in enumerate(titles)
    ]


def notes_of(squares: Sequence[Square]) -> list[str]:
    """Give the notes, each with its number and the places that it belongs to."""
    found = []
    for note, number in numbered(squares).items():
        lines: dict[str, list[str]] = {}
        for square in squares:
            if square.note == note:
                lines.setdefault(square.line, []).append(square.column)
        places = "; ".join(f"{line}: {listed(columns, most=len(columns))}" for line, columns in lines.items())
        found.append(f"({number}) {places}: {note}")
    return found


def render_grid(key: str, squares: Sequence[Square], *, colour: bool = False, width: int = 100) -> str:
    """Give the table and its notes as text.

    Args:
        key: what the columns are values of.
        colour, width: as for `render`.
    """
    page = TextPage(width, colour)
    write_grid(page, key, squares)
    return page.text()


def footer(squares: Sequence[Square]) -> list[str]:
    """Say how a cell is read, and when and where the rows were run."""
    when = [f"{datetime.fromtimestamp(each.began, UTC):%Y-%m-%d}" for each in squares if each.began is not None]
    days = [" to ".join(dict.fromkeys((min(when), max(when))))] if when else []
    machines = dict.fromkeys(each.machine for each in squares if each.machine)
    others = [each.others for each in squares if each.others is not None]
    busy = [f"{statistics.fmean(others):.1f} cores busy with others while timed"] if others else []
    run = "; ".join([*days, *machines, *busy])
    return [LEGEND, *([f"run {run}"] if run else [])]


def write_grid(page: Page, key: str, squares: Sequence[Square]) -> None:
    """Write the table, in parts where it is too wide, then the notes."""
    columns, lines = columns_of(squares), table_lines(squares)
    title = max([cell_len(one_line(name)) for name, _ in lines] + [len(key) + 1])
    widths = [
        max(cell_len(text) for text in [columns[place], *(part for _, cells in lines for part in _parts(cells[place]))])
        for place in range(len(columns))
    ]
    for part in _fitting(widths, page.width - GAP - title):
        page.gap()
        heads = [Column(f"{key}="), *(Column(one_line(columns[place])) for place in part)]
        page.table(heads, [[one_line(name), *(cells[place] for place in part)] for name, cells in lines])
    page.gap()
    for remark in footer(squares):
        page.item(remark, "dim")
    for note in notes_of(squares):
        page.item(note)


def _by_place(squares: Sequence[Square]) -> dict[tuple[int, int], Square]:
    """Give the rows by the numbers of their line and column."""
    lines = {title: number for number, title in enumerate(dict.fromkeys(square.line for square in squares))}
    columns = {title: number for number, title in enumerate(columns_of(squares))}
    return {(lines[square.line], columns[square.column]): square for square in squares}


def _cell(square: Square | None, numbers: Mapping[str, int]) -> Cell:
    if square is None:
        return ""
    first, *others = square.lines
    number = f" ({figure(numbers[square.note])})" if square.note else ""
    return "\n".join([first + number, *others]), square.tone


def _parts(cell: Cell) -> list[str]:
    return (cell if isinstance(cell, str) else cell[0]).split("\n")


def _fitting(widths: Sequence[int], room: int) -> list[list[int]]:
    """Share columns out to tables that are no wider than the room; each has at least one."""
    parts: list[list[int]] = []
    left = 0
    for place, width in enumerate(widths):
        if not parts or width + GAP > left:
            parts.append([])
            left = room
        parts[-1].append(place)
        left -= width + GAP
    return parts

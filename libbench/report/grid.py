"""Rows of a list as a table with a column for each value of one key, and a line for each row that is not the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from libbench.comparability import no_speedup
from libbench.findings import level_text
from libbench.report.costs import first_call
from libbench.report.headline import wall, why_different, worst_first
from libbench.report.many import TONES, finding, verdict_word
from libbench.report.page import GAP, Cell, Column, Page, TextPage
from libbench.report.words import Tone, figure, listed, one_line, ratio, seconds
from libbench.result import Comparison

LEGEND = "verdict and t*; speedup with its 95 % interval, ? where it is inconclusive; compiling and first call"
_OUTPUTS_DIFFER = "outputs differ"


@dataclass(frozen=True)
class Square:
    """What a table shows of one row.

    Attributes:
        line: the title of its line.
        column: the title of its column.
        lines: what stands there; the note's number is not in it.
        tone: of all of it.
        note: why it is not simply the same, or has no speedup; empty where there is nothing to explain.
    """

    line: str
    column: str
    lines: tuple[str, ...]
    tone: Tone
    note: str = ""


def square_of(line: str, column: str, comparison: Comparison) -> Square:
    """Take it from the comparison of a row."""
    word = verdict_word(comparison)
    lines = [f"{word} {level}" if (level := _level(comparison)) else word, _speed(comparison)]
    lines.append(seconds(first_call(comparison.target.preparation)))
    while len(lines) > 1 and lines[-1] == "-":
        lines.pop()
    return Square(line, column, tuple(lines), TONES.get(word, "warn"), _note(comparison, word))


def _level(comparison: Comparison) -> str:
    """Give the largest level of all outputs at all seeds; empty where none is known."""
    reports = [each.outputs for each in comparison.at_each_seed() if each.outputs is not None]
    levels = [leaf.level for report in reports for leaf in report.leaves if leaf.level is not None]
    return level_text(max(levels)) if levels else ""


def _speed(comparison: Comparison) -> str:
    speedup = wall(comparison)
    if speedup is None or no_speedup(comparison):
        return "-"
    value, low, high = ratio(speedup.ratio, speedup.low, speedup.high)
    interval = "" if speedup.low is None else f" [{low}, {high}]"
    return f"{value}x{interval}" + (" ?" if speedup.verdict == "inconclusive" else "")


def _note(comparison: Comparison, word: str) -> str:
    """Say in one line what a reader asks who sees the cell."""
    said = [] if word == "same" else [finding(comparison, word)]
    outputs, facts = worst_first(comparison)[0].outputs, comparison.target.facts
    if word == "DIFFERENT" and said[0].startswith(_OUTPUTS_DIFFER) and outputs is not None:
        said[0] = f"{why_different(outputs)}; {said[0].removeprefix('outputs ')}"
        said += facts.notes if facts is not None else ()
    without = no_speedup(comparison)
    if comparison.speedups and without:
        said.append(f"no speedup: {without}")
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
    page.item(LEGEND, "dim")
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

"""What a report is written on, and one made of lines that never pass its width."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from libbench.report.words import Tone, cut, one_line, printable, shorten, shortened

LABEL = 13
"""Columns of the labels at the left edge."""
_NARROWEST = 80
GAP = 2
_NARROWEST_COLUMN = 8
_STYLES: dict[Tone, str] = {
    "good": "bold green",
    "bad": "bold red",
    "warn": "bold yellow",
    "dim": "dim",
    "strong": "bold",
    "plain": "",
}

Cell = str | tuple[str, Tone]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes:
        head: its title.
        right: whether it is flush right, as numbers are.
        least: columns to which long texts may be shortened before others are dropped; None keeps them whole.
        drop: the column with the largest number goes first when the table is too wide; 0 stays.
        wide: columns that it has at least, to stand below that of another table.
        end: whether long texts lose their end, not their middle.
    """

    head: str = ""
    right: bool = False
    least: int | None = None
    drop: int = 0
    wide: int = 0
    end: bool = False


class Page(Protocol):
    """What a report is written on: entries with a label, sentences, and tables.

    Attributes:
        width: columns that a text may take before it is broken or cut.
    """

    @property
    def width(self) -> int: ...

    def gap(self) -> None:
        """Leave some room."""

    def pieces(self, pieces: Sequence[tuple[str, Tone]]) -> None:
        """Write what belongs together, side by side."""

    def entry(self, label: str, text: str, tone: Tone = "plain") -> None:
        """Write a label and a text beside it; an empty label goes on with the one before."""

    def item(self, text: str, tone: Tone = "plain", indent: int = 2) -> None:
        """Write one sentence."""

    def more(self, text: str) -> None:
        """Say what is left out."""

    def verbatim(self, text: str, indent: int = 2) -> None:
        """Write lines as they are."""

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, heads: bool = True) -> None:
        """Write rows; a cell may have several lines."""


class TextPage:
    """Collects lines for a terminal or a file.

    Args:
        width: columns that a line may take; at least 80 are used.
        colour: whether the text has ANSI colours.
    """

    def __init__(self, width: int, colour: bool) -> None:
        self._width = max(width, _NARROWEST)
        self._console = Console(
            file=io.StringIO(), width=self._width, force_terminal=colour, color_system="standard" if colour else None,
            no_color=not colour, legacy_windows=False, markup=False, highlight=False, emoji=False, force_jupyter=False,
        )  # fmt: skip
        self._lines: list[Text] = []

    @property
    def width(self) -> int:
        """Columns that a line may take."""
        return self._width

    def gap(self) -> None:
        """Leave one line free."""
        if self._lines and self._lines[-1].plain:
            self._lines.append(Text())

    def pieces(self, pieces: Sequence[tuple[str, Tone]]) -> None:
        """Write pieces joined by a dot, each on a line of its own where the line would get too long."""
        line = Text()
        for text, tone in pieces:
            piece = Text(one_line(text), _STYLES[tone])
            if line.plain and line.cell_len + 3 + piece.cell_len > self.width:
                self._wrapped(line, 0, 2)
                line = Text()
            line = Text.assemble(line, " · ", piece) if line.plain else piece
        self._wrapped(line, 0, 2)

    def entry(self, label: str, text: str, tone: Tone = "plain") -> None:
        """Write a label at the left edge and a text beside it."""
        head = Text(f"{label:<{LABEL - 1}} ", "bold")
        self._wrapped(Text.assemble(head, (one_line(text), _STYLES[tone])), 0, LABEL)

    def item(self, text: str, tone: Tone = "plain", indent: int = 2) -> None:
        """Write one sentence, its further lines set in. Runs of spaces stay."""
        self._wrapped(Text(" ".join(printable(text).splitlines()), _STYLES[tone]), indent, indent + 2)

    def more(self, text: str) -> None:
        """Say what is left out, and where it is."""
        self.item(f"{text} (--verbose)", "dim")

    def verbatim(self, text: str, indent: int = 2) -> None:
        """Write lines as they are, the long ones broken."""
        for line in printable(text).rstrip().splitlines():
            self._wrapped(Text(line, _STYLES["dim"]), indent, indent + 2)

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, heads: bool = True) -> None:
        """Write rows; a cell may have several lines. Long texts are shortened and columns dropped to fit the width."""
        cells = [[_cell(cell) for cell in row] for row in rows]
        kept, widths = _fitted(columns, cells, self.width - 2)
        for i, width in zip(kept, widths, strict=True):
            if not columns[i].end:
                # A row is known by its texts: two of them must not look alike because they are long.
                lines = [text.split("\n") for text in (row[i][0] for row in cells)]
                shown = iter(shortened([line for each in lines for line in each], width))
                for row, each in zip(cells, lines, strict=True):
                    row[i] = "\n".join(next(shown) for _ in each), row[i][1]
        if heads and any(columns[i].head for i in kept):
            self._row([columns[i] for i in kept], widths, [(columns[i].head, "dim") for i in kept])
        for row in cells:
            self._row([columns[i] for i in kept], widths, [row[i] for i in kept])

    def row(self, columns: Sequence[Column], widths: Sequence[int], cells: Sequence[Cell]) -> None:
        """Write one row of a table whose widths are known, so that it stands below rows that are printed already."""
        self._row(columns, widths, [_cell(cell) for cell in cells])

    def text(self) -> str:
        """Give all lines, without a line break after the last."""
        lines = self._lines if self._lines and self._lines[-1].plain else self._lines[:-1]
        with self._console.capture() as capture:
            for line in lines:
                self._console.print(line, no_wrap=True, overflow="ignore", crop=False)
        return capture.get().rstrip("\n")

    def _wrapped(self, text: Text, indent: int, hang: int) -> None:
        first = text.wrap(self._console, self.width - indent)[0] if text.plain else text
        rest = text[len(first.plain) :]
        rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]
        further = rest.wrap(self._console, self.width - hang) if rest.plain else ()
        for number, line in enumerate([first, *further]):
            line.rstrip()
            self._lines.append(Text.assemble(" " * (hang if number else indent), line))

    def _row(self, columns: Sequence[Column], widths: Sequence[int], row: Sequence[tuple[str, Tone]]) -> None:
        parts = [text.split("\n") for text, _ in row]
        for number in range(max(map(len, parts))):
            line = Text("  ")
            for i, (column, width, (_, tone)) in enumerate(zip(columns, widths, row, strict=True)):
                text = parts[i][number] if number < len(parts[i]) else ""
                text = cut(text, width) if column.end else shorten(text, width)
                fill = " " * (width - cell_len(text))
                line.append(fill if column.right else "")
                line.append(text, _STYLES[tone])
                line.append(("" if column.right else fill) + " " * GAP)
            line.rstrip()
            self._lines.append(line)


def _cell(cell: Cell) -> tuple[str, Tone]:
    plain: tuple[str, Tone] = (cell, "plain") if isinstance(cell, str) else cell
    text, tone = plain
    return "\n".join(one_line(line) for line in text.split("\n")), tone


def _fitted(
    columns: Sequence[Column], rows: Sequence[Sequence[tuple[str, Tone]]], width: int
) -> tuple[list[int], list[int]]:
    """Give the columns that are kept and their widths: shorten a little, then drop columns, then shorten more."""
    natural = dict(enumerate(_widths(columns, rows)))
    kept = list(range(len(columns)))
    while True:
        room = width - GAP * (len(kept) - 1)
        found = _shrunk(natural, {i: columns[i].least or natural[i] for i in kept}, room)
        droppable = [i for i in kept if columns[i].drop]
        if sum(found.values()) <= room or not droppable:
            break
        kept.remove(max(droppable, key=lambda i: columns[i].drop))
    hard = {i: natural[i] if columns[i].least is None else _NARROWEST_COLUMN for i in kept}
    # A number without sense may be longer than any that has one: then even what is kept whole gives way.
    for least in (hard, dict.fromkeys(kept, _NARROWEST_COLUMN)):
        found = _shrunk(found, least, room)
    return kept, list(found.values())


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[tuple[str, Tone]]]) -> list[int]:
    cells = [[cell_len(line) for row in rows for line in row[i][0].split("\n")] for i in range(len(columns))]
    return [max([column.wide, cell_len(column.head), *each]) for column, each in zip(columns, cells, strict=True)]


def _shrunk(widths: Mapping[int, int], least: Mapping[int, int], room: int) -> dict[int, int]:
    """Take what is too much from the widest columns that may be shortened."""
    found = {i: widths[i] for i in least}
    while sum(found.values()) > room:
        able = [i for i in found if found[i] > least[i]]
        if not able:
            break
        found[max(able, key=found.__getitem__)] -= 1
    return found

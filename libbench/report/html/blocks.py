"""A page that keeps what is written on it, for a template to show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from libbench.report.page import Cell, Column
from libbench.report.words import Tone, one_line, printable

_WIDTH = 400
"""Columns after which a text that may be cut is: far beyond what a line has."""


@dataclass(frozen=True)
class Text:
    """A sentence, or a label and a text; `kind` says which."""

    kind: Literal["entry", "item", "verbatim", "pieces"]
    text: str
    tone: Tone = "plain"
    label: str = ""
    deep: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells, each a list of lines and a tone."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[tuple[tuple[str, ...], Tone], ...], ...]
    heads: bool
    kind: Literal["table"] = "table"


@dataclass
class Blocks:
    """What was written, in its order.

    Attributes:
        all: the blocks; gaps are left to who shows them.
    """

    all: list[Text | Table] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Columns after which a text may be cut."""
        return _WIDTH

    def gap(self) -> None:
        """Do nothing."""

    def pieces(self, pieces: Sequence[tuple[str, Tone]]) -> None:
        """Keep each piece."""
        self.all += [Text("pieces", one_line(text), tone) for text, tone in pieces]

    def entry(self, label: str, text: str, tone: Tone = "plain") -> None:
        """Keep a label and its text."""
        self.all.append(Text("entry", one_line(text), tone, label))

    def item(self, text: str, tone: Tone = "plain", indent: int = 2) -> None:
        """Keep a sentence."""
        self.all.append(Text("item", one_line(text), tone, deep=indent > 2))

    def more(self, text: str) -> None:
        """Keep what is left out."""
        self.item(text, "dim")

    def verbatim(self, text: str, indent: int = 2) -> None:
        """Keep lines as they are."""
        self.all.append(Text("verbatim", printable(text).rstrip()))

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, heads: bool = True) -> None:
        """Keep rows; nothing is shortened."""
        self.all.append(
            Table(tuple(columns), tuple(tuple(_cell(cell) for cell in row) for row in rows), heads)
        )  # fmt: skip


def _cell(cell: Cell) -> tuple[tuple[str, ...], Tone]:
    plain: tuple[str, Tone] = (cell, "plain") if isinstance(cell, str) else cell
    text, tone = plain
    return tuple(one_line(line) for line in text.split("\n")), tone

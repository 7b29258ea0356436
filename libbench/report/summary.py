"""What continuous integration shows of a run: a headline, a line for each thing that was judged, and its cases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from libbench.report.page import Cell, Column
from libbench.report.words import one_line

State = Literal["passed", "failure", "error", "skipped"]
_GRAVITY: tuple[State, ...] = ("passed", "skipped", "error", "failure")


@dataclass(frozen=True)
class Case:
    """One question, as a test.

    Attributes:
        suite: what it was asked of.
        name: which it is.
        state: "failure" where something is worse than it may be, "error" where that could not be judged, "skipped"
            where it could not be asked.
        kind: what kind of failure it is, in a word.
        message: what was found, in one line.
        text: all there is to say; may have several lines.
        seconds: what it took; None where that is not known.
    """

    suite: str
    name: str
    state: State
    kind: str = ""
    message: str = ""
    text: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Item:
    """One thing that was judged.

    Attributes:
        name: what it is called.
        cells: of its line in the table.
        cases: what was asked of it.
        detail: its report as plain text; empty where the line says all.
    """

    name: str
    cells: tuple[str, ...]
    cases: tuple[Case, ...]
    detail: str = ""

    @property
    def state(self) -> State:
        """The gravest of its cases."""
        return gravest(case.state for case in self.cases)


@dataclass(frozen=True)
class Summary:
    """All of a run.

    Attributes:
        headline: the verdict.
        columns: the titles of the table.
        items: in the order of the table.
        notes: what to know of the figures.
    """

    headline: str
    columns: tuple[str, ...]
    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()


def gravest(states: Iterable[State]) -> State:
    """Give the state that counts for all; "passed" for none."""
    return max(states, key=_GRAVITY.index, default="passed")


def titles(columns: Iterable[Column]) -> tuple[str, ...]:
    """Give the titles of a table's columns."""
    return tuple(column.head for column in columns)


def texts(cells: Iterable[Cell]) -> tuple[str, ...]:
    """Give the texts of a table's row; a cell may have several lines."""
    found = (cell if isinstance(cell, str) else cell[0] for cell in cells)
    return tuple("\n".join(one_line(line) for line in text.split("\n")) for text in found)

"""A list of pairs that is being worked through: a line for each as it is done, and a summary at the end."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from libbench.comparability import no_speedup
from libbench.measured import SpeedVerdict
from libbench.report.headline import wall
from libbench.report.many import ORDER, TONES, counted, finding, speed_cell, verdict_word
from libbench.report.page import Cell, Column, Page, TextPage
from libbench.report.words import plural, ratio
from libbench.result import Comparison

HEADS = ("pair", "verdict", "finding", "speed")
_SPEED = 36
_SPEEDS: tuple[SpeedVerdict, ...] = ("faster", "level", "slower", "inconclusive")
_LONGEST_NAMES = {True: 32, False: 44}
"""Columns of a name, with speed in the table and without."""


@dataclass(frozen=True)
class Outcome:
    """What the summary takes of a row.

    Attributes:
        word: the verdict, as `verdict_word` gives it.
        exit_code: of the row by itself.
        speed: None where it was not measured, or is that of sides that do other work.
        ratio: the speedup by the wall clock; None where there is no interval.
    """

    word: str
    exit_code: int
    speed: SpeedVerdict | None
    ratio: float | None

    @classmethod
    def of(cls, comparison: Comparison) -> Outcome:
        """Take it from a comparison."""
        speedup = None if no_speedup(comparison) else wall(comparison)
        ratio = None if speedup is None or speedup.low is None else speedup.ratio
        return cls(verdict_word(comparison), comparison.exit_code, speedup.verdict if speedup else None, ratio)


class RowTable:
    """Gives the lines of a table that is never complete: its columns are as wide for the first row as for the last.

    Args:
        names: of all rows.
        speed: whether there is a column for it.
        colour, width: as for `render`.
    """

    def __init__(self, names: Sequence[str], *, speed: bool, colour: bool = False, width: int = 100) -> None:
        self._look = width, colour
        self._total = len(names)
        counter = len(f"{self._total:,}/{self._total:,}")
        name = min(_LONGEST_NAMES[speed], max(map(len, names), default=0))
        columns = [Column("row", right=True), *(Column(head, end=head == "finding") for head in HEADS[:3])]
        widths = [max(3, counter), max(4, name), max(map(len, ORDER))]
        taken = sum(widths) + (_SPEED if speed else 0) + 2 * (len(columns) + speed)
        widths.append(max(8, TextPage(*self._look).width - taken))
        if speed:
            columns.append(Column(HEADS[3]))
            widths.append(_SPEED)
        self._columns, self._widths, self._speed = columns, widths, speed

    def head(self) -> str:
        """Give the line with the columns' titles."""
        page = TextPage(*self._look)
        page.row(self._columns, self._widths, [(column.head, "dim") for column in self._columns])
        return page.text()

    def line(self, done: int, name: str, comparison: Comparison) -> str:
        """Give the line of a row.

        Args:
            done: how many rows are done with it.
        """
        page = TextPage(*self._look)
        counter = f"{done:,}/{self._total:,}"
        page.row(self._columns, self._widths, [counter, *row_cells(name, comparison, speed=self._speed)])
        return page.text()


def row_cells(name: str, comparison: Comparison, *, speed: bool) -> list[Cell]:
    """Give the cells of a row below `HEADS`, with its speed or without."""
    word = verdict_word(comparison)
    cells: list[Cell] = [name, (word, TONES.get(word, "warn")), finding(comparison, word)]
    return [*cells, speed_cell(comparison)] if speed else cells


def render_summary(outcomes: Sequence[Outcome], *, colour: bool = False, width: int = 100) -> str:
    """Give how many rows came out how, and how fast those were that are the same.

    Args:
        outcomes: of all rows.
        colour, width: as for `render`.
    """
    page = TextPage(width, colour)
    write_summary(page, outcomes)
    return page.text()


def write_summary(page: Page, outcomes: Sequence[Outcome]) -> None:
    """Write how many rows came out how, and how fast those were that are the same."""
    page.pieces([(plural(len(outcomes), "row"), "strong"), *counted(outcome.word for outcome in outcomes)])
    same = [outcome for outcome in outcomes if outcome.word == "same"]
    speeds = Counter(outcome.speed for outcome in same if outcome.speed is not None)
    ratios = [outcome.ratio for outcome in same if outcome.ratio is not None]
    if speeds:
        of = [f"{speeds[speed]:,} {speed}" for speed in _SPEEDS if speeds[speed]]
        page.entry("speed", f"of {plural(sum(speeds.values()), 'same row')}: {', '.join(of)}")
    if len(ratios) > 1:
        mean = math.exp(math.fsum(map(math.log, ratios)) / len(ratios))
        middle, low, high = ratio(mean, min(ratios), max(ratios))
        page.entry("", f"geometric mean {middle}x, from {low}x to {high}x")

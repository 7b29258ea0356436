"""Rows of a list as a page shows them, and what came of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from libbench.comparability import no_speedup
from libbench.report.charts.rows import row_charts
from libbench.report.charts.scores import score_charts
from libbench.report.costs import first_call
from libbench.report.headline import Piece, pieces, wall
from libbench.report.html.blocks import Blocks, Text
from libbench.report.html.sections import Section, short_sections_of
from libbench.report.many import ORDER, TONES, finding, speed_cell, verdict_word
from libbench.report.results import Listed
from libbench.report.rows import Outcome, write_summary
from libbench.report.scores import write_scores
from libbench.report.words import Tone, saved_name
from libbench.result import SIDES, Comparison
from libbench.scores import Scores


@dataclass(frozen=True)
class Row:
    """One row of a list.

    Attributes:
        name: what tells it from the others of its list.
        run: the list that it is of; empty where there is one only.
        category: the group that it is counted in, too; empty where there is none.
    """

    name: str
    comparison: Comparison
    run: str
    category: str

    @cached_property
    def word(self) -> str:
        """The verdict."""
        return verdict_word(self.comparison)

    @property
    def tone(self) -> Tone:
        """How the verdict is to be taken."""
        return TONES.get(self.word, "warn")

    @property
    def finding(self) -> str:
        """What stands behind the verdict, in few words."""
        return finding(self.comparison, self.word)

    @cached_property
    def speed(self) -> tuple[str, Tone]:
        """The speedup with its interval and its verdict."""
        cell = speed_cell(self.comparison)
        return (cell, "plain") if isinstance(cell, str) else cell

    @property
    def weight(self) -> int:
        """Its place among the verdicts, from 0 for the worst."""
        return ORDER.index(self.word)

    @property
    def ratio(self) -> float | None:
        """The speedup; None where there is none, or none of alike sides."""
        speedup = None if no_speedup(self.comparison) else wall(self.comparison)
        return None if speedup is None else speedup.ratio

    @property
    def first_seconds(self) -> float | None:
        """What the target's first call took; None where it was not reached."""
        return first_call(self.comparison.target.preparation)

    @property
    def pieces(self) -> list[Piece]:
        """Its headline."""
        return pieces(self.comparison)

    @property
    def sides(self) -> tuple[tuple[str, str], ...]:
        """What is compared with what."""
        both = self.comparison.reference, self.comparison.target
        return tuple((name, saved_name(side)) for name, side in zip(SIDES, both, strict=True))

    @property
    def sections(self) -> list[Section]:
        """Its detail."""
        return short_sections_of(self.comparison)


@dataclass(frozen=True)
class Overview:
    """What came of all rows.

    Attributes:
        title: in one line.
        sections: what else there is to say, with charts.
        words, categories, runs: what rows can be chosen by.
    """

    title: str
    sections: list[Section]
    words: list[str]
    categories: list[str]
    runs: list[str]


def rows_of(lists: Sequence[Listed], scores: Scores) -> list[Row]:
    """Give the rows of all lists.

    Args:
        scores: of the same lists.
    """
    return [
        Row(entry.name, entry.comparison, each.name if len(lists) > 1 else "", sample.category)
        for each, run in zip(lists, scores.runs, strict=True)
        for entry, sample in zip(each.entries, run.samples, strict=True)
    ]


def overview_of(rows: Sequence[Row], scores: Scores) -> Overview:
    """Give what came of all rows, and their scores."""
    summary, scored = Blocks(), Blocks()
    write_summary(summary, [Outcome.of(row.comparison) for row in rows])
    write_scores(scored, scores)
    told = _texts(summary, "pieces", of=True)
    charts = tuple(row_charts([(row.name, row.comparison) for row in rows]))
    parts = [
        Section("all rows", _texts(summary, "pieces", of=False), charts),
        Section(
            "scores",
            (Text("item", " · ".join(text.text for text in _texts(scored, "pieces", of=True)), "strong"),),
            tuple(score_charts(scores)),
            (("How it is scored, at every level", tuple(b for b in scored.all if b.kind != "pieces")),),
        ),
    ]
    return Overview(
        title=" · ".join(text.text for text in told),
        sections=[part for part in parts if not part.empty],
        words=[word for word in ORDER if any(row.word == word for row in rows)],
        categories=sorted({row.category for row in rows} - {""}),
        runs=list(dict.fromkeys(row.run for row in rows if row.run)),
    )


def _texts(blocks: Blocks, kind: str, *, of: bool) -> tuple[Text, ...]:
    """Give the texts of a kind, or of all others."""
    return tuple(block for block in blocks.all if isinstance(block, Text) and (block.kind == kind) == of)

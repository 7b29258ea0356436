"""A summary in GitHub's Markdown, as the page of a workflow's run or a comment shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from libbench.report.summary import Item, Summary
from libbench.report.words import one_line, plural, printable

MOST = 1_000_000
"""Bytes of a whole text: GitHub shows no summary of a step that is larger than 1 MiB."""
_LONGEST_DETAIL = 60_000
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&#$])")


def markdown(summary: Summary) -> str:
    """Give a summary as Markdown: the headline, a table, and for each line its report, folded.

    What does not fit into `MOST` bytes is left out, whole reports first and then lines of the table, and counted.
    """
    head = f"### {escaped(summary.headline)}\n"
    table = [_line(summary.columns), _line("---" for _ in summary.columns)]
    notes = [f"{escaped(note)}\n" for note in summary.notes]
    room = MOST - _size(head, *table, *notes) - 200  # for what is said of that which is left out
    rows, left_rows = _fitting((_line(item.cells) for item in summary.items), room)
    room -= _size(*rows)
    details, left_details = _fitting(_details(summary.items), room)
    parts = [head, "\n".join([*table, *rows]) + "\n" if summary.items else "", *notes, *details]
    left = [(left_rows, "line"), (left_details, "report")]
    parts += [f"{plural(count, what)} left out: too much for one page\n" for count, what in left if count]
    return "\n".join(part for part in parts if part).rstrip()


def escaped(text: str) -> str:
    """Give one line of text so that Markdown shows what it says."""
    return _SPECIAL.sub(r"\\\1", one_line(text))


def _line(cells: Iterable[str]) -> str:
    shown = ["<br>".join(map(escaped, cell.split("\n"))) for cell in cells]
    return f"| {' | '.join(shown)} |"


def _details(items: Iterable[Item]) -> Iterator[str]:
    for item in items:
        if not item.detail:
            continue
        text = printable(item.detail)
        if len(text) > _LONGEST_DETAIL:
            text = f"{text[:_LONGEST_DETAIL]}\n(cut off here)"
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        name = one_line(item.name).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        yield f"<details><summary>{name}</summary>\n\n{fence}text\n{text}\n{fence}\n\n</details>\n"


def _fitting(texts: Iterable[str], room: int) -> tuple[list[str], int]:
    """Give the texts that fit, whole ones only, and how many do not."""
    kept, left = [], 0
    for text in texts:
        size = _size(text)
        if size > room:
            left += 1
            continue
        kept.append(text)
        room -= size
    return kept, left


def _size(*texts: str) -> int:
    return sum(len(text.encode()) + 1 for text in texts)

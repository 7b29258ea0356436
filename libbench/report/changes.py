"""The difference of two configs, by itself."""

from __future__ import annotations

from collections.abc import Sequence

from libbench.config import Change
from libbench.report.compared import write_changes
from libbench.report.page import TextPage


def render_changes(
    changes: Sequence[Change],
    files: tuple[str, str],
    *,
    verbose: bool = False,
    colour: bool = False,
    width: int = 100,
) -> str:
    """Give the difference of two configs as text.

    Args:
        files: the files of reference and target; what was written in them is told by line alone.
        verbose: show every change, and those that do not count.
        colour: with colours of a terminal.
        width: in characters.
    """
    page = TextPage(width, colour)
    write_changes(page, changes, files, verbose)
    return page.text()

"""The difference of two configs, by itself and in the report of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.cells import cell_len

from libbench import job
from libbench.config import Change
from libbench.config.places import short
from libbench.report.page import Page, TextPage
from libbench.report.words import differ, listed, one_line, plural, shorten
from libbench.result import Comparison

MOST_CHANGES = 20
_KINDS = {
    "changed": "",
    "target": "",
    "type": "(type)",
    "added": "(added)",
    "removed": "(removed)",
    "moved": "(moved)",
    "sharing": "(shared otherwise)",
    "default": "(spelled-out default, does not count)",
    "form": "(written otherwise, does not count)",
}


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


def write_config(page: Page, comparison: Comparison, verbose: bool) -> None:
    """Write one entry for each counted change; under --verbose also what does not count."""
    files = comparison.reference.job.file, comparison.target.job.file
    write_changes(page, comparison.changes, files, verbose)


def write_changes(page: Page, changes: Sequence[Change], files: tuple[str | None, str | None], verbose: bool) -> None:
    """Write how many parts differ, and the changes."""
    counted = counted_changes(changes)
    page.entry("config", parts_text(counted))
    shown = list(changes) if verbose else counted[:MOST_CHANGES]
    write_lines(page, shown, files)
    if len(counted) > len(shown):
        page.more(f"and {plural(len(counted) - len(shown), 'more difference')}")


def write_lines(page: Page, changes: Sequence[Change], files: tuple[str | None, str | None]) -> None:
    """Write the changes, each with its values and where they were written."""
    wide = max((cell_len(change_head(change)) for change in changes), default=0)
    for change in changes:
        _write_change(page, change, places(change, files), min(wide, 32))


def counted_changes(changes: Sequence[Change]) -> list[Change]:
    """Give the changes that are differences, and not another way to write the same."""
    return [change for change in changes if change.counted]


def parts_text(counted: Sequence[Change]) -> str:
    """Say in how many parts two configs differ."""
    parts = {change.part for change in counted}
    own = sorted(one_line(part) for part in parts if part not in job.PARTS)
    here = len(parts) - len(own)
    text = f"{here} of {len(job.PARTS)} parts {differ(here)}" if counted else "no difference"
    return text + (f", and {listed(own)} of the config's own names" if own else "")


def change_head(change: Change) -> str:
    """Give the path of a change, and its kind where that needs a word."""
    return one_line(f"{change.path} {_KINDS[change.kind]}")


def change_values(change: Change) -> tuple[str, str]:
    """Give the two values of a change; "-" for none."""
    return one_line(change.reference) or "-", one_line(change.target) or "-"


def places(change: Change, files: tuple[str | None, str | None]) -> tuple[str, str]:
    """Give where the two values of a change were written, as `file:line`; empty where that is not known.

    Args:
        files: the sides' own configs.
    """
    return _place(change.reference_origin, files[0]), _place(change.target_origin, files[1])


def _write_change(page: Page, change: Change, written: tuple[str, str], wide: int) -> None:
    """Write a change in one line where it fits, else the two values below each other."""
    head = change_head(change)
    before, after = change_values(change)
    where = ", ".join(dict.fromkeys(place for place in written if place))
    line = f"{head}{' ' * (wide - cell_len(head))}  {before}  ->  {after}"
    spare = page.width - 2 - cell_len(line)
    if spare < 0:
        page.item(head)
        for name, value, place in zip(("reference", "target"), (before, after), written, strict=True):
            page.item(f"{name:<10} {shorten(value, 3 * page.width)}" + (f"  ({place})" if place else ""), indent=4)
    elif cell_len(where) + 2 <= spare:
        page.item(line + (" " * (spare - cell_len(where)) + where if where else ""))
    else:
        page.item(line)
        page.item(shorten(where, page.width - wide - 6), "dim", indent=wide + 4)


def _place(origin: str | None, config: str | None) -> str:
    """Give where a value was written; the side's own config, whose path the reader has seen, by its name alone."""
    file, _, line = (origin or "").rpartition(":")
    if file == short(job.__file__):
        return "default"
    return f"{Path(file).name}:{line}" if config is not None and file == short(config) else one_line(origin or "")

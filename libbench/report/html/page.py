"""The report as one page for a browser, that of one comparison or of a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libbench
from libbench.optional import need
from libbench.report.charts.chart import Chart
from libbench.report.headline import headline, pieces
from libbench.report.html.rows import overview_of, rows_of
from libbench.report.html.sections import sections_of
from libbench.report.html.svg import key, svg
from libbench.report.results import Listed, scores_of
from libbench.report.words import saved_name, seconds
from libbench.result import Comparison

SIGNS = {"good": "✓", "bad": "✗", "warn": "!"}
"""What stands beside a colour, for who does not see it."""


def render_page(comparison: Comparison) -> str:
    """Give the page of one comparison: the verdict first, then what it stands on.

    It is HTML that asks for nothing outside itself, with every name and text escaped.

    Args:
        comparison: may still be growing; what it has not reached is left out.

    Raises:
        MissingPackageError: Jinja is not installed.
    """
    return _render(
        "one.html",
        title=headline(comparison),
        pieces=pieces(comparison),
        sides=(("reference", saved_name(comparison.reference)), ("target", saved_name(comparison.target))),
        sections=sections_of(comparison),
        spent=seconds(comparison.seconds),
    )


def render_list(lists: Sequence[Listed]) -> str:
    """Give the page of one list or several: what came of all, then a row for each, which opens to its detail.

    Sorting and filtering need JavaScript, nothing else does.

    Raises:
        MissingPackageError: as for `render_page`.
    """
    scores = scores_of(lists)
    rows = rows_of(lists, scores)
    overview = overview_of(rows, scores)
    return _render("many.html", title=overview.title, overview=overview, rows=rows)


def page_of(lists: Sequence[Listed]) -> str:
    """Give the page of what was found: of one comparison, or of a list.

    Raises:
        MissingPackageError: as for `render_page`.
    """
    entries = [entry for each in lists for entry in each.entries]
    return render_page(entries[0].comparison) if len(entries) == 1 else render_list(lists)


def charts_of(lists: Sequence[Listed]) -> list[Chart]:
    """Give the charts of the same page."""
    entries = [entry for each in lists for entry in each.entries]
    if len(entries) == 1:
        sections = sections_of(entries[0].comparison)
    else:
        scores = scores_of(lists)
        sections = overview_of(rows_of(lists, scores), scores).sections
    return [chart for section in sections for chart in section.charts]


def check_installed() -> None:
    """Find out whether a page can be made.

    Raises:
        MissingPackageError: it cannot; the message says what to install.
    """
    _jinja()


def _render(template: str, **values: Any) -> str:
    jinja = _jinja()
    environment = jinja.Environment(
        loader=jinja.PackageLoader("libbench.report.html"),
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja.StrictUndefined,
    )  # fmt: skip
    environment.globals.update(svg=svg, key=key, signs=SIGNS, version=libbench.__version__)
    text: str = environment.get_template(template).render(**values)
    return text


def _jinja() -> Any:
    return need("jinja2", extra="report", purpose="a report as a page (--html)")

"""The report as a page and as plots, where flags ask for them.

What makes these is imported only then: most runs ask for neither.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from libbench.cli.output import tell
from libbench.errors import LibbenchError
from libbench.records import write_text
from libbench.report.charts.chart import Chart
from libbench.report.results import Entry, Listed
from libbench.report.words import plural
from libbench.result import Comparison


def check_pages(arguments: argparse.Namespace) -> None:
    """Find out whether what the flags ask for can be written, before there is anything to lose.

    Raises:
        MissingPackageError: a package is missing for it; the message says what to install.
        LibbenchError: a path is one that nothing can be written to.
    """
    if arguments.html is not None:
        from libbench.report.html import page

        page.check_installed()
        if arguments.html.is_dir():
            raise LibbenchError(f"--html wants a file, got the folder {arguments.html}")
        arguments.html.parent.mkdir(parents=True, exist_ok=True)
    if arguments.plots is not None:
        from libbench.report import plots

        plots.check_installed()
        arguments.plots.mkdir(parents=True, exist_ok=True)


def write_pages(arguments: argparse.Namespace, lists: Sequence[Listed]) -> None:
    """Write the page and the plots that the flags ask for; neither where nothing was compared.

    Raises:
        OSError: a file cannot be written.
    """
    if not any(each.entries for each in lists):
        return
    if arguments.html is None and arguments.plots is None:
        return
    from libbench.report.html import page

    if arguments.html is not None:
        write_text(arguments.html, page.page_of(lists))
    if arguments.plots is not None:
        draw(page.charts_of(lists), arguments.plots)


def draw(charts: Iterable[Chart], folder: Path) -> None:
    """Draw charts into a folder, and say how many there are."""
    from libbench.report import plots

    tell(f"{folder}: {plural(len(plots.write_plots(charts, folder)), 'plot')}")


def listed(comparisons: Sequence[Comparison]) -> list[Listed]:
    """Give the comparisons of one command as a list."""
    return [Listed("", "", tuple(Entry(each.target.job.name, each) for each in comparisons))]

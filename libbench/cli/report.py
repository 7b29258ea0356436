"""`libbench report`."""

from __future__ import annotations

import argparse

from libbench.cli.pages import check_pages, write_pages
from libbench.errors import LibbenchError
from libbench.report.results import read_lists


def main(arguments: argparse.Namespace) -> int:
    """Make a page, plots or both of results on disk, and give 0."""
    if arguments.html is None and arguments.plots is None:
        raise LibbenchError("nothing to write: give --html FILE for a page, --plots DIR for plots")
    check_pages(arguments)
    write_pages(arguments, read_lists(arguments.results))
    return 0

"""Printing that a reader who has gone, or a stream that is closed, does not turn into a failure."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from typing import TypedDict


def put(text: str) -> None:
    """Print a text to standard output; when nobody reads it any more, the work and its exit code go on."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # What is printed from now on, and flushed at the end, goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(text: str) -> None:
    """Print a text to standard error, if anybody can be told."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            print(text, file=sys.stderr, flush=True)


WIDTH = 100
"""Columns of a report, where the terminal has so many."""


class Style(TypedDict):
    """How a report is rendered."""

    colour: bool
    width: int


def style_of() -> Style:
    """Give what suits standard output: plain and 100 columns where it is no terminal."""
    if sys.stdout is None or not sys.stdout.isatty():
        return Style(colour=False, width=WIDTH)
    return Style(colour="NO_COLOR" not in os.environ, width=min(WIDTH, shutil.get_terminal_size().columns))

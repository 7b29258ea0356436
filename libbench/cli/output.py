"""Printing that a reader who has gone does not turn into a failure."""

from __future__ import annotations

import os
import sys


def put(text: str) -> None:
    """Print a text to standard output; when nobody reads it any more, the work and its exit code go on."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        # What is printed from now on, and flushed at the end, goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

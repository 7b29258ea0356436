"""How long importing modules takes, apart from what is done with them."""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_bootstrap: Any = vars(importlib)["_bootstrap"]


@contextmanager
def imports_timed() -> Iterator[Callable[[], float]]:
    """Give a function that says how many seconds this thread has spent in importing modules since.

    It is counted where `python -X importtime` counts: around the search for a module that is not there yet, and the run
    of its code, with all that this imports in turn.
    """
    find, thread = _bootstrap._find_and_load, threading.get_ident()
    spent, inside = 0.0, False

    def timed(*args: Any) -> Any:
        nonlocal spent, inside
        if inside or threading.get_ident() != thread:
            return find(*args)
        inside, begin = True, time.perf_counter()
        try:
            return find(*args)
        finally:
            inside = False
            spent += time.perf_counter() - begin

    _bootstrap._find_and_load = timed
    try:
        yield lambda: spent
    finally:
        _bootstrap._find_and_load = find

"""How many cores others keep busy while something is timed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from types import TracebackType

import psutil

_IDLE = ("idle", "iowait", "guest", "guest_nice")  # what guests take is a part of "user" already


class Others:
    """A stretch of time, as a context.

    Args:
        own: gives the processor seconds that the processes which are no others have taken by now.

    Attributes:
        cores: when it is over: the cores, of those that this process may use, that other processes kept busy on
            average; None where the system does not tell.
    """

    def __init__(self, own: Callable[[], float] = time.process_time) -> None:
        self._own = own
        self.cores: float | None = None

    def __enter__(self) -> Others:
        self._begin = time.perf_counter(), _busy(), self._own()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        begin, busy, own = self._begin
        seconds, now = time.perf_counter() - begin, _busy()
        if busy is None or now is None or seconds <= 0:
            return
        self.cores = max(0.0, (now - busy - (self._own() - own)) / seconds)


def _busy() -> float | None:
    """Give the seconds that this process's cores have been busy since the machine started."""
    try:
        cores = psutil.cpu_times(percpu=True)
        return sum(sum(cores[i]) - sum(getattr(cores[i], each, 0.0) for each in _IDLE) for i in os.sched_getaffinity(0))
    except (OSError, IndexError):  # some containers hide the counters
        return None

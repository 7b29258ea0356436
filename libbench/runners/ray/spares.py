"""Places that a session has left and that the next may have at once, with what it takes seconds to start there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

LINGER = 5.0
"""Seconds for which a place is kept that nobody uses."""
KEPT = 20.0
"""Seconds after which a place is given back though it is in use again and again: others may be waiting for it."""


@dataclass
class Spare:
    """A process of Ray's on a node, without a session.

    Attributes:
        post: the process.
        kind: what it has of its node, and what was set when it started; only what wants the same may have it.
        where: what it says of its node.
        born: when it was started, by `time.monotonic`.
    """

    post: Any
    kind: str
    where: Mapping[str, Any]
    born: float = field(default_factory=time.monotonic)


class Spares:
    """Keeps places for a moment. Safe for several threads.

    Args:
        end: called with a process that is not wanted any more.
    """

    def __init__(self, end: Callable[[Any], None]) -> None:
        self._end = end
        self._lock = threading.Lock()
        self._kept: list[Spare] = []

    def take(self, kind: str, node: str | None) -> Spare | None:
        """Give one of a kind, on a node or, where that is None, on any; None where there is none."""
        with self._lock:
            found = next((s for s in self._kept if s.kind == kind and node in (None, s.where["node"])), None)
            if found is not None:
                self._kept.remove(found)
        return found

    def drop_others(self, kind: str, node: str | None) -> None:
        """End those of other kinds that may have what a session waits for."""
        with self._lock:
            others = [s for s in self._kept if s.kind != kind and node in (None, s.where["node"])]
        for spare in others:
            self._drop(spare)

    def put(self, spare: Spare) -> None:
        """Keep one until it is taken, or not for long."""
        if time.monotonic() - spare.born > KEPT:
            self._end(spare.post)
            return
        with self._lock:
            self._kept.append(spare)
        timer = threading.Timer(LINGER, self._drop, [spare])
        timer.daemon = True
        timer.start()

    def _drop(self, spare: Spare) -> None:
        with self._lock:
            if not any(each is spare for each in self._kept):
                return
            self._kept = [each for each in self._kept if each is not spare]
        self._end(spare.post)

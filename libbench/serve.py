"""The Worker at the far end of a channel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from libbench.child import Channel
from libbench.group import Seat
from libbench.interfaces import Event
from libbench.job import Job
from libbench.rank import RankWorker
from libbench.records import decode, encode
from libbench.result import Failure, Output, SideFailed, Stage
from libbench.settings import Timer
from libbench.worker import Worker


def serve(channel: Channel) -> None:
    """Answer requests until the other end hangs up.

    The first request opens the worker. Every request is answered by `{"value": ...}` or
    `{"failure": ..., "side": ...}`; events, `{"event": ...}`, come in between.
    """
    desk = _Desk(channel)
    while True:
        try:
            request = channel.receive()
        except EOFError:
            desk.close()
            return
        try:
            value = desk.answer(request)
        except SideFailed as error:
            channel.send({"failure": encode(error.failure), "side": error.side})
        except Exception as error:
            # A fault of the worker's own, or of a part in a place where no side is at work.
            channel.send({"failure": encode(Failure.of(desk.stage, error)), "side": None})
        else:
            channel.send({"value": encode(value)})


class _Desk:
    """Turns requests into calls of the worker."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._outputs: Iterator[Output] | None = None
        self._worker: Worker | None = None
        self.stage: Stage = "instantiate"

    def answer(self, request: Mapping[str, Any]) -> Any:
        if request["do"] == "open":
            jobs = [self._job(i, ticket) for i, ticket in enumerate(request["jobs"])]
            place, threads = Path(request["folder"]), request["threads"]
            if "seat" in request:
                self._worker = RankWorker(jobs, place, self._watch, threads, decode(Seat, request["seat"]))
            else:
                self._worker = Worker(jobs, place, self._watch, threads)
            return None
        if self._worker is None:
            raise RuntimeError(f"the first request must be 'open', got {request['do']!r}")
        match request["do"]:
            case "next":
                self._outputs = self._outputs or self._worker.batches()
                return next(self._outputs, None)
            case "measure":
                return self._worker.measure(decode(Timer, request["timer"]))
            case name:
                return getattr(self._worker, name)(**request.get("with", {}))

    def close(self) -> None:
        """Let the parts put back and put away what they hold; it is over either way."""
        if self._worker is not None:
            with contextlib.suppress(Exception):
                self._worker.close()

    def _job(self, index: int, ticket: Mapping[str, Any]) -> Job:
        try:
            return Job.from_ticket(ticket)
        except Exception as error:
            raise SideFailed(Failure.of("instantiate", error), index) from error

    def _watch(self, event: Event) -> None:
        self.stage = event.stage
        self._channel.send({"event": encode(event)})

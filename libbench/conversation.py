"""A session whose worker is in a child process: requests, answers, and how it ended when it did."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from libbench.child import ChildDied, ChildLate, ChildTooLarge
from libbench.drawn import Draws
from libbench.faults import Attempt, Called
from libbench.findings import Rerun
from libbench.interfaces import Event, Watch
from libbench.job import Job
from libbench.located import Located
from libbench.measured import Measurement
from libbench.records import decode, encode
from libbench.result import Evaluation, Failure, Kind, Output, Preparation, SideFailed, Stage
from libbench.settings import Timer
from libbench.worker import RUNNING

LOG = "log.txt"
SEARCH = 20.0
"""Seconds that a runner spends by default on finding out why a side could not be compiled."""
_LAST_LINES = 40
_LAST_BYTES = 65536
_LONGEST_LINE = 500
_PATIENCE = 5.0


class Far(Protocol):
    """The other end: a process that serves. `libbench.child.Child` is one.

    An event that it sends with `again` begins the work anew, and the time that it may take.
    """

    def send(self, message: Any) -> None: ...

    def receive(self, seconds: float) -> Any: ...

    def tell_where(self) -> None: ...

    def kill(self) -> None: ...

    def close(self, patience: float = 0.0) -> None: ...


class Gone(Exception):
    """The far end is gone, and it knows how."""

    def __init__(self, kind: Kind, why: str) -> None:
        super().__init__(why)
        self.kind = kind
        self.why = why


class Conversation:
    """A session with a worker at the far end of a channel. Its death, and a stage that does not end, are failures.

    Args:
        far: where `libbench.serve.serve` runs.
        opening: what the worker is made of, as `opening` gives it.
        folder: where it leaves its snapshots; what it prints is in the file `LOG` there.
        watch: called with every event.
        timeout: seconds that a stage of a side may take.

    Attributes:
        died: whether the process ended by itself, or was ended by somebody else.
        idle: whether no request is being answered.
    """

    def __init__(self, far: Far, opening: Mapping[str, Any], folder: Path, watch: Watch, timeout: float) -> None:
        self._far = far
        self._opening = opening
        self._folder = folder
        self._watch = watch
        self._timeout = self._left = timeout
        self._at = Event(0, "instantiate")
        self._environment: Mapping[str, Any] | None = None
        self.died = False
        self.idle = True
        self._begun = False

    def environment(self) -> Mapping[str, Any]:
        if self._environment is None:
            self._environment = self.ask({"do": "environment"})
        return self._environment

    def prepare(self) -> tuple[Preparation, ...]:
        self._begin()
        return tuple(decode(Preparation, each) for each in self.ask({"do": "prepare"}))

    def batches(self) -> Iterator[Output]:
        while (value := self.ask({"do": "next"})) is not None:
            yield decode(Output, value)

    def metrics(self) -> Evaluation:
        evaluation: Evaluation = decode(Evaluation, self.ask({"do": "metrics"}))
        return evaluation

    def rerun(self) -> Rerun:
        rerun: Rerun = decode(Rerun, self.ask({"do": "rerun"}))
        return rerun

    def draws(self, seeds: Sequence[int], wanted: Sequence[str]) -> Draws:
        request = {"do": "draws", "with": {"seeds": list(seeds), "wanted": list(wanted)}}
        draws: Draws = decode(Draws, self.ask(request))
        return draws

    def measure(self, timer: Timer) -> Measurement:
        measurement: Measurement = decode(Measurement, self.ask({"do": "measure", "timer": encode(timer)}))
        return measurement

    def explained(self, seconds: float) -> Failure:
        """Say more of a failed compilation, as `Worker.explained` does; likewise the two below."""
        failure: Failure = decode(Failure, self._inquired("explained", seconds))
        return failure

    def called(self, inside: str, seconds: float) -> tuple[Called, ...]:
        return tuple(decode(Called, each) for each in self._inquired("called", seconds, inside=inside))

    def attempt(self, path: str, inside: str, seconds: float) -> Attempt:
        attempt: Attempt = decode(Attempt, self._inquired("attempt", seconds, path=path, inside=inside))
        return attempt

    def _inquired(self, what: str, seconds: float, **asked: Any) -> Any:
        self._begin()
        return self.ask({"do": what, "with": {**asked, "seconds": seconds}}, limit=seconds + _PATIENCE)

    def locate(self, **asked: Any) -> Located:
        """Look for where the two sides part, as `Worker.locate` does."""
        located: Located = decode(Located, self.ask({"do": "locate", "with": asked}))
        return located

    def kill(self) -> None:
        """End the process at once; who waits for its answer learns of its death."""
        self._far.kill()

    def close(self) -> None:
        self._far.close(patience=_PATIENCE if self.idle else 0.0)

    def _begin(self) -> None:
        if not self._begun:
            self.ask(self._opening)
            self._begun = True

    def ask(self, request: Mapping[str, Any], limit: float | None = None) -> Any:
        """Send a request and wait for its answer; a stage that outlasts the limit or a death is the side's failure.

        Args:
            limit: seconds that it may take in place of those of a stage.
        """
        self.idle = False
        if limit is not None:
            self._left = limit
        try:
            self._far.send(request)
            while True:
                begin = time.monotonic()
                message = self._far.receive(self._left)
                self._left -= time.monotonic() - begin
                if "event" not in message:
                    break
                event = decode(Event, message["event"])
                if "again" in message or (event.side, event.stage) != (self._at.side, self._at.stage):
                    self._left = self._timeout if limit is None else limit
                self._at = event
                self._watch(event)
        except ChildLate:
            # The stack of what hangs is among the last lines.
            self._far.tell_where()
            raise self._failed("timeout", f"no end after {limit or self._timeout:g} s") from None
        except ChildTooLarge as large:
            why = f"its process took {_mega(large.used)}, more than {_mega(large.most)}"
            raise self._failed("memory", why) from None
        except Gone as gone:
            raise self._failed(gone.kind, gone.why) from None
        except ChildDied as death:
            raise self._death(death.code, death.memory) from None
        except (ValueError, TypeError) as error:
            raise self._failed("exception", f"its process sent what is no message: {error}") from error
        self.idle = True
        if "failure" in message:
            raise SideFailed(decode(Failure, message["failure"]), message["side"])
        return message["value"]

    def _death(self, code: int, memory: bool) -> SideFailed:
        self.died = True
        if code >= 0:
            return self._failed("exception", f"its process ended by itself with exit code {code}")
        names = {each.value: each.name for each in signal.Signals}
        name = names.get(-code, f"signal {-code}")
        if -code == signal.SIGKILL:
            if memory:
                return self._failed("memory", "killed by SIGKILL: out of memory")
            return self._failed("signal", "killed by SIGKILL (by hand, or a memory limit)")
        return self._failed("signal", f"killed by {name}")

    def _failed(self, kind: Any, message: str) -> SideFailed:
        self._far.close()
        stage: Stage = self._at.stage
        return SideFailed(Failure(stage, kind, message, self._last_lines()), self._side())

    def _side(self) -> int:
        """Give the side that was at work; one that is being timed sends no events."""
        marker = self._folder / RUNNING
        if self._at.stage == "measure" and marker.exists():
            return marker.read_bytes()[0]
        return self._at.side

    def _last_lines(self) -> str:
        path = self._folder / LOG
        try:
            with path.open("rb") as log:
                log.seek(max(0, path.stat().st_size - _LAST_BYTES))
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(line[:_LONGEST_LINE] for line in lines[-_LAST_LINES:])


def _mega(size: int) -> str:
    return f"{size / 2**20:,.0f} MB"


def opening(jobs: Sequence[Job], folder: Path, threads: int | None, **more: Any) -> dict[str, Any]:
    """Give the first request of a conversation.

    Args:
        jobs: as for `Worker`.
        threads: torch's threads; None for all usable cores but one.
        more: plain JSON that another kind of worker needs.

    Raises:
        ConfigError: a config was made in memory and holds what cannot be written.
    """
    tickets = [job.ticket() for job in jobs]
    return {"do": "open", "jobs": tickets, "folder": str(folder), "threads": threads, **more}


def check_limits(
    timeout: float = 1.0,
    threads: int | None = None,
    processes: int = 1,
    memory: int | None = None,
    search: float = 0.0,
) -> None:
    """Check what runners take.

    Raises:
        ValueError: one of them is too small.
    """
    if not timeout > 0:
        raise ValueError(f"timeout must be above 0 seconds, got {timeout}")
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    if processes < 1:
        raise ValueError(f"processes must be at least 1, got {processes}")
    if memory is not None and not memory > 0:
        raise ValueError(f"memory must be above 0 bytes, got {memory}")
    if not search >= 0:
        raise ValueError(f"search must be at least 0 seconds, got {search}")

"""The worker in a child process, whose death is a finding."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from libbench.child import Child, ChildDied, ChildLate, ChildTooLarge
from libbench.findings import Rerun
from libbench.interfaces import Event, Session, Watch
from libbench.job import Job
from libbench.measured import Measurement
from libbench.records import decode, encode
from libbench.result import Evaluation, Failure, Output, Preparation, SideFailed, Stage
from libbench.serve import serve
from libbench.settings import Timer
from libbench.worker import RUNNING

LOG = "log.txt"
_LAST_LINES = 40
_LAST_BYTES = 65536
_LONGEST_LINE = 500
_PATIENCE = 5.0


class Process:
    """Runs the sides in a child process of this machine.

    Args:
        timeout: seconds that a stage of a side may take, above 0; then the child and all that it started are killed.
        threads: torch's threads; None for all usable cores but one.
        processes: fresh processes for a timing, at least 1.
        memory: bytes that the child and all that it started may take together, above 0; then they are killed. What
            torch takes by itself, some 300 MB, is counted in. None sets no limit.
    """

    def __init__(
        self, timeout: float = 600.0, threads: int | None = None, processes: int = 5, memory: int | None = None
    ) -> None:
        if not timeout > 0:
            raise ValueError(f"timeout must be above 0 seconds, got {timeout}")
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be at least 1, got {threads}")
        if processes < 1:
            raise ValueError(f"processes must be at least 1, got {processes}")
        if memory is not None and not memory > 0:
            raise ValueError(f"memory must be above 0 bytes, got {memory}")
        self.memory = memory
        self.timeout = timeout
        self.threads = threads
        self.processes = processes

    def open(self, *jobs: Job, folder: Path, watch: Watch) -> Session:
        """Start a child and give the session with it."""
        return _ProcessSession(jobs, folder, watch, self)


class _ProcessSession:
    def __init__(self, jobs: Sequence[Job], folder: Path, watch: Watch, runner: Process) -> None:
        tickets = [job.ticket() for job in jobs]
        self._watch = watch
        self._timeout = self._left = runner.timeout
        self._folder = folder
        self._log = folder / LOG
        self._at = Event(0, "instantiate")
        self._idle = True
        self._kills = _oom_kills()
        self._child = Child(serve, self._log, runner.memory)
        self._opening = {"do": "open", "jobs": tickets, "folder": str(folder), "threads": runner.threads}

    def environment(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._ask({"do": "environment"})
        return found

    def prepare(self) -> tuple[Preparation, ...]:
        self._ask(self._opening)
        return tuple(decode(Preparation, each) for each in self._ask({"do": "prepare"}))

    def batches(self) -> Iterator[Output]:
        while (value := self._ask({"do": "next"})) is not None:
            yield decode(Output, value)

    def metrics(self) -> Evaluation:
        evaluation: Evaluation = decode(Evaluation, self._ask({"do": "metrics"}))
        return evaluation

    def rerun(self) -> Rerun:
        rerun: Rerun = decode(Rerun, self._ask({"do": "rerun"}))
        return rerun

    def measure(self, timer: Timer) -> Measurement:
        measurement: Measurement = decode(Measurement, self._ask({"do": "measure", "timer": encode(timer)}))
        return measurement

    def close(self) -> None:
        self._child.close(patience=_PATIENCE if self._idle else 0.0)

    def _ask(self, request: Mapping[str, Any]) -> Any:
        """Send a request and wait for its answer; a stage that outlasts the limit or a death is the side's failure."""
        self._idle = False
        try:
            self._child.send(request)
            while True:
                begin = time.monotonic()
                message = self._child.receive(self._left)
                self._left -= time.monotonic() - begin
                if "event" not in message:
                    break
                event = decode(Event, message["event"])
                if (event.side, event.stage) != (self._at.side, self._at.stage):
                    self._left = self._timeout
                self._at = event
                self._watch(event)
        except ChildLate:
            raise self._failed("timeout", f"no end after {self._timeout:g} s") from None
        except ChildTooLarge as large:
            raise self._failed(
                "memory", f"its process took {_mega(large.used)}, more than {_mega(large.most)}"
            ) from None
        except ChildDied as death:
            raise self._death(death.code) from None
        except (ValueError, TypeError) as error:
            raise self._failed("exception", f"its process sent what is no message: {error}") from error
        self._idle = True
        if "failure" in message:
            raise SideFailed(decode(Failure, message["failure"]), message["side"])
        return message["value"]

    def _death(self, code: int) -> SideFailed:
        if code >= 0:
            return self._failed("exception", f"its process ended by itself with exit code {code}")
        names = {each.value: each.name for each in signal.Signals}
        name = names.get(-code, f"signal {-code}")
        if -code == signal.SIGKILL:
            if _oom_kills() > self._kills:
                return self._failed("memory", "killed by SIGKILL: out of memory")
            return self._failed("signal", "killed by SIGKILL (by hand, or a memory limit)")
        return self._failed("signal", f"killed by {name}")

    def _failed(self, kind: Any, message: str) -> SideFailed:
        self._child.close()
        stage: Stage = self._at.stage
        return SideFailed(Failure(stage, kind, message, self._last_lines()), self._side())

    def _side(self) -> int:
        """Give the side that was at work; one that is being timed sends no events."""
        marker = self._folder / RUNNING
        if self._at.stage == "measure" and marker.exists():
            return marker.read_bytes()[0]
        return self._at.side

    def _last_lines(self) -> str:
        try:
            with self._log.open("rb") as log:
                log.seek(max(0, self._log.stat().st_size - _LAST_BYTES))
                lines = log.read().decode(errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(line[:_LONGEST_LINE] for line in lines[-_LAST_LINES:])


def _mega(size: int) -> str:
    return f"{size / 2**20:,.0f} MB"


def _oom_kills() -> int:
    """Give how many processes this machine has killed for memory since it started."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)

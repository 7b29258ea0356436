"""Why a side could not be compiled: the causes that its session finds, and the smallest module that fails, too."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, cast

from libbench.config import LazyNode
from libbench.faults import Attempt, Called, Smallest, short_place, smallest_text
from libbench.interfaces import Event, Runner, Session
from libbench.job import Job
from libbench.result import Failure, SideFailed

_LONGEST_WORDS = 200
_FATAL = "Fatal Python error"
"""What Python writes when its process is ended by a fault; what stands before it are the compiler's own words."""

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<name>\S+)')


class Asked(Protocol):
    """What a session has, besides, that can be asked why its only side could not be compiled.

    Its limits are in seconds. Every method raises `SideFailed` where the side dies of it.
    """

    def explained(self, seconds: float) -> Failure: ...

    def called(self, inside: str, seconds: float) -> tuple[Called, ...]: ...

    def attempt(self, path: str, inside: str, seconds: float) -> Attempt: ...


@contextmanager
def told_why(
    runner: Runner, job: Job, session: Session, folder: Path, watch: Callable[[Event], None]
) -> Iterator[None]:
    """Let a failure of the compiler say what it is about, and where the smallest module is that fails.

    The runner's `search` says how many seconds may be spent on it.

    Args:
        folder: of the session; others that are needed get theirs in it.
    """
    try:
        yield
    except SideFailed as error:
        failure = error.failure
        if failure.stage != "compile":
            raise
        failure = replace(failure, compiler=_class_of(job.config.compiler))
        if hasattr(session, "explained"):
            with ExitStack() as life:
                failure = _Search(runner, job, cast(Asked, session), folder, watch, life).told(failure)
        raise SideFailed(failure, error.side) from error


class _Search:
    """What is asked of a session after its side could not be compiled, and of further ones where it died of that."""

    def __init__(
        self, runner: Runner, job: Job, session: Asked, folder: Path, watch: Callable[[Event], None], life: ExitStack
    ) -> None:
        self._runner, self._job, self._folder, self._watch, self._life = runner, job, folder, watch, life
        self._session: Asked | None = session
        self._limit: float = getattr(runner, "search", 0.0)
        self._begin = time.monotonic()
        self._attempts = self._opened = 0
        self._deadly = False

    def told(self, failure: Failure) -> Failure:
        """Give the failure with what can be found out."""
        if failure.kind == "signal" and signal.SIGKILL.name not in failure.message:
            self._deadly, self._session = True, None
            failure = replace(failure, message=_killed(failure, failure.compiler))
        elif failure.kind == "exception":
            try:
                told = self._asked().explained(self._left())
            except SideFailed:
                return failure
            failure = replace(failure, message=told.message, faults=told.faults)
        else:
            return failure
        if not self._left():
            return failure
        smallest = self._smallest([fault.module for fault in failure.faults])
        text = smallest_text(smallest)
        return replace(failure, message=f"{failure.message}; {text}" if text else failure.message, smallest=smallest)

    def _smallest(self, hints: Sequence[str]) -> Smallest:
        """Go down from the model into the module that fails, as long as one does."""
        found, children, complete = Smallest(path="", kind=""), 0, True
        try:
            while True:
                called = self._asked().called(found.path, self._left())
                failing = self._failing(called, found.path, hints)
                if failing is None:
                    children = len(called)
                    break
                module, message = failing
                found = Smallest(path=module.path, kind=module.kind, source=module.source, message=message)
        except (SideFailed, _TimeUp):
            complete = False
        seconds = time.monotonic() - self._begin
        return replace(found, children=children, attempts=self._attempts, complete=complete, seconds=seconds)

    def _failing(self, called: Sequence[Called], inside: str, hints: Sequence[str]) -> tuple[Called, str] | None:
        """Give the first module that fails alone as the whole does, and how; None where all compile."""

        def likely(module: Called) -> tuple[bool, bool]:
            # What is like one that compiles will compile; it is tried nevertheless before that is said.
            return not any(f"{hint}.".startswith(f"{module.path}.") for hint in hints), bool(module.like)

        for module in sorted(called, key=likely):
            message = self._fails(module, inside)
            if message:
                return module, message
        return None

    def _fails(self, module: Called, inside: str) -> str:
        """Say how a module fails alone, where that is how the whole does; empty where it does not."""
        if not self._left():
            raise _TimeUp
        self._attempts += 1
        try:
            attempt = self._asked().attempt(module.path, inside, self._left())
        except SideFailed as error:
            self._session = None
            if self._deadly and error.failure.kind == "signal":
                return _killed(error.failure, _class_of(self._job.config.compiler))
            raise
        return attempt.message if attempt.alike else ""

    def _asked(self) -> Asked:
        if self._session is None:
            self._opened += 1
            folder = self._folder / f"search-{self._opened}"
            folder.mkdir()
            opened = self._runner.open(self._job, folder=folder, watch=self._watch)
            self._session = cast(Asked, self._life.enter_context(closing(opened)))
        return self._session

    def _left(self) -> float:
        return max(0.0, self._begin + self._limit - time.monotonic())


class _TimeUp(Exception):
    """No time is left for another attempt."""


def _class_of(node: Any) -> str:
    target = node._target_ if isinstance(node, LazyNode) else type(node)
    return target.rpartition(".")[2] if isinstance(target, str) else getattr(target, "__name__", "")


def _killed(failure: Failure, compiler: str) -> str:
    """Give the message of a process that died, with the last words of its compiler, or where Python was."""
    written, _, after = failure.traceback.partition(_FATAL)
    words = next((line.strip() for line in reversed(written.splitlines()) if line.strip()), "")
    frame = _FRAME.search(after)
    if not words and frame:
        words = f"in {frame['name']} at {short_place(frame['file'] + ':' + frame['line'])}"
    return f"{failure.message} in {compiler}" + (f": {words[:_LONGEST_WORDS]}" if words else "")

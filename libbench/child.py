"""A child process with everything that it starts: begin, talk, watch, end.

Children come from a fork server that has torch imported already, so that one starts in some 20 ms. They talk JSON: what
a side sends is data and is never unpickled.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any

import psutil

PRELOAD = ["torch", "numpy", "numpy.random", "numpy.ctypeslib", "libbench.preload"]
_PR_SET_PDEATHSIG = 1
_LONGEST_WAIT = 1e6
"""More seconds than the system call takes are no number to it."""
_TELL = signal.SIGUSR1
_TELLING = 0.2
"""Seconds that a child gets to write what it is doing."""
_LOOK = 0.2
"""Seconds between two looks at a child's memory."""
_SAFE_PATH = "PYTHONSAFEPATH"
_starting = threading.Lock()


def warm_up() -> None:
    """Begin to start the fork server, which imports torch while the caller does something else."""
    with _starting, _bare_main_module(), _safe_path():
        multiprocessing.get_context("forkserver").set_forkserver_preload(PRELOAD)
        forkserver.ensure_running()


class Channel:
    """JSON messages over a pipe."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def send(self, message: Any) -> None:
        """Send one message."""
        self.connection.send_bytes(json.dumps(message, allow_nan=False).encode())

    def receive(self) -> Any:
        """Wait for one message.

        Raises:
            EOFError: the other end is gone.
        """
        return json.loads(self.connection.recv_bytes())


class ChildDied(Exception):
    """The child ended without an answer.

    Attributes:
        code: its exit code, negative for a signal.
        memory: whether its machine has killed a process for memory meanwhile.
    """

    def __init__(self, code: int, memory: bool = False) -> None:
        super().__init__(code)
        self.code = code
        self.memory = memory


class ChildLate(Exception):
    """The child gave no answer in time."""


class ChildTooLarge(Exception):
    """The child and what it started take more memory than they may; `used` and `most` are in bytes."""

    def __init__(self, used: int, most: int) -> None:
        super().__init__(used, most)
        self.used = used
        self.most = most


class Child:
    """Runs `main(channel)` in a process that leads a session of its own.

    Args:
        main: a function of a module; it gets the child's end of the channel.
        log: what the child and its own children write to standard output and error goes there.
        memory: bytes that they may take together, looked at while a message is awaited; None: no limit.
    """

    def __init__(self, main: Callable[[Channel], None], log: Path, memory: int | None = None) -> None:
        context = multiprocessing.get_context("forkserver")
        here, there = context.Pipe()
        process = context.Process(target=_enter, args=(main, there, str(log), dict(os.environ)), name="libbench")
        warm_up()
        with _starting, _bare_main_module():
            process.start()
        there.close()
        self._process = process
        self._memory, self._looked = memory, 0.0
        self._kills = _oom_kills()
        self._channel = Channel(here)
        # At interpreter exit multiprocessing waits for its children; one that nobody closed must be gone by then.
        self._finalizer = Finalize(self, _kill_group, args=(process.pid,), exitpriority=100)

    @property
    def pid(self) -> int:
        """The child's process id, which is its process group's too."""
        return int(self._process.pid or 0)

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return not self._channel.connection.closed and self._process.is_alive()

    def send(self, message: Any) -> None:
        """Send a message.

        Raises:
            ChildDied: nobody is there to read it.
        """
        try:
            self._channel.send(message)
        except OSError:
            raise self._death() from None

    def receive(self, seconds: float) -> Any:
        """Wait for a message, no longer than `seconds`.

        Raises:
            ChildDied: it ended first.
            ChildLate: nothing came in time.
            ChildTooLarge: it takes too much memory.
        """
        connection = self._channel.connection
        end = time.monotonic() + min(max(0.0, seconds), _LONGEST_WAIT)
        while True:
            left = max(0.0, end - time.monotonic())
            step = left if self._memory is None else min(left, _LOOK)
            ready = wait([connection, self._process.sentinel], step)
            self._look()
            if ready:
                break
            if step == left:
                raise ChildLate
        # A dead child's last words are read first; a grandchild may hold the pipe open after it.
        if connection in ready or connection.poll():
            with contextlib.suppress(EOFError, ConnectionError):
                return self._channel.receive()
        raise self._death()

    def tell_where(self) -> None:
        """Let the child write to its log what it is doing, as a traceback of each of its threads."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, _TELL)
            time.sleep(_TELLING)

    def kill(self) -> None:
        """End the child and every process of its group, also while another thread waits for its message."""
        self._finalizer()

    def close(self, patience: float = 0.0) -> None:
        """End the child and every process of its group. May be called twice.

        Args:
            patience: seconds that it gets to end by itself, as an idle one does when its channel is closed. One that
                is killed leaves behind what it shares with others, such as semaphores.
        """
        if self._channel.connection.closed:
            return
        self._channel.connection.close()
        self._process.join(patience)
        self._finalizer()
        self._process.join()
        self._process.close()

    def _look(self) -> None:
        """See from time to time whether the limit of memory is kept."""
        now = time.monotonic()
        if self._memory is None or now - self._looked < _LOOK:
            return
        self._looked = now
        used = memory_of(self.pid)
        if used > self._memory:
            raise ChildTooLarge(used, self._memory)

    def _death(self) -> ChildDied:
        self._process.join(5.0)
        code = -signal.SIGKILL if self._process.exitcode is None else self._process.exitcode
        return ChildDied(code, _oom_kills() > self._kills)


def _oom_kills() -> int:
    """Give how many processes this machine has killed for memory since it started."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


def memory_of(pid: int) -> int:
    """Give the bytes that a process and all that it started hold, without what lies in files; 0 where it is gone."""
    total = 0
    with contextlib.suppress(psutil.Error):
        first = psutil.Process(pid)
        for each in (first, *first.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                found = each.memory_info()
                total += found.rss - found.shared
    return total


def _enter(main: Callable[[Channel], None], connection: Connection, log: str, environment: dict[str, str]) -> None:
    os.setsid()
    # The fork server has the environment of the time when it was started.
    os.environ.clear()
    os.environ.update(environment)
    # Every child has the pipe by which the fork server knows that its parent lives; only the parent should hold it.
    os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
    _die_with_parent()
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    except FileNotFoundError:
        os._exit(1)  # the parent was interrupted and has cleared its folder; nobody waits for this child
    for stream in (1, 2):
        os.dup2(output, stream)
    os.close(output)
    sys.stdout = open(1, "w", buffering=1, closefd=False)  # noqa: SIM115 - lives as long as the process
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    faulthandler.enable()
    faulthandler.register(_TELL)
    gc.freeze()  # what was loaded before the fork is there to stay; going through it takes longer than a short timing
    main(Channel(connection))


def _die_with_parent() -> None:
    """Ask the kernel to end this process when the fork server ends, as it does when its own parent is gone."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _kill_group(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Keep the fork server, which is started by `python -c`, from importing what lies in the current folder."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


@contextmanager
def _bare_main_module() -> Iterator[None]:
    """Keep multiprocessing from running the caller's script again in the child, which needs nothing of it."""
    before = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = before

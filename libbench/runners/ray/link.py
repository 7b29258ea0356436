"""The caller's end: one process that speaks to Ray for each cluster, and a line to it for each session."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from multiprocessing.connection import Client, wait
from pathlib import Path
from typing import Any

from libbench.child import Channel, Child, ChildDied, ChildLate, ChildTooLarge
from libbench.conversation import Gone
from libbench.errors import LibbenchError, MissingPackageError, UnavailableError
from libbench.interfaces import Event, Watch
from libbench.records import encode
from libbench.runners.ray.connecting import probe
from libbench.runners.ray.placing import Want
from libbench.runners.ray.relay import relay

CONNECT = 60.0
"""Seconds in which a cluster must be connected to, or started; what does not answer at all is known much sooner."""
_GOODBYE = 8.0
_LONG = 1e6
_FOLLOWED = ("open", "prepare", "next", "metrics")
"""Requests that lead to where a session is, so that another node can be brought there."""

_lock = threading.Lock()
_relays: dict[tuple[str | None, str | None], Relay] = {}


class Relay:
    """A process that is connected to a cluster.

    Args:
        address: `host:port`; None for a cluster of its own.
        ship: the folder that is sent to the nodes; None where they have all files already.

    Attributes:
        child: the process.
        folder: what it and a cluster of its own write.

    Raises:
        LibbenchError: the cluster cannot be used.
    """

    def __init__(self, address: str | None, ship: str | None) -> None:
        loopback = address is None or probe(address)
        self._temporary = tempfile.TemporaryDirectory(prefix="libbench-ray-", ignore_cleanup_errors=True)
        self.folder = folder = Path(self._temporary.name)
        self._socket = str(folder / "line")
        self.child = Child(relay, folder / "log.txt")
        try:
            where = {"address": address, "loopback": loopback, "ship": ship}
            self.child.send({**where, "scratch": str(folder), "socket": self._socket})
            answer = self.child.receive(CONNECT)
        except (ChildDied, ChildLate) as error:
            self.close()
            what = "did not start" if address is None else f"at {address} cannot be used: it did not answer"
            how = f"within {CONNECT:g} s" if isinstance(error, ChildLate) else f"({_last_line(folder / 'log.txt')})"
            raise UnavailableError(f"the Ray cluster {what} {how}") from None
        if "error" in answer:
            self.close()
            raise error_of(answer)

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return self.child.alive

    def line(self) -> Channel:
        """Begin a session."""
        return Channel(Client(self._socket, "AF_UNIX"))

    def close(self) -> None:
        """End it, with the cluster where it is its own."""
        self.child.close(_GOODBYE)
        self._temporary.cleanup()


def relay_of(address: str | None, ship: str | None = None) -> Relay:
    """Give the process that is connected to a cluster, which is started when it is first asked for."""
    with _lock:
        found = _relays.get((address, ship))
        if found is None or not found.alive:
            if found is not None:
                found.close()
            found = _relays[address, ship] = Relay(address, ship)
        return found


def disconnect() -> None:
    """End all connections, and the cluster that was started here. The next session begins anew."""
    with _lock:
        while _relays:
            _relays.popitem()[1].close()


atexit.register(disconnect)


def error_of(answer: Mapping[str, Any]) -> LibbenchError:
    """Give the error that a relay tells of."""
    kind = MissingPackageError if answer["error"] == "MissingPackageError" else UnavailableError
    return kind(answer["text"])


class Link:
    """The far end of a session on the cluster, which moves to another node when its own is lost.

    Args:
        address: of the cluster.
        ship: the folder that is sent to the nodes, or None.
        place: what the relay needs to find a place.
        retries: how many nodes may be lost.
        timeout: seconds that a stage may take.
        watch: called while it waits for a place.

    Attributes:
        nodes: the names of those that it was on, the present one last.
        pid: of Ray's process there.

    Raises:
        LibbenchError: the cluster cannot be used, or will never have what is wanted.
    """

    def __init__(
        self,
        address: str | None,
        ship: str | None,
        place: Mapping[str, Any],
        retries: int,
        timeout: float,
        watch: Watch,
    ) -> None:
        self._address = address
        self._ship = ship
        self._place = place
        self._retries = retries
        self._timeout = timeout
        self._watch = watch
        self._request: Mapping[str, Any] = {}
        self.nodes: list[str] = []
        self._done: list[tuple[Mapping[str, Any], Mapping[str, str]]] = []
        self._connect()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a request to the worker."""
        self._request = message
        self._say(message)

    def receive(self, seconds: float) -> Any:
        """Wait for a message of the worker, no longer than `seconds`.

        Raises:
            ChildDied, ChildLate, ChildTooLarge: as for a child of this machine.
            Gone: its node is lost, and no other may be tried; or Ray's process there was killed.
        """
        found = self._hear(seconds)
        if "lost" in found:
            self._move(found["lost"])
            # The work begins anew, and so does the time for it.
            return {"event": encode(Event(0, "instantiate", note="on another node")), "again": True}
        message = found["message"]
        if "value" in message and self._request["do"] in _FOLLOWED:
            self._done.append((self._request, found["files"]))
        return message

    def tell_where(self) -> None:
        """Let the worker write to the log what it is doing."""
        self._say({"tell where": True})

    def kill(self) -> None:
        """End the worker, while another thread may be waiting for its message."""
        self._say({"hang up": 0.0})

    def close(self, patience: float = 0.0) -> None:
        """End the worker and give its place back. May be called twice."""
        if self._line.connection.closed:
            return
        self._say({"hang up": patience})
        with contextlib.suppress(EOFError, OSError):
            end = time.monotonic() + patience + _GOODBYE
            while self._line.connection.poll(max(0.0, end - time.monotonic())):
                self._line.receive()
        self._line.connection.close()

    def _connect(self) -> None:
        """Begin at a place of the cluster, however long it takes until one is free."""
        self._relay = relay_of(self._address, self._ship)
        self._line = self._relay.line()
        self._say(self._place)
        while True:
            found = self._hear(_LONG)
            if "lost" in found:
                self._count(found["lost"])
                return self._connect()
            if "value" in found:
                self.nodes.append(found["value"]["node"])
                self.pid = found["value"]["pid"]
                return None
            self._watch(Event(0, "instantiate", note=found["waiting"]))

    def _move(self, why: str) -> None:
        """Begin on another node, and bring it to where the lost one was."""
        self._count(why)
        self._connect()
        for request, files in self._done:
            self._say({**request, "again": True})
            while "event" in (found := self._hear(self._timeout)).get("message", {}):
                pass
            if "lost" in found:
                return self._move(found["lost"])
            if found.get("files") != files:
                raise Gone("lost", f"{why}, and {self.nodes[-1]} gives other outputs")
        return self._say(self._request)

    def _count(self, why: str) -> None:
        self._line.connection.close()
        if self._retries == 0:
            raise Gone("lost", why)
        self._retries -= 1

    def _say(self, message: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):
            self._line.send(message)

    def _hear(self, seconds: float) -> Mapping[str, Any]:
        try:
            if not wait([self._line.connection], min(max(0.0, seconds), _LONG)):
                raise ChildLate
            found: dict[str, Any] = self._line.receive()
        except (EOFError, OSError):
            return {"lost": "the connection to the Ray cluster was lost"}
        if "error" in found:
            raise error_of(found)
        if "gone" in found:
            raise Gone(found["gone"], found["why"])
        if "died" in found:
            raise ChildDied(found["died"], found["memory"])
        if "large" in found:
            raise ChildTooLarge(*found["large"])
        if "broken" in found:
            raise ValueError(found["broken"])
        return found


def place_of(folder: Path, log: str, want: Want, memory: int | None, *, shipped: bool) -> dict[str, Any]:
    """Give the first message of a session.

    Args:
        folder: where its files are to lie.
        log: the name of the file for what the worker prints.
        want: what it needs.
        memory: bytes that the child may take, or None.
        shipped: whether the nodes get their files sent; else they have those of this process.
    """
    settings = {
        "log": log,
        "group": want.group,
        "memory": memory,
        "path": [] if shipped else list(sys.path),
        "cwd": None if shipped else str(Path.cwd()),
        "threads": os.environ.get("OMP_NUM_THREADS"),
        "shipped": shipped,
    }
    return {"folder": str(folder), "settings": settings, "want": encode(want)}


def _last_line(log: Path) -> str:
    with contextlib.suppress(OSError):
        lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1].strip()[:200] if lines else ""
    return ""

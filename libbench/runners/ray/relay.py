"""The process that speaks to Ray, for all sessions of the caller's process on one cluster.

Ray changes the process that it is used in: its environment, its signal handlers, what it prints. So it gets one of its
own, which can also be ended when it hangs. Every session has a line to it, a Unix socket in a folder of this user's.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

import libbench
from libbench.child import Channel
from libbench.errors import LibbenchError, MissingPackageError, UnavailableError
from libbench.records import decode
from libbench.runners.ray import connecting
from libbench.runners.ray.cluster import Cluster
from libbench.runners.ray.placing import Held, Place, Want
from libbench.runners.ray.spares import Spare

WAITING = "waiting for a place"
_POLL = 1.0
"""Seconds for which a node is asked at a time."""
_LISTEN = 0.1
"""Seconds after which the caller is listened to while a node works."""
_SILENCE = 1.0
"""Seconds of waiting for a place that are not worth a word."""
_MOMENT = 3.0
"""Seconds after which a node on which a process has ended is known to live on, or not."""
_DOUBT = 60.0
"""Seconds after which a node that is neither reached nor known to be lost is given up."""


def relay(channel: Channel) -> None:
    """Connect, then serve every line until the caller hangs up.

    The first message says where: `address` or None, whether it is `loopback`, `scratch`, `socket`, and the folder
    `ship` that the nodes get, or None. The answer is `ready` or `error` and `text`.
    """
    settings = channel.receive()
    try:
        address, sent = settings["address"], connecting.sent_along(settings["ship"])
        ray = (
            connecting.start_local(settings["scratch"], sent)
            if address is None
            else connecting.connect(address, settings["loopback"], sent)
        )
    except Exception as error:
        channel.send(_told(error))
        return
    cluster = Cluster(ray, local=settings["address"] is None, scratch=settings["scratch"])
    with Listener(settings["socket"], "AF_UNIX") as listener:
        channel.send({"ready": True})
        threading.Thread(target=_take_calls, args=(listener, cluster), daemon=True).start()
        with contextlib.suppress(EOFError):
            channel.receive()
    ray.shutdown()


def _take_calls(listener: Listener, cluster: Cluster) -> None:
    while True:
        line = Line(listener.accept(), cluster)
        threading.Thread(target=line.serve, daemon=True).start()


def _told(error: Exception) -> dict[str, Any]:
    text = " ".join(str(error).split())
    if not isinstance(error, LibbenchError):
        return {"error": "UnavailableError", "text": f"Ray cannot be used: {type(error).__name__}: {text}"}
    known = MissingPackageError if isinstance(error, MissingPackageError) else UnavailableError
    return {"error": known.__name__, "text": text}


class _HungUp(Exception):
    """The caller is done with this session."""


class Line:
    """One session: what the caller says goes to its node, and what comes from there to the caller and its folder."""

    def __init__(self, connection: Connection, cluster: Cluster) -> None:
        self._connection = connection
        self._channel = Channel(connection)
        self._cluster = cluster
        self._post: Any = None
        self._spare: Spare | None = None
        self._held: Held | None = None
        self._idle = True
        self._name = ""
        self._patience = 0.0

    def serve(self) -> None:
        """Serve the caller until it hangs up."""
        with contextlib.closing(self._connection), contextlib.suppress(_HungUp, EOFError, ConnectionError):
            try:
                self._take_place(self._channel.receive())
                while True:
                    request = self._heard()
                    self._idle = False
                    self._pass_on(request)
                    self._idle = True
            except (_HungUp, EOFError, ConnectionError):
                raise
            except self._cluster.ray.exceptions.RayError as error:
                self._channel.send(self._end_of(error))
            except Exception as error:
                # Whatever it is, the caller must not wait for an answer.
                self._channel.send(_told(error))
            finally:
                self._end()

    def _take_place(self, request: Mapping[str, Any]) -> None:
        """Find a node, wait until it has room, and begin there."""
        self._folder, self._log = Path(request["folder"]), request["settings"]["log"]
        want: Want = decode(Want, request["want"])
        place = self._cluster.places.choose(want, self._cluster.nodes())
        settings = {**request["settings"], "scratch": self._cluster.scratch}
        settings["devices"] = place.shared.devices if place.shared is not None else None
        kind = json.dumps([place.options, settings["devices"], settings["threads"]])
        try:
            spare = self._begin(place, kind, json.dumps(settings))
        finally:
            self._cluster.places.arrived(place)
        self._held = self._cluster.places.take(want, spare.where["node"], spare.where["devices"])
        self._channel.send({"value": {"node": self._name, "pid": spare.where["pid"]}})
        self._spare = spare

    def _begin(self, place: Place, kind: str, settings: str) -> Spare:
        """Begin at a place that another session has left, or at a new one, whichever there is first."""
        ray, spares, begin = self._cluster.ray, self._cluster.spares, time.monotonic()
        answer, told = None, False
        while True:
            spare = spares.take(kind, place.node)
            if spare is not None:
                if answer is not None:
                    ray.kill(self._post)
                self._post, answer = spare.post, None
                with contextlib.suppress(ray.exceptions.RayError):
                    return self._moved_in(spare, settings)
                # It has ended since it was left.
            spares.drop_others(kind, place.node)
            if answer is None:
                self._post = self._cluster.new_post(place)
                answer = self._post.where.remote()
            if ray.wait([answer], timeout=_LISTEN)[0]:
                return self._moved_in(Spare(self._post, kind, json.loads(ray.get(answer))), settings)
            if not told and time.monotonic() - begin > _SILENCE:
                self._channel.send({"waiting": WAITING})
                told = True
            if self._connection.poll():
                self._heard()

    def _moved_in(self, spare: Spare, settings: str) -> Spare:
        where = spare.where
        self._name = next((node.name for node in self._cluster.nodes() if node.id == where["node"]), where["host"])
        if where["libbench"] != libbench.__version__:
            raise UnavailableError(f"{self._name} has libbench {where['libbench']}, this is {libbench.__version__}")
        self._answer(spare.post.begin.remote(settings))
        return spare

    def _pass_on(self, request: Mapping[str, Any]) -> None:
        """Have a request answered; its files lie in the caller's folder before the answer is given."""
        again = request.get("again", False)
        self._answer(self._post.send.remote(json.dumps(request)))
        while True:
            found = json.loads(self._answer(self._post.receive.remote(_POLL)))
            if "late" in found:
                continue
            files = found.get("files", [])
            if again:
                self._answer(self._post.drop.remote([name for name, _, _ in files]))
            else:
                self._fetch(files)
            found["files"] = {name: sum for name, _, sum in files}
            self._channel.send(found)
            if "event" not in found.get("message", {}):
                return

    def _fetch(self, files: list[tuple[str, int, str]]) -> None:
        for name, size, _ in files:
            target = (self._folder / name).resolve()
            if self._folder.resolve() not in target.parents:
                raise UnavailableError(f"{self._name} sent a file named {name!r}, which would lie elsewhere")
            target.parent.mkdir(exist_ok=True)
            part = target.with_name(f".{target.name}.part")
            with part.open("wb") as file:
                while True:
                    file.write(self._answer(self._post.read.remote(name, file.tell())))
                    if file.tell() >= size:
                        break
            part.replace(target)
        self._fetch_log()

    def _fetch_log(self) -> None:
        with (self._folder / self._log).open("ab") as log:
            while piece := self._answer(self._post.log.remote()):
                log.write(piece)

    def _answer(self, reference: Any) -> Any:
        """Wait for what a node answers while listening to the caller.

        Raises:
            RayError: the node, or Ray's process there, is gone.
            _HungUp: the caller does not want it any more.
        """
        ray = self._cluster.ray
        while not ray.wait([reference], timeout=_LISTEN)[0]:
            if self._connection.poll():
                self._heard()
        return ray.get(reference)

    def _heard(self) -> Mapping[str, Any]:
        """Give what the caller wants next; what is no request is done at once."""
        message: Mapping[str, Any] = self._channel.receive()
        if "hang up" in message:
            self._patience = message["hang up"]
            raise _HungUp
        if "tell where" in message:
            self._cluster.ray.wait([self._post.tell_where.remote()], timeout=_POLL)
            self._fetch_log()
        return message

    def _end_of(self, error: Exception) -> dict[str, Any]:
        """Say what became of a node, or of Ray's process on it, that does not answer."""
        exceptions = self._cluster.ray.exceptions
        broken = isinstance(error, exceptions.RayTaskError | exceptions.RuntimeEnvSetupError)
        if broken or getattr(error, "_actor_init_failed", False):
            return _told(error)
        if isinstance(error, exceptions.OutOfMemoryError):
            return {"gone": "memory", "why": f"killed by Ray: {self._name} ran out of memory"}
        died = isinstance(error, exceptions.ActorDiedError)
        begin = time.monotonic()
        while self._held is not None and any(node.id == self._held.node for node in self._cluster.nodes()):
            # The end of a node is told a little later than that of what ran on it.
            if time.monotonic() - begin > (_MOMENT if died else _DOUBT):
                if not died:
                    break
                return {"gone": "signal", "why": f"Ray's process on {self._name} was killed, and the worker with it"}
            time.sleep(_LISTEN)
        return {"lost": f"{self._name or 'a node'} was lost to the Ray cluster"}

    def _end(self) -> None:
        """End the session's child; leave its place to the next session, or give it back."""
        ray, closed = self._cluster.ray, False
        if self._post is not None:
            with contextlib.suppress(Exception):
                ray.get(self._post.close.remote(self._patience), timeout=self._patience + _POLL * 5)
                closed = True
        if self._held is not None:
            self._cluster.places.leave(self._held)
        # What is still at work for a session that is over would take the next one's for its own.
        if self._spare is not None and self._idle and closed:
            self._cluster.spares.put(self._spare)
        elif self._post is not None:
            with contextlib.suppress(Exception):
                ray.kill(self._post)

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
from types import ModuleType
from typing import Any

import libbench
from libbench.child import Channel
from libbench.errors import LibbenchError, MissingPackageError, UnavailableError
from libbench.records import decode
from libbench.runners.ray import connecting
from libbench.runners.ray.node import Post
from libbench.runners.ray.placing import Held, Node, Place, Places, Want

WAITING = "waiting for a place"
_POLL = 1.0
"""Seconds for which a node is asked at a time."""
_LISTEN = 0.1
"""Seconds after which the caller is listened to while a node works."""
_SILENCE = 1.0
"""Seconds of waiting for a place that are not worth a word."""
_THREADS = 4
"""Calls that a node answers at once: one that waits for the worker, and those that are about it."""
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


class Cluster:
    """The cluster that this process is connected to.

    Args:
        ray: the package.
        local: whether it is this process's own.
        scratch: folder of this machine, used by the posts of a local cluster.
    """

    def __init__(self, ray: ModuleType, local: bool, scratch: str) -> None:
        self.ray = ray
        self.places = Places()
        self.scratch = scratch if local else None
        self.post = ray.remote(Post)

    def nodes(self) -> list[Node]:
        """List the nodes that are alive."""
        free = self.ray._private.state.available_resources_per_node()
        return [
            Node(each["NodeID"], _name(each), each["Resources"], free.get(each["NodeID"], {}))
            for each in self.ray.nodes()
            if each["Alive"]
        ]


def _name(node: Mapping[str, Any]) -> str:
    host, name = node["NodeManagerHostname"], node["NodeName"]
    return host if name == node["NodeManagerAddress"] else f"{name} on {host}"


class _HungUp(Exception):
    """The caller is done with this session."""


class Line:
    """One session: what the caller says goes to its node, and what comes from there to the caller and its folder."""

    def __init__(self, connection: Connection, cluster: Cluster) -> None:
        self._connection = connection
        self._channel = Channel(connection)
        self._cluster = cluster
        self._post: Any = None
        self._held: Held | None = None
        self._name = ""
        self._patience = 0.0

    def serve(self) -> None:
        """Serve the caller until it hangs up."""
        with contextlib.closing(self._connection), contextlib.suppress(_HungUp, EOFError, ConnectionError):
            try:
                self._take_place(self._channel.receive())
                while True:
                    self._pass_on(self._heard())
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
        self._post = self._begin(place, request)
        where = json.loads(self._answer(self._post.where.remote(), waiting=True))
        self._held = self._cluster.places.take(want, where["node"], where["devices"])
        self._name = next((node.name for node in self._cluster.nodes() if node.id == where["node"]), where["host"])
        if where["libbench"] != libbench.__version__:
            raise UnavailableError(f"{self._name} has libbench {where['libbench']}, this is {libbench.__version__}")
        self._channel.send({"value": {"node": self._name, "pid": where["pid"]}})

    def _begin(self, place: Place, request: Mapping[str, Any]) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        settings = {**request["settings"], "scratch": self._cluster.scratch}
        settings["devices"] = place.shared.devices if place.shared is not None else None
        options = {**place.options, "max_restarts": 0, "max_concurrency": _THREADS}
        if place.node is not None:
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(place.node, soft=False)
        return self._cluster.post.options(**options).remote(json.dumps(settings))

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

    def _answer(self, reference: Any, *, waiting: bool = False) -> Any:
        """Wait for what a node answers while listening to the caller.

        Raises:
            RayError: the node, or Ray's process there, is gone.
            _HungUp: the caller does not want it any more.
        """
        ray, waited = self._cluster.ray, 0.0
        while not ray.wait([reference], timeout=_LISTEN)[0]:
            waited += _LISTEN
            if waiting and waited > _SILENCE:
                self._channel.send({"waiting": WAITING})
                waiting = False
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
        """End the session's child and give its place back."""
        ray = self._cluster.ray
        if self._post is not None:
            with contextlib.suppress(Exception):
                ray.wait([self._post.close.remote(self._patience)], timeout=self._patience + _POLL * 5)
            with contextlib.suppress(Exception):
                ray.kill(self._post)
        if self._held is not None:
            self._cluster.places.leave(self._held)

"""What stands on a node of the cluster: a child with the worker in it, and its folder.

It runs in a process of Ray's, which holds no model: a model that crashes takes the child along, and how the child ended
is told as it is on this machine. Everything that leaves the node is JSON or the bytes of a file. It stands apart from
the runner, since every new place waits for all that it imports: the child has torch already, this process needs none.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import libbench
from libbench.child import Channel, Child, ChildDied, ChildLate, ChildTooLarge

SHIPPED = "{shipped}"
"""Stands, in what is sent, for the folder that was sent along."""
PIECE = 32 * 2**20
"""Bytes of a file that travel at once, which have to find room in the node's object store."""
_SECRET = "RAY_AUTH_TOKEN"
_THREADS = "OMP_NUM_THREADS"
_DEVICES = "CUDA_VISIBLE_DEVICES"
_STALE = 24 * 3600.0
_NAME = "libbench-node-"


class Post:
    """A place on this node, with a child for the session that has it now; sessions have it one after another."""

    def __init__(self) -> None:
        self._path = list(sys.path)
        self._sent = str(Path.cwd())

    def where(self) -> str:
        """Say where this is, as JSON: `node`, `host`, `devices`, `libbench`, `pid`."""
        from ray import get_runtime_context

        facts = {"node": get_runtime_context().get_node_id(), "host": platform.node(), "pid": os.getpid()}
        return json.dumps({**facts, "devices": os.environ.get(_DEVICES), "libbench": libbench.__version__})

    def begin(self, settings: str) -> None:
        """Start the child of a session.

        Args:
            settings: JSON. `log`: the name of the file for what the child prints. `memory`: bytes that it may take, or
                None. `scratch`: a folder of this node; None for the system's. `group`: whose caches are shared. `path`
                and `cwd`: where modules and files are looked for besides. `threads`: the caller's OMP_NUM_THREADS, and
                `devices`: the GPUs of a session that shares its place; both None where there are none. `shipped`:
                whether the working folder was sent along.
        """
        given = json.loads(settings)
        self._shipped = self._sent if given["shipped"] else None
        self._take_environment(given)
        base = Path(given["scratch"] or tempfile.gettempdir())
        _sweep(base)
        self._caches = base / f"{_NAME}{os.getuid()}-{given['group']}" if not given["scratch"] else None
        self._folder = Path(tempfile.mkdtemp(prefix=_NAME, dir=base))
        self._log = self._folder / given["log"]
        self._logged = 0
        self._seen: dict[str, tuple[int, int]] = {}
        self._child = Child(_serve, self._log, given["memory"])

    def send(self, text: str) -> None:
        """Pass a request on to the worker; a child that is gone is told of by `receive`."""
        request = json.loads(text)
        if request["do"] == "open":
            request |= {"folder": str(self._folder), "jobs": [self._here(ticket) for ticket in request["jobs"]]}
        with contextlib.suppress(ChildDied):
            self._child.send(request)

    def receive(self, seconds: float) -> str:
        """Wait for what the worker has to say, as JSON.

        Returns:
            `late` when nothing came in time, else `message`, `broken`, `large` or `died`. With all but an event come
            `files`: name, size and SHA-256 of each that is new.
        """
        try:
            found: dict[str, Any] = {"message": self._child.receive(seconds)}
        except ChildLate:
            return json.dumps({"late": True})
        except ChildDied as death:
            found = {"died": death.code, "memory": death.memory}
        except ChildTooLarge as large:
            found = {"large": [large.used, large.most]}
        except (OSError, ValueError) as error:
            found = {"broken": str(error)}
        if "message" not in found or "event" not in found["message"]:
            found["files"] = [*self._new_files("message" not in found)]
        return json.dumps(found)

    def read(self, name: str, begin: int) -> bytes:
        """Give a piece of a file. A snapshot that is read to its end is put away."""
        path = self._folder / name
        with path.open("rb") as file:
            file.seek(begin)
            piece = file.read(PIECE)
        if begin + len(piece) >= path.stat().st_size:
            self.drop([name])
        return piece

    def drop(self, names: Sequence[str]) -> None:
        """Put away the snapshots among some files."""
        for name in names:
            if name[:1].isdigit():
                (self._folder / name).unlink(missing_ok=True)
                self._seen.pop(name, None)

    def log(self) -> bytes:
        """Give what was printed since the last time."""
        with contextlib.suppress(OSError), self._log.open("rb") as file:
            file.seek(self._logged)
            new: bytes = file.read(PIECE)
            self._logged += len(new)
            return new
        return b""

    def tell_where(self) -> None:
        """Let the child write what it is doing to its log."""
        self._child.tell_where()

    def close(self, patience: float) -> None:
        """End the child with all that it started, and put its folder away."""
        self._child.close(patience)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _take_environment(self, given: Mapping[str, Any]) -> None:
        """Make of this process of Ray's what the caller's process is, as far as the child gets to see it."""
        os.environ.pop(_SECRET, None)
        for name, value in ((_THREADS, given["threads"]), (_DEVICES, given["devices"])):
            if value is not None:
                os.environ[name] = value
            elif name == _THREADS:
                # Ray sets it by the number of cores; the runner's own setting is what counts.
                os.environ.pop(name, None)
        sys.path[:] = [*self._path, *(each for each in given["path"] if each not in self._path)]
        if given["cwd"] is not None:
            with contextlib.suppress(OSError):
                os.chdir(given["cwd"])

    def _here(self, ticket: Mapping[str, Any]) -> dict[str, Any]:
        """Give a ticket with the paths of this node."""
        found = dict(ticket)
        for key in ("file", "text", "sample"):
            if self._shipped is not None and found.get(key) is not None:
                found[key] = found[key].replace(SHIPPED, self._shipped)
        if self._caches is not None and found["cache"] is not None:
            # Any process of one comparison finds the cache of the one before it.
            name = hashlib.sha256(found["cache"].encode()).hexdigest()[:16]
            found["cache"] = str(self._caches / name)
        return found

    def _new_files(self, dying: bool) -> Iterator[tuple[str, int, str]]:
        """Give what was written or changed since the last time, tensors before the structure that names them."""
        paths = [path for path in self._folder.glob("**/*") if path.is_file() and not path.name.startswith(".")]
        for path in sorted(paths, key=lambda path: (path.suffix == ".json", path)):
            name, facts = str(path.relative_to(self._folder)), path.stat()
            known = facts.st_size, facts.st_mtime_ns
            # What is written through shared memory changes without a trace.
            if path != self._log and (self._seen.get(name) != known or (dying and path.suffix == "")):
                self._seen[name] = known
                with path.open("rb") as file:
                    yield name, facts.st_size, hashlib.file_digest(file, "sha256").hexdigest()


def _serve(channel: Channel) -> None:
    # Only the child needs torch, and has it already.
    from libbench.serve import serve

    serve(channel)


def _sweep(base: Path) -> None:
    """Remove what sessions that were killed have left behind."""
    for path in base.glob(f"{_NAME}*"):
        with contextlib.suppress(OSError):
            if path.stat().st_uid == os.getuid() and time.time() - path.stat().st_mtime > _STALE:
                shutil.rmtree(path, ignore_errors=True)

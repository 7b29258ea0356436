"""Connecting to a cluster, or starting one, with every error at once and in one line."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import libbench
from libbench.errors import LibbenchError, UnavailableError
from libbench.optional import need

T = TypeVar("T")

PROBE = 4.0
"""Seconds in which a port must take a connection, and then a cluster must say which it is."""
_STORE = 512 * 2**20
"""Bytes of the object store of a local cluster, which only holds files on their way."""
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_gcs_server_request_timeout_seconds": "10",
}
_STAY_LOCAL = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Read when Ray is imported. Without it, Ray takes an outer address of the machine wherever it is told 127.0.0.1."""
_MODE, _TOKEN, _TOKEN_FILE = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"


def need_ray() -> ModuleType:
    """Import Ray.

    Raises:
        MissingPackageError: it is not installed.
    """
    return need("ray", extra="ray", purpose="the runner Ray")


def sent_along(folder: str | None) -> Mapping[str, Any]:
    """Give what Ray has to send to the nodes: a folder and this libbench; nothing where there is no folder."""
    if folder is None:
        return {}
    return {"working_dir": folder, "py_modules": [str(Path(libbench.__file__).parent)]}


def start_local(scratch: str, sent: Mapping[str, Any]) -> ModuleType:
    """Start a cluster of this machine, for this process and within reach of this user only.

    Args:
        scratch: folder for what Ray writes.
        sent: as `sent_along` gives it.
    """
    os.environ.update({**_QUIET, **_STAY_LOCAL, _MODE: "token", _TOKEN: secrets.token_hex(32)})
    for name in ("RAY_ADDRESS", _TOKEN_FILE):
        os.environ.pop(name, None)
    ray = need_ray()
    ray.init(
        num_cpus=len(os.sched_getaffinity(0)),
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        object_store_memory=_STORE,
        runtime_env=dict(sent),
        _temp_dir=scratch,
    )
    return ray


def connect(address: str, loopback: bool, sent: Mapping[str, Any]) -> ModuleType:
    """Connect to a cluster.

    Args:
        address: `host:port` of the cluster's head, that somebody listens at.
        loopback: whether only this machine can reach it.
        sent: as `sent_along` gives it.

    Raises:
        LibbenchError: nobody answers there, it is no cluster, one of another version, one that wants another token,
            one that is open to others and wants none, or one that this machine is no part of.
    """
    os.environ.update(_QUIET, **{_MODE: "disabled"})
    if loopback:
        os.environ.update(_STAY_LOCAL)
    os.environ.pop("RAY_ADDRESS", None)
    ray = need_ray()
    is_open = _answers(address)
    if is_open and not loopback:
        raise _open_to_all(address)
    if not is_open:
        _use_token(address)
    _check_versions(address)
    try:
        ray.init(address=address, log_to_driver=False, configure_logging=False, runtime_env=dict(sent))
    except Exception as error:
        if "node info" not in str(error):
            raise
        raise UnavailableError(
            f"this machine is no node of the Ray cluster at {address}; let it join: "
            f"ray start --address={address} --num-cpus=0"
        ) from error
    # A cluster that listens on every interface answers on the loopback interface, too.
    if is_open and not all(ip_address(node["NodeManagerAddress"]).is_loopback for node in ray.nodes()):
        raise _open_to_all(address)
    return ray


def _open_to_all(address: str) -> LibbenchError:
    return LibbenchError(
        f"the Ray cluster at {address} can be reached by others and takes commands from anybody; start it with "
        f"{_MODE}=token (docs/ray.md)"
    )


def probe(address: str) -> bool:
    """Make sure that somebody listens at an address; tell whether only this machine can reach it.

    Raises:
        UnavailableError: nobody does.
    """
    host, _, port = address.rpartition(":")
    try:
        peer = _in_time(lambda: _peer(host.strip("[]"), int(port)))
        return ip_address(peer.partition("%")[0]).is_loopback
    except TimeoutError:
        reason = f"no answer within {PROBE:g} s"
    except OSError as error:
        reason = error.strerror or str(error)
    raise UnavailableError(f"no Ray cluster can be reached at {address}: {reason}")


def _peer(host: str, port: int) -> str:
    with socket.create_connection((host, port), PROBE) as connection:
        return str(connection.getpeername()[0])


def _in_time(call: Callable[[], T]) -> T:
    """Make a call that may hang, as that for a name's address.

    Raises:
        TimeoutError: it has not come back within `PROBE`; it is left alone.
    """
    found: list[T | Exception] = []

    def make() -> None:
        try:
            found.append(call())
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    thread.join(PROBE + 0.5)
    if not found:
        raise TimeoutError
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def _answers(address: str) -> bool:
    """Tell whether the cluster answers with the token that is set now."""
    from ray.exceptions import AuthenticationError, RayError

    try:
        _in_time(lambda: _metadata(address))
    except AuthenticationError:
        return False
    except (TimeoutError, RayError):
        raise UnavailableError(f"what listens at {address} does not answer as the head of a Ray cluster") from None
    return True


def _metadata(address: str) -> Mapping[str, Any]:
    from ray._raylet import GcsClient  # type: ignore[attr-defined]

    found = GcsClient(address=address).internal_kv_get(b"CLUSTER_METADATA", namespace=b"cluster", timeout=PROBE)
    return dict(json.loads(found)) if found else {}


def _use_token(address: str) -> None:
    from ray._raylet import AuthenticationTokenLoader, Config  # type: ignore[attr-defined]

    if not _token():
        raise LibbenchError(
            f"the Ray cluster at {address} wants a token: set {_TOKEN}, or {_TOKEN_FILE} to a file that holds it"
        )
    os.environ[_MODE] = "token"
    # What Ray has read of the environment so far, it keeps.
    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()
    if not _answers(address):
        raise LibbenchError(f"the Ray cluster at {address} wants another token than the one in {_token()}")


def _token() -> str:
    """Say where Ray finds a token, without it; empty where it finds none."""
    if os.environ.get(_TOKEN):
        return _TOKEN
    file = os.environ.get(_TOKEN_FILE) or str(Path.home() / ".ray" / "auth_token")
    with contextlib.suppress(OSError, UnicodeError):
        return file if Path(file).read_text().strip() else ""
    return ""


def _check_versions(address: str) -> None:
    import ray

    theirs, ours = _metadata(address), {"ray_version": ray.__version__, "python_version": platform.python_version()}
    wrong = [name for name, value in ours.items() if theirs.get(name, value) != value]
    if wrong:
        told = [
            " and ".join(f"{name.removesuffix('_version').title()} {versions[name]}" for name in wrong)
            for versions in (theirs, ours)
        ]
        raise UnavailableError(f"the Ray cluster at {address} runs {told[0]}, this process {told[1]}; both must agree")

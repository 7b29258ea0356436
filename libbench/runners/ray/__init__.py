"""The worker on a node of a Ray cluster; docs/ray.md tells how to set one up."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from libbench.conversation import LOG, Conversation, Gone, check_limits, opening
from libbench.errors import ConfigError
from libbench.interfaces import Session, Watch
from libbench.job import Job
from libbench.post import SHIPPED
from libbench.result import Failure, SideFailed
from libbench.runners.ray.link import Link, place_of
from libbench.runners.ray.placing import Want

_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:/\s]+):\d{1,5}")


class Ray:
    """Runs the sides on the nodes of a Ray cluster, in a child process there.

    Args:
        address: `host:port` of the cluster's head; None for a cluster of this machine, started when it is first used
            and ended with this process. Any other address than one of this machine wants a token.
        resources: what the node must have, by the names that it was started with, as {"A": 1}.
        num_gpus: GPUs of a session, which no other has meanwhile.
        num_cpus: cores of a session, which no other has meanwhile; None for all of a node's.
        timeout: seconds that a stage of a side may take, above 0; waiting for a place does not count.
        threads: torch's threads; None for `num_cpus`, or where that is None, for all usable cores but one.
        processes: fresh processes for a timing, at least 1.
        memory: bytes that the child and all that it started may take together, above 0; None sets no limit.
        retries: how many nodes may be lost, one after another, before a side fails.
        exclusive: whether a session that times has its node for itself.
        spread: whether the sides of one comparison may run on different nodes even if one has all that they need.
        ship: folder that is sent to the nodes with all that the config and its modules need; None where the nodes
            have the same files under the same paths.
    """

    def __init__(
        self,
        address: str | None = None,
        resources: Mapping[str, float] | None = None,
        num_gpus: float = 0,
        num_cpus: int | None = None,
        timeout: float = 600.0,
        threads: int | None = None,
        processes: int = 5,
        memory: int | None = None,
        retries: int = 2,
        exclusive: bool = True,
        spread: bool = False,
        ship: str | None = None,
    ) -> None:
        check_limits(timeout, threads, processes, memory)
        if address is not None and not _ADDRESS.fullmatch(address):
            raise ValueError(f"address must be 'host:port' of a Ray cluster's head, got {address!r}")
        if num_cpus is not None and num_cpus < 1:
            raise ValueError(f"num_cpus must be at least 1, got {num_cpus}")
        for name, amount in {"num_gpus": num_gpus, **(resources or {})}.items():
            if not amount >= 0:
                raise ValueError(f"{name} must not be negative, got {amount}")
        if retries < 0:
            raise ValueError(f"retries must not be negative, got {retries}")
        if ship is not None and not Path(ship).is_dir():
            raise ValueError(f"ship must be a folder, got {ship!r}")
        self.address = address
        self.resources = dict(resources or {})
        self.num_gpus = num_gpus
        self.num_cpus = num_cpus
        self.timeout = timeout
        self.threads = threads if threads is not None else num_cpus
        self.processes = processes
        self.memory = memory
        self.retries = retries
        self.exclusive = exclusive
        self.spread = spread
        self.ship = Path(ship).resolve() if ship is not None else None

    @property
    def one_at_a_time(self) -> bool:
        """Whether sessions that time do not disturb one another, however many are asked for at once."""
        return self.exclusive

    def open(self, *jobs: Job, folder: Path, watch: Watch) -> Session:
        """Wait for a place on the cluster and give the session there.

        Raises:
            LibbenchError: the cluster cannot be used, or will never have what is wanted.
            SideFailed: more nodes were lost than may be.
        """
        first = opening(jobs, folder, self.threads)
        if self.ship is not None:
            first["jobs"] = [_shipped(ticket, self.ship) for ticket in first["jobs"]]
        group = jobs[0].group or uuid.uuid4().hex
        alone = self.exclusive and (jobs[0].timed or len(jobs) > 1)
        want = Want(group, self.num_cpus, self.num_gpus, self.resources, alone, self.spread)
        place = place_of(folder, LOG, want, self.memory, shipped=self.ship is not None)
        ship = str(self.ship) if self.ship is not None else None
        try:
            link = Link(self.address, ship, place, self.retries, self.timeout, watch)
        except Gone as gone:
            raise SideFailed(Failure("instantiate", gone.kind, gone.why)) from None
        return RaySession(link, first, folder, watch, self.timeout, named=self.address is not None)


class RaySession(Conversation):
    """A session on a node of a cluster.

    Args:
        named: whether the environment tells the node; that of a cluster of this machine is this machine.
    """

    def __init__(self, link: Link, *rest: Any, named: bool) -> None:
        super().__init__(link, *rest)
        self.link = link
        self._named = named

    def environment(self) -> Mapping[str, Any]:
        """Describe the machine that the worker began on, and its software; `node` names every node that it was on."""
        node = {"node": ", then ".join(self.link.nodes)} if self._named else {}
        return {**super().environment(), **node}


def _shipped(ticket: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Give a ticket whose paths begin where the folder will lie on the node."""
    found = dict(ticket)
    for key in ("file", "sample"):
        if found.get(key) is not None and folder not in Path(found[key]).parents:
            raise ConfigError(
                f"{found[key]} does not lie in {folder}, which is what the runner sends along (runner.ship)"
            )
    for key in ("file", "text", "sample"):
        if found.get(key) is not None:
            found[key] = found[key].replace(str(folder), SHIPPED)
    # It covers the paths of what the config names, which are others there.
    found["digest"] = None
    return found

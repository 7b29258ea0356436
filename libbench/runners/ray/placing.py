"""Which node a session gets, and how much of it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from libbench.errors import UnavailableError


@dataclass(frozen=True)
class Want:
    """What a session needs.

    Attributes:
        group: the sessions of one comparison.
        cpus: cores; None for all of a node's.
        gpus: GPUs.
        resources: Ray's resources by name, such as those that a node was started with.
        alone: whether nothing else may run on the node meanwhile.
        spread: whether it may run on another node than the rest of its group.
    """

    group: str
    cpus: int | None
    gpus: float
    resources: Mapping[str, float]
    alone: bool
    spread: bool


@dataclass(frozen=True)
class Node:
    """A node of the cluster that is alive."""

    id: str
    name: str
    total: Mapping[str, float]
    free: Mapping[str, float]


@dataclass
class Held:
    """A place that a session has.

    Attributes:
        group: whose it is.
        node: where.
        devices: the GPUs that it sees, as Ray tells its processes.
    """

    group: str
    node: str
    devices: str | None


@dataclass(frozen=True)
class Place:
    """What was chosen.

    Attributes:
        node: None leaves the choice among those that fit to Ray.
        options: what Ray is asked to keep for it.
        shared: the session of the same group whose place it shares, since that one has taken the node already.
    """

    node: str | None
    options: Mapping[str, Any]
    shared: Held | None = None


class Places:
    """Chooses places, and knows which group has been where. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: list[Held] = []
        self._coming: list[Place] = []
        self._been: dict[str, list[str]] = {}

    def choose(self, want: Want, nodes: Sequence[Node]) -> Place:
        """Choose a place; what is chosen at the same time goes elsewhere, until `arrived` is told.

        Raises:
            UnavailableError: no node of the cluster will ever have what is wanted.
        """
        fit = [node for node in nodes if _fits(want, node)]
        if not fit:
            raise UnavailableError(_never(want, nodes))
        with self._lock:
            node = self._pinned(want, fit)
            shared = next((h for h in self._held if node and (h.group, h.node) == (want.group, node.id)), None)
            if shared is not None:
                # Its other session waits for this one, which must not wait for what that one has.
                return Place(shared.node, {"num_cpus": 0, "num_gpus": 0}, shared)
            if node is None and (want.alone or want.cpus is None):
                node = min(fit, key=self._busyness)
            whole = want.alone or want.cpus is None
            cpus = node.total.get("CPU", 0) if whole and node is not None else want.cpus
            options = {"num_cpus": cpus, "num_gpus": want.gpus, "resources": dict(want.resources)}
            place = Place(node.id if node is not None else None, options)
            self._coming.append(place)
        return place

    def arrived(self, place: Place) -> None:
        """Take note that nobody is on the way to a place any more."""
        with self._lock:
            self._coming = [each for each in self._coming if each is not place]

    def take(self, want: Want, node: str, devices: str | None) -> Held:
        """Take note that a session has got a place."""
        held = Held(want.group, node, devices)
        with self._lock:
            self._held.append(held)
            been = self._been.setdefault(want.group, [])
            if node not in been:
                been.append(node)
        return held

    def leave(self, held: Held) -> None:
        """Take note that it is over."""
        with self._lock:
            self._held = [each for each in self._held if each is not held]

    def _pinned(self, want: Want, fit: Sequence[Node]) -> Node | None:
        been = [] if want.spread else self._been.get(want.group, [])
        return next((node for each in been for node in fit if node.id == each), None)

    def _busyness(self, node: Node) -> tuple[int, float]:
        # What the cluster says of its nodes is a moment old, and of those who wait there it says nothing.
        ours = [*(each.node for each in self._held), *(each.node for each in self._coming)].count(node.id)
        taken = node.total.get("CPU", 0) - node.free.get("CPU", 0)
        return ours, taken / max(1.0, node.total.get("CPU", 0))


def _asked(want: Want) -> dict[str, float]:
    named = {"CPU": want.cpus or 1, "GPU": want.gpus, **want.resources}
    return {name: amount for name, amount in named.items() if amount}


def _fits(want: Want, node: Node) -> bool:
    return all(node.total.get(name, 0) >= amount for name, amount in _asked(want).items())


def _never(want: Want, nodes: Sequence[Node]) -> str:
    """Say what is wanted, and what there is of it."""
    asked = _asked(want)
    there = [
        f"{node.name}: " + ", ".join(f"{node.total.get(name, 0):g} {name}" for name in asked)
        for node in nodes
        if node.total.get("CPU", 0) > 0
    ]
    wanted = ", ".join(f"{amount:g} {name}" for name, amount in asked.items())
    return f"no node of the Ray cluster has {wanted} ({'; '.join(there) or 'there is none with a core'})"

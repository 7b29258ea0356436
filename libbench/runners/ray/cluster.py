"""The cluster as the process that is connected to it knows it."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from libbench.post import Post
from libbench.runners.ray.placing import Node, Place, Places
from libbench.runners.ray.spares import Spares

_THREADS = 4
"""Calls that a node answers at once: one that waits for the worker, and those that are about it."""


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
        self.spares = Spares(ray.kill)
        self.scratch = scratch if local else None
        self._post = ray.remote(Post)

    def nodes(self) -> list[Node]:
        """List the nodes that are alive."""
        free = self.ray._private.state.available_resources_per_node()
        return [
            Node(each["NodeID"], _name(each), each["Resources"], free.get(each["NodeID"], {}))
            for each in self.ray.nodes()
            if each["Alive"]
        ]

    def new_post(self, place: Place) -> Any:
        """Ask Ray for a process at a place; what it is asked is answered when it has got one."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        options = {**place.options, "max_restarts": 0, "max_concurrency": _THREADS}
        if place.node is not None:
            options["scheduling_strategy"] = NodeAffinitySchedulingStrategy(place.node, soft=False)
        return self._post.options(**options).remote()


def _name(node: Mapping[str, Any]) -> str:
    host, name = node["NodeManagerHostname"], node["NodeName"]
    return host if name == node["NodeManagerAddress"] else f"{name} on {host}"

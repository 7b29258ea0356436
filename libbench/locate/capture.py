"""One call of a model as a graph: exported where torch can, recorded where it cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal

from libbench.locate.autocasting import Autocast
from libbench.locate.exporting import NotExported, export
from libbench.locate.graph import Graph
from libbench.locate.recording import record

How = Literal["export", "record"]


@dataclass
class Runnable:
    """A call that can be made again.

    Attributes:
        model: whose modules and tensors are named.
        call: what is called.
        inputs: gives fresh arguments, which the call may change.
        autocast: what the call enters, of one inside of a model; None: what it does itself.
        kernels: what the call enters itself: it holds the kernels of the side, where these are not torch's own.
    """

    model: Any
    call: Callable[..., Any]
    inputs: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]
    autocast: Autocast | None = None
    kernels: Callable[[], AbstractContextManager[None]] = nullcontext


def capture(sides: Sequence[Runnable], how: How = "export") -> tuple[Graph, ...]:
    """Give the graph of each side, all made in the same way: operators of two kinds of graphs are no counterparts.

    Args:
        how: "export" tries that first; "record" does not.
    """
    why = ""
    if how == "export":
        try:
            return tuple(_by_kernels(export(side.model, side.call, *side.inputs()), side) for side in sides)
        except NotExported as error:
            why = str(error)
    return tuple(_by_kernels(record(side.model, side.call, *side.inputs()), side, why) for side in sides)


def _by_kernels(graph: Graph, side: Runnable, why: str = "") -> Graph:
    return replace(graph, why=why, kernels=side.kernels)

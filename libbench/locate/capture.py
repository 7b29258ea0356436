"""One call of a model as a graph: exported where torch can, recorded where it cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """

    model: Any
    call: Callable[..., Any]
    inputs: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]]
    autocast: Autocast | None = None


def capture(sides: Sequence[Runnable], how: How = "export") -> tuple[Graph, ...]:
    """Give the graph of each side, all made in the same way: operators of two kinds of graphs are no counterparts.

    Args:
        how: "export" tries that first; "record" does not.
    """
    why = ""
    if how == "export":
        try:
            return tuple(export(side.model, side.call, *side.inputs()) for side in sides)
        except NotExported as error:
            why = str(error)
    return tuple(replace(record(side.model, side.call, *side.inputs()), why=why) for side in sides)

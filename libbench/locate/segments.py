"""Parts of a graph that can be run, and compiled, by themselves."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

from libbench.errors import LibbenchError
from libbench.locate.graph import Given, Graph, Held, Link, Made, Op, links, replaced
from libbench.locate.values import Run
from libbench.tree import own_copy


@dataclass(frozen=True)
class Segment:
    """Operators of a graph that follow one another.

    Attributes:
        graph: whose they are.
        start: the place of the first.
        stop: the place behind the last.
        training: whether the model is in train mode.
    """

    graph: Graph
    start: int
    stop: int
    training: bool = False

    @property
    def ops(self) -> Sequence[Op]:
        """The operators."""
        return self.graph.ops[self.start : self.stop]

    @cached_property
    def _taken(self) -> tuple[Link, ...]:
        return tuple(dict.fromkeys(link for op in self.ops for link in op.links))

    @cached_property
    def inputs(self) -> tuple[Link, ...]:
        """What it takes from before it, of the call's inputs, and of the model if it changes it, each once."""
        changed = {link for op in self.ops for link in op.changed}
        return tuple(
            link
            for link in self._taken
            if isinstance(link, Given)
            or (isinstance(link, Made) and link.op < self.start)
            or (isinstance(link, Held) and link in changed)
        )

    @cached_property
    def held(self) -> tuple[Held, ...]:
        """What of the model it takes and leaves as it is, each once."""
        return tuple(link for link in self._taken if isinstance(link, Held) and link not in self.inputs)

    @cached_property
    def outputs(self) -> tuple[Made, ...]:
        """What behind it is taken from it, each once."""
        behind = [*links(self.graph.outputs), *(link for op in self.graph.ops[self.stop :] for link in op.links)]
        return tuple(
            dict.fromkeys(link for link in behind if isinstance(link, Made) and self.start <= link.op < self.stop)
        )

    def module(self) -> torch.nn.Module:
        """Give it as a module that takes the values of `inputs` and gives a tuple of those of `outputs`.

        Raises:
            LibbenchError: an operator gives tensors and lists of tensors at once.
        """
        root, graph, nodes = torch.nn.Module(), torch.fx.Graph(), dict[Link, Any]()
        for number, link in enumerate(self.inputs):
            nodes[link] = graph.placeholder(f"input_{number}")
        for number, held in enumerate(self.held):
            _hold(root, f"held_{number}", self.graph.held[held.name])
            nodes[held] = graph.get_attr(f"held_{number}")
        for position, op in enumerate(self.ops, self.start):
            args, kwargs = (replaced(part, Link, nodes.__getitem__) for part in (op.args, op.kwargs))
            node = graph.call_function(op.function, args, kwargs)
            single = op.gives_one
            for leaf in range(len(op.shapes)):
                made = Made(position, leaf)
                nodes[made] = node if single else graph.call_function(operator.getitem, (node, leaf))
        graph.output(tuple(nodes[link] for link in self.outputs))
        graph.eliminate_dead_code(lambda node: node.target is not operator.getitem)
        return torch.fx.GraphModule(root, graph).train(self.training)


def _hold(root: torch.nn.Module, name: str, tensor: torch.Tensor) -> None:
    if isinstance(tensor, torch.nn.Parameter):
        root.register_parameter(name, tensor)
    else:
        root.register_buffer(name, tensor)


def cuts_of(graph: Graph) -> list[int]:
    """Give the places at which a graph may be cut in two, in order, its beginning and its end among them.

    What is changed in place keeps its maker and all that changes it in one piece; an input of the call, or what the
    model holds, all that takes it. So each piece sees what it would see in the whole.
    """
    uses: dict[Link, list[int]] = {}
    for position, op in enumerate(graph.ops):
        for link in op.links:
            uses.setdefault(_maker(graph, link), []).append(position)
    barred: set[int] = set()
    for position, op in enumerate(graph.ops):
        for link in op.changed:
            maker = _maker(graph, link)
            first, last = (maker.op, position) if isinstance(maker, Made) else (uses[maker][0], uses[maker][-1])
            barred.update(range(first + 1, last + 1))
    return [place for place in range(len(graph.ops) + 1) if place not in barred]


def _maker(graph: Graph, link: Link) -> Link:
    """Give what the memory of a link was made for: itself, unless it is a view."""
    while isinstance(link, Made):
        shared = graph.ops[link.op].shared
        if not shared:
            break
        link = shared[0]
    return link


@dataclass
class Piece:
    """A segment with its values, and what is called in its place.

    Attributes:
        segment: which operators.
        inputs: what they take when all is run without a compiler; empty until that was done.
        wanted: what they give then.
        call: takes copies of the inputs and gives the outputs; None where it cannot be compiled.
        note: why not.
    """

    segment: Segment
    inputs: list[Any] = field(default_factory=list)
    wanted: list[Any] = field(default_factory=list)
    call: Callable[..., Any] | None = None
    note: str = ""


def run(
    graph: Graph, given: Sequence[torch.Tensor], called: Sequence[Piece] = (), watched: Sequence[Piece] = ()
) -> list[Any]:
    """Run a graph operator by operator; give its outputs.

    Args:
        given: the inputs of the call; they are not changed.
        called: pieces that do not overlap, and that are called in place of their operators.
        watched: pieces whose inputs and outputs are noted in them.
    """
    values, instead = Run.of(graph, given), {piece.segment.start: piece for piece in called}
    position = 0
    while position < len(graph.ops):
        for piece in watched:
            if piece.segment.start == position:
                piece.inputs = own_copy([values.get(link) for link in piece.segment.inputs])
        end = position + 1
        if position in instead:
            end = instead[position].segment.stop
            _call(instead[position], values)
        else:
            values.do(position)
        for done in range(position, end):
            values.release(graph.ops[done].links)
            values.drop(done)
        for piece in watched:
            if piece.segment.stop == end:
                piece.wanted = own_copy([values.get(link) for link in piece.segment.outputs])
        position = end
    return [values.get(link) if isinstance(link, Link) else link for link in graph.outputs]


def _call(piece: Piece, values: Run) -> None:
    if piece.call is None:
        raise LibbenchError("a piece that is not compiled cannot be called")
    inputs = own_copy([values.get(link) for link in piece.segment.inputs])
    with values.graph.kernels():
        outputs = piece.call(*inputs)
    for link, value in zip(piece.segment.outputs, outputs, strict=True):
        count = len(values.graph.ops[link.op].shapes)
        values.values.setdefault(link.op, [None] * count)[link.leaf] = value

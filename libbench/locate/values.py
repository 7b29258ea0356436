"""The values of operators while they run, and what can be told of one of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from libbench.locate.graph import Given, Graph, Link, Made, Op

_UNSET = ("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted")
"""Operators that give memory as it is."""


@dataclass
class Run:
    """The values of one side's operators while something needs them.

    Attributes:
        graph: whose operators they are.
        given: the inputs of the call.
        held: what the model holds.
        left: how often each operator's value is still needed.
        values: what each has given, leaf by leaf.
    """

    graph: Graph
    given: Sequence[torch.Tensor]
    held: Mapping[str, torch.Tensor]
    left: list[int]
    values: dict[int, list[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, graph: Graph, given: Sequence[torch.Tensor]) -> Run:
        """Begin a run, whose changes in place reach neither the inputs nor the model."""
        changes = any(op.changed for op in graph.ops)
        held = {name: each.detach().clone() if changes else each.detach() for name, each in graph.held.items()}
        # Every operator is needed once by itself.
        return cls(graph, [each.clone() for each in given], held, [uses + 1 for uses in graph.uses])

    def get(self, link: Link) -> Any:
        """Give what stands for a link."""
        if isinstance(link, Made):
            return self.values[link.op][link.leaf]
        return self.given[link.position] if isinstance(link, Given) else self.held[link.name]

    def do(self, position: int) -> list[Any]:
        """Run an operator on this side's own values, and keep what it gives."""
        op = self.graph.ops[position]
        with self.graph.kernels():
            outputs = op.run(self.get)
        self.values[position] = without_leftovers(outputs, op)
        return self.values[position]

    def keep(self, links: Iterable[Link]) -> None:
        """Let each be needed once more."""
        for link in links:
            if isinstance(link, Made):
                self.left[link.op] += 1

    def release(self, links: Iterable[Link]) -> None:
        """Let each be needed once less, and forget what nobody needs."""
        for link in links:
            if isinstance(link, Made):
                self.drop(link.op)

    def drop(self, op: int) -> None:
        """Let an operator be needed once less."""
        self.left[op] -= 1
        if self.left[op] <= 0:
            self.values.pop(op, None)


def without_leftovers(outputs: list[Any], op: Op) -> list[Any]:
    """Put zeros where an operator gives memory as it is, which nobody can compare."""
    if op.name.rpartition(".")[2] in _UNSET:
        for each in outputs:
            each.zero_()
    return outputs


def in_dtype_of(value: Any, own: Any) -> Any:
    """Give a value in the dtype of another, where both are floating."""
    if not isinstance(value, torch.Tensor) or not isinstance(own, torch.Tensor) or value.dtype == own.dtype:
        return value
    return value.to(own.dtype) if value.is_floating_point() and own.is_floating_point() else value


def narrower(value: Any, exact: Any) -> bool:
    """Tell whether a floating tensor has fewer digits than another of its shape."""
    if not isinstance(value, torch.Tensor) or not isinstance(exact, torch.Tensor) or value.shape != exact.shape:
        return False
    both = value.is_floating_point() and exact.is_floating_point()
    return both and torch.finfo(value.dtype).eps > torch.finfo(exact.dtype).eps


def not_finite(value: Any) -> bool:
    """Tell whether a tensor or number has NaN or an infinity."""
    if isinstance(value, torch.Tensor):
        inexact = value.is_floating_point() or value.is_complex()
        return inexact and not bool(value.isfinite().all())
    return isinstance(value, float) and not math.isfinite(value)


def has_nan(value: Any) -> bool:
    """Tell whether a tensor or number has NaN."""
    if isinstance(value, torch.Tensor):
        return (value.is_floating_point() or value.is_complex()) and bool(value.isnan().any())
    return isinstance(value, float) and math.isnan(value)


def dtype_of(value: Any) -> str:
    """Give the name of a tensor's dtype, or of what else it is."""
    return str(value.dtype).removeprefix("torch.") if isinstance(value, torch.Tensor) else type(value).__name__

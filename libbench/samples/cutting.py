"""A captured graph, cut into parts that are graphs of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.passes.split_module import split_module

Captured = tuple[torch.fx.GraphModule, Sequence[Any]]
"""A graph and what it is called with."""

_NESTING = {"increment_nesting": 1, "decrement_nesting": -1}


@dataclass(frozen=True)
class Split:
    """Into what a graph is cut: so many parts of about as many calls each, or what each module does.

    Attributes:
        parts: at most so many, at least 2; None to cut by module.
        depth: how far below the model the modules are that are told apart, at least 1.
    """

    parts: int | None = None
    depth: int = 1

    @classmethod
    def parse(cls, text: str) -> Split:
        """Read "3", "modules" or "modules:2".

        Raises:
            ValueError: it is none of these.
        """
        found = re.fullmatch(r"(?:(\d+)|modules(?::(\d+))?)", text)
        parts, depth = (found[1], found[2]) if found else (None, None)
        if found is None or (parts is not None and int(parts) < 2) or (depth is not None and int(depth) < 1):
            raise ValueError(f"wanted how many parts, at least 2, or modules, or modules:DEPTH, got {text!r}")
        return cls(int(parts) if parts else None, int(depth or 1))

    def __str__(self) -> str:
        return str(self.parts) if self.parts is not None else f"modules:{self.depth}"


def cut(graph: torch.fx.GraphModule, arguments: Sequence[Any], split: Split) -> list[Captured]:
    """Run a graph part by part; give each part with copies of what it was called with.

    It is cut only where nothing but tensors and sizes goes from one part to the next.
    """
    calls = [node for node in graph.graph.nodes if node.op.startswith("call_")]
    cuts = _cuts(calls, split)
    if not cuts:
        return [(graph, arguments)]
    part = {node: sum(at <= number for at in cuts) for number, node in enumerate(calls)}
    whole = split_module(
        graph,
        graph,
        part.__getitem__,
        keep_original_order=True,
        keep_original_node_name=True,
        keep_original_input_name=True,
        tuple_return=True,
    )
    names = {node.name: node.target for node in graph.graph.nodes if node.op == "placeholder"}
    found: list[Captured] = []

    class Recording(torch.fx.Interpreter):
        def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
            module = self.fetch_attr(target)
            found.append((module, [copied(each) for each in args]))
            return module(*args, **kwargs)

    Recording(whole).run(*[copied(each) for each in arguments])
    for module, given in found:
        taken = [node for node in module.graph.nodes if node.op == "placeholder"]
        for node, value in zip(taken, given, strict=True):
            # What belongs to the model is known by the name that it has in the whole graph, a size by its type.
            node.target = names.get(node.name, node.target)
            node.type = node.type or (torch.Tensor if isinstance(value, torch.Tensor) else torch.SymInt)
    return found


def copied(value: Any) -> Any:
    """Give a copy of a tensor, detached, or anything else as it is."""
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _cuts(calls: Sequence[torch.fx.Node], split: Split) -> list[int]:
    """Give the numbers of the calls before which the graph is cut, rising."""
    free = sorted(set(range(1, len(calls))) - set(_closed(calls)))
    if split.parts is None:
        return [at for at in free if _module(calls[at - 1], split.depth) != _module(calls[at], split.depth)]
    chosen: set[int] = set()
    for number in range(1, split.parts):
        wanted = number * len(calls) / split.parts
        left = [at for at in free if at not in chosen]
        if left:
            chosen.add(min(left, key=lambda at: abs(at - wanted)))
    return sorted(chosen)


def _closed(calls: Sequence[torch.fx.Node]) -> Iterator[int]:
    """Give where no cut may be: something that is no tensor is on its way, or a nesting of vmap is open."""
    place, depth = {node: number for number, node in enumerate(calls)}, 0
    for number, node in enumerate(calls):
        if depth > 0:
            yield number
        depth += sum(step for name, step in _NESTING.items() if name in str(node.target))
        if not isinstance(node.meta.get("example_value"), torch.Tensor | torch.SymInt | int):
            yield from range(number + 1, max((place.get(user, number) for user in node.users), default=number) + 1)


def _module(node: torch.fx.Node, depth: int) -> str:
    """Give the name of the module that a call belongs to, as far below the model as is asked."""
    above = [name for name, _ in (node.meta.get("nn_module_stack") or {}).values()]
    return above[: depth + 1][-1] if above else ""

"""A graph exported by torch, whose operators are the model's own, not those that they are made of."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable
from typing import Any

import torch

from libbench.codelines import line_in
from libbench.errors import LibbenchError, in_one_line
from libbench.locate.graph import Given, Graph, Held, Made, Op, leaves, replaced, shapes_of
from libbench.locate.recording import given_of
from libbench.locate.watching import paths_of


class NotExported(LibbenchError):
    """A model cannot be exported, or its graph holds what cannot be run operator by operator."""


def export(model: Any, call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Graph:
    """Give the graph of one call, as `libbench.locate.recording.record` does.

    Raises:
        NotExported: torch cannot, for whatever reason.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.export.export(_Called(model, call), args, kwargs, strict=False)
    except Exception as error:
        raise NotExported(in_one_line(error)[:200]) from error
    return _Reading(program, model, given_of((args, kwargs)), (args, kwargs)).graph()


class _Called(torch.nn.Module):
    """A module that does what the side's call does."""

    def __init__(self, model: Any, call: Callable[..., Any]) -> None:
        super().__init__()
        self.model = model
        # In a list, torch does not take it for a module of its own.
        self._call = [call]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._call[0](*args, **kwargs)


class _Reading:
    """One exported program, turned into a graph."""

    def __init__(self, program: Any, model: Any, given: list[torch.Tensor], inputs: Any) -> None:
        self._program = program
        self._given = {id(tensor): position for position, tensor in enumerate(given)}
        self._inputs = torch.utils._pytree.tree_leaves(inputs)
        known = paths_of(model)
        found = model.named_modules(remove_duplicate=False) if isinstance(model, torch.nn.Module) else ()
        self._paths = {f"model.{name}" if name else "model": known[id(module)] for name, module in found}
        self._values: dict[str, Any] = {}
        self._held: dict[str, torch.Tensor] = {}
        self._ops: list[Op] = []

    def graph(self) -> Graph:
        self._placeholders()
        outputs: list[Any] = []
        for node in self._program.graph.nodes:
            if node.op == "call_function":
                self._function(node)
            elif node.op == "output":
                outputs = leaves(self._taken(node.args[0]))
            elif node.op != "placeholder":
                raise NotExported(f"the graph holds a {node.op}: {node.target}")
        return Graph(self._ops, self._held, outputs, "export")

    def _placeholders(self) -> None:
        users = iter(self._inputs)
        for spec in self._program.graph_signature.input_specs:
            kind = spec.kind.name
            if kind == "USER_INPUT":
                value = next(users)
                known = self._given.get(id(value))
                self._values[spec.arg.name] = value if known is None else Given(known)
            elif kind in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
                tensors = {**self._program.state_dict, **self._program.constants}
                name = spec.target.removeprefix("model.")
                self._held[name] = tensors[spec.target]
                self._values[spec.arg.name] = Held(name)
            else:
                raise NotExported(f"the graph takes a {kind.lower().replace('_', ' ')}")

    def _function(self, node: Any) -> None:
        if node.target is operator.getitem and isinstance(self._values.get(node.args[0].name), list | tuple):
            self._values[node.name] = self._values[node.args[0].name][node.args[1]]
            return
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            raise NotExported(f"the graph holds a {node.target}")
        if "_assert" in str(node.target):
            return
        made = node.meta.get("val")
        position, count = len(self._ops), iter(range(10**6))
        self._values[node.name] = _numbered(made, position, count)
        stack = list((node.meta.get("nn_module_stack") or {}).values())
        path = stack[-1][0].partition("@")[0] if stack else "model"
        self._ops.append(
            Op(
                node.target,
                self._taken(node.args),
                self._taken(node.kwargs),
                self._paths.get(path, path.removeprefix("model.").removeprefix("model")),
                line_in(node.meta.get("stack_trace") or ""),
                shapes_of(leaves(made)),
            )
        )

    def _taken(self, value: Any) -> Any:
        return replaced(value, torch.fx.Node, lambda node: self._values[node.name])


def _numbered(made: Any, op: int, count: Any) -> Any:
    """Give the outputs of an operator with a link in place of every leaf."""
    if isinstance(made, tuple | list):
        return [_numbered(each, op, count) for each in made]
    return Made(op, next(count))

"""The graph that `torch.fx` finds by calling the model with stand-ins."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.immutable_collections import immutable_dict, immutable_list

from libbench.creation import Drawn, told_of_python
from libbench.errors import UnsupportedError
from libbench.flat import Flat
from libbench.interfaces import Batch, Compiled
from libbench.methods import method_of
from libbench.result import CompileFacts
from libbench.skeleton import arguments_of, skeleton_of
from libbench.traced import Counted, explained, quiet
from libbench.tree import tensors


class Fx:
    """Runs the graph that symbolic tracing makes of the workload's method, for inputs of any shape.

    Arguments without a tensor are fixed as they are in the first batch; another value of one is an error. What the
    model draws at random without looking at an input is drawn once, while tracing; it is named in the facts.

    Args:
        interpret: True runs the graph node by node by `torch.fx.Interpreter`, False as the code that torch writes.
    """

    def __init__(self, interpret: bool = False) -> None:
        self.interpret = interpret

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Trace the method, with the arguments of the example that hold no tensor.

        Raises:
            UnsupportedError: the method cannot be traced.
        """
        if not isinstance(model, torch.nn.Module) and method != "forward":
            raise UnsupportedError(f"torch.fx traces modules and functions, no method of a {type(model).__qualname__}")
        args, kwargs = arguments_of(example.inputs)
        _require_pure(model, method, args, kwargs)
        call = model.forward if isinstance(model, torch.nn.Module) and method == "forward" else method_of(model, method)
        signature = inspect.signature(call)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        fixed = {name: value for name, value in bound.arguments.items() if not any(tensors(value))}
        baked: list[str] = []
        with quiet(), explained("torch.fx"):
            tracer = torch.fx.Tracer()
            tracer.traced_func_name = method
            with Drawn() as drawn, told_of_python(baked, lambda: call(*args, **kwargs)):
                graph = tracer.trace(model, concrete_args=fixed)
            module = torch.fx.GraphModule(tracer.root, graph)
        run = _interpreter(module) if self.interpret else module
        # Both take what is fixed by position only.
        counted = Counted(_by_position(run, signature) if fixed or self.interpret else run)
        version = f"torch.fx {'Interpreter' if self.interpret else 'GraphModule'}, torch {torch.__version__}"
        found = (*drawn.places, *baked)
        return Compiled(counted, version, lambda: CompileFacts(graphs=1, calls=counted.calls, baked=found))


def _require_pure(model: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse what symbolic tracing drops without a word: changes in place of inputs and buffers."""
    _, leaves = skeleton_of(args, kwargs)
    with torch.no_grad():
        flat = Flat(model, method, args, kwargs, [leaf.clone() for leaf in leaves], {})
    changed = [*(flat.names[place] for place in flat.mutated), *flat.changed]
    if changed:
        raise UnsupportedError(f"torch.fx does not record what a call changes in place: {', '.join(changed)}")


def _by_position(run: Callable[..., Any], signature: inspect.Signature) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return run(*bound.arguments.values())

    return call


def _interpreter(module: torch.fx.GraphModule) -> Callable[..., Any]:
    interpreter = torch.fx.Interpreter(module)
    return lambda *args: _plain(interpreter.run(*args))


def _plain(tree: Any) -> Any:
    """Give what an interpreter gives without the read-only containers of its graph."""
    if isinstance(tree, immutable_dict):
        return {key: _plain(value) for key, value in tree.items()}
    if isinstance(tree, immutable_list):
        return [_plain(value) for value in tree]
    return tuple(_plain(value) for value in tree) if type(tree) is tuple else tree

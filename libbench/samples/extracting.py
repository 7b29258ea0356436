"""Graph samples made from a model: torch traces it, and every graph that it finds is written to a folder."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from libbench.errors import LibbenchError
from libbench.interfaces import feed
from libbench.samples.describing import described
from libbench.samples.hashing import graph_hash
from libbench.samples.reading import CODE, HASH, INFO, INPUTS, WEIGHTS

CONSTRAINTS = "input_tensor_constraints.py"


def extract(
    model: Callable[..., Any], inputs: Any, folder: str | Path, *, name: str, source: str = "libbench"
) -> list[Path]:
    """Run a model once under torch's tracing, and write every graph that was found.

    Args:
        model: a module, or what else `torch.compile` takes.
        inputs: of one call, as in `Batch`.
        folder: one that does not exist. One graph is written to it, several to `subgraph_0` and so on below it.
        name: of the model, for `graph_net.json`.
        source: where the model is from, likewise.

    Returns:
        The folders of the samples, in the order in which the graphs ran first.

    Raises:
        LibbenchError: the folder exists, no graph was found, or one cannot be written as a sample.
    """
    folder = Path(folder)
    if folder.exists():
        raise LibbenchError(f"{folder} exists already")
    graphs = _captured(model, inputs)
    if not graphs:
        raise LibbenchError(f"torch found no graph in {name}")
    several = len(graphs) > 1
    written = []
    for number, (graph, arguments) in enumerate(graphs):
        place = folder / f"subgraph_{number}" if several else folder
        _write(place, graph, arguments, {"model_name": name, "source": source})
        written.append(place)
    return written


class _Traced(torch.nn.Module):
    """Holds the model, since torch calls the weights of one by other names where the model's own class is torch's."""

    def __init__(self, model: Callable[..., Any]) -> None:
        super().__init__()
        self.model = model

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.model(*args, **kwargs)


_HELD = re.compile("(?<=[Ll]_self_)modules_model_")


def _captured(model: Callable[..., Any], inputs: Any) -> list[tuple[torch.fx.GraphModule, list[Any]]]:
    """Give the graphs of one call, each with copies of what it was called with."""
    found: list[tuple[torch.fx.GraphModule, list[Any]]] = []

    def backend(graph: torch.fx.GraphModule, examples: list[Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            if all(known is not graph for known, _ in found):
                # Before the call, which may change them.
                found.append((graph, [_copy(each) for each in arguments]))
            return graph.forward(*arguments)

        return run

    torch.compiler.reset()
    try:
        with torch.no_grad():
            feed(torch.compile(_Traced(model), backend=backend, dynamic=False), inputs)
    finally:
        torch.compiler.reset()
    return found


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def _write(folder: Path, graph: torch.fx.GraphModule, arguments: list[Any], info: Mapping[str, str]) -> None:
    code = _code(graph)
    nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
    named = {_HELD.sub("", str(node.target)): value for node, value in zip(nodes, arguments, strict=True)}
    folder.mkdir(parents=True)
    (folder / CODE).write_text(code)
    (folder / WEIGHTS).write_text("\n".join(described(name, value) for name, value in named.items()))
    (folder / INPUTS).write_text("")
    (folder / CONSTRAINTS).write_text("")
    facts = {"framework": "torch", "num_devices_required": 1, "num_nodes_required": 1, "dynamic": False, **info}
    (folder / HASH).write_text(graph_hash(folder))
    (folder / INFO).write_text(json.dumps(facts, indent=4) + "\n")


def _code(graph: torch.fx.GraphModule) -> str:
    """Give the text of `model.py`."""
    inner = [node.target for node in graph.graph.nodes if node.op in ("call_module", "get_attr")]
    if inner:
        raise LibbenchError(f"the graph has a part of its own, {inner[0]!r}, which a sample cannot hold")
    made = graph.graph.python_code("self")
    imports = ["import torch"]
    for name, value in sorted(made.globals.items()):
        if re.search(rf"\b{name}\b", made.src) and name != "torch":
            imports.append(_import(name, value))
    body = "\n".join(f"    {line}".rstrip() for line in made.src.strip("\n").splitlines() if line.strip())
    return "\n".join(dict.fromkeys(imports)) + _HELD.sub("", f"\n\n\nclass GraphModule(torch.nn.Module):\n{body}\n")


def _import(name: str, value: Any) -> str:
    """Give the line that makes a name mean a value."""
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    if isinstance(value, float):
        return f"from math import {name}"
    module = inspect.getmodule(value)
    own = getattr(value, "__name__", "")
    if value is torch.device:
        return "from torch import device"
    if module is None or getattr(module, own, None) is not value:
        raise LibbenchError(f"the graph uses {name} = {value!r}, which a sample cannot hold")
    return f"from {module.__name__} import {own} as {name}"

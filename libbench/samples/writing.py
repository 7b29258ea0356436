"""A captured graph as the files of a graph sample."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from libbench.errors import LibbenchError
from libbench.samples.describing import described
from libbench.samples.hashing import graph_hash
from libbench.samples.reading import CODE, HASH, INFO, INPUTS, WEIGHTS

CONSTRAINTS = "input_tensor_constraints.py"


@dataclass(frozen=True)
class Texts:
    """What the files of a sample say.

    Attributes:
        code: `model.py`.
        tensors: the classes of `weight_meta.py`, by argument.
        constraints: `input_tensor_constraints.py`; empty where every size is fixed.
        shapes: name, shape and dtype of each argument.
    """

    code: str
    tensors: tuple[str, ...]
    constraints: str
    shapes: tuple[tuple[str, tuple[int, ...], str], ...]

    def same_graph(self, other: Texts) -> bool:
        """Tell whether both do the same to values of the same shapes and dtypes."""
        return self.code == other.code and self.shapes == other.shapes

    def write(self, folder: Path, info: Mapping[str, Any]) -> None:
        """Write the files to a folder that does not exist.

        Args:
            info: more of what `graph_net.json` says.
        """
        folder.mkdir(parents=True)
        (folder / CODE).write_text(self.code)
        (folder / WEIGHTS).write_text("\n".join(self.tensors))
        (folder / INPUTS).write_text("")
        (folder / CONSTRAINTS).write_text(self.constraints)
        facts = {"framework": "torch", "num_devices_required": 1, "num_nodes_required": 1}
        (folder / HASH).write_text(graph_hash(folder))
        (folder / INFO).write_text(json.dumps({**facts, "dynamic": bool(self.constraints), **info}, indent=4) + "\n")


def texts_of(graph: torch.fx.GraphModule, arguments: Sequence[Any], held: str) -> Texts:
    """Put a graph and what it is called with into words.

    Args:
        held: a pattern of what is left out of names.

    Raises:
        LibbenchError: a sample cannot hold it.
    """
    code = re.sub(held, "", _code(graph))
    nodes = [node for node in graph.graph.nodes if node.op == "placeholder"]
    names = [re.sub(held, "", str(node.target)) for node in nodes]
    named = dict(zip(names, arguments, strict=True))
    shapes = tuple(
        (name, tuple(getattr(value, "shape", ())), str(getattr(value, "dtype", ""))) for name, value in named.items()
    )
    tensors = tuple(described(name, value) for name, value in named.items())
    return Texts(code, tensors, _constraints(dict(zip(names, nodes, strict=True)), named), shapes)


def _constraints(nodes: Mapping[str, torch.fx.Node], values: Mapping[str, Any]) -> str:
    """Say which sizes of tensors are one symbol, and what each symbol was."""
    shapes: dict[str, tuple[Any, ...]] = {}
    known: dict[str, int] = {}
    for name, node in nodes.items():
        if isinstance(values[name], torch.Tensor):
            example = node.meta.get("example_value")
            sizes = tuple(values[name].shape)
            shapes[name] = tuple(getattr(example, "shape", sizes))
            known |= {str(s): n for s, n in zip(shapes[name], sizes, strict=True) if isinstance(s, torch.SymInt)}
    if not known:
        return ""
    symbols = sorted({each for text in known for each in re.findall(r"[^\W\d]\w*", text)})
    lines = ["from sympy import Symbol", "", *(f'{each} = Symbol("{each}")' for each in symbols), ""]
    lines += [f"dynamic_dim_constraint_symbols = [{', '.join(symbols)}]"]
    examples = ", ".join(f"{each}: {known[each]}" for each in symbols if each in known)
    lines += [f"dynamic_dim_constraint_symbol2example_value = {{{examples}}}"]
    lines += ["dynamic_dim_constraint_relations = []", "dynamic_dim_constraint_input_shapes = ["]
    lines += [f'    ([{", ".join(map(str, sizes))}], "{name}"),' for name, sizes in shapes.items()]
    return "\n".join([*lines, "]", ""])


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
    return "\n".join(dict.fromkeys(imports)) + f"\n\n\nclass GraphModule(torch.nn.Module):\n{body}\n"


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

"""The operators of an exported program that a compiler does not take, as its errors tell."""

from __future__ import annotations

import operator
import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch

from libbench.codelines import line_in
from libbench.faults import Fault

Convert = Callable[[torch.export.ExportedProgram], Any]

_ZEROS: Any = torch.ops.aten.full.default
"""What is put in the place of operators, and taken for granted."""
_WRITTEN = re.compile(r"(?<!\w)(?P<namespace>aten|prims)(?:\.|::)(?P<name>\w+)")
"""An operator of torch in a text."""
_NODE = re.compile(r"'node_(?P<name>\w+)'")
"""How the name of what an operator became in an ONNX graph stands in errors of ONNX Runtime."""


class NotConverted(Exception):
    """An exported program that a compiler does not take; the compiler's own error is the cause.

    Attributes:
        program: what was exported.
        convert: what has raised.
    """

    def __init__(self, program: torch.export.ExportedProgram, convert: Convert) -> None:
        super().__init__()
        self.program = program
        self.convert = convert


def lacking(failed: NotConverted) -> tuple[Fault, ...]:
    """Give the operators that a compiler's error names."""
    return _faults(_named(failed.program.graph, failed), failed) or unplaced(failed)


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """Give an error, and what has caused it, to the last cause."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        # torch drops the cause of what a backend raises, but keeps the error.
        seen = seen.__cause__ or getattr(seen, "inner_exception", None)


def first_line(text: str) -> str:
    """Give the first line of a text that is not empty; empty where there is none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def all_lacking(failed: NotConverted, end: float) -> tuple[tuple[Fault, ...], bool]:
    """Give all operators that a compiler does not take, and whether that is sure.

    Compilers stop at the first, or the first kind: what they name is taken out of the program, and they are asked
    again.
    """
    program, error, found = failed.program, failed.__cause__, list[Fault]()
    decomposed, took = False, 0.0
    while isinstance(error, Exception):
        named = _named(program.graph, error)
        if not named and not decomposed:
            # Compilers take a program apart before they look at its operators.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program, decomposed = program.run_decompositions(), True
            named = _named(program.graph, error)
        if not named:
            return tuple(found), False
        found += _faults(named, error)
        # Another try takes about as long as the last one; the first, which has imported the compiler, tells nothing.
        begin = time.monotonic()
        if begin + took > end or not all(_taken_out(program.graph, node) for node in named):
            return tuple(found), False
        program.graph_module.recompile()
        error = _error_of(failed.convert, program)
        took = time.monotonic() - begin
    return tuple(found), True


def _error_of(convert: Convert, program: torch.export.ExportedProgram) -> Exception | None:
    try:
        convert(program)
    except Exception as error:
        return error
    return None


def _named(graph: torch.fx.Graph, error: BaseException) -> list[torch.fx.Node]:
    """Give the nodes of the operators that an error names, its deepest cause first."""
    nodes = [node for node in graph.nodes if isinstance(node.target, torch._ops.OpOverload)]
    nodes = [node for node in nodes if node.target is not _ZEROS]
    texts = [str(each) for each in reversed([*chain_of(error)])]
    for meant in (_by_name, _by_likeness, _by_node):
        for text in texts:
            found = meant(nodes, text)
            if found:
                return found
    return []


def _by_name(nodes: Sequence[torch.fx.Node], text: str) -> list[torch.fx.Node]:
    """Find operators by `aten.add`, `aten::add` or `add.Tensor`."""
    meant = {target for target in {node.target for node in nodes} if _names(target).search(text)}
    return [node for node in nodes if node.target in meant]


def _by_likeness(nodes: Sequence[torch.fx.Node], text: str) -> list[torch.fx.Node]:
    """Find what a compiler has taken apart itself by names that are nearly the same, as `prims.erf_inv`."""
    meant = {_letters(match["name"]) for match in _WRITTEN.finditer(text)}
    return [node for node in nodes if _letters(_target(node)._opname) in meant]


def _by_node(nodes: Sequence[torch.fx.Node], text: str) -> list[torch.fx.Node]:
    """Find an operator by what it became in an ONNX graph, with those like it that give the same dtype."""
    meant = {match["name"] for match in _NODE.finditer(text)}
    alike = {(node.target, _dtype(node)) for node in nodes if node.name in meant}
    return [node for node in nodes if (node.target, _dtype(node)) in alike]


def _names(target: Any) -> re.Pattern[str]:
    """Give what finds an operator in a text, and none with a longer name."""
    name, overload = re.escape(target._opname), re.escape(target._overloadname)
    return re.compile(rf"(?<!\w)(?:{re.escape(target.namespace)}(?:\.|::){name}|{name}\.{overload})(?!\w)")


def _letters(name: str) -> str:
    return name.replace("_", "")


def _dtype(node: torch.fx.Node) -> torch.dtype | None:
    return getattr(node.meta.get("val"), "dtype", None)


def unplaced(error: BaseException) -> tuple[Fault, ...]:
    """Give the operators that an error names although the program has none of them: those that others are made of."""
    for each in reversed([*chain_of(error)]):
        names = dict.fromkeys(f"{match['namespace']}.{match['name']}" for match in _WRITTEN.finditer(str(each)))
        if names:
            return tuple(Fault(kind="operator", what=name) for name in names)
    return ()


def _faults(nodes: Iterable[torch.fx.Node], error: BaseException) -> tuple[Fault, ...]:
    why = first_line(str([*chain_of(error)][-1]))
    places = Counter((_name(node), line_in(node.meta.get("stack_trace") or ""), _module(node)) for node in nodes)
    return tuple(
        Fault(kind="operator", what=name, source=source, module=module, count=count, why=why)
        for (name, source, module), count in places.items()
    )


def _name(node: torch.fx.Node) -> str:
    return f"{_target(node).namespace}.{_target(node)._opname}"


def _target(node: torch.fx.Node) -> Any:
    return node.target


def _module(node: torch.fx.Node) -> str:
    """Give the path of the innermost module in which a node of an exported `Flat` stands."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    path = str(stack[-1][0]).partition("@")[0] if stack else ""
    return path.removeprefix("model").removeprefix(".")


def _taken_out(graph: torch.fx.Graph, node: torch.fx.Node) -> bool:
    """Put zeros in the place of what a node gives; False where that is not known beforehand."""
    made, places = node.meta.get("val"), [node]
    if isinstance(made, tuple | list):
        places = list(node.users)
        if any(user.target is not operator.getitem for user in places):
            return False
    given = [place.meta.get("val") for place in places]
    if not all(isinstance(each, torch.Tensor) and _fixed(each.shape) for each in given):
        return False
    for place in places:
        value = place.meta["val"]
        with graph.inserting_before(node):
            options = {"dtype": value.dtype, "device": value.device, "pin_memory": False}
            zeros = graph.call_function(_ZEROS, (list(value.shape), 0), options)
        zeros.meta["val"] = value
        place.replace_all_uses_with(zeros)
        graph.erase_node(place)
        zeros.name = place.name  # by which the program knows its outputs
    if places != [node]:
        graph.erase_node(node)
    return True


def _fixed(shape: Sequence[Any]) -> bool:
    return all(type(size) is int for size in shape)

"""The code of a graph, rewritten to run on another device and to have its weights in the module.

Every node keeps its place, so that a traceback shows the lines of the file as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from pathlib import Path
from types import CodeType

from libbench.samples.literals import parse_text, read_text
from libbench.samples.signature import forward_of

_DEVICE = re.compile(r"(cpu|cuda|xla|mps|xpu|hpu|npu|privateuseone)(:\d+)?")
_PLACED = re.compile(r"device|cpu|cuda|xla|mps|xpu|hpu|npu|privateuseone|autocast")
_AUTOCAST = ("autocast", "_enter_autocast")
_MODES = re.compile(r"\b(_?set_grad_enabled|autocast|_enter_autocast)\(")


def rewritten(file: Path, device: str, bound: Collection[str]) -> CodeType:
    """Compile the code of a graph; nothing of it is run.

    Args:
        device: that every device in the code becomes, such as "cpu" or "cuda:0".
        bound: arguments of `forward` that are taken from attributes of the module instead.
    """
    text = read_text(file)
    tree = parse_text(text, file)
    forward = forward_of(tree, file)
    lines = text.splitlines()
    for statement in forward.body:
        if _PLACED.search("\n".join(lines[statement.lineno - 1 : statement.end_lineno])):
            ast.fix_missing_locations(_Devices(device).visit(statement))
    _bind(forward, bound)
    return compile(tree, str(file), "exec", dont_inherit=True)  # not with the flags of this module


def changes_modes(file: Path) -> bool:
    """Tell whether the code switches gradients or autocast."""
    return _MODES.search(read_text(file)) is not None


def _bind(forward: ast.FunctionDef, bound: Collection[str]) -> None:
    names, arguments = set(bound), forward.args.args
    forward.args.args = [each for each in arguments if each.arg not in names]
    forward.args.defaults = []
    forward.body[:0] = [_assignment(each) for each in arguments if each.arg in names]


def _assignment(argument: ast.arg) -> ast.Assign:
    place = {key: getattr(argument, key) for key in argument._attributes}
    value = ast.Attribute(ast.Name("self", ast.Load(), **place), argument.arg, ast.Load(), **place)
    return ast.Assign([ast.Name(argument.arg, ast.Store(), **place)], value, **place)


class _Devices(ast.NodeTransformer):
    """Puts one device in the place of all."""

    def __init__(self, device: str) -> None:
        self._device = device

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and _DEVICE.fullmatch(node.value):
            node.value = self._device
        return node

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        if node.arg == "device" and isinstance(node.value, ast.Constant) and type(node.value.value) is int:
            node.value.value = self._device
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name == "device" and (node.args or node.keywords):
            node.args, node.keywords = [ast.Constant(self._device)], []
        elif name in ("cuda", "cpu") and isinstance(node.func, ast.Attribute):
            node.func.attr, node.args[:1] = "to", [ast.Constant(self._device)]
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "device"]
        elif name in _AUTOCAST:
            # It takes the kind of a device, without a number.
            _Devices(self._device.partition(":")[0]).generic_visit(node)
            return node
        return self.generic_visit(node)

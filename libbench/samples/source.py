"""The code of a graph, rewritten to run on another device and to have its weights in the module.

Every node keeps its place, so that a traceback shows the lines of the file as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from pathlib import Path
from types import CodeType

from libbench.samples.literals import parse_file
from libbench.samples.reading import arguments_of, forward_of

_DEVICE = re.compile(r"(cpu|cuda|xla|mps|xpu|hpu|npu|privateuseone)(:\d+)?")
_AUTOCAST = ("autocast", "_enter_autocast")
_MODES = ("_set_grad_enabled", "set_grad_enabled", "autocast", "_enter_autocast")


def rewritten(file: Path, device: str, bound: Collection[str]) -> CodeType:
    """Compile the code of a graph; nothing of it is run.

    Args:
        device: that every device in the code becomes, such as "cpu" or "cuda:0".
        bound: arguments of `forward` that are taken from attributes of the module instead.
    """
    tree = parse_file(file)
    _bind(forward_of(tree, file), bound)
    ast.fix_missing_locations(_Devices(device).visit(tree))
    return compile(tree, str(file), "exec")


def changes_modes(file: Path) -> bool:
    """Tell whether the code switches gradients or autocast."""
    text = file.read_text(encoding="utf-8")
    if not any(mode in text for mode in _MODES):
        return False  # most do not, and need not be parsed again to know it
    return any(getattr(node, "attr", getattr(node, "id", "")) in _MODES for node in ast.walk(parse_file(file)))


def _bind(forward: ast.FunctionDef, bound: Collection[str]) -> None:
    taken = [argument for argument in arguments_of(forward) if argument.arg in bound]
    forward.args.args = [argument for argument in forward.args.args if argument not in taken]
    forward.args.defaults = []
    forward.body[:0] = [ast.copy_location(_assignment(argument), argument) for argument in taken]


def _assignment(argument: ast.arg) -> ast.Assign:
    value = ast.Attribute(ast.Name("self", ast.Load()), argument.arg, ast.Load())
    return ast.Assign([ast.Name(argument.arg, ast.Store())], value)


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

"""What makes two graph samples the same graph."""

from __future__ import annotations

import ast
from hashlib import sha256
from pathlib import Path

from libbench.samples.literals import parse_file
from libbench.samples.reading import CODE, WEIGHTS, arguments_of, forward_of, read_metas


def graph_hash(folder: Path) -> str:
    """Give a hash of what the graph does and of the shapes and dtypes that it does it to.

    Names, the order of arguments and those that are not used make no difference; neither do values and devices.
    """
    forward = forward_of(parse_file(folder / CODE), folder / CODE)
    metas = read_metas(folder / WEIGHTS)
    names = _Names()
    lines = [ast.dump(names.visit(node)) for node in forward.body if not _trivial(node, names)]
    used = [(names.known[each.arg], metas[each.arg]) for each in arguments_of(forward) if each.arg in names.known]
    lines += [f"{name} {meta.shape} {meta.dtype}" for name, meta in sorted(used)]
    return sha256("\n".join(lines).encode()).hexdigest()


class _Names(ast.NodeTransformer):
    """Calls everything by the order in which it is first named, devices by one name."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.second: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in ("torch", "device", "inf", "nan", "slice"):
            first = self.second.get(node.id, node.id)
            node.id = self.known.setdefault(first, f"v{len(self.known)}")
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "device":
            return ast.Constant("device")
        return self.generic_visit(node)


def _trivial(node: ast.stmt, names: _Names) -> bool:
    """Tell whether a statement only forgets names, or gives one a second name, which is noted."""
    match node:
        case ast.Assign(value=ast.Constant(value=None)):
            return True
        case ast.Assign(targets=[ast.Name(id=new)], value=ast.Name(id=old)):
            names.second[new] = names.second.get(old, old)
            return True
    return False

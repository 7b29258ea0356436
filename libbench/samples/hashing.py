"""What makes two graph samples the same graph."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path

from libbench.samples.literals import parse_file
from libbench.samples.reading import CODE, WEIGHTS, read_metas
from libbench.samples.signature import arguments_of, forward_of


def graph_hash(folder: Path) -> str:
    """Give a hash of what the graph does and of the shapes and dtypes that it does it to.

    Names, the order of arguments and those that are not used make no difference; neither do values and devices.
    """
    return sha256("\n".join(known for known, _ in _lines(folder)).encode()).hexdigest()


def graph_difference(one: Path, other: Path) -> str:
    """Say what is first other in one graph than in another; empty where they have the same hash."""
    pairs = zip_longest(_lines(one), _lines(other), fillvalue=("", "nothing"))
    return next((f"{a} became {b}" for (known, a), (again, b) in pairs if known != again), "")


def _lines(folder: Path) -> list[tuple[str, str]]:
    """Give each statement that counts and each argument that is used, without names, and as it is shown."""
    forward = forward_of(parse_file(folder / CODE), folder / CODE)
    metas = read_metas(folder / WEIGHTS)
    names = _Names()
    shown = [(node, ast.unparse(node)) for node in _doing(forward.body) if not _trivial(node, names)]
    lines = [(ast.dump(names.visit(node)), text) for node, text in shown]
    used = [(names.known[each.arg], metas[each.arg]) for each in arguments_of(forward) if each.arg in names.known]
    for name, meta in sorted(used, key=lambda each: each[0]):
        facts = f"{meta.shape} {meta.dtype}"
        lines.append((f"{name} {facts}", f"{meta.name} {facts}"))
    return lines


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

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        # What torch has by several names, as linear in torch._C._nn and torch.nn.functional, is one thing.
        root, *inner = _dotted(node)
        if root == "torch" and inner[0] != "ops":
            return ast.Attribute(ast.Name(root, ast.Load()), node.attr, node.ctx)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Name) and node.func.id == "device":
            return ast.Constant("device")
        return self.generic_visit(node)


def _dotted(node: ast.expr) -> list[str]:
    """Give the names of a dotted one; the first is empty where it begins with something else."""
    names = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id if isinstance(node, ast.Name) else "", *reversed(names)]


_CHECKS = {"_check", "_check_is_size", "_assert_scalar"}
_ASKS = {"size", "dim", "numel"}


def _doing(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Leave out what only checks sizes, and what is only asked for it or for nothing: torch does so as it likes."""
    kept: list[ast.stmt] = []
    used: set[str] = set()
    for node in reversed(body):
        value = _value(node)
        if not _calls(value, _CHECKS) and (not _asks(value) or used & _names(node, ast.Store)):
            used |= _names(node, ast.Load)
            kept.append(node)
    return kept[::-1]


def _calls(value: ast.expr | None, names: set[str]) -> bool:
    return isinstance(value, ast.Call) and not names.isdisjoint(_dotted(value.func))


def _asks(value: ast.expr | None) -> bool:
    """Tell whether a value changes nothing when it is computed: a comparison, a part of something, a size."""
    return isinstance(value, ast.Compare | ast.Subscript) or _calls(value, _ASKS)


def _names(node: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, context)}


def _value(node: ast.stmt) -> ast.expr | None:
    return node.value if isinstance(node, ast.Assign | ast.Expr) else None


def _trivial(node: ast.stmt, names: _Names) -> bool:
    """Tell whether a statement only forgets names, or gives one a second name, which is noted."""
    match node:
        case ast.Assign(value=ast.Constant(value=None)):
            return True
        case ast.Assign(targets=[ast.Name(id=new)], value=ast.Name(id=old)):
            names.second[new] = names.second.get(old, old)
            return True
    return False

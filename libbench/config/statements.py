"""The statements of a config file: compiled once per text, with the line that last assigned each name."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

from libbench.config.places import Origin

_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_SAME_SCOPE = (
    ast.stmt,
    ast.NamedExpr,
    ast.Tuple,
    ast.List,
    ast.Starred,
    ast.excepthandler,
    ast.withitem,
    ast.match_case,
)


@dataclass(frozen=True)
class Assigned:
    """An assignment of a module-level name: its line, and what it was imported from, if it was.

    Attributes:
        name: the name; `*` for every public name of a module.
        line: the line, from 1.
        module: the dotted module, None where nothing is imported.
        level: the number of leading dots.
        original: the name in that module.
    """

    name: str
    line: int
    module: str | None = None
    level: int = 0
    original: str = ""


@functools.lru_cache(maxsize=512)
def parsed(file: Path, text: str) -> tuple[CodeType, tuple[Assigned, ...]]:
    """Compile a config and list the assignments of its module-level names; raises `SyntaxError`."""
    tree = ast.parse(text, str(file))
    return compile(tree, str(file), "exec", dont_inherit=True), tuple(_assigned(tree))


def _assigned(tree: ast.AST) -> Iterator[Assigned]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield Assigned(alias.asname or alias.name, node.lineno, node.module or "", node.level, alias.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield Assigned(node.id, node.lineno)
        elif isinstance(node, _SAME_SCOPE) and not isinstance(node, _OWN_SCOPE):
            yield from _assigned(node)


def origins_of(
    file: Path, assigned: tuple[Assigned, ...], given: Mapping[tuple[str, int], ModuleType]
) -> dict[str, Origin]:
    """Give where each module-level name was assigned last, following imports from other configs.

    Args:
        file: the config.
        assigned: its assignments, in order.
        given: what each `from ... import` got, by module and level.
    """
    origins: dict[str, Origin] = {}
    for each in assigned:
        here = Origin(str(file), each.line)
        if each.module is None:
            origins[each.name] = here
            continue
        source = getattr(given.get((each.module, each.level)), "__libbench_origins__", {})
        if each.original == "*":
            origins.update({name: origin for name, origin in source.items() if not name.startswith("_")})
        else:
            origins[each.name] = source.get(each.original, here)
    return origins

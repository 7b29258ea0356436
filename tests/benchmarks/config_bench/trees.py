"""One tree of recorded calls, written for libbench, for each peer, and as bare Python calls."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZES = (10, 500, 10_000)
"""Nodes of the trees that are measured."""


class Node:
    """What every call makes."""

    def __init__(self, width: int, rate: float = 0.0, name: str = "", children: Any = ()) -> None:
        self.width = width
        self.rate = rate
        self.name = name
        self.children = children


HEADS = {
    "libbench": "from libbench.config import LazyCall as L",
    "detectron2": "from detectron2.config.lazy import LazyCall as L",
    "fiddle": "import fiddle\nL = lambda target: lambda **values: fiddle.Config(target, **values)",
}
BODY = """
from config_bench.trees import Node

def tree(count):
    rest = count - 1
    if not rest:
        return L(Node)(width=3, rate=0.5, name="leaf")
    parts = min(8, rest)
    below = [tree(rest // parts + (i < rest % parts)) for i in range(parts)]
    return L(Node)(width=count, rate=0.5, name="inner", children=below)

def chain(count):
    made = L(Node)(width=1)
    for i in range(count - 1):
        made = L(Node)(width=i, children=made)
    return made
"""


def write(folder: Path, peer: str, count: int, shape: str = "tree") -> Path:
    """Write the config file of a tree, or of a chain in which every node holds the next; give its path."""
    file = folder / f"{peer}_{shape}_{count}.py"
    file.write_text(f"{HEADS[peer]}\n{BODY}\nmodel = {shape}({count})\n")
    return file


def described(count: int) -> dict[str, Any]:
    """Give the tree as Hydra writes it."""
    rest = count - 1
    node: dict[str, Any] = {"_target_": "config_bench.trees.Node", "width": count, "rate": 0.5, "name": "inner"}
    if not rest:
        return node | {"width": 3, "name": "leaf"}
    parts = min(8, rest)
    return node | {"children": [described(rest // parts + (i < rest % parts)) for i in range(parts)]}


def bare(count: int) -> Callable[[], Node]:
    """Give a function that makes the tree by one constructor call after another, and does nothing else."""
    lines = ["def build():"]
    _bare(described(count), lines)
    names: dict[str, Any] = {"Node": Node}
    exec("\n".join([*lines, f"    return n{len(lines) - 2}"]), names)
    found: Callable[[], Node] = names["build"]
    return found


def _bare(node: dict[str, Any], lines: list[str]) -> str:
    children = [_bare(each, lines) for each in node.get("children", ())]
    below = f", children=[{', '.join(children)}]" if children else ""
    name = f"n{len(lines) - 1}"
    lines.append(f"    {name} = Node(width={node['width']}, rate=0.5, name={node['name']!r}{below})")
    return name


def count_of(node: Any) -> int:
    """Count the nodes that were built."""
    return 1 + sum(count_of(each) for each in node.children)

"""Two structures side by side: which leaves belong together, and what differs above them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from libbench.tree import join

Node = Mapping[str, Any]
Pair = tuple[str, Node | None, Node | None]

_SEQUENCES = ("list", "tuple", "namedtuple", "nested")
_ORDERED_BY_KEY = ("dict", "mapping")


class Pairing:
    """The leaves of two structures by path, and the differences between their containers.

    Attributes:
        leaves: path, reference node and target node of every leaf; None on the side that lacks it.
        reasons: differences, each with its path.
        notes: what is no difference, likewise.
    """

    def __init__(self, reference: Node, target: Node) -> None:
        self.leaves: list[Pair] = []
        self.reasons: list[str] = []
        self.notes: list[str] = []
        self._walk("", reference, target)

    def _walk(self, path: str, reference: Node, target: Node) -> None:
        inner = ["items" in node for node in (reference, target)]
        if all(inner):
            self._containers(path, reference, target)
        elif any(inner):
            self.reasons.append(f"{_at(path)}: {say(reference)} in the reference, {say(target)} in the target")
            self._lone(path, reference, None)
            self._lone(path, None, target)
        else:
            self.leaves.append((reference.get("path") or target.get("path") or path or _ROOT, reference, target))

    def _containers(self, path: str, reference: Node, target: Node) -> None:
        kinds = reference["kind"], target["kind"]
        if kinds[0] != kinds[1]:
            lists = set(kinds) == {"list", "tuple"}
            (self.notes if lists else self.reasons).append(
                f"{_at(path)}: {say(reference)} in the reference, {say(target)} in the target"
            )
        elif reference["class"] != target["class"]:
            self.notes.append(f"{_at(path)}: {reference['class']} in the reference, {target['class']} in the target")
        for part in ("dtype", "shape"):
            if reference.get(part) != target.get(part):
                self.reasons.append(
                    f"{_at(path)}: {part} {reference.get(part)} in the reference, {target.get(part)} in the target"
                )
        if all(kind in _SEQUENCES for kind in kinds):
            self._sequences(path, reference["items"], target["items"])
        else:
            self._keyed(path, reference, target)

    def _sequences(self, path: str, reference: list[Any], target: list[Any]) -> None:
        if len(reference) != len(target):
            self.reasons.append(f"{_at(path)}: length {len(reference)} in the reference, {len(target)} in the target")
        for (key, left), (other, right) in zip(reference, target, strict=False):
            if key != other and isinstance(key, str) and isinstance(other, str):
                self.reasons.append(f"{_at(path)}: field {key} in the reference is {other} in the target")
            self._walk(join(path, key), left, right)
        for key, node in reference[len(target) :]:
            self._lone(join(path, key), node, None)
        for key, node in target[len(reference) :]:
            self._lone(join(path, key), None, node)

    def _keyed(self, path: str, reference: Node, target: Node) -> None:
        sides = [{_hashable(key): (key, node) for key, node in side["items"]} for side in (reference, target)]
        for key, (raw, node) in sides[0].items():
            where = join(path, raw)
            if key in sides[1]:
                self._walk(where, node, sides[1][key][1])
            else:
                self.reasons.append(f"{where}: only in the reference ({say(node)})")
                self._lone(where, node, None)
        for key, (raw, node) in sides[1].items():
            if key not in sides[0]:
                where = join(path, raw)
                self.reasons.append(f"{where}: only in the target ({say(node)})")
                self._lone(where, None, node)
        shared = [[key for key in side if key in other] for side, other in (sides, sides[::-1])]
        if shared[0] != shared[1] and reference["kind"] in _ORDERED_BY_KEY:
            self.notes.append(f"{_at(path)}: the same keys in another order")

    def _lone(self, path: str, reference: Node | None, target: Node | None) -> None:
        """Take all leaves below a node that has no counterpart."""
        node = reference or target or {}
        for key, child in node.get("items", ()):
            self._lone(join(path, key), child if reference else None, None if reference else child)
        if "items" not in node:
            self.leaves.append((node.get("path") or path or _ROOT, reference, target))


_ROOT = "output"


def say(node: Node) -> str:
    """Name what a node stands for in a few words."""
    kind = node["kind"]
    if kind in ("tensor", "ndarray"):
        return f"{kind} {node['dtype']} {node.get('shape', '')}".strip()
    if kind in ("number", "string", "bytes", "constant"):
        text = repr(node["value"])
        return f"{node['class']} {text if len(text) <= 40 else text[:37] + '...'}"
    if kind == "none":
        return "None"
    size = f" of {len(node['items'])}" if "items" in node else ""
    name = "" if node["class"] == kind else f" {node['class']}"
    return f"{kind}{name}{size}"


def _at(path: str) -> str:
    return path or _ROOT


def _hashable(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key

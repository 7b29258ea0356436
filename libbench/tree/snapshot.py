"""What a call returned, kept apart from it: structure as plain data, tensors by path."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from libbench.tree.describe import Description
from libbench.tree.leaves import as_bytes, kept, parts


@dataclass(frozen=True)
class Snapshot:
    """A nested value as plain data.

    Attributes:
        structure: what stands where, as `libbench.tree.describe` says; it can be written as JSON.
        leaves: the tensors and arrays by path (`logits`, `0`, `past.0.keys`; a lone root has the path `output`),
            detached, on the CPU. Those on the meta device have no values.
    """

    structure: Mapping[str, Any]
    leaves: Mapping[str, torch.Tensor] = field(repr=False)

    @property
    def nbytes(self) -> int:
        """The bytes that the leaves hold."""
        pieces = (piece for leaf in self.leaves.values() for piece in parts(leaf).values())
        return sum(piece.numel() * piece.element_size() for piece in pieces)


def snapshot(outputs: Any, *, copy: bool = True) -> Snapshot:
    """Take a snapshot of anything that a model returns; no value makes it raise.

    Args:
        outputs: any nesting of containers, tensors, arrays, numbers, strings and objects. It is not changed. What
            cannot be read is described as `opaque`, with the reason.
        copy: True takes values that a later change in place cannot touch; False shares memory where that is
            possible, for use before the next call.
    """
    description = Description(lambda tensor: kept(tensor, copy=copy))
    return Snapshot(description.of(outputs), description.leaves)


def tensors(tree: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """Give every tensor of a tree with its path, as it is: same object, same device. Arrays are not given."""
    description = Description(lambda tensor: tensor)
    structure = description.of(tree)
    arrays = set(_paths(structure, "ndarray"))
    yield from ((path, leaf) for path, leaf in description.leaves.items() if path not in arrays)


def same_form(first: Any, second: Any) -> bool:
    """Tell whether two trees differ in the values of their tensors only; False where one holds what cannot be read."""
    forms = [Description(lambda tensor: tensor).of(tree) for tree in (first, second)]
    kinds = {node["kind"] for form in forms for node in _nodes(form)}
    return forms[0] == forms[1] and not kinds & {"opaque", "object", "ndarray"}


def form_of(tree: Any) -> str:
    """Give the SHA-256, in hexadecimal, of all of a tree but the values of its tensors and arrays."""
    return hashlib.sha256(json.dumps(Description(lambda tensor: tensor).of(tree)).encode()).hexdigest()


def hidden(tree: Any) -> tuple[str, ...]:
    """Name the classes in a tree that hold arrays or tensors out of reach of `map_tensors`, or that cannot be read."""
    found = []
    for node in _nodes(Description(lambda tensor: tensor).of(tree)):
        inside = {each["kind"] for each in _nodes(node)}
        if node["kind"] in ("ndarray", "opaque") or (node["kind"] in ("object", "set") and "tensor" in inside):
            found.append(str(node["class"]))
    return tuple(dict.fromkeys(found))


def numbers(tree: Any) -> bool:
    """Tell whether a tree holds a number, a bool included."""
    return any(node["kind"] == "number" for node in _nodes(Description(lambda tensor: tensor).of(tree)))


def fingerprint(tree: Any) -> str:
    """Give the SHA-256, in hexadecimal, of a tree's structure, dtypes, shapes and values.

    It does not depend on the device, on strides or on `requires_grad`. Two trees with the same fingerprint hold the
    same bits; -0.0 and 0.0 differ.
    """
    taken = snapshot(tree, copy=False)
    digest = hashlib.sha256(json.dumps(taken.structure).encode())
    for leaf in taken.leaves.values():
        if leaf.is_quantized and "channel" not in str(leaf.qscheme()):
            digest.update(f"{leaf.q_scale()!r} {leaf.q_zero_point()}".encode())
        for piece in parts(leaf).values():
            digest.update(as_bytes(piece).numpy().data)
    return digest.hexdigest()


def _paths(node: Mapping[str, Any], kind: str) -> Iterator[str]:
    return (each["path"] for each in _nodes(node) if each["kind"] == kind and "path" in each)


def _nodes(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for _, child in node.get("items", ()):
        yield from _nodes(child)

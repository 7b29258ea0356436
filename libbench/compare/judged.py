"""Which leaves a truth can judge, and the values that are judged."""

from __future__ import annotations

from typing import Any

import torch

from libbench.compare.scalars import as_tensor
from libbench.compare.structure import Node
from libbench.tree import Snapshot


def floating(node: Node) -> bool:
    """Tell whether a node holds floating or complex values."""
    if node["kind"] == "number":
        return node["type"] in ("float", "complex")
    return node["kind"] in ("tensor", "ndarray") and str(node.get("dtype")).startswith(("float", "bfloat", "complex"))


def unfit(truth: Node | None, reference: Node, target: Node, dtype: str) -> str:
    """Say why there is no truth for a leaf; empty where there is one."""
    if truth is None:
        return f"the {dtype} copy does not return it"
    if not floating(truth):
        return f"the {dtype} copy returns {truth.get('dtype', truth['class'])} here"
    if truth["kind"] != "number" and truth["dtype"] not in (dtype, "complex128"):
        return f"the {dtype} copy computes it in {truth['dtype']}, which is no better than that"
    for name, node in (("copy", truth), ("reference", reference), ("target", target)):
        if node.get("layout", "strided") != "strided":
            return f"the {name} has it in the layout {node['layout']}, which is not judged by a truth"
    if _shape(truth) != _shape(reference):
        return f"the {dtype} copy gives the shape {_shape(truth)}, the reference {_shape(reference)}"
    if _shape(reference) != _shape(target):
        return "reference and target have other shapes"
    if _complex(truth) != _complex(reference) or _complex(reference) != _complex(target):
        return "it is complex on one side only"
    return ""


def _complex(node: Node) -> bool:
    return node.get("type") == "complex" or str(node.get("dtype")).startswith("complex")


def _shape(node: Node) -> Any:
    return list(node.get("shape", ()))


def values_of(node: Node, side: Snapshot) -> torch.Tensor:
    """Give the values of a node as the tensor that is judged."""
    if node["kind"] != "number":
        return side.leaves[node["path"]]
    value = as_tensor(node)
    # Python's floats are often float32 values that were taken out of a tensor: then that is how exact they are.
    narrow = value.to(torch.complex64 if value.is_complex() else torch.float32)
    return narrow if bool((narrow == value).all()) else value

"""The node of a config that has built a module, where there is one of its own."""

from __future__ import annotations

from typing import Any

from libbench.config import Call, LazyNode, freeze


def config_path(model: Any, path: str) -> str:
    """Give the config path of a module, as `model.blocks.1.conv`; empty where no node of the config stands there.

    Args:
        model: the `model` part of a config.
        path: where the module stands in the model that it has built; empty for the model itself.
    """
    if not isinstance(model, LazyNode):
        return ""
    node: Any = freeze(model)
    for part in path.split(".") if path else ():
        node = _child(node, part)
    return ".".join(["model", path] if path else ["model"]) if isinstance(node, Call) else ""


def _child(node: Any, part: str) -> Any:
    """Give what stands at a key, an argument or a position of a tree; None where there is nothing."""
    if isinstance(node, Call):
        return node.kwargs.get(part)
    if isinstance(node, dict):
        return node.get(part)
    if isinstance(node, list | tuple) and part.isdecimal() and int(part) < len(node):
        return node[int(part)]
    return None

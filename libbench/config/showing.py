"""Show parts of a config as text for people, and sum a config up as one hash."""

from __future__ import annotations

import hashlib
from enum import Enum
from typing import Any

from libbench.config.deep import Steps, unwound
from libbench.config.freezing import Freezer, freeze, thaw
from libbench.config.frozen import Call, Group, Near, Tree, children, nearer, set_near
from libbench.config.interpolation import Resolver, is_interpolation, step, value_at
from libbench.config.leaves import fingerprint, opaque_text
from libbench.config.places import Origin
from libbench.config.targets import target_key, target_text
from libbench.errors import ConfigError


def show(node: Any) -> str:
    """Render a node, or any value, as one line of Python-like text: `TorchCompile(backend='inductor')`."""
    text: str = unwound(_shown(freeze(node)))
    return text


def _shown(tree: Tree) -> Steps:
    kind = type(tree)
    if kind not in (Call, list, tuple, dict, Group):
        return shown_leaf(tree)
    items = []
    for key, each in children(tree):
        text = yield _shown(each)
        if kind is Call:
            items.append(text if isinstance(key, int) else f"{key}={text}")
        else:
            items.append(text if kind in (list, tuple) else f"{key!r}: {text}")
    if kind is Call:
        name = target_text(tree.target).rpartition(".")[2]
        return f"{name}{'.partial' if tree.partial else ''}({', '.join(items)})"
    if kind is list:
        return f"[{', '.join(items)}]"
    if kind is tuple:
        return f"({', '.join(items)}{',' if len(tree) == 1 else ''})"
    return f"{{{', '.join(items)}}}"


def show_in(resolver: Resolver, value: Tree, path: tuple[Any, ...]) -> str:
    """Render a value of a tree as `show` does, one that stands for another in both forms: `3 (derived by half)`."""
    if not is_interpolation(value):
        return show(value)
    try:
        found = show(resolver.resolve(value, path)[0])
    except ConfigError:
        return show(value)
    return f"{found} ({f'from {value}' if isinstance(value, str) else opaque_text(value)})"


def computed_in(cfg: Any, derived: Any, path: str) -> Any:
    """Give the value of something derived, in the config around it."""
    tree = freeze(cfg)
    return thaw(Resolver(tree).resolve(derived, tuple(path.split(".")))[0])


def shown_leaf(value: Any) -> str:
    """Render one leaf as a line of text, without addresses."""
    if callable(value) or isinstance(value, type):
        return target_text(value) if target_key(value) is not None else opaque_text(value)
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return opaque_text(value)
    if isinstance(value, Enum) and value.name is not None:
        return f"{type(value).__name__}.{value.name}"
    text = " ".join(repr(value).split())
    return opaque_text(value) if " at 0x" in text else text


def digest(cfg: Any) -> str:
    """Give a hash, 64 hexadecimal digits, of everything in a config: targets, values, types and what is shared.

    It is the same in every process, and for the same file loaded anew. Where things were written does not enter.
    """
    summary = _Summary()
    summary.add(freeze(cfg))
    return summary.state.hexdigest()


class _Summary:
    """A hash that is fed with a tree."""

    def __init__(self) -> None:
        self.state = hashlib.sha256()
        self._numbers: dict[int, int] = {}
        self._targets: dict[int, str] = {}

    def add(self, tree: Tree) -> None:
        kind = type(tree)
        if kind is Call:
            if id(tree) in self._numbers:
                self._token(f"again {self._numbers[id(tree)]}")
                return
            self._numbers[id(tree)] = len(self._numbers)
            self._token(f"call {self._target(tree.target)} {tree.partial} {len(tree.args)} {len(tree.kwargs)}")
        elif kind is list or kind is tuple or kind is dict or kind is Group:
            self._token(f"{'dict' if kind is Group else kind.__name__} {len(tree)}")
        else:
            self._token(fingerprint(tree))
            return
        pairs = list(children(tree))
        if kind is not list and kind is not tuple:
            pairs.sort(key=lambda pair: (type(pair[0]).__name__, str(pair[0])))
        for key, each in pairs:
            self._token(fingerprint(key))
            self.add(each)

    def _token(self, text: str) -> None:
        self.state.update(text.encode("utf-8", "backslashreplace"))
        self.state.update(b"\0")

    def _target(self, target: Any) -> str:
        if id(target) not in self._targets:
            self._targets[id(target)] = _target(target)
        return self._targets[id(target)]


def _target(target: Any) -> str:
    return f"text:{target}" if isinstance(target, str) else fingerprint(target)


def origin(cfg: Any, path: str) -> str | None:
    """Give where the value at a dotted path was set: `configs/a.py:12`, or the override; None when it is not known."""
    # What is wrong elsewhere in the config is no reason not to tell.
    found = origin_at(Freezer([]).tree(cfg), path.split(".") if path else [])
    return None if found is None else str(found)


def origin_at(tree: Tree, keys: list[Any]) -> Origin | None:
    """Give the nearest known origin on the way to a value; None where the path leads nowhere or nothing is known."""
    best = tree.origin if type(tree) is Call else None
    near: Near = None
    for key in keys:
        found = step(tree, key)
        if found is None:
            return None
        near = nearer(near, tree, found[0])
        tree = value_at(tree, found[0])
        best = origin_below(tree, set_near(near), best)
    return best


def origin_below(value: Tree, here: Origin | None, above: Origin | None) -> Origin | None:
    """Give the origin of a value: where its key was set, where its call was written, or what is above it."""
    if here is not None and here.file is None:
        return here
    if type(value) is Call and value.origin is not None:
        return value.origin
    return here or above

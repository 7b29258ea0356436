"""Build what a config describes."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from omegaconf.base import Node

from libbench.config.checking import checked_target
from libbench.config.frozen import Call, Group, Tree, freeze
from libbench.config.interpolation import Resolver, is_interpolation, value_at
from libbench.config.places import told
from libbench.config.targets import callable_target, target_text
from libbench.errors import ConfigError

_NOTE = "while building "


def instantiate(cfg: Any, /, **kwargs: Any) -> Any:
    """Build a node, or every node in a list, tuple, dict or config.

    Args:
        cfg: what to build; what is not part of a config comes back as it is.
        kwargs: arguments for the outermost call, in place of those that are recorded; given to it as they are.

    Returns:
        What the target returns. Lists, tuples and dicts are plain ones; leaves are the very objects of the config.
        A node that is reached twice is built once. The config is not changed, and building again builds anew.

    Raises:
        ConfigError: a node has a mistake (see `validate`), or an interpolation leads nowhere.
        Exception: whatever a target raises, with a note that `built_at` reads.
    """
    tree = freeze(cfg)
    path: tuple[Any, ...] = ()
    root = tree
    if isinstance(cfg, Node) and cfg._get_parent() is not None and _refers(tree):
        root, path, tree = _in_its_config(cfg)
    if kwargs:
        if type(tree) is not Call:
            raise ConfigError(f"only a call takes arguments, got {', '.join(kwargs)} for {type(cfg).__name__}")
        tree = Call(
            tree.target, tree.args, {**tree.kwargs, **{key: _Given(each) for key, each in kwargs.items()}},
            tree.partial, tree.origin, tree.origins, tree.tag,
        )  # fmt: skip
    return _Builder(root).value(tree, path)


def instantiate_parts(cfg: Any, names: Iterable[str]) -> dict[str, Any]:
    """Build some of a config's top-level values, as `instantiate` does; a node that two of them share is built once.

    Names that the config does not have are left out. Interpolations see the whole config.
    """
    tree = freeze(cfg)
    builder = _Builder(tree)
    return {name: builder.value(tree[name], (name,)) for name in names if name in tree}


def built_at(error: BaseException) -> str | None:
    """Give the note of a failed build: the path, the target and the file and line of the innermost call."""
    for note in getattr(error, "__notes__", ()):
        if note.startswith(_NOTE):
            return str(note)
    return None


class _Given:
    """An argument of `instantiate` itself: handed over as it is, unless it is a node."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class _Builder:
    def __init__(self, root: Tree) -> None:
        self._resolver = Resolver(root)
        self._built: dict[int, tuple[Call, Any]] = {}

    def value(self, tree: Tree, path: tuple[Any, ...]) -> Any:
        kind = type(tree)
        if kind is Call:
            return self.call(tree, path)
        if kind is str:
            if "${" not in tree:
                return tree
            found, at = self._resolver.resolve(tree, path)
            return found if type(found) is str else self.value(found, at)
        if kind is list:
            return [
                self.value(each, (*path, index)) if type(each) not in _PLAIN else each
                for index, each in enumerate(tree)
            ]
        if kind is tuple:
            return tuple([self.value(each, (*path, index)) for index, each in enumerate(tree)])
        if kind is dict or kind is Group:
            return {key: self.value(each, (*path, key)) for key, each in tree.items()}
        if kind is _Given:
            return instantiate(tree.value) if isinstance(tree.value, Node) else tree.value
        return tree

    def call(self, call: Call, path: tuple[Any, ...]) -> Any:
        found = self._built.get(id(call))
        if found is not None:
            return found[1]
        target = checked_target(call, ".".join(map(str, path)))
        args = [
            self.value(each, (*path, index)) if type(each) not in _PLAIN else each
            for index, each in enumerate(call.args)
        ]
        kwargs = {
            key: self.value(each, (*path, key)) if type(each) not in _PLAIN else each
            for key, each in call.kwargs.items()
        }
        try:
            made = functools.partial(target, *args, **kwargs) if call.partial else target(*args, **kwargs)
        except Exception as error:
            if built_at(error) is None:
                place = ".".join(map(str, path)) or "the config"
                error.add_note(f"{_NOTE}{place}: {target_text(target)}{told('', call.origin)}")
            raise
        self._built[id(call)] = (call, made)
        return made


_PLAIN = frozenset({int, float, bool, type(None)})


def _refers(tree: Tree) -> bool:
    from libbench.config.frozen import walk

    return any(is_interpolation(value) for _, value in walk(tree))


def _in_its_config(node: Any) -> tuple[Tree, tuple[Any, ...], Tree]:
    """Give the whole config around a node, the keys that lead to it, and the node's tree in it."""
    keys: list[Any] = []
    while node._get_parent() is not None:
        keys.append(node._key())
        node = node._get_parent()
    root = freeze(node)
    tree, path = root, []
    for key in reversed(keys):
        if key == "_args_" and type(tree) is Call:
            tree = tree.args
            continue
        tree = value_at(tree, key)
        path.append(key)
    return root, tuple(path), tree


__all__ = ["built_at", "callable_target", "instantiate"]

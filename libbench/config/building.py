"""Build what a config describes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from omegaconf.base import Node

from libbench.config.checking import checked_target, is_right
from libbench.config.freezing import Freezer, freeze
from libbench.config.frozen import Call, Group, Tree
from libbench.config.interpolation import Resolver, value_at
from libbench.config.places import told
from libbench.config.targets import target_text
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
    freezer = Freezer()
    tree = freezer.tree(cfg)
    path: tuple[Any, ...] = ()
    root = tree
    if isinstance(cfg, Node) and cfg._get_parent() is not None and freezer.refers:
        root, path, tree = _in_its_config(cfg)
    if kwargs:
        if type(tree) is not Call:
            raise ConfigError(f"only a call takes arguments, got {', '.join(kwargs)} for {type(cfg).__name__}")
        tree = Call(
            tree.target, tree.args, {**tree.kwargs, **{key: _Given(each) for key, each in kwargs.items()}},
            tree.partial, tree.origin, tree.origins, tree.tag,
        )  # fmt: skip
    return _Builder(root).value(tree, place_of(path))


def instantiate_parts(cfg: Any, names: Iterable[str]) -> dict[str, Any]:
    """Build some of a config's top-level values, as `instantiate` does; a node that two of them share is built once.

    Names that the config does not have are left out. Interpolations see the whole config.
    """
    tree = freeze(cfg)
    builder = _Builder(tree)
    return {name: builder.value(tree[name], ((), name)) for name in names if name in tree}


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
    """One build of a tree; a place in it is a pair of the place above and a key, or an empty tuple at the root."""

    def __init__(self, root: Tree) -> None:
        self._resolver = Resolver(root)
        self._built: dict[int, tuple[Call, Any]] = {}

    def value(self, tree: Tree, place: tuple[Any, ...]) -> Any:
        kind = type(tree)
        if kind is Call:
            return self.call(tree, place)
        if kind is str:
            return self._text(tree, place) if "${" in tree else tree
        if kind is list:
            return self._list(tree, place)
        if kind is tuple:
            return tuple(self._list(tree, place))
        if kind is dict or kind is Group:
            return self._dict(tree, place)
        if kind is _Given:
            return instantiate(tree.value) if isinstance(tree.value, Node) else tree.value
        return tree

    def _list(self, items: Sequence[Tree], place: tuple[Any, ...]) -> list[Any]:
        return [
            each if type(each) in _NUMBERS else self.value(each, (place, index)) for index, each in enumerate(items)
        ]

    def _dict(self, items: Mapping[Any, Tree], place: tuple[Any, ...]) -> dict[Any, Any]:
        return {key: each if type(each) in _NUMBERS else self.value(each, (place, key)) for key, each in items.items()}

    def _text(self, text: str, place: tuple[Any, ...]) -> Any:
        found, keys = self._resolver.resolve(text, _keys(place))
        return found if type(found) is str else self.value(found, place_of(keys))

    def call(self, call: Call, place: tuple[Any, ...]) -> Any:
        found = self._built.get(id(call))
        if found is not None:
            return found[1]
        target = call.target
        if not is_right(call):
            target = checked_target(call, _dotted(place))
        args = self._list(call.args, place) if call.args else ()
        kwargs = self._dict(call.kwargs, place)
        try:
            made = functools.partial(target, *args, **kwargs) if call.partial else target(*args, **kwargs)
        except Exception as error:
            if built_at(error) is None:
                where = _dotted(place) or "the config"
                error.add_note(f"{_NOTE}{where}: {target_text(target)}{told('', call.origin)}")
            raise
        self._built[id(call)] = (call, made)
        return made


_NUMBERS = frozenset({int, float, bool, type(None)})


def place_of(keys: Iterable[Any]) -> tuple[Any, ...]:
    """Give the place that keys lead to."""
    place: tuple[Any, ...] = ()
    for key in keys:
        place = (place, key)
    return place


def _keys(place: tuple[Any, ...]) -> tuple[Any, ...]:
    keys = []
    while place:
        place, key = place
        keys.append(key)
    return tuple(reversed(keys))


def _dotted(place: tuple[Any, ...]) -> str:
    return ".".join(map(str, _keys(place)))


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

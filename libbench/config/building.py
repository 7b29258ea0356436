"""Build what a config describes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from omegaconf.base import Node

from libbench.config.boxes import NUMBERS
from libbench.config.checking import checked_target, is_right
from libbench.config.deriving import Derived
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


def instantiate_parts(cfg: Any, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    """Build some of a config's top-level values, one by one, as `instantiate` does.

    A node that two of them share is built once. Names that the config does not have are left out. Interpolations see
    the whole config.
    """
    tree = freeze(cfg)
    builder = _Builder(tree)
    for name in names:
        if name in tree:
            yield name, builder.value(tree[name], ((), name))


def built_at(error: BaseException) -> str | None:
    """Give the note of a failed build: the path, the target and the file and line of the innermost call."""
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, str) and note.startswith(_NOTE):
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
        """Build a tree; it takes one frame a level, so that deep configs do not exhaust the stack."""
        kind = type(tree)
        if kind is str:
            return self._text(tree, place) if "${" in tree else tree
        if kind is Call:
            found = self._built.get(id(tree))
            if found is not None:
                return found[1]
            target = tree.target if is_right(tree) else checked_target(tree, _dotted(place))
            items, pairs = tree.args, tree.kwargs
        elif kind is list or kind is tuple:
            items, pairs = tree, {}
        elif kind is dict or kind is Group:
            items, pairs = (), tree
        else:
            return self._leaf(tree, place)
        args, kwargs = [], {}
        for index, each in enumerate(items):
            args.append(each if type(each) in NUMBERS else self.value(each, (place, index)))
        for key, each in pairs.items():
            kwargs[key] = each if type(each) in NUMBERS else self.value(each, (place, key))
        if kind is Call:
            return self._made(tree, target, args, kwargs, place)
        return kwargs if items is not tree else args if kind is list else tuple(args)

    def _leaf(self, value: Any, place: tuple[Any, ...]) -> Any:
        if type(value) is not _Given:
            return self._text(value, place) if type(value) is Derived else value
        return instantiate(value.value) if isinstance(value.value, Node) else value.value

    def _text(self, text: str | Derived, place: tuple[Any, ...]) -> Any:
        found, keys = self._resolver.resolve(text, _keys(place))
        return found if type(found) in (str, Derived) else self.value(found, place_of(keys))

    def _made(
        self, call: Call, target: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], place: tuple[Any, ...]
    ) -> Any:
        try:
            made = functools.partial(target, *args, **kwargs) if call.partial else target(*args, **kwargs)
        except Exception as error:
            if built_at(error) is None:
                where = _dotted(place) or "the config"
                error.add_note(f"{_NOTE}{where}: {target_text(target)}{told('', call.origin)}")
            raise
        self._built[id(call)] = (call, made)
        return made


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

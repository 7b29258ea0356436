"""Read the saved form of a config that may not, or cannot, be imported here: to be shown and compared, not built.

What the other config of a comparison has under the same name, which is imported already, is taken from there; all else
is a stand-in that knows its name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import yaml  # type: ignore[import-untyped]

from libbench.config.deriving import Derived
from libbench.config.freezing import freeze
from libbench.config.frozen import Call, Tree, walk
from libbench.config.interpolation import Resolver
from libbench.config.leaves import opaque_text
from libbench.config.reading import Reader
from libbench.config.saving import composed
from libbench.config.showing import show_in
from libbench.config.targets import target_key, target_text
from libbench.errors import ConfigError


@dataclass(frozen=True)
class Name:
    """A class or function of which no more than the name is known."""

    text: str

    def __getattr__(self, name: str) -> Any:
        # What shows a target asks it as it asks a class.
        if name == "__qualname__":
            return repr(self)
        raise AttributeError(name)

    def __repr__(self) -> str:
        return self.text.rpartition(".")[2]


@dataclass(frozen=True)
class Unread:
    """A value that cannot be made without an import, or at all: what was saved of it."""

    tag: str
    content: Any

    def __repr__(self) -> str:
        return self.content if isinstance(self.content, str) else f"{self.tag}({self.content!r})"


def read_unimported(text: str, file: str | None, name: str, known: Mapping[str, Any]) -> Tree:
    """Read what `to_text` wrote as YAML, without importing anything.

    Args:
        text: the saved form; it may hold opaque values.
        file: the config file that it was loaded from; what lies beside it is named by the way from there.
        name: what to call the text in an error.
        known: what `names_in` gives of the other config.

    Returns:
        A frozen tree.

    Raises:
        ConfigError: it is not YAML.
    """
    node = composed(text, name)
    return {} if node is None else _Unimported(name, file, known).read(node)


def names_in(cfg: Any, file: str | None) -> dict[str, Any]:
    """Give the classes, functions and opaque values of a config by the names that a saved one has for them."""
    found: dict[str, Any] = {}
    tree = freeze(cfg)
    for path, value in walk(tree):
        each = value.target if type(value) is Call else value
        if type(value) is Call and isinstance(each, str):
            found[_plain(each, file)] = each
        elif type(each) is Derived:
            found[show_in(Resolver(tree), each, tuple(path.split(".")))] = each
            found |= _names_of(each.function, file)
        else:
            found |= _names_of(each, file) | _names_of(type(each), file)
    return found


def _names_of(value: Any, file: str | None) -> dict[str, Any]:
    """Give a class or a function by its names, or by its place in a file; what is neither has none."""
    if not isinstance(value, type | FunctionType | BuiltinFunctionType | MethodType):
        return {}
    key = target_key(value)
    texts = (opaque_text(value),) if key is None else (_plain(key, file), target_text(value))
    return dict.fromkeys(texts, value)


def _plain(text: str, file: str | None) -> str:
    """Give one name for what has several: dotted, a path from the folder of the config file."""
    head, colon, own = text.rpartition(":")
    if not colon:
        return text
    if head.endswith(".py") and file is not None:
        head = os.path.relpath(head, Path(file).parent)
    return f"{head}.{own}"


class _Unimported(Reader):
    def __init__(self, name: str, file: str | None, known: Mapping[str, Any]) -> None:
        super().__init__(name, None)
        self._file = file
        self._known = known

    def named(self, text: str, node: yaml.Node) -> Any:
        plain = _plain(text, self._file)
        return self._known.get(plain, Name(plain))

    def checked(self, text: str, node: yaml.Node) -> Any:
        return self.named(text, node)

    def opaque(self, node: yaml.Node) -> Any:
        return self._known.get(node.value, Unread("!opaque", node.value))

    def tagged(self, content: Any, node: yaml.Node) -> Any:
        if _holds_name(content):
            return Unread(node.tag, content)
        try:
            return super().tagged(content, node)
        except ConfigError:
            # Made by another version, or of a class that is not here.
            return Unread(node.tag, content)


def _holds_name(content: Any) -> bool:
    children = content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    return isinstance(content, Name | Unread) or any(map(_holds_name, children))

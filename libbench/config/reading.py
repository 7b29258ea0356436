"""Read the saved form of a config."""

from __future__ import annotations

import functools
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from libbench.config.frozen import Call, Group
from libbench.config.targets import FILE_MODULE, find_target
from libbench.errors import ConfigError, did_you_mean

_YAML = "tag:yaml.org,2002:"
_STANDARD = frozenset(
    _YAML + kind for kind in ("map", "seq", "str", "int", "float", "bool", "null", "binary", "timestamp")
)

_TEXT_TAG = f"{_YAML}str"


class Reader:
    """Reads the nodes of a YAML document as a frozen tree.

    Args:
        name: what to call the document in an error.
        allow: the prefixes of the modules that may be imported; None allows all.
    """

    def __init__(self, name: str, allow: Sequence[str] | None) -> None:
        self._name = name
        self._allow = None if allow is None else tuple(allow)
        self._calls: dict[int, Call] = {}
        self._open: set[int] = set()
        self._standard = yaml.constructor.SafeConstructor()
        self._named: dict[str, Any] = {}

    def value(self, node: yaml.Node) -> Any:
        if node.tag == _TEXT_TAG:
            return node.value
        if id(node) in self._open:
            raise self._error(node, "a value holds itself")
        self._open.add(id(node))
        try:
            return self._value(node)
        finally:
            self._open.discard(id(node))

    def _value(self, node: yaml.Node) -> Any:
        if node.tag == "!call":
            return self._call(node)
        if node.tag in _STANDARD:
            return self._plain(node)
        reader = _READERS.get(node.tag)
        if node.tag == "!opaque":
            raise self._error(node, f"{node.value} could not be saved, so it cannot be read")
        if reader is None:
            raise self._error(node, f"unknown tag {node.tag!r}{did_you_mean(node.tag, _READERS)}")
        if isinstance(node, yaml.ScalarNode):
            content: Any = node.value
        elif isinstance(node, yaml.MappingNode):
            content = self._pairs(node)
        else:
            content = [self.value(each) for each in node.value]
        try:
            return reader(self, content if node.tag == "!tuple" else _without_groups(content), node)
        except ConfigError:
            raise
        except Exception as error:
            raise self._error(node, f"cannot read {node.tag}: {type(error).__name__}: {error}") from error

    def _plain(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.MappingNode):
            pairs = self._pairs(node)
            return self._hydra(pairs, node) if "_target_" in pairs else Group(pairs)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(each) for each in node.value]
        if node.tag == f"{_YAML}timestamp":
            return node.value
        try:
            return self._standard.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise self._error(node, f"cannot read {node.value!r}") from error

    def _pairs(self, node: yaml.MappingNode) -> dict[Any, Any]:
        pairs: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self.value(key_node)
            try:
                twice = key in pairs
            except TypeError as error:
                raise self._error(key_node, f"{key!r} cannot be a key") from error
            if twice:
                raise self._error(key_node, f"the key {key!r} comes twice")
            pairs[key] = self.value(value_node)
        return pairs

    def _hydra(self, pairs: dict[Any, Any], node: yaml.Node) -> Call:
        """Make the call of a plain mapping with a `_target_`, as Hydra writes one."""
        return self._made(self.checked(str(pairs.pop("_target_")), node), pairs)

    def _call(self, node: yaml.MappingNode) -> Call:
        found = self._calls.get(id(node))
        if found is not None:
            return found
        keys = {key.value: value for key, value in node.value}
        if "_target_" not in keys:
            raise self._error(node, "a !call needs a _target_")
        node_of_target = keys["_target_"]
        text = str(node_of_target.value)
        if node_of_target.tag == "!opaque":
            raise self._error(node_of_target, f"{text} could not be saved, so it cannot be read")
        target = self.checked(text, node) if node_of_target.tag == "!text" else self.named(text, node)
        rest = yaml.MappingNode(node.tag, [pair for pair in node.value if pair[0].value != "_target_"], node.start_mark)
        made = self._calls[id(node)] = self._made(target, self._pairs(rest))
        return made

    def _made(self, target: Any, pairs: dict[Any, Any]) -> Call:
        args, partial = list(pairs.pop("_args_", ()) or ()), bool(pairs.pop("_partial_", False))
        for key in ("_recursive_", "_convert_"):
            pairs.pop(key, None)
        return Call(target, args, pairs, partial)

    def checked(self, text: str, node: yaml.Node) -> str:
        """Give a dotted target, which stays text; with an allow-list it is imported once to see what it is."""
        if self._allow is not None:
            self.named(text, node)
        return text

    def named(self, text: str, node: yaml.Node) -> Any:
        """Import what a text names."""
        if text not in self._named:
            self._named[text] = self._imported(text, node)
        return self._named[text]

    def _imported(self, text: str, node: yaml.Node) -> Any:
        from libbench.config.modules import plain_module

        module = text.rpartition(":")[0] or text
        self._permit(module, text, node)
        try:
            found = find_target(text, lambda file: plain_module(Path(file)))
        except ConfigError as error:
            raise self._error(node, str(error)) from error
        home = getattr(found, "__module__", None)
        if isinstance(home, str) and FILE_MODULE not in vars(sys.modules.get(home, object)):
            self._permit(home, text, node)
        return found

    def _permit(self, module: str, text: str, node: yaml.Node) -> None:
        if self._allow is None:
            return
        if not any(module == each or module.startswith((f"{each}.", f"{each}/")) for each in self._allow):
            raise self._error(node, f"{text} is not allowed; allowed are {', '.join(self._allow) or 'no modules'}")

    def _error(self, node: yaml.Node, text: str) -> ConfigError:
        line = f":{node.start_mark.line + 1}" if node.start_mark is not None else ""
        return ConfigError(f"{self._name}{line}: {text}")


def _without_groups(value: Any) -> Any:
    """Give plain dicts for what belongs to a leaf and not to the tree."""
    kind = type(value)
    if kind in (dict, Group):
        return {key: _without_groups(each) for key, each in value.items()}
    return kind(_without_groups(each) for each in value) if kind in (list, tuple) else value


def _read_record(reader: Reader, content: dict[str, Any], node: yaml.Node) -> Any:
    kind = reader.named(content.pop("_type_"), node)
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise TypeError(f"{kind!r} is not a dataclass")
    made = object.__new__(kind)
    for name, value in content.items():
        object.__setattr__(made, name, value)
    return made


def _read_enum(reader: Reader, content: list[str], node: yaml.Node) -> Any:
    kind = reader.named(content[0], node)
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        raise TypeError(f"{kind!r} is not an enum")
    return kind.__members__[content[1]]


def _read_namedtuple(reader: Reader, content: list[Any], node: yaml.Node) -> Any:
    kind = reader.named(content[0], node)
    if not (isinstance(kind, type) and issubclass(kind, tuple)):
        raise TypeError(f"{kind!r} is not a named tuple")
    return tuple.__new__(kind, content[1:])


def _read_torch(reader: Reader, content: str, node: yaml.Node) -> Any:
    import torch

    found = getattr(torch, content, None)
    if not isinstance(found, torch.dtype | torch.layout | torch.memory_format):
        raise TypeError(f"torch.{content} is not a dtype")
    return found


def _read_device(reader: Reader, content: str, node: yaml.Node) -> Any:
    import torch

    return torch.device(content)


_READERS: dict[str, Callable[[Reader, Any, yaml.Node], Any]] = {
    "!tuple": lambda reader, content, node: tuple(content),
    "!escaped": lambda reader, content, node: content.encode().decode("unicode_escape"),
    "!complex": lambda reader, content, node: complex(content),
    "!set": lambda reader, content, node: set(content),
    "!frozenset": lambda reader, content, node: frozenset(content),
    "!range": lambda reader, content, node: range(*content),
    "!slice": lambda reader, content, node: slice(*content),
    "!path": lambda reader, content, node: Path(content),
    "!partial": lambda reader, content, node: functools.partial(content[0], *content[1], **content[2]),
    "!name": lambda reader, content, node: reader.named(content, node),
    "!record": _read_record,
    "!enum": _read_enum,
    "!ordered": lambda reader, content, node: OrderedDict(content),
    "!namedtuple": _read_namedtuple,
    "!torch": _read_torch,
    "!device": _read_device,
}

"""Read the saved form of a config."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from libbench.config.deep import Steps, unwound
from libbench.config.freezing import hydra_problem
from libbench.config.frozen import Call, Group
from libbench.config.tags import READERS
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

    def read(self, node: yaml.Node) -> Any:
        """Give the tree of a whole document."""
        return unwound(self.value(node))

    def value(self, node: yaml.Node) -> Steps:
        if node.tag == _TEXT_TAG:
            return node.value
        if id(node) in self._open:
            raise self._error(node, "a value holds itself")
        self._open.add(id(node))
        made = yield from self._value(node)
        self._open.discard(id(node))
        return made

    def _value(self, node: yaml.Node) -> Steps:
        if node.tag == "!call":
            return (yield from self._call(node))
        if node.tag in _STANDARD:
            return (yield from self._plain(node))
        if node.tag == "!opaque":
            return self.opaque(node)
        if isinstance(node, yaml.ScalarNode):
            content: Any = node.value
        elif isinstance(node, yaml.MappingNode):
            content = yield from self._pairs(node)
        else:
            content = yield from self._items(node)
        return self.tagged(content if node.tag == "!tuple" else _without_groups(content), node)

    def opaque(self, node: yaml.Node) -> Any:
        """Give what stands for a value that could not be saved."""
        raise self._error(node, f"{node.value} could not be saved, so it cannot be read")

    def tagged(self, content: Any, node: yaml.Node) -> Any:
        """Give the value that a tag makes of what was read below it."""
        reader = READERS.get(node.tag)
        if reader is None:
            raise self._error(node, f"unknown tag {node.tag!r}{did_you_mean(node.tag, READERS)}")
        try:
            return reader(self, content, node)
        except ConfigError:
            raise
        except Exception as error:
            raise self._error(node, f"cannot read {node.tag}: {type(error).__name__}: {error}") from error

    def _items(self, node: yaml.SequenceNode) -> Steps:
        items = []
        for each in node.value:
            items.append((yield self.value(each)))
        return items

    def _plain(self, node: yaml.Node) -> Steps:
        if isinstance(node, yaml.MappingNode):
            pairs = yield from self._pairs(node)
            return self._hydra(pairs, node) if "_target_" in pairs else Group(pairs)
        if isinstance(node, yaml.SequenceNode):
            return (yield from self._items(node))
        if node.tag == f"{_YAML}timestamp":
            return node.value
        try:
            return self._standard.construct_object(node)
        except (yaml.YAMLError, ValueError) as error:
            raise self._error(node, f"cannot read {node.value!r}") from error

    def _pairs(self, node: yaml.MappingNode) -> Steps:
        pairs: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag == f"{_YAML}merge":
                several = isinstance(value_node, yaml.SequenceNode)
                for each in value_node.value if several else [value_node]:
                    if not isinstance(each, yaml.MappingNode):
                        raise self._error(key_node, "'<<' takes a mapping, or a list of mappings")
                    merged = (yield self._pairs(each)) | merged
                continue
            key = yield self.value(key_node)
            try:
                twice = key in pairs
            except TypeError as error:
                raise self._error(key_node, f"{key!r} cannot be a key") from error
            if twice:
                raise self._error(key_node, f"the key {key!r} comes twice")
            pairs[key] = yield self.value(value_node)
        return merged | pairs if merged else pairs

    def _hydra(self, pairs: dict[Any, Any], node: yaml.Node) -> Call:
        """Make the call of a plain mapping with a `_target_`, as Hydra writes one."""
        return self._made(self.checked(str(pairs.pop("_target_")), node), pairs, node)

    def _call(self, node: yaml.MappingNode) -> Steps:
        found = self._calls.get(id(node))
        if found is not None:
            return found
        keys = {key.value: value for key, value in node.value}
        if "_target_" not in keys:
            raise self._error(node, "a !call needs a _target_")
        node_of_target = keys["_target_"]
        text = str(node_of_target.value)
        if node_of_target.tag == "!opaque":
            target = self.opaque(node_of_target)
        else:
            target = self.checked(text, node) if node_of_target.tag == "!text" else self.named(text, node)
        rest = yaml.MappingNode(node.tag, [pair for pair in node.value if pair[0].value != "_target_"], node.start_mark)
        made = self._calls[id(node)] = self._made(target, (yield from self._pairs(rest)), node)
        return made

    def _made(self, target: Any, pairs: dict[Any, Any], node: yaml.Node) -> Call:
        args, partial = list(pairs.pop("_args_", ()) or ()), bool(pairs.pop("_partial_", False))
        problem = hydra_problem({key: pairs.pop(key) for key in ("_recursive_", "_convert_") if key in pairs})
        if problem:
            raise self._error(node, problem)
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
        mark = node.start_mark
        if isinstance(mark, str):
            return ConfigError(f"{self._name}: {text} (at {mark or 'the top'})")
        line = f":{mark.line + 1}" if mark is not None else ""
        return ConfigError(f"{self._name}{line}: {text}")


def _without_groups(value: Any) -> Any:
    """Give plain dicts for what belongs to a leaf and not to the tree."""
    kind = type(value)
    if kind in (dict, Group):
        return {key: _without_groups(each) for key, each in value.items()}
    return kind(_without_groups(each) for each in value) if kind in (list, tuple) else value

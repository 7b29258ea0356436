"""The saved form of a config: YAML with a few safe tags of our own, exact in both directions.

A call is a mapping tagged `!call` with its target as `module:name` or `/path/file.py:name`; a node that is used twice
is an anchor and its alias. Nothing is pickled, and reading imports the named targets and does nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml  # type: ignore[import-untyped]

from libbench.config.freezing import freeze, thaw
from libbench.config.frozen import Call
from libbench.config.kinds import PLAIN, Unsavable, writer_of
from libbench.config.leaves import opaque_text
from libbench.config.places import join
from libbench.config.reading import Reader
from libbench.config.targets import target_key
from libbench.errors import ConfigError

_STR, _MAP, _SEQ = "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"


def to_text(cfg: Any, *, opaque: bool = False) -> str:
    """Write a config as text that `from_text` reads back without a difference.

    Args:
        cfg: a config, or anything that `freeze` takes.
        opaque: write a value that cannot be saved as `!opaque "<lambda a.py:12>"`, which `from_text` refuses.

    Raises:
        ConfigError: a value cannot be saved; its path is named.
    """
    node = _Writer(opaque).node(freeze(cfg), "")
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.serialize(node, Dumper=dumper, allow_unicode=True, width=2**20)
    return text


def from_text(text: str, *, allow: Sequence[str] | None = None, name: str = "the saved config") -> Any:
    """Read what `to_text` wrote.

    Args:
        text: the saved form.
        allow: the prefixes of the modules that may be imported; None allows all.
        name: what to call the text in an error.

    Raises:
        ConfigError: it is not YAML, holds an opaque value or an unknown tag, names a target that cannot be imported,
            or names a module that is not allowed.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        node = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        raise ConfigError(f"cannot read {name}: {' '.join(str(error).split())}") from error
    return thaw({} if node is None else Reader(name, allow).value(node))


class _Writer:
    def __init__(self, opaque: bool) -> None:
        self._opaque = opaque
        self._calls: dict[int, yaml.Node] = {}

    def node(self, value: Any, path: str) -> yaml.Node:
        kind = type(value)
        if kind is Call:
            return self._call(value, path)
        if kind in PLAIN:
            return PLAIN[kind](value)
        if kind is list:
            return self._sequence(_SEQ, value, path)
        if kind is tuple:
            return self._sequence("!tuple", value, path)
        if isinstance(value, dict) and kind.__module__ in ("builtins", Call.__module__):
            return self._mapping(_MAP, list(value.items()), path)
        try:
            tag, content = writer_of(value)(value)
        except Unsavable:
            return self._refused(value, path)
        if isinstance(content, str):
            return yaml.ScalarNode(tag, content)
        if isinstance(content, dict):
            return self._mapping(tag, list(content.items()), path)
        return self._sequence(tag, content, path)

    def _call(self, call: Call, path: str) -> yaml.Node:
        found = self._calls.get(id(call))
        if found is not None:
            return found
        target = self._target(call, path)
        pairs = [(PLAIN[str]("_target_"), target)]
        if call.args:
            args = self._sequence(_SEQ, call.args, path)
            pairs.append((PLAIN[str]("_args_"), args))
        if call.partial:
            pairs.append((PLAIN[str]("_partial_"), PLAIN[bool](True)))
        pairs.extend((PLAIN[str](key), self.node(each, join(path, key))) for key, each in call.kwargs.items())
        made = self._calls[id(call)] = yaml.MappingNode("!call", pairs, flow_style=False)
        return made

    def _target(self, call: Call, path: str) -> yaml.Node:
        if isinstance(call.target, str):
            return yaml.ScalarNode("!text", call.target)
        key = target_key(call.target)
        return self._refused(call.target, join(path, "_target_")) if key is None else PLAIN[str](key)

    def _sequence(self, tag: str, values: Any, path: str) -> yaml.Node:
        items = [self.node(each, join(path, index)) for index, each in enumerate(values)]
        short = all(isinstance(each, yaml.ScalarNode) for each in items)
        return yaml.SequenceNode(tag, items, flow_style=short)

    def _mapping(self, tag: str, pairs: list[tuple[Any, Any]], path: str) -> yaml.Node:
        items = [(self.node(key, join(path, key)), self.node(each, join(path, key))) for key, each in pairs]
        return yaml.MappingNode(tag, items, flow_style=not items)

    def _refused(self, value: Any, path: str) -> yaml.Node:
        if self._opaque:
            return yaml.ScalarNode("!opaque", opaque_text(value))
        raise ConfigError(
            f"cannot save {opaque_text(value)}: it cannot be found again by a name (at {path or 'the top'})"
        )

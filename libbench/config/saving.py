"""The saved form of a config: YAML with a few safe tags of our own, exact in both directions, or the same as JSON.

A call is a mapping tagged `!call` with its target as `module:name` or `/path/file.py:name`; a node that is used twice
is an anchor and its alias. Nothing is pickled, and reading imports the named targets and does nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import yaml  # type: ignore[import-untyped]

from libbench.config.deep import Steps, unwound
from libbench.config.deriving import Derived
from libbench.config.freezing import freeze, thaw
from libbench.config.frozen import Call, Tree
from libbench.config.interpolation import Resolver
from libbench.config.json_form import from_json, to_json
from libbench.config.kinds import PLAIN, Unsavable, writer_of
from libbench.config.leaves import opaque_text
from libbench.config.places import join
from libbench.config.reading import Reader
from libbench.config.showing import show_in
from libbench.config.targets import target_key
from libbench.errors import ConfigError

_STR, _MAP, _SEQ = "tag:yaml.org,2002:str", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"
_EXPONENT = re.compile(r"[-+]?(\d[\d_]*(\.[\d_]*)?|\.\d[\d_]*)[eE][-+]?\d+")

Form = Literal["yaml", "json"]


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    pass


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    pass


# YAML 1.1 takes 1e-3 for text; people, OmegaConf and Hydra take it for a number.
_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(f"^(?:{_EXPONENT.pattern})$"), list("-+.0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(f"^(?:{_EXPONENT.pattern})$"), list("-+.0123456789")
)


def to_text(cfg: Any, *, opaque: bool = False, form: Form = "yaml") -> str:
    """Write a config as text that `from_text` reads back without a difference.

    Args:
        cfg: a config, or anything that `freeze` takes.
        opaque: write a value that cannot be saved as `!opaque "<lambda a.py:12>"`, which `from_text` refuses.
        form: JSON is the same tree; what it has no word for is an object with a tag, as `{"!tuple": [1, 2]}`.

    Raises:
        ConfigError: a value cannot be saved; its path is named.
    """
    tree = freeze(cfg)
    node = unwound(_Writer(tree, opaque).node(tree, ""))
    if form == "json":
        return to_json(node)
    text: str = yaml.serialize(node, Dumper=_Dumper, allow_unicode=True, width=2**20)
    return text


def from_text(
    text: str, *, allow: Sequence[str] | None = None, name: str = "the saved config", form: Form = "yaml"
) -> Any:
    """Read what `to_text` wrote.

    Args:
        text: the saved form.
        allow: the prefixes of the modules that may be imported; None allows all.
        name: what to call the text in an error.
        form: what the text is.

    Raises:
        ConfigError: it is not YAML or JSON, holds an opaque value or an unknown tag, names a target that cannot be
            imported, or names a module that is not allowed.
    """
    node = from_json(text, name) if form == "json" else composed(text, name)
    return thaw({} if node is None else Reader(name, allow).read(node))


def composed(text: str, name: str) -> yaml.Node | None:
    """Parse YAML into its nodes; None for an empty document."""
    try:
        found: yaml.Node | None = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ConfigError(f"cannot read {name}: {' '.join(str(error).split())}") from error
    return found


class _Writer:
    def __init__(self, root: Tree, opaque: bool) -> None:
        self._root = root
        self._opaque = opaque
        self._calls: dict[int, yaml.Node] = {}

    def node(self, value: Any, path: str) -> Steps:
        kind = type(value)
        if kind is Call:
            return (yield from self._call(value, path))
        if kind in PLAIN:
            return PLAIN[kind](value)
        if kind is list:
            return (yield from self._sequence(_SEQ, value, path))
        if kind is tuple:
            return (yield from self._sequence("!tuple", value, path))
        if isinstance(value, dict) and kind.__module__ in ("builtins", Call.__module__):
            return (yield from self._mapping(_MAP, list(value.items()), path))
        try:
            tag, content = writer_of(value)(value)
        except Unsavable as error:
            return self._refused(value, path, str(error))
        if isinstance(content, str):
            return yaml.ScalarNode(tag, content)
        if isinstance(content, dict):
            return (yield from self._mapping(tag, list(content.items()), path))
        return (yield from self._sequence(tag, content, path))

    def _call(self, call: Call, path: str) -> Steps:
        found = self._calls.get(id(call))
        if found is not None:
            return found
        pairs = [(PLAIN[str]("_target_"), self._target(call, path))]
        if call.args:
            args = yield from self._sequence(_SEQ, call.args, path)
            pairs.append((PLAIN[str]("_args_"), args))
        if call.partial:
            pairs.append((PLAIN[str]("_partial_"), PLAIN[bool](True)))
        for key, each in call.kwargs.items():
            pairs.append((PLAIN[str](key), (yield self.node(each, join(path, key)))))
        made = self._calls[id(call)] = yaml.MappingNode("!call", pairs, flow_style=False)
        return made

    def _target(self, call: Call, path: str) -> yaml.Node:
        if isinstance(call.target, str):
            return yaml.ScalarNode("!text", call.target)
        key = target_key(call.target)
        return self._refused(call.target, join(path, "_target_")) if key is None else PLAIN[str](key)

    def _sequence(self, tag: str, values: Any, path: str) -> Steps:
        items = []
        for index, each in enumerate(values):
            items.append((yield self.node(each, join(path, index))))
        short = all(isinstance(each, yaml.ScalarNode) for each in items)
        return yaml.SequenceNode(tag, items, flow_style=short)

    def _mapping(self, tag: str, pairs: list[tuple[Any, Any]], path: str) -> Steps:
        items = []
        for key, each in pairs:
            here = join(path, key)
            items.append(((yield self.node(key, here)), (yield self.node(each, here))))
        return yaml.MappingNode(tag, items, flow_style=not items)

    def _refused(self, value: Any, path: str, reason: str = "") -> yaml.Node:
        text = opaque_text(value)
        if self._opaque:
            return yaml.ScalarNode("!opaque", self._with_value(value, path, text))
        raise ConfigError(
            f"cannot save {text}: {reason or 'it cannot be found again by a name'} (at {path or 'the top'})"
        )

    def _with_value(self, value: Any, path: str, text: str) -> str:
        """Give, for a value that is derived by what cannot be saved, also what it is now."""
        if type(value) is not Derived:
            return text
        return show_in(Resolver(self._root), value, tuple(path.split(".")))

"""The saved form as JSON: the same tree as the YAML, node by node.

Text, numbers, true, false, null, lists and dicts are JSON's own. Everything else is an object with one key that is a
tag, as `{"!tuple": [1, 2]}`; a call is an object with a `_target_`. A node that is used twice has a number under `&`
where it comes first, and is `{"*": number}` from there on.
"""

from __future__ import annotations

import json
from typing import Any

import yaml  # type: ignore[import-untyped]

from libbench.config.deep import Steps, unwound
from libbench.config.places import join
from libbench.errors import ConfigError

_YAML = "tag:yaml.org,2002:"
_STR, _MAP, _SEQ = f"{_YAML}str", f"{_YAML}map", f"{_YAML}seq"
_OWN = frozenset({_STR, _MAP, _SEQ, f"{_YAML}int", f"{_YAML}float", f"{_YAML}bool", f"{_YAML}null"})
_NAMES = {f"{_YAML}float": "!float", f"{_YAML}binary": "!binary", _MAP: "!dict"}
_TAGS = {name: tag for tag, name in _NAMES.items()}
_WIDE = 100


def to_json(node: yaml.Node) -> str:
    """Write a YAML document as JSON text."""
    return f"{unwound(_Writer(node).text(node, 0))}\n"


class _Writer:
    """Writes one document; what is used twice gets a number."""

    def __init__(self, root: yaml.Node) -> None:
        self._numbers: dict[int, int] = {}
        self._written: set[int] = set()
        seen: set[int] = set()
        stack = [root]
        while stack:
            node = stack.pop()
            if node.tag == "!call" and id(node) in seen:
                self._numbers.setdefault(id(node), len(self._numbers) + 1)
                continue
            seen.add(id(node))
            if isinstance(node, yaml.MappingNode):
                stack.extend(each for pair in node.value for each in pair)
            elif isinstance(node, yaml.SequenceNode):
                stack.extend(node.value)

    def text(self, node: yaml.Node, depth: int) -> Steps:
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node)
        if isinstance(node, yaml.SequenceNode):
            text = yield from self._list(node.value, depth)
            return text if node.tag == _SEQ else _tagged(node.tag, text)
        head = []
        if id(node) in self._written:
            return json.dumps({"*": self._numbers[id(node)]})
        if id(node) in self._numbers:
            self._written.add(id(node))
            head = [f'"&": {self._numbers[id(node)]}']
        if _is_awkward(node):
            items = []
            for key, value in node.value:
                items.append(f"[{(yield self.text(key, depth + 1))}, {(yield self.text(value, depth + 1))}]")
            name = _NAMES.get(node.tag, node.tag)
            return _within("{", [*head, f"{json.dumps(name)}: {_within('[', items, depth + 1)}"], depth)
        for key, value in node.value:
            head.append(f"{json.dumps(key.value, ensure_ascii=False)}: {(yield self.text(value, depth + 1))}")
        text = _within("{", head, depth)
        return text if node.tag in (_MAP, "!call") else _tagged(node.tag, text)

    def _list(self, nodes: list[yaml.Node], depth: int) -> Steps:
        items = []
        for each in nodes:
            items.append((yield self.text(each, depth + 1)))
        return _within("[", items, depth, short=all(isinstance(each, yaml.ScalarNode) for each in nodes))


def _scalar(node: yaml.ScalarNode) -> str:
    if node.tag == _STR or (node.tag == "!text" and ":" not in node.value):
        return json.dumps(node.value, ensure_ascii=False)
    if node.tag in _OWN and not node.value.endswith((".nan", ".inf")):
        return str(node.value)
    return _tagged(node.tag, json.dumps(node.value, ensure_ascii=False))


def _tagged(tag: str, text: str) -> str:
    return f"{{{json.dumps(_NAMES.get(tag, tag))}: {text}}}"


def _within(bracket: str, items: list[str], depth: int, short: bool = False) -> str:
    """Put items in brackets, in one line where they are short."""
    end = {"[": "]", "{": "}"}[bracket]
    line = f"{bracket}{', '.join(items)}{end}"
    if not items or (short and len(line) + 2 * depth <= _WIDE):
        return line
    inner = f",\n{'  ' * (depth + 1)}".join(items)
    return f"{bracket}\n{'  ' * (depth + 1)}{inner}\n{'  ' * depth}{end}"


def _is_awkward(node: yaml.MappingNode) -> bool:
    """Tell whether a mapping would be taken for something else as an object."""
    keys = [key.value for key, _ in node.value if key.tag == _STR]
    own = node.tag in (_MAP, "!call")
    return len(keys) < len(node.value) or (
        own and any(key.startswith(("!", "&", "*")) or (key == "_target_" and node.tag == _MAP) for key in keys)
    )


def from_json(text: str, name: str) -> yaml.Node:
    """Give the YAML document that JSON text stands for, with the path of each node as its mark.

    Raises:
        ConfigError: it is not JSON.
    """
    try:
        document = json.loads(
            text,
            parse_int=_number("int"),
            parse_float=_number("float"),
            parse_constant=_refused,
            object_pairs_hook=_Pairs,
        )
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"cannot read {name}: {error}") from error
    return unwound(_Reader(name).node(document, ""))


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with its keys in order, also one that comes twice."""


def _number(kind: str) -> Any:
    return lambda text: yaml.ScalarNode(f"{_YAML}{kind}", text)


def _refused(text: str) -> None:
    raise ValueError(f'{text} is not JSON; it is written as {{"!float": ".nan"}}, ".inf" or "-.inf"')


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._numbered: dict[str, yaml.Node] = {}

    def node(self, value: Any, path: str) -> Steps:
        if isinstance(value, yaml.ScalarNode):
            value.start_mark = path
            return value
        if isinstance(value, _Pairs):
            return (yield from self._object(value, path))
        if isinstance(value, list):
            return (yield from self._list(value, _SEQ, path))
        if isinstance(value, str):
            return yaml.ScalarNode(_STR, value, path)
        if value is None:
            return yaml.ScalarNode(f"{_YAML}null", "null", path)
        return yaml.ScalarNode(f"{_YAML}bool", str(value).lower(), path)

    def _list(self, values: list[Any], tag: str, path: str) -> Steps:
        items = []
        for index, each in enumerate(values):
            items.append((yield self.node(each, join(path, index))))
        return yaml.SequenceNode(tag, items, path)

    def _object(self, pairs: _Pairs, path: str) -> Steps:
        keys = [key for key, _ in pairs]
        if keys == ["*"]:
            return self._again(pairs[0][1], path)
        tagged = [pair for pair in pairs if pair[0] != "&"]
        special = "_target_" in keys or (len(tagged) == 1 and tagged[0][0].startswith("!"))
        if not special:
            return (yield from self._mapping(pairs, _MAP, path))
        if "_target_" in keys:
            made = yield from self._mapping(_Pairs(tagged), "!call", path)
            _mark_text(made)
        else:
            made = yield from self._tagged(*tagged[0], path)
        for key, number in pairs:
            if key == "&":
                self._numbered[_digits(number)] = made
        return made

    def _again(self, number: Any, path: str) -> yaml.Node:
        found = self._numbered.get(_digits(number))
        if found is None:
            raise ConfigError(f'{self._name}: no "&": {_digits(number)} comes before (at {path})')
        return found

    def _tagged(self, tag: str, content: Any, path: str) -> Steps:
        known = _TAGS.get(tag, tag)
        if isinstance(content, _Pairs):
            return (yield from self._mapping(content, known, path))
        if isinstance(content, list) and tag in ("!dict", "!call"):
            items = []
            for pair in content:
                if not (isinstance(pair, list) and len(pair) == 2):
                    raise ConfigError(f"{self._name}: {tag} takes pairs of a key and a value (at {path})")
                items.append(((yield self.node(pair[0], path)), (yield self.node(pair[1], path))))
            made = yaml.MappingNode(known, items, path)
            _mark_text(made)
            return made
        if isinstance(content, list):
            return (yield from self._list(content, known, path))
        if isinstance(content, str):
            return yaml.ScalarNode(known, content, path)
        raise ConfigError(f"{self._name}: {tag} takes text, a list or an object (at {path})")

    def _mapping(self, pairs: _Pairs, tag: str, path: str) -> Steps:
        items = []
        for key, value in pairs:
            here = join(path, key)
            items.append((yaml.ScalarNode(_STR, key, here), (yield self.node(value, here))))
        return yaml.MappingNode(tag, items, path)


def _digits(number: Any) -> str:
    return str(number.value if isinstance(number, yaml.ScalarNode) else number)


def _mark_text(call: yaml.MappingNode) -> None:
    """Tag a target without a colon as the dotted name that stays text, as Hydra writes one."""
    if call.tag != "!call":
        return
    for key, value in call.value:
        if key.value == "_target_" and value.tag == _STR and ":" not in value.value:
            value.tag = "!text"

"""From the editable form of a config to the frozen tree, and back."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.base import Node

from libbench.config import boxes, nodes
from libbench.config.boxes import NUMBERS, Mark
from libbench.config.deriving import Derived
from libbench.config.frozen import Call, Group, Tag, Tree
from libbench.config.items import Items, held
from libbench.config.leaves import same_leaf
from libbench.config.nodes import ARGS, PARTIAL, SPECIAL, TARGET, LazyNode
from libbench.config.places import Origin, told
from libbench.errors import ConfigError


def freeze(cfg: Any) -> Tree:
    """Give the frozen tree of a config, a node, or any value that holds nodes.

    The argument is not changed, and the tree does not change with it.

    Raises:
        ConfigError: a node holds itself, or holds a key that is not text.
    """
    return Freezer().tree(cfg)


class Freezer:
    """One walk over a config.

    Args:
        problems: takes what is wrong in place of an error, and the tree is made without it.

    Attributes:
        refers: whether there was an interpolation in it.
    """

    def __init__(self, problems: list[str] | None = None) -> None:
        self.refers = False
        self._problems = problems
        self._done: dict[int, Call] = {}
        self._open: set[int] = set()
        self._by_tag: dict[int, Call] = {}
        self._apart: dict[int, list[Call]] = {}

    def tree(self, value: Any) -> Tree:
        """Give the tree of anything; it takes one frame a level, so that deep configs do not exhaust the stack."""
        kind = type(value)
        if kind is boxes.Leaf:
            value = value._val
            kind = type(value)
        if kind in boxes.SCALARS:
            if kind is str and "${" in value:
                self.refers = True
            return value
        if kind is Derived:
            self.refers = True
            return value
        content = value if kind in _PLAIN else self._content(value, kind)
        kind = type(content)
        if kind is list or kind is tuple or kind is Items:
            items = []
            for each in content if kind is tuple else held(content):
                items.append(each if type(each) in NUMBERS else self.tree(each))
            return tuple(items) if kind is tuple else items
        if kind is Call or ((kind is dict or kind is Group) and TARGET in content):
            found = self._done.get(id(value))
            if found is not None:
                return found
            if id(value) in self._open:
                self._refuse("a node holds itself", _mark_of(value).origin)
                return None
            self._open.add(id(value))
            recorded = content if kind is not Call else {TARGET: content.target, ARGS: content.args, **content.kwargs}
        elif kind is dict or kind is Group:
            recorded = content
        else:
            return content
        pairs = {}
        for key, each in recorded.items():
            pairs[key] = self.tree(each)
        if recorded is content and TARGET not in recorded:
            return Group(pairs, _origins(value))
        self._open.discard(id(value))
        return self._kept(value, self._call(value, pairs))

    def _content(self, value: Any, kind: type) -> Any:
        """Give the dict or list inside a container of OmegaConf, and any other leaf as it is."""
        if kind is OrderedDict or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            return self._special(value, kind)
        if not isinstance(value, Node):
            return value
        content = value._value()
        if isinstance(value, DictConfig) and isinstance(content, dict):
            return OmegaConf.to_object(value) if is_dataclass(value._metadata.object_type) else content
        return content if isinstance(value, ListConfig) else self.tree(content)

    def _special(self, value: Any, kind: type) -> Tree:
        """Give an `OrderedDict` or a named tuple as a leaf, or as a call where it holds nodes that must be built."""
        if kind is OrderedDict:
            pairs = [(key, self.tree(each)) for key, each in value.items()]
            return Call(kind, [pairs], {}) if any(type(each) is Call for _, each in pairs) else value
        items = [self.tree(each) for each in value]
        return Call(kind, items, {}) if any(type(each) is Call for each in items) else value

    def _refuse(self, problem: str, origin: Origin | None) -> None:
        text = f"{problem}{told('', origin)}"
        if self._problems is None:
            raise ConfigError(text)
        self._problems.append(text)

    def _call(self, value: Any, pairs: dict[Any, Tree]) -> Call:
        """Give the call of what a node holds."""
        if type(value) is Call:
            target, args, partial = value.target, pairs.pop(ARGS), value.partial
            del pairs[TARGET]
            return Call(target, args, pairs, partial, value.origin, _origins(value), value.tag)
        mark = _mark_of(value)
        special = {name: pairs.pop(name) for name in SPECIAL if name in pairs}
        if not all(type(name) is str for name in pairs):
            self._refuse(f"the parameters of a call are named by text, got {list(pairs)!r}", mark.origin)
            pairs = {name: each for name, each in pairs.items() if type(name) is str}
        problem = hydra_problem(special)
        if problem:
            self._refuse(problem, mark.origin)
        return Call(
            target=special[TARGET],
            args=list(special.get(ARGS) or ()) or (),
            kwargs=pairs,
            partial=bool(special.get(PARTIAL, False)),
            origin=mark.origin,
            origins=_origins(value),
            tag=mark.tag or Tag(),
        )

    def _kept(self, key: Any, made: Call) -> Call:
        """Take an earlier copy of the same node instead, unless one of the two was edited since."""
        first = self._by_tag.setdefault(id(made.tag), made)
        if first is not made:
            others = self._apart.setdefault(id(made.tag), [first])
            found = next((other for other in others if _equal(other, made)), None)
            if found is None:
                others.append(made)
            else:
                made = found
        self._done[id(key)] = made
        return made


def hydra_problem(special: Mapping[str, Any]) -> str:
    """Say why a key of a call in Hydra's form asks for what is not done here; empty where it does not."""
    if special.get("_recursive_", True) is not True:
        return "_recursive_: false is not known here: a call inside a call is always built; use _partial_ to delay it"
    if special.get("_convert_", "all") not in ("all", "partial", "object"):
        return f"_convert_: {special['_convert_']} is not known here: a target always gets plain lists and dicts"
    return ""


_PLAIN = frozenset({list, tuple, dict, Group, Call})
_UNMARKED = Mark(None, None)


def _mark_of(value: Any) -> Mark:
    found: Mark = getattr(value, "__dict__", {}).get("_own_mark", _UNMARKED)
    return found


def _origins(value: Any) -> dict[Any, Origin] | None:
    """Give a copy of where the values of a container were set."""
    found = value.origins if type(value) in (Call, Group) else _mark_of(value).origins
    return dict(found) if found else None


def _equal(one: Call, two: Call) -> bool:
    def same(a: Tree, b: Tree) -> bool:
        if a is b:
            return True
        if type(a) is not type(b):
            return False
        if isinstance(a, Call):
            return _equal(a, b)
        if isinstance(a, list | tuple):
            return len(a) == len(b) and all(map(same, a, b))
        if type(a) in (dict, Group):
            return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
        return same_leaf(a, b)

    return (
        one.partial is two.partial
        and same(one.target, two.target)
        and same(one.args, two.args)
        and same(one.kwargs, two.kwargs)
    )


def thaw(tree: Tree) -> Any:
    """Give the editable form of a frozen tree: nodes, OmegaConf dicts and lists; the inverse of `freeze`."""
    made = _Thawer().node(tree, None, None)
    return made._value() if isinstance(made, boxes.Leaf) else made


class _Thawer:
    def __init__(self) -> None:
        self.done: dict[int, LazyNode] = {}

    def node(self, tree: Tree, key: Any, parent: Any) -> Node:
        """Give the node of a tree; it takes one frame a level, so that deep configs do not exhaust the stack."""
        kind = type(tree)
        if kind is Call:
            made: Any = self.done.get(id(tree))
            if made is None:
                made = nodes.blank(LazyNode, None, None, Mark(tree.tag, tree.origin, dict(tree.origins or ())))
                content: Any = {TARGET: boxes.leaf(tree.target, TARGET, made)}
                if tree.args:
                    content[ARGS] = self.node(tree.args, ARGS, made)
                for name, each in tree.kwargs.items():
                    content[name] = self.node(each, name, made)
                if tree.partial:
                    content[PARTIAL] = boxes.leaf(True, PARTIAL, made)
                made.__dict__["_content"] = content
                self.done[id(tree)] = made
            made.__dict__["_parent"] = parent
            made.__dict__["_metadata"].key = key
        elif kind is list:
            made = nodes.blank(nodes.LazyList, key, parent)
            items = []
            for index, each in enumerate(tree):
                items.append(each if type(each) in boxes.SCALARS else self.node(each, index, made))
            made.__dict__["_content"] = Items(items, made)
        elif (kind is dict or kind is Group) and all(type(name) is str for name in tree):
            made = nodes.blank(nodes.LazyDict, key, parent)
            content = made.__dict__["_content"] = {}
            for name, each in tree.items():
                content[name] = self.node(each, name, made)
            made._mark.origins = dict(getattr(tree, "origins", None) or ())
        else:
            made = boxes.leaf(self.plain(tree), key, parent)
        return made  # type: ignore[no-any-return]

    def plain(self, tree: Tree) -> Any:
        """Give what stands inside a tuple, where OmegaConf has no say."""
        kind = type(tree)
        if kind is Call:
            found = self.done.get(id(tree))
            return self.node(tree, None, None) if found is None else found
        if kind is tuple or kind is list:
            items = []
            for each in tree:
                items.append(each if type(each) in boxes.SCALARS else self.plain(each))
            return kind(items)
        if kind is dict or kind is Group:
            pairs = {}
            for name, each in tree.items():
                pairs[name] = self.plain(each)
            return pairs
        return tree

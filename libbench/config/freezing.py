"""From the editable form of a config to the frozen tree, and back."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import is_dataclass
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.base import Node

from libbench.config import nodes
from libbench.config.frozen import Call, Group, Tag, Tree
from libbench.config.leaves import same_leaf
from libbench.config.nodes import ARGS, PARTIAL, SPECIAL, TARGET, LazyDict, LazyNode, Mark
from libbench.config.places import told
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

    Attributes:
        refers: whether there was an interpolation in it.
    """

    def __init__(self) -> None:
        self.refers = False
        self._done: dict[int, Call] = {}
        self._open: set[int] = set()
        self._by_tag: dict[int, Call] = {}
        self._apart: dict[int, list[Call]] = {}

    def tree(self, value: Any) -> Tree:
        """Give the tree of anything."""
        kind = type(value)
        if kind is str:
            self.refers = self.refers or "${" in value
            return value
        if kind in nodes.SCALARS:
            return value
        if kind is LazyNode or kind is LazyDict or isinstance(value, Node):
            return self._node(value)
        if kind is list:
            return [self.tree(each) for each in value]
        if kind is tuple:
            return tuple([self.tree(each) for each in value])
        if kind is dict or kind is Group:
            if TARGET in value:
                return self._call(value, value, None)
            return Group([(key, self.tree(each)) for key, each in value.items()], getattr(value, "origins", None))
        if kind is Call:
            return self._copied(value)
        if kind is OrderedDict or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            return self._special(value, kind)
        return value

    def _special(self, value: Any, kind: type) -> Tree:
        """Give an `OrderedDict` or a named tuple as a leaf, or as a call where it holds nodes that must be built."""
        if kind is OrderedDict:
            pairs = [(key, self.tree(each)) for key, each in value.items()]
            return Call(kind, [pairs], {}) if any(type(each) is Call for _, each in pairs) else value
        items = [self.tree(each) for each in value]
        return Call(kind, items, {}) if any(type(each) is Call for each in items) else value

    def _node(self, node: Any) -> Tree:
        content = node._value()
        if isinstance(content, dict) and isinstance(node, DictConfig):
            mark: Mark | None = node.__dict__.get("_own_mark")
            if TARGET in content:
                return self._call(node, content, mark)
            if is_dataclass(node._metadata.object_type):
                return OmegaConf.to_object(node)
            return Group(self._items(content), mark.origins if mark is not None else None)
        if isinstance(content, list) and isinstance(node, ListConfig):
            return [value for _, value in self._items(dict(enumerate(content)))]
        return self.tree(content)

    def _items(self, content: dict[Any, Any]) -> list[tuple[Any, Tree]]:
        """Give what a container of nodes holds; a plain value is taken without another call."""
        items = []
        for key, each in content.items():
            if type(each) is nodes.Leaf:
                value = each.__dict__["_val"]
                items.append((key, value if type(value) in _NUMBERS else self.tree(value)))
            else:
                items.append((key, self.tree(each)))
        return items

    def _call(self, key: Any, content: dict[Any, Any], mark: Mark | None) -> Call:
        found = self._done.get(id(key))
        if found is not None:
            return found
        origin = mark.origin if mark is not None else None
        if id(key) in self._open:
            raise ConfigError(f"a node holds itself{told('', origin)}")
        self._open.add(id(key))
        kwargs = dict(self._items(content))
        self._open.discard(id(key))
        special = {name: kwargs.pop(name) for name in SPECIAL if name in kwargs}
        if not all(type(name) is str for name in kwargs):
            raise ConfigError(f"the parameters of a call are named by text, got {list(kwargs)!r}{told('', origin)}")
        made = Call(
            target=special[TARGET],
            args=list(special.get(ARGS) or ()) or (),
            kwargs=kwargs,
            partial=bool(special.get(PARTIAL, False)),
            origin=origin,
            origins=dict(mark.origins) if mark is not None and mark.origins else None,
            tag=mark.tag if mark is not None and mark.tag is not None else Tag(),
        )
        return self._kept(key, made)

    def _copied(self, call: Call) -> Call:
        found = self._done.get(id(call))
        if found is not None:
            return found
        args = [self.tree(each) for each in call.args] if call.args else ()
        kwargs = {name: self.tree(each) for name, each in call.kwargs.items()}
        made = Call(call.target, args, kwargs, call.partial, call.origin, dict(call.origins or ()) or None, call.tag)
        return self._kept(call, made)

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


_NUMBERS = frozenset({int, float, bool, type(None)})


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
    return made._value() if isinstance(made, nodes.Leaf) else made


class _Thawer:
    def __init__(self) -> None:
        self.done: dict[int, LazyNode] = {}

    def node(self, tree: Tree, key: Any, parent: Any) -> Node:
        kind = type(tree)
        if kind is Call:
            made: Any = self.call(tree)
            made.__dict__["_parent"] = parent
            made.__dict__["_metadata"].key = key
        elif kind is list:
            made = nodes.blank(nodes.LazyList, key, parent)
            made.__dict__["_content"] = [self.node(each, index, made) for index, each in enumerate(tree)]
        elif (kind is dict or kind is Group) and all(type(name) is str for name in tree):
            made = nodes.blank(nodes.LazyDict, key, parent)
            made.__dict__["_content"] = {name: self.node(each, name, made) for name, each in tree.items()}
            made._mark.origins = dict(getattr(tree, "origins", None) or ())
        else:
            made = nodes.leaf(self.plain(tree), key, parent)
        return made  # type: ignore[no-any-return]

    def plain(self, tree: Tree) -> Any:
        """Give what stands inside a tuple, where OmegaConf has no say."""
        kind = type(tree)
        if kind is Call:
            return self.call(tree)
        if kind is tuple or kind is list:
            return kind(self.plain(each) for each in tree)
        if kind is dict or kind is Group:
            return {key: self.plain(each) for key, each in tree.items()}
        return tree

    def call(self, call: Call) -> LazyNode:
        found = self.done.get(id(call))
        if found is not None:
            return found
        made = nodes.blank(LazyNode, None, None, Mark(call.tag, call.origin, dict(call.origins or ())))
        content: dict[str, Any] = {TARGET: nodes.leaf(call.target, TARGET, made)}
        made.__dict__["_content"] = content
        if call.args:
            content[ARGS] = self.node(call.args, ARGS, made)
        for name, each in call.kwargs.items():
            content[name] = self.node(each, name, made)
        if call.partial:
            content[PARTIAL] = nodes.leaf(True, PARTIAL, made)
        self.done[id(call)] = made
        return made  # type: ignore[no-any-return]

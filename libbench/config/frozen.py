"""The frozen tree: what every algorithm of the config layer runs on.

A tree is a `Call`, a list, a tuple, a dict, or any other object as a leaf. A node that is used twice is one `Call`
object that is reached twice. Nothing in it points upwards, and nobody changes it once it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from typing import Any, TypeAlias

from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.base import Node

from libbench.config import nodes
from libbench.config.nodes import ARGS, PARTIAL, SPECIAL, TARGET, LazyNode, Mark, Tag
from libbench.config.places import Origin, join, told
from libbench.errors import ConfigError

Tree: TypeAlias = Any
"""A `Call`, a list, a tuple, a dict, or a leaf."""


@dataclass(eq=False, slots=True)
class Call:
    """A recorded call.

    Attributes:
        target: a class, a function, or its dotted name.
        args: the arguments that no name reaches.
        kwargs: the arguments by name, in the order they were written.
        partial: whether it is built as `functools.partial`.
        origin: where the call was written.
        origins: where single arguments were set later, by name.
    """

    target: Any
    args: list[Tree]
    kwargs: dict[str, Tree]
    partial: bool = False
    origin: Origin | None = None
    origins: dict[Any, Origin] = field(default_factory=dict)
    tag: Tag = field(default_factory=Tag, repr=False)

    def children(self) -> Iterator[tuple[Any, Tree]]:
        """Give every argument with its key: its position, or its name."""
        yield from enumerate(self.args)
        yield from self.kwargs.items()


class Group(dict[Any, Any]):
    """A dict of a config that remembers where its values were set."""

    __slots__ = ("origins",)

    def __init__(self, items: Any = (), origins: dict[Any, Origin] | None = None) -> None:
        super().__init__(items)
        self.origins: dict[Any, Origin] = origins or {}


def freeze(cfg: Any) -> Tree:
    """Give the frozen tree of a config, a node, or any value that holds nodes.

    The argument is not changed, and the tree does not change with it.

    Raises:
        ConfigError: a node holds itself, or holds a key that cannot be read.
    """
    return _Freezer().tree(cfg, "")


class _Freezer:
    def __init__(self) -> None:
        self.done: dict[int, tuple[Any, Call]] = {}
        self.open: set[int] = set()
        self.by_tag: dict[int, list[Call]] = {}

    def tree(self, value: Any, path: str) -> Tree:
        if isinstance(value, Node):
            return self.node(value, path)
        kind = type(value)
        if kind is list:
            return [self.tree(each, join(path, index)) for index, each in enumerate(value)]
        if kind is tuple:
            return tuple([self.tree(each, join(path, index)) for index, each in enumerate(value)])
        if kind is dict or kind is Group:
            if TARGET in value:
                return self.call(value, value, None, path)
            made = Group(((key, self.tree(each, join(path, key))) for key, each in value.items()))
            made.origins = dict(getattr(value, "origins", {}))
            return made
        if kind is Call:
            return self.copied(value, path)
        return value

    def node(self, node: Node, path: str) -> Tree:
        content = node._value()
        kind = type(node)
        if kind is nodes.Leaf:
            return content if type(content) in nodes.SCALARS else self.tree(content, path)
        if isinstance(node, DictConfig) and isinstance(content, dict):
            mark: Mark | None = node.__dict__.get("_own_mark")
            if TARGET in content:
                return self.call(node, content, mark, path)
            if is_dataclass(node._metadata.object_type):
                return OmegaConf.to_object(node)
            return Group(
                ((key, self.node(each, join(path, key))) for key, each in content.items()),
                dict(mark.origins) if mark is not None and mark.origins else None,
            )
        if isinstance(node, ListConfig) and isinstance(content, list):
            return [self.node(each, join(path, index)) for index, each in enumerate(content)]
        return self.tree(content, path)

    def call(self, key: Any, content: dict[Any, Any], mark: Mark | None, path: str) -> Call:
        found = self.done.get(id(key))
        if found is not None:
            return found[1]
        if id(key) in self.open:
            raise ConfigError(f"a node holds itself{told(path, mark.origin if mark else None)}")
        self.open.add(id(key))
        values = {name: self.tree(each, join(path, name)) for name, each in content.items()}
        self.open.discard(id(key))
        origin = mark.origin if mark is not None else None
        if not all(isinstance(name, str) for name in values):
            raise ConfigError(f"the parameters of a call are named by text, got {list(values)!r}{told(path, origin)}")
        made = Call(
            target=values[TARGET],
            args=list(values.get(ARGS) or ()),
            kwargs={name: each for name, each in values.items() if name not in SPECIAL},
            partial=bool(values.get(PARTIAL, False)),
            origin=origin,
            origins=dict(mark.origins) if mark is not None and mark.origins else {},
            tag=mark.tag if mark is not None and mark.tag is not None else Tag(),
        )
        return self.kept(key, made)

    def copied(self, call: Call, path: str) -> Call:
        found = self.done.get(id(call))
        if found is not None:
            return found[1]
        made = Call(
            call.target,
            [self.tree(each, join(path, index)) for index, each in enumerate(call.args)],
            {name: self.tree(each, join(path, name)) for name, each in call.kwargs.items()},
            call.partial,
            call.origin,
            dict(call.origins),
            call.tag,
        )
        return self.kept(call, made)

    def kept(self, key: Any, made: Call) -> Call:
        """Take an earlier copy of the same node instead, unless one of the two was edited since."""
        others = self.by_tag.setdefault(id(made.tag), [])
        for other in others:
            if _equal(other, made):
                made = other
                break
        else:
            others.append(made)
        self.done[id(key)] = (key, made)
        return made


def _equal(one: Call, two: Call) -> bool:
    from libbench.config.leaves import same_leaf

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
            made._mark.origins = dict(getattr(tree, "origins", {}))
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
        made = nodes.blank(LazyNode, None, None, Mark(call.tag, call.origin, dict(call.origins) or None))
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


def walk(tree: Tree, path: str = "") -> Iterator[tuple[str, Tree]]:
    """Give every value of a tree with its dotted path, a node before what it holds; a shared node comes once."""
    seen: set[int] = set()
    stack = [(path, tree)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, Call):
            if id(value) in seen:
                continue
            seen.add(id(value))
        yield path, value
        stack.extend((join(path, key), each) for key, each in reversed(list(children(value))))


def children(tree: Tree) -> Iterator[tuple[Any, Tree]]:
    """Give what a value of a tree holds, with its keys."""
    kind = type(tree)
    if kind is Call:
        return tree.children()  # type: ignore[no-any-return]
    if kind is list or kind is tuple:
        return enumerate(tree)
    if kind is dict or kind is Group:
        return iter(tree.items())
    return iter(())

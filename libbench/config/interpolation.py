"""Interpolations of OmegaConf, resolved on the frozen tree: `"${model.width}"`, `"${..n}"`, `"${oc.env:HOME}"`.

A path that leads to a node gives that node itself, so that it is built once however often it is named.
"""

from __future__ import annotations

import re
from typing import Any

from libbench.config.deriving import Derived, MissingNameError, computed
from libbench.config.frozen import Call, Tree
from libbench.config.places import join
from libbench.errors import ConfigError, did_you_mean

_PATH = re.compile(r"\$\{(\.*)([A-Za-z_][\w-]*(?:\.[\w-]+|\[[\w-]+\])*)\}")
_KEY = re.compile(r"[^.\[\]]+")


def is_interpolation(value: object) -> bool:
    """Tell whether a value stands for another one: text with a `${...}` in it, or a derived value."""
    return (type(value) is str and "${" in value) or type(value) is Derived


class Resolver:
    """Gives the value of every interpolation and of every derived value in one tree.

    Args:
        root: the tree that absolute paths start from.
    """

    def __init__(self, root: Tree) -> None:
        self._root = root
        self._open: list[str] = []
        self._thawed: Any = None
        self._computed: dict[int, tuple[Tree, tuple[Any, ...] | None]] = {}

    def resolve(self, text: str | Derived, path: tuple[Any, ...]) -> tuple[Tree, tuple[Any, ...]]:
        """Give the value that an interpolation, or a derived value, stands for, and the path where it stands.

        Args:
            text: the interpolation, or the derived value.
            path: the keys that lead from the root to the interpolation.

        Raises:
            ConfigError: it leads nowhere, leads to itself, or a resolver in it raises.
        """
        name = ".".join(map(str, path))
        if name in self._open:
            raise ConfigError(f"values lead in a circle: {' -> '.join([*self._open[self._open.index(name) :], name])}")
        self._open.append(name)
        try:
            if isinstance(text, Derived):
                return self._derived(text, path)
            simple = _PATH.fullmatch(text)
            if simple is not None:
                return self._at(simple[1], _KEY.findall(simple[2]), path, text)
            found = self._composed(text, path)
            return self._derived(found, path) if type(found) is Derived else (found, path)
        finally:
            self._open.pop()

    def _derived(self, derived: Derived, path: tuple[Any, ...]) -> tuple[Tree, tuple[Any, ...]]:
        if id(derived) not in self._computed:
            self._computed[id(derived)] = computed(derived, self, self._root, ".".join(map(str, path)))
        found, there = self._computed[id(derived)]
        return found, path if there is None else there

    def _at(self, dots: str, keys: list[str], path: tuple[Any, ...], text: str) -> tuple[Tree, tuple[Any, ...]]:
        if len(dots) > len(path):
            raise ConfigError(f"{text} leads above the top of the config (at {'.'.join(map(str, path))})")
        value, here = self._walk(path[: len(path) - len(dots)], text) if dots else (self._root, ())
        for key in keys:
            value, here = self._settled(*self._step(value, here, key, text))
        return value, here

    def enter(self, value: Tree, path: tuple[Any, ...], key: Any) -> tuple[Tree, tuple[Any, ...]]:
        """Give what a value holds under a key, as a function that derives a value sees it."""
        if type(value) is Call and key == "_args_":
            return value.args, path
        found = step(value, key)
        if found is None:
            hint = did_you_mean(str(key), keys_of(value))
            raise MissingNameError(f"there is no {join('.'.join(map(str, path)), key)!r}{hint}")
        return self._settled(value_at(value, found[0]), (*path, found[0]))

    def _walk(self, keys: tuple[Any, ...], text: str) -> tuple[Tree, tuple[Any, ...]]:
        value, here = self._root, ()
        for key in keys:
            value, here = self._step(value, here, key, text)
        return value, here

    def _settled(self, value: Tree, path: tuple[Any, ...]) -> tuple[Tree, tuple[Any, ...]]:
        return self.resolve(value, path) if is_interpolation(value) else (value, path)

    def _step(self, value: Tree, path: tuple[Any, ...], key: Any, text: str) -> tuple[Tree, tuple[Any, ...]]:
        found = step(value, key)
        if found is None:
            where = ".".join(map(str, path))
            raise ConfigError(
                f"{text} leads nowhere: there is no {join(where, key)!r}{did_you_mean(str(key), keys_of(value))}"
            )
        return value_at(value, found[0]), (*path, found[0])

    def _composed(self, text: str, path: tuple[Any, ...]) -> Any:
        """Resolve text around interpolations, and resolvers, with OmegaConf's grammar."""
        from omegaconf.grammar_parser import parse
        from omegaconf.grammar_visitor import GrammarVisitor

        def node(found: Any, memo: object) -> Any:
            key = getattr(found, "raw", found)
            dots = len(key) - len(key.lstrip("."))
            return self._at(key[:dots], _KEY.findall(key[dots:]), path, text)[0]

        def resolver(name: str, args: tuple[Any, ...], args_str: tuple[str, ...]) -> Any:
            return self._called(name, args, args_str, path)

        try:
            return GrammarVisitor(node, resolver, memo=set()).visit(parse(text))
        except ConfigError:
            raise
        except Exception as error:
            where = ".".join(map(str, path))
            raise ConfigError(f"cannot resolve {text!r}: {type(error).__name__}: {error} (at {where})") from error

    def _called(self, name: str, args: tuple[Any, ...], args_str: tuple[str, ...], path: tuple[Any, ...]) -> Any:
        """Call a resolver that is registered with OmegaConf, with the containers that it may ask for."""
        from omegaconf import AnyNode, Container, OmegaConf

        from libbench.config.freezing import thaw

        resolver = OmegaConf._get_resolver(name)
        if resolver is None:
            raise ConfigError(f"no resolver is registered as {name!r} (at {'.'.join(map(str, path))})")
        if self._thawed is None:
            cfg = thaw(self._root)
            self._thawed = cfg if OmegaConf.is_config(cfg) else OmegaConf.create({})
        parent = self._thawed
        for key in path[:-1]:
            inner = parent._get_node(key, validate_access=False)
            if not isinstance(inner, Container):
                break
            parent = inner
        return resolver(self._thawed, parent, AnyNode(None, parent=parent), args, args_str)


def step(value: Tree, key: Any) -> tuple[Any] | None:
    """Give the key, in a one-tuple and with its own type, under which a value holds `key`; None when it does not."""
    kind = type(value)
    if kind is Call:
        if key in value.kwargs:
            return (key,)
        value = value.args
    elif isinstance(value, dict):
        if key in value:
            return (key,)
        return next(((each,) for each in value if not isinstance(each, str) and str(each) == str(key)), None)
    if isinstance(value, list | tuple):
        try:
            index = int(key)
        except (TypeError, ValueError):
            return None
        if -len(value) <= index < len(value):
            return (index % len(value),)
    return None


def value_at(value: Tree, key: Any) -> Tree:
    """Give what a value holds under a key that `step` gave."""
    if type(value) is Call:
        return value.kwargs[key] if isinstance(key, str) else value.args[key]
    return value[key]


def keys_of(value: Tree) -> list[str]:
    """Give the keys of a value, as text, for a hint."""
    if type(value) is Call:
        return [*value.kwargs, *map(str, range(len(value.args)))]
    if isinstance(value, dict):
        return [str(key) for key in value]
    return [str(index) for index in range(len(value))] if isinstance(value, list | tuple) else []

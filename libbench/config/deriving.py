"""Values that a function computes from the config: `derive(lambda cfg: cfg.model.layers // 2)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from libbench.config.frozen import Call, Group, Tree
from libbench.config.places import caller, told
from libbench.errors import ConfigError


class Derived:
    """A value of a config that is computed whenever it is asked for; see `derive`.

    Attributes:
        function: what computes it.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __repr__(self) -> str:
        return f"derive({self.function!r})"


def derive(function: Callable[[Any], Any]) -> Any:
    """Give a value that follows the config: `half = derive(lambda cfg: cfg.model.layers // 2)`.

    It is computed anew wherever it is used, so after overrides too. An override of it puts a plain value in its place.

    Args:
        function: gets the whole config, to be read by attribute or by key, and gives the value: a plain one, a node
            of the config (that very instance), or a new `LazyCall`. Values in the config that are themselves derived,
            or interpolations, it sees computed. What is named `keys`, `values`, `items` or `get` is reached by key.

    Raises:
        ConfigError: `function` is not callable. When the value is used: the function raises, names something that is
            not there, or needs its own value; the chain is told.
    """
    if not callable(function):
        raise ConfigError(f"derive takes a function of the config, got {function!r}{told('', caller())}")
    return Derived(function)


class MissingNameError(ConfigError, AttributeError, KeyError):
    """A function that derives a value names what the config does not have."""

    __str__ = Exception.__str__


class Source(Protocol):
    """Gives what a value holds, with every interpolation and derived value on the way computed."""

    def enter(self, value: Tree, path: tuple[Any, ...], key: Any) -> tuple[Tree, tuple[Any, ...]]: ...


class View:
    """A part of a frozen config, read by attribute or by key; it cannot be changed."""

    __slots__ = ("_path", "_source", "_tree")

    def __init__(self, source: Source, tree: Tree, path: tuple[Any, ...]) -> None:
        self._source = source
        self._tree = tree
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, key: Any) -> Any:
        tree = self._tree
        if type(tree) is Call and key == "_target_":
            return tree.target
        if isinstance(key, slice):
            return [self[index] for index in range(*key.indices(len(self)))]
        found, path = self._source.enter(tree, self._path, key)
        return View(self._source, found, path) if type(found) in _HOLDERS else found

    def __iter__(self) -> Iterator[Any]:
        return iter([self[index] for index in range(len(self))] if type(self._tree) in (list, tuple) else self.keys())

    def __len__(self) -> int:
        return len(self._tree) if type(self._tree) is not Call else len(self._tree.kwargs)

    def __contains__(self, key: object) -> bool:
        return key in self.keys() if type(self._tree) not in (list, tuple) else any(key == each for each in self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, View):
            return self._tree is other._tree or list(self.items()) == list(other.items())
        if isinstance(other, list | tuple):
            return type(self._tree) is type(other) and list(self) == list(other)
        return isinstance(other, dict) and dict(self.items()) == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<the config at {'.'.join(map(str, self._path)) or 'the top'}>"

    def keys(self) -> list[Any]:
        """Give the names, or the positions."""
        tree = self._tree
        return list(tree.kwargs if type(tree) is Call else tree if isinstance(tree, dict) else range(len(tree)))

    def values(self) -> list[Any]:
        """Give what it holds, in order."""
        return [self[key] for key in self.keys()]

    def items(self) -> list[tuple[Any, Any]]:
        """Give names and what they hold."""
        return [(key, self[key]) for key in self.keys()]

    def get(self, key: Any, default: Any = None) -> Any:
        """Give what stands under a name, or the default."""
        return self[key] if key in self.keys() else default


_HOLDERS = frozenset({Call, list, tuple, dict, Group})


def computed(derived: Derived, source: Source, root: Tree, where: str) -> tuple[Tree, tuple[Any, ...] | None]:
    """Call the function of a derived value.

    Returns:
        What it gives, and the path of it where it is a part of the config itself.
    """
    from libbench.config.freezing import freeze
    from libbench.config.leaves import opaque_text

    try:
        found = derived.function(View(source, root, ()))
        if isinstance(found, View):
            return found._tree, found._path
        return _without_views(freeze(found)), None
    except MissingNameError as error:
        raise ConfigError(f"{error} (at {where}, derived by {opaque_text(derived.function)})") from error
    except ConfigError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        by = opaque_text(derived.function)
        raise ConfigError(f"cannot derive {where}: {what} (at {where}, derived by {by})") from error


def _without_views(tree: Tree) -> Tree:
    """Put the config's own parts in the place of their views, in a tree that nobody else has."""
    kind = type(tree)
    if kind is View:
        return tree._tree
    if kind is Call:
        tree.args = [_without_views(each) for each in tree.args]
        tree.kwargs = {key: _without_views(each) for key, each in tree.kwargs.items()}
        return tree
    if kind is list or kind is tuple:
        return kind([_without_views(each) for each in tree])
    return Group((key, _without_views(each)) for key, each in tree.items()) if kind in (dict, Group) else tree

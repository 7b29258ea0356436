"""What two values of a config have in common."""

from __future__ import annotations

from inspect import Parameter
from typing import Any

from libbench.config.freezing import freeze
from libbench.config.frozen import Call, Group, Tree
from libbench.config.leaves import fingerprint
from libbench.config.signatures import shape_of
from libbench.config.sums import Sums
from libbench.config.targets import callable_target
from libbench.errors import ConfigError


def default_of(call: Call, key: str) -> Any:
    """Give the default of a parameter of a call; `Parameter.empty` where there is none, or none is known."""
    try:
        parameter = shape_of(callable_target(call.target)).named.get(key)
    except ConfigError:
        return Parameter.empty
    return parameter.default if parameter is not None else Parameter.empty


def same_value(value: Tree, default: Any) -> bool:
    """Tell whether a value of a tree is the same as any other value."""
    sums = Sums()
    return sums.of(value) == sums.of(freeze(default))


def same_target(one: Any, two: Any) -> bool:
    """Tell whether two targets are the same class or function; a text is imported to compare it with another."""
    if one is two or (isinstance(one, str) and one == two):
        return True
    try:
        return fingerprint(callable_target(one)) == fingerprint(callable_target(two))
    except ConfigError:
        return False


def equal_but_type(one: Any, two: Any) -> bool:
    """Tell whether two numbers are equal and of two types."""
    numbers = (int, float, complex, bool)
    return isinstance(one, numbers) and isinstance(two, numbers) and type(one) is not type(two) and one == two


def alike(one: Tree, two: Tree) -> bool:
    """Tell whether two unequal items of lists are versions of one another, rather than one removed and one added."""
    if type(one) is Call and type(two) is Call:
        return same_target(one.target, two.target)
    containers = (Call, Group, dict, list, tuple)
    return type(one) is type(two) or (type(one) not in containers and type(two) not in containers)

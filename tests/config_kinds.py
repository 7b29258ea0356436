"""Small classes and a function to make configs of, and a difference as text, for the tests of the config layer."""

from enum import Enum
from types import SimpleNamespace


class Color(Enum):
    RED = 1
    BLUE = 2


class A(SimpleNamespace):
    pass


class B(SimpleNamespace):
    pass


class X(SimpleNamespace):
    pass


def scale(x=1, y=2):
    return x, y


def told(changes):
    """Give each change as a line."""
    return [f"{each.path}: {each.kind} {each.reference} | {each.target}" for each in changes]

"""Recursion that takes no frame of Python's stack for a level, so that a config may be nested deeper than it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

Steps: TypeAlias = Generator[Any, Any, Any]
"""A function that yields the steps of each inner value, gets that inner value's result back, and returns its own."""


def unwound(steps: Steps) -> Any:
    """Run a function that is written as `Steps`, with all that it yields, and give its result."""
    stack, result = [steps], None
    while stack:
        try:
            inner = stack[-1].send(result)
        except StopIteration as done:
            stack.pop()
            result = done.value
        else:
            stack.append(inner)
            result = None
    return result

"""Find the mistakes of a config without building anything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from libbench.config.freezing import Freezer
from libbench.config.frozen import Call, Near, Tree, children, nearer, set_at, set_near
from libbench.config.interpolation import Resolver, is_interpolation
from libbench.config.places import join, told
from libbench.config.signatures import shape_of, unknown
from libbench.config.targets import callable_target, target_text
from libbench.errors import ConfigError


def validate(cfg: Any, only: Collection[str] | None = None) -> list[str]:
    """List every mistake of a config, each as one line with its path and where it was written.

    Text targets are imported; nothing is built. An empty list means that every call has a target that can be
    imported, gets no parameter that it does not have, misses none that it needs, and that every interpolation
    leads somewhere.

    Args:
        only: look at these top-level names; None looks at all.
    """
    problems: list[str] = []
    tree = Freezer(problems).tree(cfg)
    resolver = Resolver(tree)
    for path, value, origin in _places(tree, only):
        if type(value) is Call:
            problems.extend(problems_of(value, ".".join(map(str, path))))
        elif is_interpolation(value):
            try:
                found, there = resolver.resolve(value, path)
                if type(found) is Call and there == path:
                    problems.extend(problems_of(found, ".".join(map(str, path))))
            except ConfigError as error:
                problems.append(f"{error}{told('.'.join(map(str, path)), origin)}")
    return problems


def _places(tree: Tree, only: Collection[str] | None) -> Iterator[tuple[tuple[Any, ...], Tree, Any]]:
    """Give every value with its keys and the origin that is nearest to it."""
    seen: set[int] = set()
    stack: list[tuple[tuple[Any, ...], Tree, Any, Near]] = [((), tree, None, None)]
    while stack:
        path, value, origin, near = stack.pop()
        kind = type(value)
        if kind is Call:
            if id(value) in seen:
                continue
            seen.add(id(value))
            origin = value.origin or origin
        yield path, value, origin
        for key, each in reversed(list(children(value))):
            if path or only is None or key in only:
                inner = nearer(near, value, key)
                stack.append(((*path, key), each, set_near(inner) or origin, inner))


def is_right(call: Call) -> bool:
    """Tell, quickly, that a call whose target is no text has no mistake; False where it takes a closer look."""
    if type(call.target) is str or not callable(call.target):
        return False
    shape = shape_of(call.target)
    given = call.kwargs.keys()
    return (
        (shape.open or given <= shape.named.keys())
        and (call.partial or (not call.args and shape.required <= given))
        and not (call.args and given)
        and (not call.args or shape.variadic or len(call.args) <= len(shape.placed))
        and "???" not in [each for each in call.kwargs.values() if type(each) is str]
    )


def problems_of(call: Call, path: str) -> list[str]:
    """List the mistakes of one call, not of what it holds."""
    try:
        target = callable_target(call.target)
    except ConfigError as error:
        return [f"{error}{told(path, set_at(call, '_target_') or call.origin)}"]
    shape = shape_of(target)
    found = []
    if not shape.open:
        for name in call.kwargs:
            if name not in shape.named:
                where = told(join(path, name), set_at(call, name) or call.origin)
                found.append(f"{unknown(target, name)}{where}")
    if len(call.args) > len(shape.placed) and not shape.variadic:
        found.append(
            f"{target_text(target)} takes {len(shape.placed)} positional arguments, got {len(call.args)}"
            f"{told(path, call.origin)}"
        )
    found.extend(
        f"{target_text(target)} gets {each.name!r} by position and by name"
        f"{told(join(path, each.name), set_at(call, each.name) or call.origin)}"
        for each in shape.placed[: len(call.args)]
        if each.name in call.kwargs and each.name in shape.named
    )
    if not call.partial:
        missing = shape.missing(len(call.args), call.kwargs.keys())
        if missing:
            plural = "s" if len(missing) > 1 else ""
            found.append(
                f"{target_text(target)} misses the required parameter{plural} {', '.join(map(repr, missing))}"
                f"{told(path, call.origin)}"
            )
    found.extend(
        f"{target_text(target)} needs a value for {name!r}, which is '???'"
        f"{told(join(path, name), set_at(call, name) or call.origin)}"
        for name, value in call.kwargs.items()
        if type(value) is str and value == "???"
    )
    return found


def checked_target(call: Call, path: str) -> Callable[..., Any]:
    """Give the callable of a call without mistakes.

    Raises:
        ConfigError: the first of its mistakes.
    """
    problems = problems_of(call, path)
    if problems:
        raise ConfigError(problems[0])
    return callable_target(call.target)

"""Which modules of a load may leave `sys.modules`: those that nothing can ask for by name any more.

A class or a function is found by the name of its module when it is pickled, saved or asked for its type hints. A
config that makes none, or whose functions only helped to write it, needs no module once it is loaded; were it kept,
every load would hold its whole config for ever.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from inspect import CO_OPTIMIZED
from types import CodeType, FunctionType, ModuleType

_INDIRECT = frozenset({"eval", "exec", "getattr", "globals", "sys", "vars"})
"""Names by which code reaches what it does not name."""
_AT_ONCE = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"})
"""Names of code that is done when what is around it is."""


def defines_nothing(module: ModuleType, code: CodeType) -> bool:
    """Tell whether a module makes no class and no function but lambdas, which nothing finds by a name."""
    return all(each.co_name.startswith("<") for each in _inner(code)) and not any(
        isinstance(value, type | FunctionType) and value.__module__ == module.__name__ and value.__name__ != "<lambda>"
        for value in vars(module).values()
    )


def only_helped(modules: Sequence[ModuleType], codes: Sequence[CodeType]) -> bool:
    """Tell whether the functions of one load are out of reach now that it has run, and that it made no class.

    Out of reach is a function that only the modules hold, by a name that no lambda or inner function mentions.

    Args:
        modules: all modules of the load; no variable of the caller may hold what they hold.
        codes: what each of them ran.
    """
    names, known = _own_functions(modules)
    if names is None or any(map(_makes_a_class, modules, codes)):
        return False
    outer = {each for code in codes for each in code.co_consts if isinstance(each, CodeType)}
    if not all(each in known or each.co_name.startswith("<") for each in outer):
        return False
    return not any((names | _INDIRECT) & {*each.co_names} for code in codes for each in _outliving(code, known))


def _own_functions(modules: Sequence[ModuleType]) -> tuple[set[str] | None, set[CodeType]]:
    """Give the names and the code of the functions of some modules; no names where others hold one of them.

    References are counted: one more than there are names for a function is somebody else's.
    """
    spaces = {id(vars(each)) for each in modules}
    places = [
        (module, name, id(value), value.__code__)
        for module in modules
        for name, value in vars(module).items()
        if type(value) is FunctionType and id(value.__globals__) in spaces
    ]
    times = Counter(function for _, _, function, _ in places)
    alone = all(_references(module, name) == _HELD_ONCE - 1 + times[key] for module, name, key, _ in places)
    return {name for _, name, _, _ in places} if alone else None, {code for _, _, _, code in places}


def _references(module: ModuleType, name: str) -> int:
    return sys.getrefcount(vars(module)[name])


_SAMPLE = ModuleType("sample")
_SAMPLE.__dict__["held"] = object()
_HELD_ONCE = _references(_SAMPLE, "held")
"""What this Python counts for an object that only one namespace holds."""


def _makes_a_class(module: ModuleType, code: CodeType) -> bool:
    return any(not each.co_flags & CO_OPTIMIZED for each in _inner(code)) or any(
        isinstance(value, type) and value.__module__ == module.__name__ for value in vars(module).values()
    )


def _outliving(code: CodeType, gone: set[CodeType]) -> Iterator[CodeType]:
    """Give what may still run when some code is done, but for what is gone."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            if each in gone or each.co_name in _AT_ONCE:
                yield from _outliving(each, gone)
            else:
                yield each
                yield from _inner(each)


def _inner(code: CodeType) -> Iterator[CodeType]:
    """Give the code of every function, class, lambda and comprehension in some code, at any depth."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _inner(each)

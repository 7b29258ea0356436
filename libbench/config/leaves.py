"""What is the same value: a text for every leaf of a config, equal in every process for equal leaves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path, PurePath
from types import CodeType, FunctionType, ModuleType
from typing import Any

from libbench.config.deriving import Derived
from libbench.config.frozen import Call
from libbench.config.places import short
from libbench.config.targets import FILE_MODULE, target_key, target_text

_NO_CONTENT = frozenset({"__dict__", "__weakref__", "__module__", "__doc__"})
_SCALARS = frozenset({int, str, bool, type(None), bytes})
_LONG = 500


def same_leaf(one: Any, two: Any) -> bool:
    """Tell whether two leaves are the same: equal types and equal values, NaN equal to NaN, arrays by content."""
    if one is two:
        return True
    kind = type(one)
    if kind in _SCALARS:
        return kind is type(two) and bool(one == two)
    return fingerprint(one) == fingerprint(two)


def fingerprint(value: Any) -> str:
    """Give a text that is equal for equal leaves, in every process.

    Functions and classes go by file or module and qualified name; a lambda, or a class that a function made, by its
    code; tensors and arrays by dtype, shape and content; other objects by type and attributes.
    """
    return _of(value, (), {})


def is_record(value: object) -> bool:
    """Tell whether a leaf is an instance of a dataclass."""
    return is_dataclass(value) and not isinstance(value, type | Call)


def is_named_tuple(value: object) -> bool:
    """Tell whether a leaf is a named tuple."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _of(value: Any, above: tuple[int, ...], known: dict[int, tuple[Any, str]]) -> str:
    """Give the text of a value inside others.

    Args:
        above: the ids of what it is inside of.
        known: the texts by id, with what they are of, so that no id is given away. Without it, what is reached in
            two ways at each of 20 levels would be gone through a million times.
    """
    kind = type(value)
    if kind in _SCALARS or kind is float or kind is complex:
        return f"{kind.__name__}:{value!r}"
    if id(value) in above or len(above) > 20:
        return "..."
    if id(value) not in known:
        text = _content(value, functools.partial(_of, above=(*above, id(value)), known=known))
        # A text that is quoted in another grows by its quotes, level by level.
        known[id(value)] = value, text if len(text) < _LONG else f"sum:{_sum(text.encode('utf-8', 'backslashreplace'))}"
    return known[id(value)][1]


def _content(value: Any, inner: Callable[[Any], str]) -> str:
    kind = type(value)
    for base, text in _KINDS:
        if isinstance(value, base):
            return f"{_type_name(kind)}:{text(value, inner)}"
    key = target_key(value) if callable(value) or isinstance(value, type) else None
    if key is not None:
        return f"target:{key}"
    if isinstance(value, FunctionType):
        return f"function:{_function(value, inner)}"
    if isinstance(value, type):
        return f"class:{_class(value, inner)}"
    if is_record(value):
        return f"{_type_name(kind)}:{[(each.name, inner(getattr(value, each.name))) for each in fields(value)]}"
    return f"{_type_name(kind)}:{_state(value, inner)}"


def _type_name(kind: type) -> str:
    if issubclass(kind, dict) and kind.__module__ == "libbench.config.frozen":
        return "builtins:dict"
    return target_key(kind) or kind.__qualname__


def _sum(data: bytes) -> str:
    # A config file is loaded without it, and its import would be felt at every start.
    import hashlib

    return hashlib.sha256(data).hexdigest()


def _array(value: Any, inner: Callable[[Any], str]) -> str:
    data = _sum(value.tobytes()) if value.dtype != object else inner(value.tolist())
    return f"{value.dtype}{value.shape}{data}"


def _tensor(value: Any, inner: Callable[[Any], str]) -> str:
    import torch

    plain = value.detach().cpu().contiguous()
    data = _sum(plain.reshape(-1).view(torch.uint8).numpy().tobytes())
    return f"{value.dtype}{tuple(value.shape)}{value.device}{value.requires_grad}{data}"


def _function(value: FunctionType, inner: Callable[[Any], str]) -> str:
    cells = [inner(cell.cell_contents) for cell in value.__closure__ or ()]
    defaults = [inner(value.__defaults__), inner(value.__kwdefaults__)]
    return f"{value.__qualname__}:{_code(value.__code__)}:{cells}:{defaults}"


def _class(value: type, inner: Callable[[Any], str]) -> str:
    content = [(name, inner(_inside(each))) for name, each in vars(value).items() if name not in _NO_CONTENT]
    return f"{value.__qualname__}:{[inner(base) for base in value.__bases__]}:{sorted(content)}"


def _inside(value: Any) -> Any:
    """Give the functions of what wraps them in a class."""
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    return value.__func__ if isinstance(value, staticmethod | classmethod) else value


def _code(code: CodeType) -> str:
    constants = [_constant(each) for each in code.co_consts]
    return _sum(f"{code.co_code!r}{constants}{code.co_names}{code.co_freevars}".encode())


def _constant(value: Any) -> str:
    """Give the text of a constant of a function; the order of a set is another one in every process."""
    if isinstance(value, CodeType):
        return _code(value)
    if isinstance(value, frozenset):
        return f"frozenset({sorted(map(_constant, value))})"
    return f"({', '.join(map(_constant, value))})" if isinstance(value, tuple) else repr(value)


def _state(value: Any, inner: Callable[[Any], str]) -> str:
    state = getattr(value, "__dict__", None)
    if isinstance(state, dict) and state:
        return str(sorted((str(key), inner(each)) for key, each in state.items()))
    text = repr(value)
    return text if " at 0x" not in text else ""


def _unordered(value: Any, inner: Callable[[Any], str]) -> str:
    return str(sorted(inner(each) for each in value))


def _ordered(value: Any, inner: Callable[[Any], str]) -> str:
    return str([inner(each) for each in value])


def _items(value: Any, inner: Callable[[Any], str]) -> str:
    return str([(inner(key), inner(each)) for key, each in value.items()])


def _partial(value: Any, inner: Callable[[Any], str]) -> str:
    return f"{inner(value.func)}{inner(value.args)}{inner(value.keywords)}"


class _Named(type):
    """A stand-in for a class of a package that may not be imported: matched by its name."""

    module: str
    name: str

    def __instancecheck__(cls, value: object) -> bool:
        return any(each.__module__ == cls.module and each.__name__ == cls.name for each in type(value).__mro__)


class _Tensor(metaclass=_Named):
    module, name = "torch", "Tensor"


class _Array(metaclass=_Named):
    module, name = "numpy", "ndarray"


def _enum(value: Any, inner: Callable[[Any], str]) -> str:
    return str(value.name)


def _path(value: Any, inner: Callable[[Any], str]) -> str:
    return str(value)


def _module(value: Any, inner: Callable[[Any], str]) -> str:
    return str(vars(value).get(FILE_MODULE) or value.__name__)


def _call(value: Any, inner: Callable[[Any], str]) -> str:
    return f"{inner(value.target)}{inner(value.args)}{inner(value.kwargs)}{value.partial}"


def _derived(value: Any, inner: Callable[[Any], str]) -> str:
    return inner(value.function)


_KINDS: tuple[tuple[Any, Callable[[Any, Callable[[Any], str]], str]], ...] = (
    (Call, _call),
    (Derived, _derived),
    (ModuleType, _module),
    (Enum, _enum),
    (PurePath, _path),
    (set | frozenset, _unordered),
    (list | tuple, _ordered),
    (dict, _items),
    (functools.partial, _partial),
    (_Tensor, _tensor),
    (_Array, _array),
)


def opaque_text(value: object) -> str:
    """Describe a value that cannot be saved: `<lambda a.py:12>`, `<Tensor (2, 3) torch.float32>`, `<Net>`."""
    if isinstance(value, Derived):
        return f"derived by {_named(value.function)}"
    code = getattr(value, "__code__", None)
    if isinstance(code, CodeType):
        name = "lambda" if code.co_name == "<lambda>" else f"function {getattr(value, '__qualname__', code.co_name)}"
        return f"<{name} {short(Path(code.co_filename))}:{code.co_firstlineno}>"
    if isinstance(value, type):
        return f"<class {value.__qualname__}>"
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"<{type(value).__name__} {tuple(value.shape)} {value.dtype}>"
    return f"<{type(value).__qualname__}>"


def _named(function: Any) -> str:
    return target_text(function) if target_key(function) is not None else opaque_text(function)

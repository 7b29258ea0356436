"""Give the value of an override the type of the value that it replaces."""

from __future__ import annotations

import copy
import sys
from enum import Enum
from inspect import Parameter
from pathlib import PurePath
from typing import Any

from libbench.config.deriving import Derived
from libbench.config.frozen import Call, Group
from libbench.config.leaves import is_named_tuple
from libbench.errors import ConfigError, did_you_mean


class _Absent:
    """Nothing is there that could give a type."""


ABSENT = _Absent()


def fitted(value: Any, raw: str, present: Any, parameter: Parameter | None, where: str) -> Any:
    """Give `value` the type of `present`.

    Args:
        value: what Hydra's grammar read.
        raw: the text that it read it from.
        present: the value that is there, or the parameter's default; `ABSENT` where there is neither.
        parameter: the parameter that gets it, whose default and annotation help where None is present.
        where: the end of an error.

    Raises:
        ConfigError: it cannot have that type.
    """
    if value is None or (isinstance(value, str) and ("${" in value or value == "???")):
        return value
    if _is_open(present) and parameter is not None:
        present = parameter.default if parameter.default is not Parameter.empty else ABSENT
    if _is_open(present):
        return _annotated(_plain(value), parameter)
    return _like(value, raw, present, where)


def _is_open(present: Any) -> bool:
    return (
        present is None
        or present is ABSENT
        or type(present) is Derived
        or (type(present) is str and ("${" in present or present == "???"))
    )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return Group((key, _plain(each)) for key, each in value.items())
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _annotated(value: Any, parameter: Parameter | None) -> Any:
    """Make a dtype of text for a parameter whose annotation asks for one."""
    if isinstance(value, str) and parameter is not None and "dtype" in str(parameter.annotation):
        found = _dtype(value)
        return value if found is None else found
    return value


def _like(value: Any, raw: str, present: Any, where: str) -> Any:
    kind = type(present)
    if kind is bool:
        if type(value) is bool:
            return value
    elif kind is int or kind is float:
        if type(value) is int or type(value) is float:
            return float(value) if kind is float else value
    elif kind is str:
        if not isinstance(value, list | dict):
            return value if isinstance(value, str) else raw.strip()
    elif kind is tuple or kind is list:
        if isinstance(value, list):
            return kind(_items(value, present, where))
    elif is_named_tuple(present):
        if isinstance(value, list) and len(value) == len(present):
            return tuple.__new__(kind, _items(value, present, where))
    elif isinstance(present, Enum):
        return _member(value, type(present), where)
    elif isinstance(present, PurePath):
        if isinstance(value, str):
            return kind(value)
    elif kind.__module__ == "torch" and kind.__name__ in ("dtype", "device"):
        return _torch(raw.strip().strip("'\""), kind, where)
    elif isinstance(present, dict):
        if isinstance(value, dict):
            merged = _merged(value, present)
            if kind is dict or kind is Group:
                return merged
            made = copy.copy(present)
            made.update(merged)
            return made
    elif kind is Call:
        if isinstance(value, dict) and "_target_" in value:
            from libbench.config.freezing import freeze

            return freeze(value)
        raise ConfigError(
            f"a call is there: set its parameters one by one, or another target as KEY._target_=module.Name, "
            f"got {raw!r}{where}"
        )
    elif isinstance(present, type) or callable(present):
        return _callable(value, where)
    else:
        return _plain(value)
    raise ConfigError(f"wanted {_word(present)}, got {raw!r}{where}")


def _callable(value: Any, where: str) -> Any:
    """Give the class or function that a text names, in place of another one."""
    from libbench.config.targets import callable_target

    try:
        return callable_target(str(value))
    except ConfigError as error:
        raise ConfigError(f"{error}{where}") from error


def _word(present: Any) -> str:
    from libbench.config.showing import show

    kind = "int or float" if type(present) in (int, float) else type(present).__name__
    kind = f"{kind} of {len(present)} values" if is_named_tuple(present) else kind
    return f"{kind} as the present {show(present)}"


def _items(value: list[Any], present: Any, where: str) -> list[Any]:
    """Type each item by the one in its place, or by the last where all are of one type."""
    uniform = present and len({type(each) for each in present}) == 1
    items = []
    for index, each in enumerate(value):
        like = present[index] if index < len(present) else present[-1] if uniform else None
        fits = type(like) in (float, tuple, list) or isinstance(like, Enum)
        items.append(_like(each, str(each), like, where) if fits and not isinstance(each, str | None) else _plain(each))
    return items


def _merged(value: dict[Any, Any], present: dict[Any, Any]) -> Group:
    merged = Group(present, getattr(present, "origins", None))
    for key, each in value.items():
        old = present.get(key)
        merged[key] = _merged(each, old) if isinstance(each, dict) and isinstance(old, dict) else _plain(each)
    return merged


def _member(value: Any, kind: type[Enum], where: str) -> Enum:
    name = str(value).removeprefix(f"{kind.__name__}.")
    if name not in kind.__members__:
        right = ", ".join(kind.__members__)
        raise ConfigError(f"wanted one of {right}, got {value!r}{did_you_mean(name, kind.__members__)}{where}")
    return kind[name]


def _dtype(text: str) -> Any:
    torch = sys.modules.get("torch")
    found = getattr(torch, text.removeprefix("torch."), None)
    return found if type(found).__name__ == "dtype" else None


def _torch(text: str, kind: Any, where: str) -> Any:
    if kind.__name__ == "device":
        try:
            return kind(text)
        except RuntimeError as error:
            raise ConfigError(f"wanted a torch.device, got {text!r}{where}") from error
    found = _dtype(text)
    if found is None:
        torch = sys.modules["torch"]
        names = [name for name, each in vars(torch).items() if isinstance(each, kind)]
        hint = did_you_mean(text.removeprefix("torch."), names)
        raise ConfigError(f"wanted a torch.dtype, got {text!r}{hint}{where}")
    return found

"""Targets: the text that names a class or function, and the way back from it."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from libbench.errors import ConfigError, did_you_mean

FILE_MODULE = "__libbench_file__"
"""The name, in a module that was read from a path instead of imported by name, that holds the path."""


def module_file(module: str) -> str | None:
    """Give the path of a module that was read from a path, None for one that is imported by name."""
    found = sys.modules.get(module)
    return None if found is None else found.__dict__.get(FILE_MODULE)


def target_text(target: object) -> str:
    """Name a target for a person: `torch.nn.Conv2d`, `configs/net.py:Net`, or the text itself."""
    if isinstance(target, str):
        return target
    if isinstance(target, functools.partial):
        return f"partial({target_text(target.func)})"
    module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", None)
    if not isinstance(name, str):
        return type(target).__qualname__
    plain = getattr(target, "__name__", "")
    home = None if hasattr(target, "__code__") or "." not in name else _module_of(plain, target)
    if home is not None:
        module, name = home, plain
    if not isinstance(module, str) or module in ("builtins", "__main__"):
        return name
    # The module of a lambda may be gone; what the lambda needs of it is not.
    file = module_file(module) or getattr(target, "__globals__", {}).get(FILE_MODULE)
    return f"{Path(file).stem}.{name}" if file is not None else f"{_public_module(module, name, target)}.{name}"


def _public_module(module: str, name: str, target: object) -> str:
    """Give the shortest package that re-exports the target under its own name: `torch.nn` for `Conv2d`."""
    parts = module.split(".")
    for end in range(1, len(parts)):
        package = ".".join(parts[:end])
        if getattr(sys.modules.get(package), "__dict__", {}).get(name) is target:
            return package
    return module


def target_key(target: object) -> str | None:
    """Give the text that is equal for equal targets: `module:name`, `/path/file.py:name`.

    None when the object cannot be found again that way: a lambda, a local class, a bound method of an instance.
    """
    builtin = getattr(target, "__name__", None)
    home = _module_of(builtin, target) if isinstance(builtin, str) and not hasattr(target, "__code__") else None
    if home is not None:
        return f"{home}:{builtin}"
    owner = getattr(target, "__self__", None)
    if owner is not None and not isinstance(owner, type | ModuleType):
        return None
    module, name = getattr(target, "__module__", None), getattr(target, "__qualname__", None)
    if isinstance(owner, ModuleType):
        module = owner.__name__
    if isinstance(owner, type):
        module, name = owner.__module__, f"{owner.__qualname__}.{getattr(target, '__name__', '')}"
    if not isinstance(name, str) or "<" in name:
        return None
    if not isinstance(module, str):
        module = getattr(getattr(target, "__objclass__", None), "__module__", None)
    if module is None or module not in sys.modules:
        return None
    found = _walk(sys.modules[module], name)
    if found is not target and found != target:
        return None
    return f"{module_file(module) or module}:{name}"


def _module_of(name: str, target: object) -> str | None:
    """Find the module of a builtin that does not say it, as those of torch do not."""
    for module in ("builtins", "torch", "torch.nn.functional", "numpy"):
        if getattr(sys.modules.get(module), name, None) is target:
            return module
    return None


def _walk(module: object, name: str) -> object:
    found: object = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def find_target(text: str, load: Callable[[str], ModuleType] | None = None) -> Any:
    """Import what a text names.

    Args:
        text: `package.module.Name`, `package.module:Outer.Name` or `/path/file.py:Name`.
        load: reads a module from a path; without it a path is refused.

    Raises:
        ConfigError: the module or the name cannot be imported; the reason and the nearest right name are in it.
    """
    head, colon, name = text.rpartition(":")
    if colon:
        if head.endswith(".py") and load is not None:
            return _attribute(load(head), name, text)
        return _attribute(_import(head, text), name, text)
    parts = text.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise ConfigError(f"a target is a dotted name such as 'package.module.Name', got {text!r}")
    for end in range(len(parts) - 1, 0, -1):
        module_name = ".".join(parts[:end])
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if end > 1 and error.name is not None and f"{module_name}.".startswith(f"{error.name}."):
                continue
            raise ConfigError(f"cannot import {text}: {error}") from error
        except Exception as error:
            raise ConfigError(f"cannot import {text}: {type(error).__name__}: {error}") from error
        return _attribute(module, ".".join(parts[end:]), text)
    raise ConfigError(f"cannot import {text}")


def _import(module: str, text: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except Exception as error:
        raise ConfigError(f"cannot import {text}: {type(error).__name__}: {error}") from error


def _attribute(module: ModuleType, name: str, text: str) -> Any:
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            where = found.__name__ if isinstance(found, ModuleType | type) else repr(found)
            hint = did_you_mean(part, [each for each in dir(found) if not each.startswith("_")])
            raise ConfigError(f"cannot import {text}: {where} has no {part!r}{hint}") from error
    return found


def callable_target(target: object) -> Callable[..., Any]:
    """Give the callable of a target, importing it when it is text.

    Raises:
        ConfigError: it cannot be imported, or it is not callable.
    """
    found = named(target) if isinstance(target, str) else target
    if not callable(found):
        raise ConfigError(f"a target must be callable, got {found!r}")
    made: Callable[..., Any] = found
    return made


def named(text: str) -> Any:
    """Give the class or function that a text names: `package.module.Name` or `/path/file.py:Name`.

    Raises:
        ConfigError: the module or the name cannot be imported.
    """
    return find_target(text, _plain_module)


def _plain_module(file: str) -> ModuleType:
    from libbench.config.modules import plain_module

    return plain_module(Path(file))

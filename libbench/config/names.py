"""The names that a config written as Python uses, and the imports for them."""

from __future__ import annotations

import builtins
from collections.abc import Collection
from typing import Any

from libbench.config.leaves import opaque_text
from libbench.config.targets import find_target, target_key, target_text
from libbench.errors import ConfigError

_WIDE = 100


class Names:
    """Gives expressions for modules, classes and functions, and collects what they import.

    Args:
        taken: names that the text assigns; what is imported goes by another one.
    """

    def __init__(self, taken: Collection[str]) -> None:
        self._taken = taken
        self._imports: set[str] = set()

    def imports(self) -> str:
        """Give the import statements."""
        return "\n".join(sorted(self._imports, key=lambda line: (line.startswith("from libbench"), line)))

    def target(self, target: Any, path: str) -> str:
        """Give the expression of a class or a function, and import what it needs."""
        key = target_key(target)
        if key is None:
            raise refused(target, path, "")
        module, _, name = key.rpartition(":")
        if module.endswith(".py"):
            return f"{self.libbench('named')}({key!r})"
        public = target_text(target)
        try:
            if public.endswith(f".{name}") and find_target(public) is target:
                module = public.removesuffix(f".{name}")
        except ConfigError:
            pass
        return self.name(module, name)

    def name(self, module: str, name: str) -> str:
        """Give the expression of a name in a module."""
        first = name.partition(".")[0]
        if module == "builtins" and first not in self._taken and hasattr(builtins, first):
            return name
        return f"{self.module(module)}.{name}"

    def path(self, dotted: str) -> str:
        """Give the expression of a name of the standard library, or of a builtin."""
        module, _, name = dotted.partition(".")
        return self.name(module, name) if name else self.name("builtins", module)

    def module(self, module: str) -> str:
        """Import a module; give the expression of it."""
        top = module.partition(".")[0]
        if top not in self._taken:
            self._imports.add(f"import {module}")
            return module
        alias = f"_{module.replace('.', '_')}"
        self._imports.add(f"import {module} as {alias}")
        return alias

    def libbench(self, name: str) -> str:
        """Import a name of `libbench.config`; give the one that it has here."""
        short = {"LazyCall": "L"}.get(name, name)
        used = f"_{short}" if short in self._taken else short
        self._imports.add(f"from libbench.config import {name}" + ("" if used == name else f" as {used}"))
        return used


def refused(value: Any, path: str, reason: str) -> ConfigError:
    """Give the error for a value that no Python text stands for."""
    why = reason or "it cannot be found again by a name"
    return ConfigError(f"cannot write {opaque_text(value)} as Python: {why} (at {path})")


def within(head: str, items: list[str], tail: str) -> str:
    """Put items between brackets, in one line where they are short."""
    line = f"{head}{', '.join(items)}{tail}"
    if len(line) <= _WIDE and "\n" not in line:
        return line
    inner = ",\n".join(items).replace("\n", "\n    ")
    return f"{head}\n    {inner},\n{tail.lstrip(',')}" if items else line

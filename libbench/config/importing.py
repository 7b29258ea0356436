"""The `__import__` of one config file: private copies of other configs, plain modules loaded once."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from omegaconf import DictConfig

from libbench.config.nodes import wrap
from libbench.config.places import caller, short, told
from libbench.errors import ConfigError, did_you_mean


class ConfigImportError(ConfigError, ImportError):
    """A config imports a file or a name that is not there."""


class Importer:
    """The `__import__` of one module.

    Args:
        config: runs a config file, below the configs that are being loaded already.
        plain: gives the module of a file that is no config.
        file: the module's file.
        chain: the configs that are being loaded, outermost first; None for a plain module.
    """

    def __init__(
        self,
        config: Callable[[Path, tuple[Path, ...]], ModuleType],
        plain: Callable[[Path], ModuleType],
        file: Path,
        chain: tuple[Path, ...] | None,
    ) -> None:
        self._config = config
        self._plain = plain
        self._file = file
        self._chain = chain
        self._loaded: dict[Path, ModuleType] = {}
        self.given: dict[tuple[str, int], ModuleType] = {}

    def __call__(
        self,
        name: str,
        globals: Any = None,
        locals: Any = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        if level > 0:
            above = self._file.parents
            if level > len(above):
                shown = "." * level + name
                raise ConfigImportError(
                    f"cannot import {shown!r}: there are only {len(above)} folders above {short(self._file)}"
                    f"{told('', caller())}"
                )
            base = above[level - 1]
            found = self._from(base, name, fromlist or (), "." * level + name)
        else:
            base_of = _config_base(name) if "configs" in name.split(".") else None
            if base_of is None:
                return builtins.__import__(name, globals, locals, fromlist or (), level)
            if not fromlist:
                return self._chained(base_of, name)
            found = self._from(base_of, name, fromlist, name)
        self.given[name, level] = found
        return found

    def _from(self, base: Path, name: str, fromlist: Sequence[str], shown: str) -> ModuleType:
        """Give an object that holds the names of a `from ... import ...`."""
        place = base.joinpath(*name.split(".")) if name else base
        file = _file_of(place)
        submodules = [each for each in fromlist if each != "*" and _file_of(place / each)]
        if file is None and not place.is_dir():
            raise ConfigImportError(_nothing(place, shown) + told("", caller()))
        asked = [each for each in fromlist if each not in submodules]
        if file is not None and (asked or not fromlist) and file != self._file:
            module = self._load(file)
        else:
            module = ModuleType(shown)
        starred = vars(module).get("__all__", ()) if "*" in fromlist else ()
        for each in [*fromlist, *starred]:
            if each == "*" or hasattr(module, each):
                _give_items(module, each)
            elif (inner := _file_of(place / each)) is not None:
                setattr(module, each, self._load(inner))
            elif (place / each).is_dir():
                setattr(module, each, ModuleType(f"{shown}.{each}"))
            else:
                right = {one for one in vars(module) if not one.startswith("_")} | _names_in(place)
                where = short(file) if file is not None else short(place)
                raise ConfigImportError(
                    f"cannot import {each!r} from {where}{did_you_mean(each, right)}{told('', caller())}"
                )
        return module

    def _chained(self, base: Path, name: str) -> ModuleType:
        """Give the outermost package of `import configs.common.model`, with the others inside it."""
        parts = name.split(".")
        top = here = ModuleType(parts[0])
        for end in range(2, len(parts) + 1):
            inner = (
                self._from(base, ".".join(parts[:end]), (), name) if end == len(parts) else ModuleType(parts[end - 1])
            )
            setattr(here, parts[end - 1], inner)
            here = inner
        return top

    def _load(self, file: Path) -> ModuleType:
        file = file.resolve()
        if file not in self._loaded:
            self._loaded[file] = self._fresh(file)
        return self._loaded[file]

    def _fresh(self, file: Path) -> ModuleType:
        beside = self._chain is not None and self._file.parent in file.parents
        if beside or _below_configs(file):
            return self._config(file, self._chain or ())
        return self._plain(file)


def _give_items(module: ModuleType, name: str) -> None:
    """Make configs of the dicts that are imported from a config, so that their items are attributes as well."""
    if "__libbench_origins__" not in vars(module):
        return
    for each in [one for one in vars(module) if not one.startswith("_")] if name == "*" else [name]:
        value = vars(module)[each]
        if type(value) is dict:
            wrapped = wrap(value, each, None)
            setattr(module, each, wrapped if isinstance(wrapped, DictConfig) else value)


def _file_of(place: Path) -> Path | None:
    """Give the file of a module or package at a path without its ending."""
    for file in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
        if file.is_file():
            return file
    return None


def _below_configs(file: Path) -> bool:
    return any(parent.name == "configs" for parent in file.parents)


def _config_base(name: str) -> Path | None:
    """Give the entry of `sys.path` from which an absolute name leads to a file below a folder named `configs`."""
    for entry in sys.path:
        base = Path(entry or ".").resolve()
        place = base.joinpath(*name.split("."))
        file = _file_of(place)
        if (file is not None and _below_configs(file)) or (file is None and place.is_dir()):
            return base
    return None


def _nothing(place: Path, shown: str) -> str:
    return f"cannot import {shown!r}: there is no {short(place)}.py{did_you_mean(place.name, _names_in(place.parent))}"


def _names_in(folder: Path) -> set[str]:
    """Give the names that can be imported from a folder."""
    if not folder.is_dir():
        return set()
    found = {each.stem for each in folder.iterdir() if each.suffix == ".py" or each.is_dir()}
    return {name for name in found if name.isidentifier() and not name.startswith("_")}

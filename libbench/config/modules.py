"""Run config files as real modules whose own builtins carry an import hook, so that nothing global is patched.

Every importer gets a private copy of the config files that it imports. Any other file that a relative import reaches
is a plain module, loaded once per process by its real path.
"""

from __future__ import annotations

import builtins
import importlib
import itertools
import re
import sys
import threading
import tokenize
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from omegaconf import DictConfig

from libbench.config.nodes import wrap
from libbench.config.places import Origin, caller, short, told
from libbench.config.statements import Assigned, origins_of, parsed
from libbench.config.targets import FILE_MODULE
from libbench.errors import ConfigError, LibbenchError, did_you_mean

_numbers = itertools.count(1)
_plain: dict[Path, ModuleType] = {}
_plain_lock = threading.RLock()


class ConfigImportError(ConfigError, ImportError):
    """A config imports a file or a name that is not there."""


def config_module(file: Path) -> ModuleType:
    """Run a config file and give its module, a new one at every call.

    Raises:
        ConfigError: the file is missing, cannot be parsed, imports itself, or raises; the original is the cause.
            Every module that this load made is taken out of `sys.modules` again.
    """
    return Run().config(file.resolve(), ())


def plain_module(file: Path) -> ModuleType:
    """Give the module of a file that is not a config, loaded once per process by its real path."""
    return Run().plain(file.resolve())


def origins_in(module: ModuleType) -> dict[str, Origin]:
    """Give where the module-level names of a config module were assigned, also those that it imported."""
    found: dict[str, Origin] = module.__dict__.get("__libbench_origins__", {})
    return found


class Run:
    """One load of a config, with everything that it imports."""

    def __init__(self) -> None:
        self._made: list[str] = []

    def config(self, file: Path, chain: tuple[Path, ...]) -> ModuleType:
        """Run a config file below the ones that are being loaded already."""
        if file in chain:
            circle = " -> ".join(short(each) for each in (*chain[chain.index(file) :], file))
            raise ConfigImportError(f"configs import one another in a circle: {circle}{told('', caller())}")
        before = len(self._made)
        module = self._blank(file, "config")
        importer = _Importer(self, file, (*chain, file))
        try:
            assigned = self._execute(module, file, importer)
        except BaseException:
            for name in self._made[before:]:
                sys.modules.pop(name, None)
            del self._made[before:]
            raise
        module.__dict__["__libbench_origins__"] = origins_of(file, assigned, importer.given)
        return module

    def plain(self, file: Path) -> ModuleType:
        """Give the once loaded module of a file."""
        regular = _regular_name(file)
        if regular is not None:
            return importlib.import_module(regular)
        with _plain_lock:
            found = _plain.get(file)
            if found is not None:
                return found
            module = _plain[file] = self._blank(file, "file")
            self._made.pop()
            try:
                self._execute(module, file, _Importer(self, file, None))
            except BaseException:
                del _plain[file]
                sys.modules.pop(module.__name__, None)
                raise
            return module

    def _blank(self, file: Path, kind: str) -> ModuleType:
        stem = re.sub(r"\W", "_", file.stem)
        name = f"libbench_{kind}_{next(_numbers)}_{stem}"
        module = ModuleType(name)
        module.__file__ = str(file)
        module.__dict__[FILE_MODULE] = str(file)
        sys.modules[name] = module
        self._made.append(name)
        return module

    def _execute(self, module: ModuleType, file: Path, importer: _Importer) -> tuple[Assigned, ...]:
        code, assigned = _code(file)
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": importer}
        try:
            exec(code, module.__dict__)
            return assigned
        except LibbenchError:
            raise
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            kind = ConfigImportError if isinstance(error, ImportError) else ConfigError
            raise kind(f"{_place(error, file)}: {type(error).__name__}: {_line(error)}") from error


def _code(file: Path) -> tuple[CodeType, tuple[Assigned, ...]]:
    try:
        with tokenize.open(file) as source:  # as Python reads it: a coding line, a byte order mark
            return parsed(file, source.read())
    except SyntaxError as error:
        raise ConfigError(f"{short(file)}:{error.lineno or 1}: {type(error).__name__}: {error.msg}") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read {short(file)}: {error}") from error


def _place(error: BaseException, file: Path) -> str:
    """Give the last line of the config that the error passed through."""
    line, trace = 1, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{short(file)}:{line}"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())


class _Importer:
    """The `__import__` of one module.

    Args:
        run: the load that the module belongs to.
        file: the module's file.
        chain: the configs that are being loaded, outermost first; None for a plain module.
    """

    def __init__(self, run: Run, file: Path, chain: tuple[Path, ...] | None) -> None:
        self._run = run
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
            base = self._file.parents[level - 1]
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
        submodules = {each: found for each in fromlist if each != "*" and (found := _file_of(place / each))}
        if file is None and not place.is_dir():
            raise ConfigImportError(_nothing(place, shown) + told("", caller()))
        asked = [each for each in fromlist if each not in submodules]
        if file is not None and (asked or not fromlist) and file != self._file:
            module = self._load(file)
        else:
            module = ModuleType(shown)
        for each in fromlist:
            if each == "*" or hasattr(module, each):
                _give_items(module, each)
            elif each in submodules:
                setattr(module, each, self._load(submodules[each]))
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
            return self._run.config(file, self._chain or ())
        return self._run.plain(file)


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


def _regular_name(file: Path) -> str | None:
    """Give the dotted name under which a file of an importable package is imported anyway."""
    for name, module in sys.modules.copy().items():  # other threads import meanwhile
        if getattr(module, "__file__", None) == str(file) and FILE_MODULE not in vars(module) and name != "__main__":
            return name
    parts = [] if file.name == "__init__.py" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    on_path = any(Path(entry or ".").resolve() == folder for entry in sys.path)
    return ".".join(parts) if on_path and len(parts) > 1 else None

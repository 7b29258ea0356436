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
from pathlib import Path
from types import CodeType, ModuleType

from libbench.config.importing import ConfigImportError, Importer
from libbench.config.places import Origin, caller, short, told
from libbench.config.releasing import defines_nothing, only_helped
from libbench.config.statements import Assigned, origins_of, parsed
from libbench.config.targets import FILE_MODULE
from libbench.errors import ConfigError, LibbenchError

_numbers = itertools.count(1)
_plain: dict[Path, ModuleType] = {}
_plain_lock = threading.RLock()


def config_module(file: Path) -> ModuleType:
    """Run a config file and give its module, a new one at every call.

    When it has run, the modules of this load that nothing can ask for by name are taken out of `sys.modules`.

    Raises:
        ConfigError: the file is missing, cannot be parsed, imports itself, or raises; the original is the cause.
            Every module that this load made is taken out of `sys.modules` again.
    """
    run = Run()
    module = run.config(file.resolve(), ())
    modules, codes = zip(*run.made, strict=True)
    run.made.clear()
    if only_helped(modules, codes):
        for each in modules:
            sys.modules.pop(each.__name__, None)
    return module


def plain_module(file: Path) -> ModuleType:
    """Give the module of a file that is not a config, loaded once per process by its real path."""
    file = file.resolve()
    regular = _regular_name(file)
    if regular is not None:
        return importlib.import_module(regular)
    with _plain_lock:
        if file not in _plain:
            # What a plain module imports stays with it, also when the config that asked for it fails later.
            Run().plain(file)
        return _plain[file]


def origins_in(module: ModuleType) -> dict[str, Origin]:
    """Give where the module-level names of a config module were assigned, also those that it imported."""
    found: dict[str, Origin] = module.__dict__.get("__libbench_origins__", {})
    return found


class Run:
    """One load of a config, or of a plain module, with the configs that it imports.

    Attributes:
        made: its modules, and what they ran.
    """

    def __init__(self) -> None:
        self.made: list[tuple[ModuleType, CodeType]] = []

    def config(self, file: Path, chain: tuple[Path, ...]) -> ModuleType:
        """Run a config file below the ones that are being loaded already."""
        if file in chain:
            circle = " -> ".join(short(each) for each in (*chain[chain.index(file) :], file))
            raise ConfigImportError(f"configs import one another in a circle: {circle}{told('', caller())}")
        importer = Importer(self.config, plain_module, file, (*chain, file))
        module = _blank(file, "config")
        code, assigned = self._execute(module, file, importer)
        module.__dict__["__libbench_origins__"] = origins_of(file, assigned, importer.given)
        if defines_nothing(module, code):
            del sys.modules[module.__name__]
        return module

    def plain(self, file: Path) -> None:
        """Run a plain module, which others find from its first line on: plain modules may import one another."""
        module = _plain[file] = _blank(file, "file")
        try:
            self._execute(module, file, Importer(self.config, plain_module, file, None))
        except BaseException:
            del _plain[file]
            raise

    def _execute(self, module: ModuleType, file: Path, importer: Importer) -> tuple[CodeType, tuple[Assigned, ...]]:
        code, assigned = _code(file)
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": importer}
        before = len(self.made)
        self.made.append((module, code))
        sys.modules[module.__name__] = module
        try:
            _run(code, module, file)
        except BaseException:
            for made, _ in self.made[before:]:
                sys.modules.pop(made.__name__, None)
            del self.made[before:]
            raise
        return code, assigned


def _blank(file: Path, kind: str) -> ModuleType:
    stem = re.sub(r"\W", "_", file.stem)
    module = ModuleType(f"libbench_{kind}_{next(_numbers)}_{stem}")
    module.__file__ = str(file)
    module.__dict__[FILE_MODULE] = str(file)
    return module


def _run(code: CodeType, module: ModuleType, file: Path) -> None:
    try:
        exec(code, module.__dict__)
    except (LibbenchError, KeyboardInterrupt):
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

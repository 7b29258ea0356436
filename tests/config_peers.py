"""Load the config files of LiBai and detectron2, with stand-ins for the packages that are not installed.

As a script, `python tests/config_peers.py DIR` loads every file below DIR alone, and then all of them in one process,
forwards and backwards, so that every file is loaded after every other. It prints what does not load, and what is not
the same each time.
"""

from __future__ import annotations

import argparse
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import os
import sys
import types
import warnings
from abc import ABCMeta
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from libbench.config import LazyCall, LazyConfig, digest, instantiate

VARIABLES = {"DATA_DIR": "/data", "CHATGLM_HF_DIR": "/data"}
"""What the environment has to say for them."""
PEERS = ("libai", "detectron2")
ABSENT = ("detectron2._C",)
"""Modules of the peers that have to be compiled."""
OTHER_VERSION = ("transformers",)
"""Packages of which the peers want an older version than may be installed."""
STARRED = {"transformers.tokenization_utils_base": ("ExplicitEnum", "BatchEncoding")}
"""What a peer takes from a missing module by `import *`."""
BROKEN = {
    f"detectron2/projects/Rethinking-BatchNorm/configs/{name}.py": "'torch.nn' has no attribute 'SyncBatchNorm2d'"
    for name in ("retinanet_SyncBNhead", "retinanet_SyncBNhead_SharedTraining")
}
"""Files that no loader can load, and why."""


class _StandIn(ABCMeta):
    """Stands for anything that a missing package may hold: a class, a function, a decorator, a constant."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return stand_in(f"{cls.__module__}.{cls.__qualname__}.{name}")

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __getitem__(cls, key: object) -> Any:
        return cls

    def __or__(cls, other: object) -> Any:
        return cls

    def __lt__(cls, other: object) -> bool:
        return False

    __gt__ = __le__ = __ge__ = __lt__
    __ror__ = __or__


@functools.cache
def stand_in(path: str) -> Any:
    """Give the stand-in of a dotted path, the same one whichever of its parts are modules."""
    module, _, name = path.partition(".")

    def new(cls: type, *args: Any, **kwargs: Any) -> Any:
        decorates = len(args) == 1 and not kwargs and isinstance(args[0], type | types.FunctionType)
        return args[0] if decorates else object.__new__(cls)

    def inherited(cls: Any, **kwargs: Any) -> None:
        # A class that is written in the peer itself has the signature that it says.
        if "__init__" in vars(cls):
            own = inspect.signature(vars(cls)["__init__"])
            cls.__signature__ = own.replace(parameters=list(own.parameters.values())[1:])

    def decorator(self: object, *args: Any, **kwargs: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) else self

    def attribute(self: object, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def itself(self: object, *args: Any) -> Any:
        return self

    return _StandIn(
        name.rpartition(".")[2],
        (),
        {
            "__module__": module,
            "__qualname__": name,
            "__new__": new,
            "__init__": lambda self, *args, **kwargs: None,
            "__init_subclass__": classmethod(inherited),
            "__call__": decorator,
            "__getattr__": attribute,
            "__enter__": itself,
            "__exit__": lambda self, *args: None,
            "__add__": itself,
            "__radd__": itself,
        },
    )


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Asked last, gives a package of stand-ins in place of one that is not installed and that a peer's file imports."""

    def __init__(self, peers: Path) -> None:
        self._peers = str(peers)

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        above = sys.modules.get(name.rpartition(".")[0])
        below_one = isinstance(getattr(getattr(above, "__spec__", None), "loader", None), _Absent)
        if below_one or (name in ABSENT) or ("." not in name and self._is_asked_by_a_peer()):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def _is_asked_by_a_peer(self) -> bool:
        frame = sys._getframe(2)
        while "importlib" in frame.f_code.co_filename or frame.f_globals["__name__"].startswith("libbench.config."):
            frame = frame.f_back
        return frame.f_code.co_filename.startswith(self._peers)

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        def attribute(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return stand_in(f"{module.__name__}.{name}")

        module.__getattr__ = attribute
        module.__version__ = "0.0.0"


def prepare(peers: Path) -> None:
    """Make this process one in which the peers' configs can be loaded, with our `LazyCall` in place of theirs."""
    warnings.simplefilter("ignore")
    os.environ.update(VARIABLES)
    finder = _Absent(peers)
    sys.meta_path.append(finder)
    for name in OTHER_VERSION:
        sys.modules[name] = importlib.util.module_from_spec(
            importlib.machinery.ModuleSpec(name, finder, is_package=True)
        )
        finder.exec_module(sys.modules[name])
    for name, taken in STARRED.items():
        for each in taken:
            setattr(importlib.import_module(name), each, stand_in(f"{name}.{each}"))
    if importlib.util.find_spec("termcolor") is None:
        sys.modules["termcolor"] = types.ModuleType("termcolor")
        sys.modules["termcolor"].colored = lambda text, *args, **kwargs: text
    for name in PEERS:
        if (peers / name).is_dir():
            sys.path.append(str(peers / name))
            package = types.ModuleType(name)
            package.__path__ = [str(peers / name / name)]
            package.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
            sys.modules[name] = package
            _give_ours(name, peers / name / "configs")


def _give_ours(name: str, configs: Path) -> None:
    def get_config(path: str, trained: bool = False) -> Any:
        return LazyConfig.load(configs / path)

    config = importlib.import_module(f"{name}.config")
    for module in (config, importlib.import_module(f"{name}.config.lazy")):
        module.LazyCall, module.LazyConfig, module.instantiate = LazyCall, LazyConfig, instantiate
    config.get_config = get_config
    if name == "detectron2":
        importlib.import_module("detectron2.model_zoo").get_config = get_config


def config_files(peers: Path) -> list[Path]:
    """Give the config files of the peers that are there."""
    found: set[Path] = set()
    for name in PEERS:
        for pattern in (
            "configs/**/*.py",
            "projects/**/configs/**/*.py",
            "projects/**/config/**/*.py",
            f"{name}/model_zoo/configs/**/*.py",
        ):
            found.update((peers / name).glob(pattern))
    return sorted(file for file in found if file.name != "__init__.py")


def apart(peers: Path, files: Iterable[Path]) -> dict[str, str]:
    """Give what loading some files one after another in a process of their own gives: a digest or an error each."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as file:
            file.write(json.dumps(_loaded(peers, files)))
            file.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as file:
        text = file.read()
    os.waitpid(child, 0)
    found: dict[str, str] = json.loads(text)
    return found


def _loaded(peers: Path, files: Iterable[Path]) -> dict[str, str]:
    prepare(peers)
    found = {}
    for file in files:
        with _in_its_project(peers, file):
            try:
                found[str(file)] = digest(LazyConfig.load(file))
            except Exception as error:
                found[str(file)] = f"error: {type(error).__name__}: {error}"
    return found


@contextmanager
def _in_its_project(peers: Path, file: Path) -> Iterator[None]:
    """Put the project of a file on the path; two projects have modules of the same name, so none of them stays."""
    project = _project(peers, file)
    before = set(sys.modules)
    sys.path.insert(0, str(project))
    try:
        yield
    finally:
        sys.path.pop(0)
        for name in set(sys.modules) - before:
            if project.parent.name == "projects" and _is_below(sys.modules[name], project):
                del sys.modules[name]


def _is_below(module: types.ModuleType, folder: Path) -> bool:
    places = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
    return any(str(each).startswith(f"{folder}/") for each in places)


def _project(peers: Path, file: Path) -> Path:
    """Give the folder that a project's README has one start in."""
    parts = file.relative_to(peers).parts
    return peers.joinpath(*parts[: 3 if parts[1] == "projects" else 1])


def findings(peers: Path, sample: int | None = None) -> dict[str, dict[str, str]]:
    """Give what every file gives: `alone` (only for a sample of so many), after others `forwards` and `backwards`."""
    # What both import anyway is imported once, before the processes part.
    importlib.import_module("torch._dynamo")
    files = config_files(peers)
    chosen = files if sample is None else files[:: max(1, len(files) // sample)]
    alone: dict[str, str] = {}
    for file in chosen:
        alone |= apart(peers, [file])
    return {"alone": alone, "forwards": apart(peers, files), "backwards": apart(peers, files[::-1])}


def failures(peers: Path, found: dict[str, str]) -> dict[str, str]:
    """Give the errors of the files that should load."""
    short = {str(Path(file).relative_to(peers)): text for file, text in found.items() if text.startswith("error")}
    return {file: text for file, text in short.items() if BROKEN.get(file, text + "!") not in text}


def unequal(found: dict[str, dict[str, str]]) -> list[str]:
    """Give the files that are not the same in both orders, and alone where that was tried."""
    every = {file: {each[file] for each in found.values() if file in each} for file in found["forwards"]}
    return [file for file, texts in every.items() if len(texts) > 1]


def main() -> int:
    """Print what does not load and what is not the same, and count."""
    parser = argparse.ArgumentParser(description="Load the config files of LiBai and detectron2.")
    parser.add_argument("peers", type=Path, metavar="DIR", help="a folder with libai/ and detectron2/, or one of them")
    parser.add_argument("--alone", type=int, metavar="N", help="load so many of them alone, too; by default all")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")
    arguments = parser.parse_args()
    peers = arguments.peers.resolve()
    found = findings(peers, arguments.alone)
    if arguments.json:
        print(json.dumps(found))
        return 0
    forwards, others = found["forwards"], unequal(found)
    for file, text in forwards.items():
        if text.startswith("error"):
            print(f"{Path(file).relative_to(peers)}: {text}")
    for file in others:
        print(f"{Path(file).relative_to(peers)}: not the same after other files")
    for name in PEERS:
        own = [text for file, text in forwards.items() if Path(file).is_relative_to(peers / name)]
        print(f"{name}: {sum(not text.startswith('error') for text in own)} of {len(own)} load")
    print(f"{len(forwards) - len(others)} of {len(forwards)} are the same after all others, before them, and alone")
    return 1 if failures(peers, forwards) or others else 0


if __name__ == "__main__":
    sys.exit(main())

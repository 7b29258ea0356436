"""The peers that are here: installed, or as a checkout in the folder that LIBBENCH_PEERS names."""

from __future__ import annotations

import importlib
import importlib.util
import os
import runpy
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from config_bench.trees import described


@dataclass(frozen=True)
class Peer:
    """Another way from a config file to what it describes.

    Attributes:
        name: what the table calls it.
        version: of the package, or of the checkout.
        write: puts the config of a tree with so many nodes into a folder and gives its path.
        load: gives the config of a file.
        build: gives what a config describes.
    """

    name: str
    version: str
    write: Callable[[Path, int], Path]
    load: Callable[[Path], Any]
    build: Callable[[Any], Any]


class AbsentError(Exception):
    """A peer is not here; the text says why."""


def all_peers() -> Iterator[tuple[str, Peer | str]]:
    """Give every peer by name, or why it is not here."""
    for name, find in {"detectron2": _detectron2, "hydra": _hydra, "fiddle": _fiddle}.items():
        try:
            yield name, find()
        except (AbsentError, ImportError) as error:
            yield name, str(error)


def checkout(name: str) -> Path | None:
    """Give the folder of a peer's checkout."""
    folder = os.environ.get("LIBBENCH_PEERS")
    place = Path(folder, name).resolve() if folder else None
    return place if place is not None and place.is_dir() else None


def add_needs() -> None:
    """Put DIR/site on the path: packages that the checkouts need."""
    site = checkout("site")
    if site is not None and str(site) not in sys.path:
        sys.path.append(str(site))


def _detectron2() -> Peer:
    from config_bench import trees

    place = checkout("detectron2")
    if place is None and importlib.util.find_spec("detectron2") is None:
        raise AbsentError("neither installed nor in LIBBENCH_PEERS")
    if place is not None:
        # Its own __init__ would import all of it, compiled parts included.
        for name in ("detectron2", "detectron2.config", "detectron2.utils"):
            package = types.ModuleType(name)
            package.__path__ = [str(place.joinpath(*name.split(".")))]
            sys.modules[name] = package
    lazy = importlib.import_module("detectron2.config.lazy")
    build = importlib.import_module("detectron2.config.instantiate").instantiate
    return Peer(
        "detectron2 LazyConfig",
        _version("detectron2", place, "detectron2/__init__.py"),
        lambda folder, count: trees.write(folder, "detectron2", count),
        lambda file: lazy.LazyConfig.load(str(file)).model,
        build,
    )


def _hydra() -> Peer:
    import yaml
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    def write(folder: Path, count: int) -> Path:
        file = folder / f"hydra_{count}.yaml"
        file.write_text(yaml.dump({"model": described(count)}, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper)))
        return file

    return Peer(
        "hydra instantiate", metadata.version("hydra-core"), write, lambda file: OmegaConf.load(file).model, instantiate
    )


def _fiddle() -> Peer:
    from config_bench import trees

    place = checkout("fiddle")
    if place is None and importlib.util.find_spec("fiddle") is None:
        raise AbsentError("neither installed nor in LIBBENCH_PEERS")
    if place is not None:
        sys.path.append(str(place))
    fiddle = importlib.import_module("fiddle")
    return Peer(
        "fiddle build",
        _version("fiddle", place, "fiddle/version.py"),
        lambda folder, count: trees.write(folder, "fiddle", count),
        lambda file: runpy.run_path(str(file))["model"],
        fiddle.build,
    )


def _version(name: str, place: Path | None, file: str) -> str:
    if place is None:
        return metadata.version(name)
    line = next(each for each in (place / file).read_text().splitlines() if each.startswith("__version__"))
    version = line.partition("=")[2].strip(" '\"")
    return f"{version} (checkout)"

"""From a list of graph samples to the pairs that are to be compared: those of the flags, on every sample."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

from libbench.cli.output import tell
from libbench.cli.pairs import pairs_on
from libbench.config import LazyConfig
from libbench.errors import LibbenchError
from libbench.job import PARTS, Job
from libbench.namespaces import one_namespace
from libbench.report.words import listed
from libbench.rows import Row
from libbench.sampled import replaced
from libbench.samples.finding import find_samples, read_list
from libbench.samples.recording import record_of
from libbench.saved import AnySide


def wants_samples(arguments: argparse.Namespace) -> bool:
    """Tell whether the flags ask for graph samples.

    Raises:
        LibbenchError: they ask for what does not go together.
    """
    if arguments.samples is not None or arguments.sample_list is not None:
        if arguments.samples is not None and arguments.prefix is not None:
            raise LibbenchError("--prefix is what the paths of a --sample-list begin with; leave it out with --samples")
        return True
    if arguments.prefix is not None:
        raise LibbenchError("--prefix is what the paths of a --sample-list begin with, and there is none")
    return False


def sample_rows(arguments: argparse.Namespace) -> list[Row]:
    """Load the pairs of the flags on every sample; a row is called by the sample's path.

    Raises:
        LibbenchError: there is no sample, a path leads to none, or the sides would not get the same inputs.
    """
    if arguments.ref is None:
        raise LibbenchError(
            "graph samples are models, and no configs to run them by: give --ref, and --tgt or --tgt-set"
        )
    samples = samples_at(arguments.samples, arguments.sample_list, arguments.prefix)
    _tell_replaced(arguments)
    return [
        row_on(folder, path, reference, target, name)
        for path, folder in samples.items()
        for reference, target, name in pairs_on(arguments, folder)
    ]


def row_on(folder: Path, path: str, reference: AnySide, target: AnySide, name: str = "") -> Row:
    """Give the row of two sides on a sample.

    Args:
        folder: of the sample.
        path: what the list calls it.
        name: tells the row from others on this sample.

    Raises:
        LibbenchError: the sides would not get the same inputs.
    """
    record = record_of(folder, path, _seed_of(reference, target))
    return Row(reference, target, f"{path} {name}".rstrip(), record)


def samples_at(folder: Path | None, file: Path | None, prefix: Path | None) -> Mapping[str, Path]:
    """Give the folder of each sample by its path from the root of all.

    Args:
        folder: all that are below it; None for those of a list.
        file: the list.
        prefix: what its paths are relative to; None for the current folder.

    Raises:
        LibbenchError: there is none, or a path leads to none.
    """
    if folder is not None:
        root, found, where = folder, list(find_samples(folder)), f"below {folder}"
        root = root.resolve().parent if found == [root] else root
    else:
        assert file is not None
        root = prefix or Path()
        found, where = read_list(file, root), f"in {file}"
    if not found:
        raise LibbenchError(f"no graph sample {where}")
    return {_called(folder, root): folder for folder in found}


def _called(folder: Path, root: Path) -> str:
    if folder.is_relative_to(root):
        return folder.relative_to(root).as_posix()
    return folder.resolve().relative_to(root).as_posix() if folder.resolve().is_relative_to(root) else str(folder)


def _tell_replaced(arguments: argparse.Namespace) -> None:
    """Say what of the configs is not run."""
    for file in dict.fromkeys([arguments.ref, *(arguments.tgt or [])]):
        if Path(file).is_dir():
            raise LibbenchError(f"{file} is a saved side, and is what it was: no graph sample can be its model")
        left_out = replaced(one_namespace(LazyConfig.load(file, values=PARTS), file))
        if left_out:
            tell(f"{file}: every sample takes the place of its {listed(left_out)}")


def _seed_of(reference: AnySide, target: AnySide) -> int:
    """Give the seed of weights and inputs.

    Raises:
        LibbenchError: the two sides would get other ones.
    """
    ours, theirs = _drawn(reference), _drawn(target)
    if ours != theirs:
        raise LibbenchError(
            f"inputs differ: {reference.name} draws them with {_said(ours)}, {target.name} with {_said(theirs)}"
        )
    return ours[0]


def _drawn(side: AnySide) -> tuple[int, str]:
    model = side.config.model if isinstance(side, Job) else {}
    own = model.get("seed")
    return side.seed if own is None else own, model.get("inputs", "drawn")


def _said(drawn: tuple[int, str]) -> str:
    return f"seed {drawn[0]}" + (f" as {drawn[1]}" if drawn[1] != "drawn" else "")

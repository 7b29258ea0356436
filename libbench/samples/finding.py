"""Where graph samples are: below a folder, or named by a list."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from libbench.errors import did_you_mean
from libbench.samples.errors import SampleError
from libbench.samples.reading import CODE, INFO


def is_sample(path: Path) -> bool:
    """Tell whether a folder is a graph sample."""
    return (path / INFO).is_file() and (path / CODE).is_file()


def find_samples(root: str | Path) -> Iterator[Path]:
    """Give the graph samples at and below a folder, sorted; nothing below a sample is looked at.

    Raises:
        SampleError: there is no such folder.
    """
    root = Path(root)
    if not root.is_dir():
        raise SampleError(f"{root} is no folder{_nearest(root)}")
    for folder, inner, files in os.walk(root):
        if INFO in files and CODE in files:
            inner.clear()
            yield Path(folder)
        inner.sort()


def read_list(file: str | Path, prefix: str | Path = "") -> list[Path]:
    """Read a list of graph samples: a path a line; lines that are empty or begin with `#` are skipped.

    Args:
        prefix: folder that the paths are relative to; by default the current one.

    Raises:
        SampleError: the list cannot be read, or a line names no sample or one that is named before.
    """
    file, found = Path(file), dict[Path, int]()
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise SampleError(f"{file} cannot be read: {error}") from None
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        path = Path(prefix) / text
        if not is_sample(path):
            raise SampleError(f"{file}:{number}: no graph sample at {str(path)!r}{_nearest(path)}")
        if path in found:
            raise SampleError(f"{file}:{number}: {text!r} is named in line {found[path]} already")
        found[path] = number
    return list(found)


def _nearest(path: Path) -> str:
    """Say what may have been meant by a path: the nearest name where it goes wrong, or a sample below it."""
    known = Path()
    for part in path.parts:
        if not (known / part).exists():
            names = [each.name for each in known.iterdir()] if known.is_dir() else []
            return did_you_mean(part, names)
        known /= part
    below = next(find_samples(path), None) if path.is_dir() else None
    return f"; there is one at {str(below)!r}" if below is not None else ""

"""Results on disk, as the lists that a page is made of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from libbench.categories import Known, categorised
from libbench.errors import LibbenchError
from libbench.report.documents import documents_in, names_of
from libbench.report.json import from_json
from libbench.report.words import one_line
from libbench.result import Comparison
from libbench.rowfile import GraphSampleRecord, read_rows, sample_of
from libbench.scored import scored
from libbench.scores import Scores
from libbench.scoring import score_runs

_SAVED = "comparison.json"


@dataclass(frozen=True)
class Entry:
    """One comparison of a list.

    Attributes:
        name: what tells it from the others.
        sample: the graph sample that was the model of both sides; None where they have models of their own.
    """

    name: str
    comparison: Comparison
    sample: GraphSampleRecord | None = None


@dataclass(frozen=True)
class Listed:
    """The comparisons of one file, or of one command.

    Attributes:
        name: what tells it from the other lists.
        file: where they are kept; empty where they are not.
    """

    name: str
    file: str
    entries: tuple[Entry, ...]


def read_lists(paths: Sequence[Path]) -> list[Listed]:
    """Read what `--json`, `sweep --to` and `diff --save` have written, a list for each file.

    Raises:
        LibbenchError: a file holds something else, or nothing; the message names it.
        OSError: it cannot be read.
    """
    files = [_file_of(path) for path in paths]
    lists = [
        Listed(one_line(name), str(file), tuple(_read(file))) for name, file in zip(names_of(paths), files, strict=True)
    ]
    for each in lists:
        if not each.entries:
            raise LibbenchError(f"{each.file} has no comparison")
    return lists


def scores_of(lists: Sequence[Listed]) -> Scores:
    """Score each list, with the categories that its samples come with."""
    return score_runs((each.name, each.file, categorised([_known(entry) for entry in each.entries])) for each in lists)


def _known(entry: Entry) -> Known:
    sample = entry.sample
    if sample is None:
        return Known(sample=scored(entry.comparison, entry.name))
    return Known(sample=scored(entry.comparison, entry.name), source=sample.source, tag=sample.tag)


def _file_of(path: Path) -> Path:
    """Give the file itself, or that of the comparison in a folder that `diff --save` has written.

    Raises:
        LibbenchError: the folder has none.
    """
    if not path.is_dir():
        return path
    if not (path / _SAVED).is_file():
        raise LibbenchError(f"{path} has no {_SAVED}: wanted a folder of libbench diff --save, or a file of results")
    return path / _SAVED


def _read(file: Path) -> Iterator[Entry]:
    for document in _documents(file):
        try:
            comparison, sample = from_json(document), sample_of(document)
        except LibbenchError as error:
            raise LibbenchError(f"{file}: {error}") from error
        yield Entry(one_line(str(document.get("row") or comparison.target.job.name)), comparison, sample)


def _documents(file: Path) -> Iterator[Any]:
    """Give the documents of a file: one, or several as one object, or one a line."""
    try:
        document = json.loads(file.read_bytes())
    except ValueError:
        yield from read_rows(file)
        return
    if not isinstance(document, dict):
        raise LibbenchError(f"{file} holds no comparison, but {type(document).__name__}")
    yield from documents_in(document)

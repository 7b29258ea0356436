"""Rows of a list on disk: one JSON document a line, so that a list that was interrupted can be gone on with."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from libbench.errors import LibbenchError
from libbench.records import decode

KEY = "key"
"""What a row is known by; of two rows with one key, the later one counts."""
SAMPLE = "sample"
"""Which graph sample a row is of."""


@dataclass(frozen=True, kw_only=True)
class GraphSampleRecord:
    """Which graph sample was the model of both sides of a row.

    Attributes:
        path: from the folder that the list is relative to, with `/`.
        name: the model's, or its folder's.
        source: where it was taken from; None where it does not say.
        tag: what kind of model it is; None where it does not say.
        hash: of the graph, as the sample has it; empty where it has none.
        files: SHA-256 of what its files hold.
        seed: of weights and inputs, on both sides.
    """

    path: str
    name: str
    source: str | None
    tag: str | None
    hash: str
    files: str
    seed: int


def sample_of(document: Mapping[str, Any]) -> GraphSampleRecord | None:
    """Give the graph sample of a row; None for a row of configs with models of their own.

    Raises:
        LibbenchError: what the row says of it is not as documented.
    """
    if SAMPLE not in document:
        return None
    try:
        record: GraphSampleRecord = decode(GraphSampleRecord, document[SAMPLE], SAMPLE)
    except (TypeError, ValueError) as error:
        raise LibbenchError(f"the row {document.get('row')!r} names no graph sample: {error}") from error
    return record


class RowFile:
    """A file of rows that grows; no other run writes to it as long as this one has it.

    A row is one line, written at once. A line that was cut off, by a kill or a full disk, is no row: what is written
    next takes its place.

    Args:
        path: the file, which is made where it is not there, with its folders.

    Attributes:
        path: the file.
        rows: where each key's row begins, in bytes.

    Raises:
        LibbenchError: another run has the file, or a line in it is not a row.
        OSError: it cannot be written to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        self._file: BinaryIO = path.open("r+b")
        try:
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LibbenchError(f"{path} is being written by another run") from None
            self.rows: dict[str, int] = {}
            end = 0
            for start, line, document in _lines(self._file, path):
                self.rows[document[KEY]] = start
                end = start + len(line)
            self._end = end
        except BaseException:
            self._file.close()
            raise

    def read(self, key: str) -> dict[str, Any]:
        """Give the row of a key.

        Raises:
            KeyError: there is none.
        """
        self._file.seek(self.rows[key])
        document: dict[str, Any] = json.loads(self._file.readline())
        return document

    def add(self, key: str, document: Mapping[str, Any]) -> None:
        """Write a row; when this returns, it is on disk.

        Raises:
            OSError: it cannot be written; the rows before it stand.
        """
        line = json.dumps({KEY: key, **document}, allow_nan=False, separators=(",", ":")).encode() + b"\n"
        self._file.seek(self._end)
        self._file.truncate()
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows[key] = self._end
        self._end += len(line)

    def close(self) -> None:
        """Let others have the file."""
        self._file.close()

    def __enter__(self) -> RowFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Give the rows of a file, in the order in which they were written; of two with one key only the later.

    Raises:
        LibbenchError: a line is not a row; the message names file and line.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        starts = {document[KEY]: start for start, _, document in _lines(file, path)}
        for start in starts.values():
            file.seek(start)
            yield json.loads(file.readline())


def _lines(file: BinaryIO, path: Path) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
    start = 0
    for number, line in enumerate(file, start=1):
        if not line.endswith(b"\n"):
            return
        try:
            document = json.loads(line)
            known = isinstance(document, dict) and isinstance(document.get(KEY), str)
        except ValueError:
            known = False
        if not known:
            raise LibbenchError(f"{path}:{number} is no row: wanted a JSON object with {KEY!r}, got {line[:40]!r}")
        yield start, line, document
        start += len(line)

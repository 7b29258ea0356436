"""A side that was run by itself and saved: a folder that later takes the place of a config.

`result.json` says what was run and what came out, `outputs/index.jsonl` has a line for each batch, and the snapshots
of the outputs lie beside it. Nothing is pickled, and nothing that the config names is imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

import libbench
from libbench.errors import LibbenchError
from libbench.job import Job
from libbench.records import check_document, decode, encode, write_json
from libbench.result import RESULT_SCHEMA, SCHEMA_VERSION, Failure, JobRecord, Output, Result
from libbench.settings import Timer, Tolerance
from libbench.snapshots import Snapshots
from libbench.tree import load_snapshot

RESULT = "result.json"
OUTPUTS = "outputs"
INDEX = "index.jsonl"


@dataclass(frozen=True)
class Kept:
    """A line of the index: a batch, and whether its outputs were kept."""

    output: Output
    kept: bool


@dataclass(frozen=True)
class SavedSide:
    """A side as its folder has it.

    Attributes:
        name: what the report calls it.
        folder: where it was read from.
        result: what came out; without the failure, where it failed only while it was timed.
        batches: in the order in which they were run.
        spill: bytes of outputs that were kept at most.
        tolerance, timer: what its config asks for; None where it does not.
        complete: False when it was interrupted while it was timed.
        timing_failure: how it failed while it was timed.
    """

    name: str
    folder: Path
    result: Result
    batches: tuple[Kept, ...] = field(repr=False)
    spill: int
    tolerance: Tolerance | None
    timer: Timer | None
    complete: bool
    timing_failure: Failure | None

    @classmethod
    def load(cls, folder: str | Path) -> SavedSide:
        """Read a folder that `libbench run CONFIG --save DIR` has written.

        Raises:
            LibbenchError: it is no such folder, is of a newer version, is damaged or is not complete.
        """
        folder = Path(folder)
        document = _document(folder)
        try:
            result = decode(Result, document["result"])
            told = {name: decode(kind, document[name]) for name, kind in _TOLD.items()}
        except (KeyError, TypeError, ValueError) as error:
            what = f"it has no {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
            raise LibbenchError(f"{folder / RESULT} is not that of a saved side: {what}") from error
        complete, count = told.pop("complete"), told.pop("batches")
        batches = tuple(_index(folder / OUTPUTS / INDEX, count))
        if not complete and result.evaluation is None and result.failure is None:
            of = f" of {result.preparation.batches}" if result.preparation and result.preparation.batches else ""
            raise LibbenchError(
                f"{folder} is not complete: it was interrupted, or still runs, after {len(batches)}{of} batches"
            )
        for each in batches:
            if each.kept:
                load_snapshot(folder / OUTPUTS, each.output.number)
        failure = result.failure if result.failure and result.failure.stage == "measure" else None
        result = replace(result, saved=str(folder), failure=None if failure else result.failure)
        return cls(result.job.name, folder, result, batches, complete=complete, timing_failure=failure, **told)

    @property
    def seed(self) -> int:
        """The seed that it was run with."""
        return self.result.job.seed

    @property
    def outputs(self) -> Path:
        """The folder of the snapshots."""
        return self.folder / OUTPUTS

    @property
    def lacking(self) -> frozenset[int]:
        """The numbers of the batches whose outputs were not kept."""
        return frozenset(each.output.number for each in self.batches if not each.kept)

    def snapshots(self) -> Snapshots:
        """Give its outputs as those of a reference, none of them taken note of yet."""
        return Snapshots(self.outputs, self.spill, self.lacking)

    def record(self) -> JobRecord:
        """Give which job it was."""
        return replace(self.result.job, name=self.name)

    def build(self, part: str) -> dict[str, Any]:
        """Give its tolerance or its timer; what else its config has is not built."""
        return {part: {"tolerance": self.tolerance, "timer": self.timer}[part]}

    def stages(self, take: Callable[[Output], Any]) -> Iterator[Result]:
        """Give its result and its batches as a side that runs does."""
        result = replace(self.result, job=self.record())
        yield replace(result, evaluation=None, failure=None, timings=())
        for each in self.batches:
            take(each.output)
        yield result

    def untimed(self) -> str:
        """Say why it has no times; empty where it has."""
        if self.timing_failure is not None:
            return f"{self.folder} holds none: {self.timing_failure.message}"
        if not self.complete:
            return f"{self.folder} holds none: it was interrupted while it was timed"
        return "" if self.result.timings else f"{self.folder} holds none: it was run without"


AnySide = Job | SavedSide
"""What a comparison compares."""

_TOLD: Mapping[str, Any] = {
    "complete": bool,
    "batches": int,
    "spill": int,
    "tolerance": Tolerance | None,
    "timer": Timer | None,
}


class SavedSideWriter:
    """Writes a side that runs into a folder, as it comes.

    Args:
        folder: exists; it says from now on that it holds a side, which is not complete yet.
        job: what is run.
        spill: bytes of outputs that are kept at most.
    """

    def __init__(self, folder: Path, job: Job, spill: int) -> None:
        self._file = folder / RESULT
        self._told = {
            "spill": spill,
            **{name: encode(job.build(name)[name]) for name in ("tolerance", "timer")},
        }
        self._batches = 0
        (folder / OUTPUTS).mkdir(exist_ok=True)
        self._index: TextIO = (folder / OUTPUTS / INDEX).open("w", encoding="ascii")
        self.write(Result(job.record()))

    def add(self, output: Output, *, kept: bool) -> None:
        """Add a batch to the index."""
        self._index.write(json.dumps(encode(Kept(output, kept))) + "\n")
        self._index.flush()
        self._batches += 1

    def write(self, result: Result, *, complete: bool = False) -> None:
        """Write what is known by now, in place of what was known before."""
        head = {"schema": RESULT_SCHEMA, "version": SCHEMA_VERSION, "libbench": libbench.__version__}
        state = {"complete": complete, "batches": self._batches}
        write_json(self._file, {**head, **state, **self._told, "result": encode(result)})

    def close(self) -> None:
        """Close the index."""
        self._index.close()


def _document(folder: Path) -> Any:
    file = folder / RESULT
    inner = sorted(each.parent.name for each in folder.glob(f"*/{RESULT}"))
    wanted = "wanted a config file, or a folder that `libbench run CONFIG --save DIR` has written"
    if not file.is_file() and not inner:
        raise LibbenchError(f"{folder} is a folder without {RESULT}: {wanted}")
    try:
        document = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"results": []}
    except (OSError, ValueError) as error:
        raise LibbenchError(f"{file} cannot be read: {error}") from error
    if isinstance(document, dict) and "results" in document and inner:
        raise LibbenchError(f"{folder} holds several saved sides; name one of {', '.join(inner)} in it")
    try:
        check_document(document, RESULT_SCHEMA, SCHEMA_VERSION)
    except LibbenchError as error:
        raise LibbenchError(f"{file}: {error}") from error
    return document


def _index(file: Path, count: int) -> Iterator[Kept]:
    """Give the batches of an index, which must be at least as many as were there when the result was written."""
    number = 0
    try:
        lines = file.read_text(encoding="ascii").splitlines(keepends=True)
        # A last line without its end was cut off by an interruption, and is counted as not there.
        for line in lines if not lines or lines[-1].endswith("\n") else lines[:-1]:
            number += 1
            yield decode(Kept, json.loads(line))
    except (OSError, ValueError, TypeError) as error:
        raise LibbenchError(f"{file} cannot be read, line {number}: {error}") from error
    if number < count:
        raise LibbenchError(f"{file} is cut off: it has {number} of {count} batches")

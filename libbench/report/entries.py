"""From result files to the runs that a history is made of."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeGuard

from libbench.comparability import no_speedup
from libbench.entry import Entry
from libbench.errors import LibbenchError
from libbench.findings import LeafReport
from libbench.job import LIMITS
from libbench.report.background import PASSING, flat
from libbench.report.costs import call_seconds, first_call
from libbench.report.documents import documents_in
from libbench.report.headline import wall
from libbench.report.json import COMPARISON, from_json, result_from_json
from libbench.report.many import finding, verdict_word
from libbench.report.words import one_line
from libbench.result import RESULT_SCHEMA, Comparison, JobRecord, Result
from libbench.rowfile import read_rows
from libbench.saved import INDEX
from libbench.speed import process_logs

_OWN = ("config", "compiler", "compiled", "op_lib")
"""What each of two sides has of its own."""
_YEAR_10000 = 253_402_300_800
_ENDS = (".json", ".jsonl")


@dataclass(frozen=True)
class Read:
    """What was found in files and folders.

    Attributes:
        entries: the runs, in the order of the files.
        left_out: what is none, each with the reason.
    """

    entries: tuple[Entry, ...]
    left_out: tuple[str, ...]


def read_entries(paths: Sequence[Path]) -> Read:
    """Read what `diff --json`, `run --json`, `sweep --to` and `--save` have written, folders with all that is in them.

    Raises:
        LibbenchError: a file that is named, or one of ours in a folder, cannot be read.
        OSError: a path is not there.
    """
    entries: list[Entry] = []
    left_out: list[str] = []
    for path in paths:
        for file in _files(path):
            try:
                found = [_entry(document, file) for document in _documents(file)]
            except _NotOursError as error:
                if not path.is_dir():
                    raise LibbenchError(f"{file} is no result of libbench: {error}") from error
                left_out.append(f"{file}: {error}")
                continue
            undated = sum(entry is None for entry in found)
            if undated:
                left_out.append(f"{file}: {undated:,} of {len(found):,} runs do not say when they began")
            entries += [entry for entry in found if entry is not None]
    return Read(tuple(entries), tuple(left_out))


class _NotOursError(LibbenchError):
    """The file holds something else."""


def _files(path: Path) -> Iterator[Path]:
    """Give the file, or those below a folder that may be results; none of those that hold a side's outputs."""
    if not path.is_dir():
        yield path
        return
    found = [file for file in sorted(path.rglob("*")) if file.suffix in (*_ENDS, ".safetensors")]
    outputs = {file.parent for file in found if file.suffix == ".safetensors"}
    yield from (f for f in found if f.suffix in _ENDS and f.parent not in outputs and f.name != INDEX)


def _documents(file: Path) -> list[Any]:
    """Give every comparison or result of a file.

    Raises:
        _NotOursError: it holds something else.
    """
    try:
        if file.suffix == ".jsonl":
            return list(read_rows(file))
        return documents_in(json.loads(file.read_text(encoding="utf-8")))
    except (LibbenchError, ValueError, RecursionError) as error:
        raise _NotOursError(one_line(str(error))) from error


def _entry(document: Any, file: Path) -> Entry | None:
    """Give the run that a document tells of; None where it does not tell when."""
    schema = document.get("schema") if isinstance(document, dict) else None
    try:
        if schema == COMPARISON:
            return pair_entry(from_json(document), str(file))
        if schema == RESULT_SCHEMA:
            return side_entry(result_from_json(document), str(file), complete=document.get("complete", True) is True)
    except LibbenchError as error:
        raise LibbenchError(f"{file}: {error}") from error
    raise _NotOursError(f"wanted a document of schema {COMPARISON!r} or {RESULT_SCHEMA!r}, got {schema!r}")


def pair_entry(comparison: Comparison, source: str) -> Entry | None:
    """Give what a history keeps of a comparison; None where it does not tell when it was begun."""
    if not _dated(comparison.began):
        return None
    reference, target = comparison.reference, comparison.target
    word, speedup = verdict_word(comparison), wall(comparison)
    paired = bool(comparison.measurements) and all(m.paired for m in comparison.measurements)
    doubt = no_speedup(comparison)
    if not comparison.complete:
        doubt = "it was interrupted"
    elif speedup is not None and speedup.verdict == "inconclusive" and not doubt:
        doubt = speedup.note
    known = [one_line(_name(side.job)) for side in (reference, target)]
    return Entry(
        known_by=_hash(_known_by(reference.job), _known_by(target.job)),
        name=f"{known[0]} -> {known[1]}",
        source=source,
        began=comparison.began,
        verdict=word,
        finding=finding(comparison, word),
        paired=True,
        levels={leaf.path: leaf.level for leaf in _leaves(comparison) if leaf.level is not None},
        environment=dict(_environment(comparison)),
        seconds=(None, None) if speedup is None else (speedup.reference, speedup.target),
        logs=tuple(process_logs(comparison.measurements, speedup.clock)) if speedup is not None and paired else (),
        ratio=None if speedup is None else speedup.ratio,
        low=None if speedup is None else speedup.low,
        high=None if speedup is None else speedup.high,
        doubt=doubt,
        **_costs(target),
    )


def side_entry(result: Result, source: str, *, complete: bool = True) -> Entry | None:
    """Give what a history keeps of a side that was run by itself; None where it does not tell when it began."""
    if not _dated(result.began):
        return None
    failure = result.failure
    word = "ran" if complete and result.evaluation is not None else "interrupted"
    if failure is not None:
        word = "not judged" if failure.kind == "unavailable" else "FAILED"
    clock = "wall" if all("wall" in timing for timing in result.timings) else ""
    medians = [timing[clock].median for timing in result.timings if clock in timing] if complete else []
    return Entry(
        known_by=_hash(_known_by(result.job)),
        name=one_line(_name(result.job)),
        source=source,
        began=result.began,
        verdict=word,
        finding="-" if failure is None else one_line(f"{failure.stage}: {failure.message}"),
        paired=False,
        environment=dict(_of_side(result)),
        seconds=(None, call_seconds(result.timings)),
        logs=tuple(-math.log(median) for median in medians),
        **_costs(result),
    )


def _dated(began: float | None) -> TypeGuard[float]:
    """Tell whether a time is one, of a year with four digits."""
    return began is not None and 0 <= began < _YEAR_10000


def _costs(target: Result) -> dict[str, Any]:
    peak = target.evaluation.peak if target.evaluation else {}
    return {"first_call": first_call(target.preparation), "peak": dict(peak)}


def _known_by(job: JobRecord) -> str:
    return job.known_by or job.digest


def _hash(*known: str) -> str:
    return sha256(" ".join(known).encode()).hexdigest()[:16]


def _name(job: JobRecord) -> str:
    """Give the name of a side without where its file lies and without limits, as it stays from run to run."""
    limits = tuple(f"runner.{name}=" for name in LIMITS)
    name = job.name if job.file is None else Path(job.file).stem
    overrides = [each for each in job.overrides if not each.startswith(limits)] if job.file is not None else []
    return " ".join([name, *overrides, *([f"seed {job.seed}"] if job.seed else [])])


def _leaves(comparison: Comparison) -> Iterator[LeafReport]:
    """Give the leaves at all seeds, the best of each path first."""
    every = [leaf for each in comparison.at_each_seed() if each.outputs for leaf in each.outputs.leaves]
    yield from sorted(every, key=lambda leaf: -math.inf if leaf.level is None else leaf.level)


def _environment(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Give by name what a run was made on and by: of the target, with what the reference has of its own."""
    sides = comparison.reference, comparison.target
    own = sides[1] if sides[1].environment else sides[0]
    yield from _of_side(own)
    if own is sides[1]:
        yield from ((f"reference {name}", text) for name, text in _of_side(sides[0]) if name in _OWN)
    if comparison.inputs:
        yield "inputs", comparison.inputs[:12]
    if comparison.tolerance is not None:
        yield "tolerance", repr(comparison.tolerance)


def _of_side(side: Result) -> Iterator[tuple[str, str]]:
    yield from ((name, text) for name, text in flat(side.environment) if name not in PASSING)
    yield "config", _known_by(side.job)[:12]
    if side.preparation is not None:
        yield "compiler", side.preparation.compiler
    if side.facts is not None:
        yield "compiled", "no" if side.facts.idle else "yes"
    if side.kernels is not None:
        yield "op_lib", side.kernels.version

"""What the log of a GraphNet bench says of each sample, as far as a score needs it.

A line counts by its tag, wherever in the line that stands; all other text is passed over, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import torch

from libbench.compare.grid import LEVELS, pair
from libbench.errors import LibbenchError
from libbench.scores import FROZEN, ErrorClass, Sample

_BEGIN = re.compile(r"\[Processing\]\s+(?:.*\bmodel_path:\s*)?(\S.*?)\s*$|^\[\d+\]\s+\w+, model_path:\s*(\S.*?)\s*$")
_DTYPES = re.compile(r"\[Datatype\]\[(eager|compiled)\]:[ \t]*(.*)")
_MATCH = re.compile(r"\[(DataType|Shape)\].*\bmatch:(True|False)")
_STATUS = re.compile(r"\[Result\]\[status\].*?\beager:(success|failed)(?:\s+compiled:(success|failed))?")
_FLAGS = re.compile(r"\[Correctness\](\[equal\]|\[all_close_atol_\S+_rtol_\S+\]):[ \t]*((?:[01](?:\s+|$))*)")
_SPEEDUP = re.compile(r"\[Speedup\]\[e2e\]:\s*(\S+)")
_FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass
class _Told:
    """What has been read of one sample."""

    name: str
    dtypes: dict[str, list[str]] = field(default_factory=dict)
    matches: dict[str, bool] = field(default_factory=dict)
    flags: dict[str, list[bool]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    statuses: int = 0
    speedup: float | None = None


def samples_of(lines: Iterable[str], where: str = "log") -> list[Sample]:
    """Give the samples of a log, in their order; one that stands in it twice counts twice.

    The reference ran where its dtypes stand in the log, and the target where its own do, unless a status says that one
    failed. Outputs are judged by the lines of tolerance levels of their dtype in the reference, and those of another
    dtype by the line of equality; what has no such line does not pass.

    Args:
        lines: of the log.
        where: names it in errors.

    Raises:
        LibbenchError: no sample stands in it, or a speedup is no number above 0; the message names the line.
    """
    samples = [_sample(told) for told in _read(lines, where)]
    if not samples:
        raise LibbenchError(f"{where} has no sample: wanted lines with [Processing] and a path")
    return samples


def _read(lines: Iterable[str], where: str) -> Iterator[_Told]:
    told: _Told | None = None
    for number, line in enumerate(lines, start=1):
        begin = _BEGIN.search(line)
        if begin is not None:
            name = begin[1] or begin[2]
            # A bench may announce a sample and then its processing.
            if told is not None and (told.name != name or told != _Told(name)):
                yield told
            told = _Told(name)
        elif told is not None:
            _take(told, line, f"{where}:{number}")
    if told is not None:
        yield told


def _take(told: _Told, line: str, where: str) -> None:
    if match := _DTYPES.search(line):
        told.dtypes[match[1]] = match[2].split()
    elif match := _FLAGS.search(line):
        told.flags[match[1]] = [flag == "1" for flag in match[2].split()]
    elif match := _MATCH.search(line):
        told.matches[match[1]] = match[2] == "True"
    elif match := _STATUS.search(line):
        # A bench that runs one side after the other gives both the status of an eager one.
        sides = ("eager", "compiled") if match[2] else (("eager", "compiled")[min(told.statuses, 1)],)
        told.statuses += 1
        told.failed += [side for side, word in zip(sides, match.groups(), strict=False) if word == "failed"]
    elif match := _SPEEDUP.search(line):
        told.speedup = _speedup(match[1], where)


def _speedup(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise LibbenchError(f"{where}: wanted a speedup above 0, got {text!r}")
    return value


def _sample(told: _Told) -> Sample:
    error = _error(told)
    passes = () if error else tuple(level for level in LEVELS if _passes(told, level))
    if error is None and FROZEN not in passes:
        error = "accuracy"
    doubt = error if error in ("reference", "unjudged") else None
    return Sample(name=told.name, passes=passes, error=error, speedup=told.speedup, doubt=doubt)


def _error(told: _Told) -> ErrorClass | None:
    """Give what is wrong whatever the level."""
    close = any(key.startswith("[all_close") for key in told.flags)
    ran = [close or side in told.dtypes for side in ("eager", "compiled")]
    if "eager" in told.failed:
        return "reference"
    if "compiled" in told.failed:
        return "compile" if ran == [True, False] else "runtime"
    if not ran[0]:
        return "unjudged" if told.statuses else "reference"
    if not ran[1]:
        return "compile"
    return _form(told, close=close) or (None if told.flags.get("[equal]") else "unjudged")


def _form(told: _Told, *, close: bool) -> ErrorClass | None:
    if told.matches.get("Shape") is False:
        return "shape"
    if not told.matches.get("DataType"):
        return "type"
    if close or "Shape" in told.matches:
        return None
    # Where values are not finite at other places, no line speaks of a tolerance, and none says that shapes match.
    return "nan" if "[equal]" in told.flags else "shape"


def _passes(told: _Told, level: int) -> bool:
    dtypes = told.dtypes.get("eager", [])
    return all(_flag(told, dtypes[i] if i < len(dtypes) else "", level, i) for i in range(len(told.flags["[equal]"])))


def _flag(told: _Told, dtype: str, level: int, position: int) -> bool:
    key = "[equal]"
    if dtype in _FLOATS:
        rtol, atol = pair(getattr(torch, dtype), level)
        key = f"[all_close_atol_{atol:.2E}_rtol_{rtol:.2E}]"
    flags = told.flags.get(key, [])
    return position < len(flags) and flags[position]

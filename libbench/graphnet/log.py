"""The log of a comparison, or of a side, as GraphNet's bench writes it and its score and plot programs read it.

It is written from records, and nothing here is ever read back. What those programs understand:

- a sample's block begins with its `[Processing]`, and the outputs of a side stand in it where the side ran;
- what failed while it ran is told from what is of another shape or dtype by a line with `Error:`, so that no other line
  has one; the outputs, of which there are none, count as matching then;
- any line of a tolerance says that the shapes match, so that there is none where they do not, or where a NaN or an
  infinity stands elsewhere.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from libbench.compare.grid import LEVELS, pair
from libbench.findings import LeafReport
from libbench.graphnet.keys import Args
from libbench.measured import Timing
from libbench.result import SIDES, Comparison, Result
from libbench.scored import equal, scored
from libbench.scores import Sample

EAGER = ("eager", "compiled")
"""What GraphNet calls the reference and the target."""
CLOCKS: Mapping[str, str] = {"wall": "e2e", "gpu": "gpu", "gpu cold cache": "gpu"}
"""What it calls the clocks."""
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_SIGNS = re.compile(r"Error:|Exception:|all_close")
EQUAL = "equal"
NONE = "none"


@dataclass(frozen=True)
class Told:
    """What a block says besides its results.

    Attributes:
        path: of the sample.
        model: the sample's name.
        sides: the configs, reference first.
    """

    path: str
    model: str
    sides: tuple[Args, ...]


def comparison_lines(told: Told, comparison: Comparison) -> Iterator[str]:
    """Give the block of a comparison."""
    prompt = told.sides[0].log_prompt
    for line in _comparison(told, comparison):
        yield _one_line(f"{prompt} {line}")


def result_lines(told: Told, result: Result) -> Iterator[str]:
    """Give the block of a side that ran by itself."""
    prompt = told.sides[0].log_prompt
    for line in _result(told, result):
        yield _one_line(f"{prompt} {line}")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _result(told: Told, result: Result) -> Iterator[str]:
    yield f"[Processing] {told.path}"
    yield from (f"[Config] {key}: {value}" for key, value in _config(told, 0, result).items())
    yield f"[Result][status] eager:{_word(result)}"
    yield f"[Performance][eager]: {_performance(result.timings)}"
    yield from _failures([result])


def _comparison(told: Told, comparison: Comparison) -> Iterator[str]:
    sides = comparison.reference, comparison.target
    yield f"[Processing] {told.path}"
    ours, theirs = (_config(told, i, result) for i, result in enumerate(sides))
    yield from (f"[Config] {key}: {value}" for key, value in ours.items())
    # What is read last counts, and where the two differ, it is the target that is judged.
    yield from (f"[Config] {key}: {value}" for key, value in theirs.items() if value != ours[key])
    sample = scored(comparison, told.path)
    if sample.error == "reference":
        yield f"[Result][status] eager:{_word(sides[0])}"
        yield from _failures(sides[:1])
        return
    yield f"[Result][status] eager:{_word(sides[0])} compiled:{_word(sides[1])}"
    yield from _performances(comparison)
    if sample.error == "unjudged":
        why = "; ".join(check.found for check in comparison.checks if check.verdict == "unjudged")
        yield f"[Result][unjudged]: {_harmless(why)}"
    elif sample.error in ("compile", "runtime"):
        yield from _failed_target(sample, comparison)
    else:
        yield from _outputs(sample, comparison)
        yield from _speedups(sample, comparison)


def _config(told: Told, side: int, result: Result) -> dict[str, str]:
    args = told.sides[side]
    version = result.preparation.compiler if result.preparation else f"torch {result.environment.get('torch', '')}"
    config = {
        "model": told.model,
        "seed": args.seed,
        "device": args.device,
        "hardware": result.environment.get("processor") or "unknown",
        "op_lib": args.op_lib,
        "compiler": args.compiler,
        "warmup": args.warmup,
        "trials": args.trials,
        "compile_framework_version": version.strip(),
    }
    return {key: _harmless(str(value)) for key, value in config.items()}


def _harmless(text: str) -> str:
    """Give a text without what GraphNet takes for a sign, wherever in a line it stands."""
    return _SIGNS.sub(lambda sign: sign[0].rstrip(":").replace("_", " "), text)


def _word(result: Result) -> str:
    return "failed" if result.failure else "success"


def _failures(results: Sequence[Result]) -> Iterator[str]:
    for name, result in zip(SIDES, results, strict=False):
        if result.failure is not None:
            yield f"[Result][error] Error: {name} at {result.failure.stage}: {result.failure.message}"


def _failed_target(sample: Sample, comparison: Comparison) -> Iterator[str]:
    preparation = comparison.reference.preparation
    again = preparation.again if preparation else None
    leaves = sorted(again.leaves if again else (), key=lambda leaf: _place(leaf.path))
    yield f"[Datatype][eager]: {' '.join(leaf.dtype or NONE for leaf in leaves) or NONE}"
    if sample.error == "runtime":
        yield f"[Datatype][compiled]: {NONE}"
        yield f"[DataType] eager:{[leaf.dtype for leaf in leaves]} compiled:[] match:True"
        yield "[Shape] compiled:[] match:True"
    yield from _failures((comparison.reference, comparison.target))


def _outputs(sample: Sample, comparison: Comparison) -> Iterator[str]:
    assert comparison.outputs is not None
    leaves = sorted(comparison.outputs.leaves, key=lambda leaf: _place(leaf.path))
    dtypes = [[leaf.dtypes[i] for leaf in leaves if leaf.dtypes[i] is not None] for i in range(2)]
    shapes = [[list(leaf.shapes[i] or ()) for leaf in leaves if leaf.dtypes[i] is not None] for i in range(2)]
    alike = sample.error != "shape"
    for name, found in zip(EAGER, dtypes, strict=True):
        yield f"[Datatype][{name}]: {' '.join(map(str, found)) or NONE}"
    yield f"[DataType] eager:{dtypes[0]} compiled:{dtypes[1]} match:{dtypes[0] == dtypes[1] and sample.error != 'type'}"
    for name, form in zip(EAGER, shapes, strict=True):
        yield f"[Shape][{name}]: {form}"
    if sample.error not in ("nan", "inf"):
        yield f"[Shape] eager:{shapes[0]} compiled:{shapes[1]} match:{alike}"
    yield from _correctness(sample, leaves)


def _correctness(sample: Sample, leaves: Sequence[LeafReport]) -> Iterator[str]:
    lowest = [_lowest(leaf) for leaf in leaves]
    own = [each.get(str(leaf.dtypes[0]), each[EQUAL]) for leaf, each in zip(leaves, lowest, strict=True)]
    if not sample.passes and max(own, default=math.inf) < math.inf:
        # It gave others while it was timed, or on another rank: these here pass, and are not all that it gives.
        lowest = [dict.fromkeys(each, math.inf) for each in lowest]
    yield f"[Correctness][equal]: {_flags(lowest, EQUAL, -math.inf)}"
    if sample.error not in ("shape", "nan", "inf"):
        for level in LEVELS:
            for dtype in DTYPES:
                rtol, atol = pair(dtype, level)
                flags = _flags(lowest, _name(dtype), level)
                yield f"[Correctness][all_close_atol_{atol:.2E}_rtol_{rtol:.2E}]: {flags}"
    largest = [leaf.max_abs.value if leaf.max_abs else None for leaf in leaves]
    yield f"[Correctness][max_diff]: {_numbers(largest)}"
    yield f"[Correctness][mean_diff]: {_numbers([leaf.mean_abs for leaf in leaves])}"


def _lowest(leaf: LeafReport) -> dict[str, float]:
    """Give from which level of each dtype on an output passes, infinite for none; and whether it is equal, as level."""
    exact = -math.inf if equal(leaf) and not leaf.form_reasons else math.inf
    names = [_name(dtype) for dtype in DTYPES]
    levels = dict.fromkeys(names, exact) if leaf.grid is None else {name: leaf.grid.get(name) for name in names}
    return {EQUAL: exact, **{name: math.inf if level is None else level for name, level in levels.items()}}


def _flags(lowest: Sequence[Mapping[str, float]], name: str, level: float) -> str:
    return " ".join("1" if each[name] <= level else "0" for each in lowest)


def _numbers(values: Sequence[float | None]) -> str:
    return " ".join("nan" if value is None else str(value) for value in values)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _place(path: str) -> list[tuple[int, str]]:
    """Give what sorts outputs as they were returned: the tenth after the second."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in path.split(".")]


def _performances(comparison: Comparison) -> Iterator[str]:
    for i, (name, result) in enumerate(zip(EAGER, (comparison.reference, comparison.target), strict=True)):
        together = [each.clocks[i] for each in comparison.measurements if i < len(each.clocks)]
        yield f"[Performance][{name}]: {_performance(together or result.timings)}"


def _performance(timings: Sequence[Mapping[str, Timing]]) -> str:
    """Give the times of all processes together, in milliseconds, by the names that GraphNet has for the clocks."""
    found = {}
    for clock, name in CLOCKS.items():
        seconds = [second for timing in timings if clock in timing for second in timing[clock].seconds]
        if seconds:
            found[name] = _statistics(1e3 * np.array(seconds))
    return json.dumps(found)


def _statistics(milliseconds: NDArray[np.float64]) -> dict[str, float]:
    low, middle, high = map(float, np.percentile(milliseconds, [25, 50, 75]))
    spread = {
        "mean": milliseconds.mean(),
        "std": milliseconds.std(),
        "min": milliseconds.min(),
        "max": milliseconds.max(),
    }
    return {"median": middle, "iqr": high - low, **{name: float(value) for name, value in spread.items()}}


def _speedups(sample: Sample, comparison: Comparison) -> Iterator[str]:
    if sample.speedup is None:
        yield "[Result][untimed]: there is no speedup, and it counts as 1"
    yield f"[Speedup][e2e]: {1.0 if sample.speedup is None else sample.speedup:.17g}"
    for speedup in comparison.speedups:
        if sample.speedup is not None and CLOCKS.get(speedup.clock) == "gpu":
            yield f"[Speedup][gpu]: {speedup.ratio:.17g}"

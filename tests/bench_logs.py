"""Logs as a GraphNet bench writes them, made by hand."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from libbench.compare.grid import DTYPES, LEVELS, pair

PROMPT = "graph-net-bench-log"
FOREIGN = (
    "/usr/lib/python3/torch/_inductor/compile_fx.py:194: UserWarning: TensorFloat32 is available but not enabled",
    "Trial 1: e2e=3.51715 ms, gpu=3.38534 ms",
    "Loading weights: 100%|##########| 3/3 [00:00<00:00, 12.5it/s]",
    "[Profiling] Warm up 3, Trials 5",
    "W1201 10:00:00.000000 [Speedup] of the cache is not known",
)


@dataclass(frozen=True)
class Told:
    """What a log is to say of one sample.

    Attributes:
        lowest: for each output its dtype, and the level from which on it passes; for another dtype than four, -inf or
            inf for one that is equal or not.
        failed: how a side failed: "reference", "compile", "runtime", "shape" or "type"; empty for none.
    """

    path: str
    lowest: tuple[tuple[str, float], ...] = (("float32", -6.0),)
    speedup: float = 1.25
    failed: str = ""


def log_of(told: list[Told], chance: random.Random | None = None) -> str:
    """Give a log, with foreign lines strewn in where there is a chance."""
    lines = []
    for each in told:
        for line in _lines(each):
            if chance is not None and chance.random() < 0.05:
                lines.append(chance.choice(FOREIGN))
            lines.append(line)
    return "\n".join(lines) + "\n"


def _lines(told: Told) -> list[str]:
    said = [f"[Processing] {told.path}", "[Config] model: net", "[Config] seed: 123", "[Config] compiler: inductor"]
    dtypes = [dtype for dtype, _ in told.lowest]
    names = " ".join(dtypes)
    if told.failed == "reference":
        return _prompted([*said, "[Result][status] eager:failed"])
    said.append(f"[Datatype][eager]: {names}")
    if told.failed == "compile":
        return _prompted([*said, "[Result][status] eager:success compiled:failed"])
    said += [
        f"[Datatype][compiled]: {names}",
        f"[DataType] eager:{dtypes} compiled:{dtypes} match:{told.failed != 'type'}",
        f"[Shape] eager:[[2, 3]] compiled:[[2, 3]] match:{told.failed != 'shape'}",
    ]
    if told.failed == "runtime":
        said.append("[Result][status] eager:success compiled:failed")
        return [*_prompted(said), "RuntimeError: it broke"]
    if not told.failed:
        said += _correctness(told)
        said += ["[Result][status] eager:success compiled:success", f"[Speedup][e2e]: {told.speedup:.17g}"]
    return _prompted(said)


def _correctness(told: Told) -> list[str]:
    found = [f"[Correctness][equal]: {_flags(told, -math.inf)}"]
    for level in LEVELS:
        for dtype in DTYPES:
            rtol, atol = pair(dtype, level)
            key = f"[all_close_atol_{atol:.2E}_rtol_{rtol:.2E}]"
            found.append(f"[Correctness]{key}: {_flags(told, level)}")
    return [*found, "[Correctness][max_diff]: " + " ".join("0.5" for _ in told.lowest)]


def _flags(told: Told, level: float) -> str:
    return " ".join(str(int(lowest <= level)) for _, lowest in told.lowest)


def _prompted(said: list[str]) -> list[str]:
    return [f"{PROMPT} {line}" for line in said]

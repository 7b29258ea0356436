"""Logs as a GraphNet bench writes them, made by hand, and what GraphNet's own programs make of logs."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from libbench.compare.grid import DTYPES, LEVELS, pair
from libbench.scores import LEVELS as SCORED

FOLDER = Path(os.environ.get("LIBBENCH_PEERS", "")).resolve()
FOUND = sorted(FOLDER.glob("*/graph_net_bench")) if os.environ.get("LIBBENCH_PEERS") else []
"""Where a checkout of GraphNet is."""
ABSENT = "LIBBENCH_PEERS names no folder with a checkout of GraphNet in it"
ASKED = [(errors, power, penalty) for errors in SCORED for power, penalty in ((0.0, 0.1), (0.7, 0.25))]
THEIRS = """
import contextlib, json, sys
from graph_net_bench import analysis_util
from graph_net_bench.calculate_es_scores import calculate_es_scores_for_log_file_or_dir
from graph_net_bench.positive_tolerance_interpretation_manager import get_positive_tolerance_interpretation

found = []
with contextlib.redirect_stdout(sys.stderr):
    runs = analysis_util.scan_all_folders(sys.argv[1])
    for errors, power, penalty in json.loads(sys.argv[2]):
        # Its two ways disagree on a failing reference under mismatch_extended, and it stops then.
        how = dict(interpretation_type=errors, negative_speedup_penalty=power, fpdb=penalty)
        how["enable_aggregation_mode"] = errors == "default"
        es = calculate_es_scores_for_log_file_or_dir(sys.argv[1], **how)
        rule = get_positive_tolerance_interpretation(errors)
        s = {run: analysis_util.calculate_scores(x, rule, p=power, b=penalty, type="St") for run, x in runs.items()}
        found.append({run: {"s": s[run], "es": es[run]} for run in runs})
print(json.dumps(found))
"""

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


def scores_by_graphnet(folder: Path) -> dict[tuple[str, float, float], dict]:
    """Give S(t) and ES(t) of every log in a folder, by its stem, for each of what is `ASKED`."""
    found = by_graphnet("-c", THEIRS, str(folder), json.dumps(ASKED))
    return dict(zip(ASKED, json.loads(found), strict=True))


def by_graphnet(*command: str) -> str:
    """Give what Python prints with GraphNet's modules at hand."""
    environment = os.environ | {"PYTHONPATH": str(FOUND[0].parent)}
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout

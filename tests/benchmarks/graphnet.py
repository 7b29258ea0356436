"""GraphNet's list of ten samples, eager against eager: our `eval_backend_diff` beside its own.

Prints the wall time, the share of it outside of model calls, the memory of all processes together, the rows that are
lost to noise and those that are called faster or slower although both sides are one, with bars.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import psutil
import torch
from config_bench.table import Row, finish
from timing_bench.counting import FOLDER

from libbench.report.json import from_json
from libbench.result import Comparison
from libbench.rowfile import read_rows
from libbench.scored import scored
from libbench.scores import Sample

LIST = Path("graph_net", "config", "small10_torch_samples_list.txt")
TOOL = Path(__file__).parents[2] / "tools" / "eval_backend_diff.py"
WALL_BAR, MEMORY_BAR, SHARE_BAR = 45.0, 1.2, 0.333
LOOK = 0.25
"""Seconds between two looks at the memory."""
THEIRS = f"""
import json, os, runpy, sys, time, uuid
from graph_net_bench.torch import eval_backend_perf as perf

spent, measure = [0.0, 0], perf.measure_performance

def counted(call, args, compiler):
    def timed():
        begin = time.perf_counter()
        outputs = call()
        spent[0] += time.perf_counter() - begin
        spent[1] += 1
        return outputs
    return measure(timed, args, compiler)

perf.measure_performance = counted
sys.argv[0] = "eval_backend_diff"
runpy.run_module("graph_net_bench.torch.eval_backend_diff", None, "__main__")
found = {{"seconds": spent[0], "calls": spent[1]}}
open(os.path.join(os.environ["{FOLDER}"], uuid.uuid4().hex), "w").write(json.dumps(found))
"""


class Cost(NamedTuple):
    """What a run took: seconds, those in model calls, the number of these, and the most bytes of all its processes."""

    wall: float
    inside: float
    calls: int
    memory: int

    @property
    def outside(self) -> float:
        return self.wall - self.inside

    @property
    def share(self) -> float:
        return 100 * self.outside / self.wall


def main() -> None:
    """Measure and print."""
    peers = os.environ.get("LIBBENCH_PEERS")
    found = sorted(Path(peers).resolve().glob(f"*/{LIST}")) if peers else []
    if not found:
        why = "LIBBENCH_PEERS names no folder with a checkout of GraphNet in it"
        finish("graphnet", [Row("small10, eager against eager", "-", "GraphNet", None, WALL_BAR, " s", why)])
        return
    checkout = found[0].parents[2]
    with tempfile.TemporaryDirectory() as folder:
        rows = _measured(Path(folder), checkout)
    finish("graphnet", rows, [f"torch {torch.__version__}"])


def _measured(folder: Path, checkout: Path) -> list[Row]:
    here = {"device": "cpu", "model_path_prefix": str(checkout)}
    flags = ["--model-path-list", str(checkout / LIST)]
    ours = {**here, "compiler": "timing_bench.counting.Counting"}
    to, log = folder / "rows.jsonl", folder / "bench.log"
    cost = _run([str(TOOL), *flags, *_sides(ours), "--to", str(to), "--log", str(log)], Path(__file__).parent)
    _tell("libbench", cost)
    other = _run(["-c", THEIRS, *flags, *_sides({**here, "compiler": "nope"})], checkout)
    _tell("GraphNet", other)
    comparisons = [from_json(row) for row in read_rows(to)]
    samples = [scored(comparison, "") for comparison in comparisons]
    return _rows(cost, other, comparisons, samples)


def _sides(config: Mapping[str, str]) -> list[str]:
    text = base64.b64encode(json.dumps(config).encode()).decode()
    return ["--reference-config", text, "--target-config", text]


def _run(command: list[str], path: Path) -> Cost:
    """Run Python with a folder on its path; anything but the seconds in calls that it leaves is passed over."""
    with tempfile.TemporaryDirectory() as calls:
        environment = os.environ | {"PYTHONPATH": f"{path}:{TOOL.parents[1]}", FOLDER: calls}
        begin = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        most = [0]
        watcher = threading.Thread(target=_watch, args=(psutil.Process(process.pid), most))
        watcher.start()
        process.wait()
        wall = time.perf_counter() - begin
        watcher.join()
        found = [json.loads(file.read_text()) for file in Path(calls).iterdir()]
    if not found:
        raise SystemExit(f"{command[0]} ran no model")
    return Cost(wall, sum(each["seconds"] for each in found), sum(each["calls"] for each in found), most[0])


def _watch(process: psutil.Process, most: list[int]) -> None:
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        most[0] = max(most[0], _memory(process))
        time.sleep(LOOK)


def _memory(process: psutil.Process) -> int:
    """Give the bytes of a process and all that it started, what they share counted once."""
    total = 0
    try:
        for each in [process, *process.children(recursive=True)]:
            total += each.memory_full_info().pss
    except psutil.Error:
        return 0  # one has just ended
    return total


def _tell(name: str, cost: Cost) -> None:
    print(f"{name}: {cost.wall:.1f} s, {cost.inside:.1f} s of it in {cost.calls} calls", flush=True)


def _rows(cost: Cost, other: Cost, comparisons: list[Comparison], samples: list[Sample]) -> list[Row]:
    lost = sum(sample.error is not None for sample in samples)
    called = sum(sample.speed in ("faster", "slower") for sample in samples)
    ratios = [sample.speedup for sample in samples if sample.speedup is not None]
    spread = f"{min(ratios):.3f} to {max(ratios):.3f}" if ratios else "-"
    what = f"small10, {len(comparisons)} samples"
    walls, sizes = [each.wall for each in (cost, other)], [each.memory / 1e9 for each in (cost, other)]
    outside, shares = [each.outside for each in (cost, other)], [each.share for each in (cost, other)]
    return [
        Row(f"{what}: wall time", *_texts(walls, " s"), cost.wall, WALL_BAR, " s"),
        Row(f"{what}: memory", *_texts(sizes, " GB"), sizes[0], MEMORY_BAR, " GB"),
        Row(f"{what}: time outside of calls", *_texts(outside, " s"), outside[0] / outside[1]),
        Row(f"{what}: share outside of calls", *_texts(shares, "%"), shares[0] / shares[1], SHARE_BAR),
        Row(f"{what}: calls", *_texts([cost.calls, other.calls], ""), cost.calls / other.calls),
        Row(f"{what}: rows lost", str(lost), "none", float(lost), 0.0, ""),
        Row(f"{what}: called faster or slower", f"ratios {spread}", "none", float(called), 0.0, ""),
    ]


def _texts(values: list[float], unit: str) -> tuple[str, str]:
    return f"{values[0]:.3g}{unit}", f"GraphNet {values[1]:.3g}{unit}"


if __name__ == "__main__":
    main()

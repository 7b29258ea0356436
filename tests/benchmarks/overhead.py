"""What comparing costs beside the calls of the models that it compares: ten small models, each against itself.

Prints the share of the wall time that was not spent in model calls, for each and for all, and that of the time on
processors, which does not count waiting for what else the machine does.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import torch
from config_bench.table import Row, finish
from timing_bench.small import FOLDER, MODELS

from libbench.diff import Plan, diff
from libbench.job import Job
from libbench.settings import Timer

BUDGET = 20.0
CONFIG = Path(__file__).parent / "timing_bench" / "small.py"


class Cost(NamedTuple):
    """Seconds in calls and in all, by the clock on the wall and on processors."""

    calls: float
    wall: float
    calls_cpu: float
    cpu: float


def main() -> None:
    """Measure and print."""
    rows: list[Row] = []
    quick: list[Cost] = []
    full: list[Cost] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        for name, (_, shape) in MODELS.items():
            overrides = [f"name={name}", f"data.shapes=[{','.join(map(str, shape))}]"]
            quick.append(_one(Path(folder), overrides, Timer()))
            # An interval so narrow is never reached: the budget is used up.
            full.append(_one(Path(folder), overrides, Timer(precision=1e-6, budget=BUDGET)))
            rows.append(_row(f"{name}, budget used up", full[-1]))
            print(rows[-1].what, rows[-1].ours, rows[-1].other, flush=True)
    for which, costs, bar in (("at the defaults", quick, None), ("budget used up", full, 20.0)):
        total = Cost(*(sum(each) for each in zip(*costs, strict=True)))
        rows.append(_row(f"all ten, {which}", total, bar))
        rows.append(_row(f"all ten, {which}, on processors", Cost(*total[2:], *total[2:])))
    finish("overhead", rows, [f"torch {torch.__version__}"])


def _one(folder: Path, overrides: list[str], timer: Timer) -> Cost:
    own = time.process_time()
    comparison = diff(Job.load(CONFIG, overrides), Job.load(CONFIG, overrides), Plan(timer=timer))
    if comparison.exit_code:
        raise SystemExit(f"{overrides[0]}: {[check for check in comparison.checks if check.verdict != 'same']}")
    files = list(folder.iterdir())
    sides = [json.loads(file.read_text()) for file in files]
    for file in files:
        file.unlink()
    # A process of several sides tells its time with each of them.
    processes = {side["pid"]: 0.0 for side in sides}
    for side in sides:
        processes[side["pid"]] = max(side["process"], processes[side["pid"]])
    calls, calls_cpu = (sum(side[clock] for side in sides) for clock in ("wall", "cpu"))
    return Cost(calls, comparison.seconds, calls_cpu, sum(processes.values()) + time.process_time() - own)


def _row(name: str, cost: Cost, bar: float | None = None) -> Row:
    share = 100 * (1 - cost.calls / cost.wall)
    return Row(f"time outside of calls, {name}", f"{cost.wall:.2f} s", f"{cost.calls:.2f} s in calls", share, bar, "%")


if __name__ == "__main__":
    main()

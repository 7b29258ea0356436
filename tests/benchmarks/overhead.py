"""What comparing costs beside the calls of the models that it compares: ten small models, each against itself.

Prints the share of the wall time that was not spent in model calls, for each and for all.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import torch
from config_bench.table import Row, finish
from timing_bench.small import FOLDER, MODELS

from libbench.diff import Plan, diff
from libbench.job import Job
from libbench.settings import Timer

BUDGET = 20.0
CONFIG = Path(__file__).parent / "timing_bench" / "small.py"


def main() -> None:
    """Measure and print."""
    rows: list[Row] = []
    quick: list[tuple[float, float]] = []
    full: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        for name, (_, shape) in MODELS.items():
            overrides = [f"name={name}", f"data.shapes=[{','.join(map(str, shape))}]"]
            quick.append(_one(Path(folder), overrides, Timer()))
            # An interval so narrow is never reached: the budget is used up.
            full.append(_one(Path(folder), overrides, Timer(precision=1e-6, budget=BUDGET)))
            rows.append(_row(f"{name}, budget used up", [full[-1]]))
    rows += [_row("all ten, at the defaults", quick), _row("all ten, budget used up", full, 20.0)]
    finish("overhead", rows, [f"torch {torch.__version__}"])


def _one(folder: Path, overrides: list[str], timer: Timer) -> tuple[float, float]:
    """Give the seconds in calls and those of the whole comparison."""
    comparison = diff(Job.load(CONFIG, overrides), Job.load(CONFIG, overrides), Plan(timer=timer))
    if comparison.exit_code:
        raise SystemExit(f"{overrides[0]}: {[check for check in comparison.checks if check.verdict != 'same']}")
    files = list(folder.iterdir())
    spent = sum(float(file.read_text()) for file in files)
    for file in files:
        file.unlink()
    return spent, comparison.seconds


def _row(name: str, spent: list[tuple[float, float]], bar: float | None = None) -> Row:
    calls, seconds = (sum(each) for each in zip(*spent, strict=True))
    share = 100 * (1 - calls / seconds)
    return Row(f"time outside of calls, {name}", f"{seconds:.2f} s", f"{calls:.2f} s in calls", share, bar, "%")


if __name__ == "__main__":
    main()

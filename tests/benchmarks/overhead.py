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

CONFIG = Path(__file__).parent / "timing_bench" / "small.py"


def main() -> None:
    """Measure and print."""
    rows, all_calls, all_seconds = [], 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder
        for name, (_, shape) in MODELS.items():
            calls, seconds = _one(Path(folder), [f"name={name}", f"data.shapes=[{','.join(map(str, shape))}]"])
            rows.append(_row(name, calls, seconds, None))
            all_calls, all_seconds = all_calls + calls, all_seconds + seconds
    finish("overhead", [*rows, _row("all ten", all_calls, all_seconds, 20.0)], [f"torch {torch.__version__}"])


def _one(folder: Path, overrides: list[str]) -> tuple[float, float]:
    """Give the seconds in calls and those of the whole comparison."""
    comparison = diff(Job.load(CONFIG, overrides), Job.load(CONFIG, overrides), Plan())
    if comparison.exit_code:
        raise SystemExit(f"{overrides[0]}: {[check for check in comparison.checks if check.verdict != 'same']}")
    files = list(folder.iterdir())
    spent = sum(float(file.read_text()) for file in files)
    for file in files:
        file.unlink()
    return spent, comparison.seconds


def _row(name: str, calls: float, seconds: float, bar: float | None) -> Row:
    share = 100 * (1 - calls / seconds)
    return Row(f"time outside of model calls, {name}", f"{seconds:.2f} s", f"{calls:.2f} s in calls", share, bar, "%")


if __name__ == "__main__":
    main()

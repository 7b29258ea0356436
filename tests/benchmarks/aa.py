"""Eager against itself, again and again: how often a speed verdict says more than there is to say.

Prints each run's verdict, then how many there were of each, how far the ratio lies from 1 and how wide its interval is.
"""

from __future__ import annotations

import argparse
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from libbench.diff import Plan, diff
from libbench.measured import Speedup, SpeedVerdict
from libbench.settings import Timer

CONFIG = Path(__file__).parents[2] / "projects" / "digits" / "configs" / "eager.py"
VERDICTS: tuple[SpeedVerdict, ...] = ("faster", "slower", "level", "inconclusive")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="How often a config that is compared with itself is called faster.")
    parser.add_argument("--runs", type=int, default=20, help="comparisons (20)")
    parser.add_argument("--budget", type=float, default=6.0, help="seconds of timed rounds in each (6)")
    parser.add_argument("--config", type=Path, default=CONFIG, help="config file (projects/digits/configs/eager.py)")
    arguments = parser.parse_args()
    plan = Plan(timer=Timer(budget=arguments.budget))
    found = [_one(number, arguments.config, plan) for number in range(1, arguments.runs + 1)]
    counts = Counter(speedup.verdict for speedup in found)
    print(", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS))
    _quantiles("|ratio - 1|", [abs(speedup.ratio - 1) for speedup in found])
    _quantiles("interval width", [s.high - s.low for s in found if s.low is not None and s.high is not None])


def _one(number: int, config: Path, plan: Plan) -> Speedup:
    comparison = diff(config, config, plan)
    failure = comparison.reference.failure or comparison.target.failure
    if failure is not None:
        raise SystemExit(f"{config} failed in {failure.stage}: {failure.message}")
    speedup = next(s for s in comparison.speedups if s.clock == "wall")
    interval = "no interval" if speedup.low is None else f"[{speedup.low:.4f}, {speedup.high:.4f}]"
    print(f"{number:3d}  {speedup.ratio:.4f}  {interval}  {speedup.verdict}", flush=True)
    return speedup


def _quantiles(name: str, values: Sequence[float]) -> None:
    if len(values) < 2:
        print(f"{name}: too few")
        return
    tenths = statistics.quantiles(values, n=10, method="inclusive")
    print(f"{name}: p50 {tenths[4]:.2%}, p90 {tenths[8]:.2%} of {len(values)}")


if __name__ == "__main__":
    main()

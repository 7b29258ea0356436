"""How far a speedup can be trusted: A/A error, false verdicts, cover of the interval, a true 5 % slowdown, a drift.

Prints each figure with its bar, and beside it that of the usual way: all trials of one side, then all of the other.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from config_bench.table import Row, report

from libbench.config import LazyConfig, instantiate
from libbench.diff import Plan, diff
from libbench.interval import median_interval
from libbench.job import Job
from libbench.measured import Speedup
from libbench.result import Comparison
from libbench.settings import Timer
from libbench.speed import log_ratios

CONFIG = Path(__file__).parent / "timing_bench" / "layers.py"
USUAL_TRIALS = 5
BLOCK = 31
SLOWDOWN = 20 / 21


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="How far a speedup can be trusted, beside the usual way.")
    parser.add_argument("--runs", type=int, default=30, help="comparisons of each kind (30)")
    parser.add_argument("--blocks", type=int, default=1000, help="intervals whose cover is counted (1000)")
    parser.add_argument("--write", action="store_true", help="keep the figures in docs/benchmarks.md")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    begin = time.perf_counter()
    rows = [
        *_equal(arguments.runs),
        *_slower(max(2, arguments.runs // 3)),
        *_drift(max(2, arguments.runs // 3)),
        _cover(arguments.blocks),
    ]
    report("timing", rows, [f"torch {torch.__version__}"], write=arguments.write)
    print(f"took {time.perf_counter() - begin:.0f} s")


def _equal(runs: int) -> Iterator[Row]:
    found = [_speedup(("A/A", number), timer=Timer(pairs=150)) for number in range(runs)]
    usual = [_usual_way((), ()) for _ in range(runs)]
    told = f"the usual way: p90 {_p(90, usual, 1.0):.2%}, p99 {_p(99, usual, 1.0):.2%}"
    ratios = [speedup.ratio for speedup in found]
    for quantile, bar in ((50, None), (90, 0.015), (99, 0.02)):
        error = _p(quantile, ratios, 1.0)
        yield Row(
            f"A/A, 150 pairs: error p{quantile} of {runs} runs", f"{error:.2%}", told, 100 * error, _percent(bar), "%"
        )
    wrong = sum(speedup.verdict in ("faster", "slower") for speedup in found) / runs
    verdicts = ", ".join(f"{sum(s.verdict == v for s in found)} {v}" for v in ("level", "inconclusive"))
    yield Row("A/A called faster or slower", f"{wrong:.1%}", f"{verdicts} of {runs}", 100 * wrong, 1.0, "%")


def _slower(runs: int) -> Iterator[Row]:
    found = [
        _speedup(("5 % slower", number), target=["model.depth=21"], timer=Timer(budget=40.0)) for number in range(runs)
    ]
    usual = [_usual_way((), ("model.depth=21",)) for _ in range(runs)]
    ratios = [speedup.ratio for speedup in found]
    told = f"the usual way: {_share(r >= 1 for r in usual):.0%} wrong, error p90 {_p(90, usual, SLOWDOWN):.2%}"
    wrong = _share(ratio >= 1 for ratio in ratios)
    yield Row(f"20 against 21 layers: wrong sign, of {runs} runs", f"{wrong:.0%}", told, 100 * wrong, 0.0, "%")
    error = _p(90, ratios, SLOWDOWN)
    yield Row("the same: error p90", f"{error:.2%}", f"a ratio of {SLOWDOWN:.4f}", 100 * error, 2.0, "%")
    undecided = _share(speedup.verdict == "inconclusive" for speedup in found)
    yield Row("the same: inconclusive", f"{undecided:.0%}", "a budget of 40 s", 100 * undecided, 10.0, "%")


def _drift(runs: int) -> Iterator[Row]:
    later = ["model.slower_after=400"]
    found = [_speedup(("drift", number), later, later, Timer(pairs=150)) for number in range(runs)]
    usual = [_usual_way(("model.slower_after=20",), ("model.slower_after=20",)) for _ in range(runs)]
    told = f"the usual way: called apart by {statistics.median(usual) - 1:+.1%}"
    other = _share(speedup.verdict not in ("level", "inconclusive") for speedup in found)
    level = _share(speedup.verdict == "level" for speedup in found)
    yield Row(
        f"every later call 5 % slower: called different, of {runs} runs", f"{other:.0%}", told, 100 * other, 0.0, "%"
    )
    yield Row("the same: not called level", f"{1 - level:.0%}", "inconclusive", 100 * (1 - level), None, "%")


def _cover(blocks: int) -> Row:
    """Count how often the interval of a block of pairs holds the median of all pairs of its process."""
    each = 60
    inside = count = 0
    while count < blocks:
        # The fewer pairs a process had time for, the more each block would be the truth that it is to hold.
        comparison = _compared([], [], Timer(pairs=each * BLOCK, budget=600.0))
        for measurement in comparison.measurements:
            ratios = log_ratios(*(side["wall"] for side in measurement.clocks))
            truth = statistics.median(ratios)
            for begin in range(0, len(ratios) - BLOCK + 1, BLOCK):
                low, high = median_interval(ratios[begin : begin + BLOCK]) or (truth, truth)
                inside += low <= truth <= high
                count += 1
    cover = inside / count
    off = max(0.0, abs(cover - 0.95))
    return Row(
        f"cover of the 95 % interval, {count:,} blocks of 31 pairs", f"{cover:.1%}", "95 % +- 2 %", 100 * off, 2.0, "%"
    )


def _speedup(
    label: tuple[str, int], reference: Sequence[str] = (), target: Sequence[str] = (), timer: Timer | None = None
) -> Speedup:
    comparison = _compared(reference, target, timer or Timer())
    speedup = next(s for s in comparison.speedups if s.clock == "wall")
    interval = "no interval" if speedup.low is None else f"[{speedup.low:.4f}, {speedup.high:.4f}]"
    null = f"null {comparison.null.ratio:.4f}" if comparison.null else "no null arm"
    print(
        *label,
        f"{speedup.ratio:.4f} {interval} {speedup.verdict} {speedup.note} {null} {comparison.seconds:.1f} s",
        flush=True,
    )
    return speedup


def _compared(reference: Sequence[str], target: Sequence[str], timer: Timer) -> Comparison:
    comparison = diff(Job.load(CONFIG, reference), Job.load(CONFIG, target), Plan(timer=timer))
    for failure in (comparison.reference.failure, comparison.target.failure):
        if failure is not None:
            raise SystemExit(f"failed in {failure.stage}: {failure.message}")
    return comparison


def _usual_way(reference: Sequence[str], target: Sequence[str]) -> float:
    """Give the ratio of medians when one side is timed after the other, each by itself."""
    medians = []
    for overrides in (reference, target):
        config = LazyConfig.apply_overrides(LazyConfig.load(CONFIG), list(overrides))
        model = instantiate(config.model).eval()
        with torch.inference_mode():
            seconds = [_timed(model, torch.randn(8, model.layers[0].in_features)) for _ in range(3 + USUAL_TRIALS)]
        medians.append(statistics.median(seconds[3:]))
    return medians[0] / medians[1]


def _timed(model: torch.nn.Module, inputs: torch.Tensor) -> float:
    begin = time.perf_counter()
    model(inputs)
    return time.perf_counter() - begin


def _p(quantile: int, ratios: Sequence[float], truth: float) -> float:
    errors = sorted(abs(ratio / truth - 1) for ratio in ratios)
    return errors[min(len(errors) - 1, int(quantile / 100 * len(errors)))]


def _share(found: Iterator[bool] | Sequence[bool]) -> float:
    return statistics.fmean(map(float, found))


def _percent(bar: float | None) -> float | None:
    return None if bar is None else 100 * bar


if __name__ == "__main__":
    main()

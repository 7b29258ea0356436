"""One reference and several targets: a row each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from libbench.report.costs import first_call
from libbench.report.headline import findings, pieces, wall
from libbench.report.page import Cell, Column, Page
from libbench.report.words import Tone, one_line, ratio, seconds, side_name
from libbench.result import Comparison

_COLUMNS = (
    Column("target", least=16),
    Column("verdict"),
    Column("finding", least=14),
    Column("speedup", right=True),
    Column("95 % interval"),
    Column("first call", right=True, drop=1),
)
_ORDER = ("interrupted", "not judged", "FAILED", "DIFFERENT", "same")
_TONES: dict[str, Tone] = {"FAILED": "bad", "DIFFERENT": "bad", "same": "good"}


def write_many(page: Page, comparisons: Sequence[Comparison]) -> None:
    """Write a row for each comparison, the worst first, and a summary."""
    rows = sorted(comparisons, key=_severity)
    reference = side_name(comparisons[0].reference.job) if comparisons else "nothing"
    page.item(f"{len(comparisons):,} targets against {reference}", "strong", indent=0)
    page.gap()
    page.table(_COLUMNS, [_row(comparison) for comparison in rows])
    page.gap()
    counts = Counter(verdict_word(comparison) for comparison in comparisons)
    summary: list[tuple[str, Tone]] = [
        (f"{counts[word]:,} {word.lower()}", _TONES.get(word, "warn")) for word in reversed(_ORDER) if counts[word]
    ]
    page.pieces([*summary, *_fastest(comparisons)])


def verdict_word(comparison: Comparison) -> str:
    """Give one of "same", "DIFFERENT", "FAILED", "not judged" and "interrupted", in keeping with the exit code."""
    if not comparison.complete:
        return "interrupted"
    if comparison.exit_code == 2:
        return "not judged"
    if comparison.target.failure is not None:
        return "FAILED"
    return "DIFFERENT" if comparison.exit_code == 1 else "same"


def _severity(comparison: Comparison) -> tuple[int, str]:
    return _ORDER.index(verdict_word(comparison)), side_name(comparison.target.job)


def _row(comparison: Comparison) -> list[Cell]:
    word = verdict_word(comparison)
    speedup = wall(comparison)
    value, low, high = ("-", "-", "-") if speedup is None else ratio(speedup.ratio, speedup.low, speedup.high)
    interval: Cell = "-"
    if speedup is not None and speedup.low is None:
        interval = ("no interval", "warn")
    elif speedup is not None:
        interval = f"{low} to {high} {speedup.verdict}"
    name = one_line(comparison.target.job.name)
    return [
        name, (word, _TONES.get(word, "warn")), _finding(comparison, word),
        value if speedup is None else f"{value}x", interval, seconds(first_call(comparison.target.preparation)),
    ]  # fmt: skip


def _finding(comparison: Comparison, word: str) -> str:
    """Say in few words what stands behind the verdict, which has its own column."""
    if word == "same":
        return "outputs" if comparison.outputs and comparison.outputs.batches else "metrics only"
    found = [text for text, tone in pieces(comparison) if tone in ("bad", "warn")] or ["-"]
    text = found[0].removeprefix("TARGET FAILED ").removeprefix("CANNOT BE JUDGED: ").removeprefix("DIFFERENT ")
    also = [text for text, tone in findings(comparison) if tone == "good"]
    return f"{text}; {also[0]}" if also and word == "DIFFERENT" else text


def _fastest(comparisons: Sequence[Comparison]) -> list[tuple[str, Tone]]:
    """Name the fastest of the targets that are the same, when one is faster at all."""
    same = [(wall(c), c) for c in comparisons if verdict_word(c) == "same"]
    faster = [(speedup, c) for speedup, c in same if speedup is not None and speedup.verdict == "faster"]
    if not faster:
        return []
    best, comparison = max(faster, key=lambda pair: pair[0].ratio)
    value, low, high = ratio(best.ratio, best.low, best.high)
    name = one_line(comparison.target.job.name)
    return [(f"fastest of the same: {name}, {value}x (95 % interval {low} to {high})", "good")]

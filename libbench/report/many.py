"""One reference and several targets: a row each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from libbench.report.compared import extreme_text
from libbench.report.costs import first_call
from libbench.report.headline import SPEED_TONES, pieces, wall
from libbench.report.page import Cell, Column, Page
from libbench.report.words import Tone, differ, one_line, plural, ratio, seconds, side_name
from libbench.result import Comparison

_COLUMNS = (
    Column("target", least=16),
    Column("verdict"),
    Column("finding", least=38, end=True),
    Column("speed"),
    Column("first call", right=True, drop=1),
)
_ORDER = ("interrupted", "not judged", "FAILED", "DIFFERENT", "same")
_TONES: dict[str, Tone] = {"FAILED": "bad", "DIFFERENT": "bad", "same": "good"}


def write_many(page: Page, comparisons: Sequence[Comparison]) -> None:
    """Write a row for each comparison, the worst first, and a summary."""
    rows = sorted(comparisons, key=_severity)
    reference = side_name(comparisons[0].reference.job) if comparisons else "nothing"
    page.item(f"{plural(len(comparisons), 'target')} against {reference}", "strong", indent=0)
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
    name = one_line(comparison.target.job.name)
    first = seconds(first_call(comparison.target.preparation))
    return [name, (word, _TONES.get(word, "warn")), _finding(comparison, word), _speed(comparison), first]


def _speed(comparison: Comparison) -> Cell:
    speedup = wall(comparison)
    if speedup is None:
        return "-"
    value, low, high = ratio(speedup.ratio, speedup.low, speedup.high)
    interval = "no interval" if speedup.low is None else f"[{low}, {high}]"
    return f"{value}x {interval} {speedup.verdict}", SPEED_TONES[speedup.verdict]


def _finding(comparison: Comparison, word: str) -> str:
    """Say in few words what stands behind the verdict, which has its own column."""
    if word in ("interrupted", "not judged", "FAILED"):
        text = next((text for text, tone in pieces(comparison) if tone in ("bad", "warn")), "")
        for known in ("TARGET FAILED ", "CANNOT BE JUDGED: ", "INTERRUPTED"):
            text = text.removeprefix(known)
        return text or "-"
    outputs, metrics = comparison.outputs, comparison.metrics
    found = []
    if outputs is not None and outputs.batches:
        size = next((leaf.max_abs for leaf in outputs.leaves[:1]), None)
        words = {"different": "outputs differ", "same": "outputs agree", "unjudged": "outputs not judged"}
        by = (
            f" {'by' if outputs.verdict == 'different' else 'within'} {extreme_text(size)}"
            if size and size.value
            else ""
        )
        found.append(words[outputs.verdict] + by)
    if metrics:
        count = sum(metric.verdict == "different" for metric in metrics)
        found.append(f"{count:,} of {plural(len(metrics), 'metric')} {differ(count)}" if count else "metrics agree")
    return "; ".join(found) or "-"


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

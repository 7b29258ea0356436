"""One reference and several targets, or several sides by themselves: a row each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.cells import cell_len

from libbench.comparability import no_speedup
from libbench.config.places import short
from libbench.drawing import drawn_apart
from libbench.report.compared import extreme_text
from libbench.report.costs import call_seconds, first_call, ratio_cell
from libbench.report.headline import check, pieces, truth_words, wall, worst_first
from libbench.report.page import Cell, Column, Page
from libbench.report.words import Tone, differ, figure, one_line, plural, ratio, seconds, side_name
from libbench.result import Comparison, JobRecord, Result
from libbench.vacuous import reasons, unproven

COLUMNS = (
    Column("target", least=16),
    Column("verdict"),
    Column("finding", least=38, end=True),
    Column("speed"),
    Column("first call", right=True, drop=1),
)
OWN_COLUMNS = (
    Column("config", least=16),
    Column("metrics", least=20),
    Column("per call", right=True),
    Column("first call", right=True, drop=1),
)
_LONGEST_NAME = 40
ORDER = ("interrupted", "not judged", "vacuous", "FAILED", "BAKED IN", "DIFFERENT", "TOO SLOW", "same")
TONES: dict[str, Tone] = {"FAILED": "bad", "BAKED IN": "bad", "DIFFERENT": "bad", "TOO SLOW": "bad", "same": "good"}


def write_many(page: Page, comparisons: Sequence[Comparison]) -> None:
    """Write, for each reference, a row for each target, the worst first, and a summary."""
    groups = [list(group) for _, group in groupby(comparisons, lambda comparison: comparison.reference.job)]
    for group in groups or [[]]:
        page.gap()
        _write_group(page, group)


def _write_group(page: Page, comparisons: Sequence[Comparison]) -> None:
    rows = sorted(comparisons, key=_severity)
    reference = side_name(comparisons[0].reference.job) if comparisons else "nothing"
    page.item(f"{plural(len(comparisons), 'target')} against {reference}", "strong", indent=0)
    page.gap()
    page.table(COLUMNS, [row(comparison) for comparison in rows])
    page.gap()
    page.pieces([*counted(map(verdict_word, comparisons)), *_fastest(comparisons)])


def counted(words: Iterable[str]) -> list[tuple[str, Tone]]:
    """Give how often each verdict came, the best first."""
    counts = Counter(words)
    return [(f"{counts[word]:,} {word.lower()}", TONES.get(word, "warn")) for word in reversed(ORDER) if counts[word]]


def write_results(page: Page, results: Sequence[Result]) -> None:
    """Write a row for each side that was run by itself, in their order, and how many ran."""
    page.item(plural(len(results), "config"), "strong", indent=0)
    page.gap()
    page.table(OWN_COLUMNS, [own_row(result) for result in results])
    page.gap()
    page.pieces(own_counted(results))


def own_counted(results: Sequence[Result]) -> list[tuple[str, Tone]]:
    """Give how many sides ran and how many failed."""
    failed = sum(result.failure is not None for result in results)
    counts: list[tuple[int, str, Tone]] = [(len(results) - failed, "ran", "good"), (failed, "failed", "bad")]
    return [(f"{count:,} {word}", tone) for count, word, tone in counts if count]


def own_row(result: Result) -> list[Cell]:
    """Give the cells of a side that was run by itself."""
    first = seconds(first_call(result.preparation))
    if result.failure is not None:
        text = f"FAILED in {result.failure.stage}: {result.failure.message}"
        return [_names(result.job), (one_line(text), "bad"), "-", first]
    metrics = [f"{one_line(name)} {figure(value, 4)}" for name, value in (result.metrics or {}).items()]
    return [_names(result.job), "\n".join(metrics) or "-", seconds(call_seconds(result.timings)), first]


def _names(job: JobRecord) -> str:
    """Give the name of a side; the file, and an override a line, where the name is too long to be read in a table."""
    if job.file is None or not job.overrides or cell_len(one_line(job.name)) <= _LONGEST_NAME:
        return one_line(job.name)
    return "\n".join([one_line(short(job.file)), *map(one_line, job.overrides)])


def verdict_word(comparison: Comparison) -> str:
    """Give one of `ORDER`, as the exit code has it.

    "BAKED IN" is a target that differs by what tracing has fixed; "TOO SLOW" is one of which nothing is wrong but that
    a speedup was asked for; "vacuous" is a row whose outputs agree, but prove nothing, whatever its exit code.
    """
    if not comparison.complete:
        return "interrupted"
    if comparison.exit_code == 2:
        return "vacuous" if unproven(comparison) and _odd(comparison) <= {"outputs", "speedup"} else "not judged"
    if worst_first(comparison)[0].target.failure is not None:
        return "FAILED"
    if comparison.exit_code == 1:
        wrong = {each.name for each in comparison.checks if each.verdict == "different"}
        return "TOO SLOW" if wrong == {"speedup"} else "BAKED IN" if "target baked in" in wrong else "DIFFERENT"
    return "vacuous" if unproven(comparison) else "same"


def _severity(comparison: Comparison) -> tuple[int, str]:
    return ORDER.index(verdict_word(comparison)), side_name(comparison.target.job)


def row(comparison: Comparison) -> list[Cell]:
    """Give the cells of a target."""
    word = verdict_word(comparison)
    first = seconds(first_call(comparison.target.preparation))
    return [
        _names(comparison.target.job),
        (word, TONES.get(word, "warn")),
        finding(comparison, word),
        speed_cell(comparison),
        first,
    ]


def _odd(comparison: Comparison) -> set[str]:
    return {each.name for each in comparison.checks if each.verdict != "same"}


def speed_cell(comparison: Comparison) -> Cell:
    """Give a speedup with its interval; "-" where nothing was timed."""
    speedup = wall(comparison)
    return "-" if speedup is None else ratio_cell(speedup, no_speedup(comparison))


def finding(comparison: Comparison, word: str) -> str:
    """Say in few words what stands behind the verdict, which has its own column."""
    odd = _odd(comparison)
    if word == "vacuous":
        return reasons(comparison.outputs) if comparison.outputs else "-"
    if word in ("interrupted", "FAILED") or (word == "not judged" and odd != {"speedup"}):
        text = next((text for text, tone in pieces(comparison) if tone in ("bad", "warn")), "")
        for known in ("TARGET FAILED ", "CANNOT BE JUDGED: ", "INTERRUPTED"):
            text = text.removeprefix(known)
        return text or "-"
    worst = worst_first(comparison)[0]
    outputs, metrics, truth = worst.outputs, worst.metrics, worst.truth
    kept = check(worst, "target baked in")
    found = [kept.found] if kept is not None else []
    if truth is not None and truth.batches:
        found.append(f"by {truth.dtype}: {truth_words(truth)}")
    elif outputs is not None and outputs.batches:
        size = next((leaf.max_abs for leaf in outputs.leaves[:1]), None)
        words = {"different": "outputs differ", "same": "outputs agree", "unjudged": "outputs not judged"}
        by = (
            f" {'by' if outputs.verdict == 'different' else 'within'} {extreme_text(size)}"
            if size and size.value
            else ""
        )
        drawn = worst.reference.preparation is not None and worst.reference.preparation.draws
        by = " by distribution" if drawn_apart(outputs) else f"{by}, of the same random numbers" if drawn else by
        found.append(words[outputs.verdict] + by)
    found += ["other outputs while timed"] if check(comparison, "target timed outputs") else []
    found += ["odd ranks"] if check(comparison, "target ranks") else []
    demand = check(comparison, "speedup")
    if demand is not None:
        short = "too slow, wanted" if demand.verdict == "different" else "not known whether it is"
        found.append(f"{short} {demand.wanted}")
    if metrics:
        count = sum(metric.verdict == "different" for metric in metrics)
        found.append(f"{count:,} of {plural(len(metrics), 'metric')} {differ(count)}" if count else "metrics agree")
    return "; ".join(found) or "-"


def _fastest(comparisons: Sequence[Comparison]) -> list[tuple[str, Tone]]:
    """Name the fastest of the targets that are the same, when one is faster at all."""
    same = [(wall(c), c) for c in comparisons if verdict_word(c) == "same" and not no_speedup(c)]
    faster = [(speedup, c) for speedup, c in same if speedup is not None and speedup.verdict == "faster"]
    if not faster:
        return []
    best, comparison = max(faster, key=lambda pair: pair[0].ratio)
    value, low, high = ratio(best.ratio, best.low, best.high)
    name = one_line(comparison.target.job.name)
    return [(f"fastest of the same: {name}, {value}x (95 % interval {low} to {high})", "good")]

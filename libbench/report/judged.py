"""What the tolerance is not the last word on: the reference's own noise, a float64 truth, several seeds."""

from __future__ import annotations

import math
from collections.abc import Iterator

from libbench.findings import LeafReport, LeafTruth
from libbench.report.headline import told, worst_first
from libbench.report.page import Cell, Column, Page
from libbench.report.words import apart, cut, differ, figure, listed, one_line, plural
from libbench.result import Comparison, Verdict

MOST_LEAVES = 10
_CELLS: dict[Verdict, Cell] = {
    "same": ("same", "good"),
    "different": ("WORSE", "bad"),
    "unjudged": ("unjudged", "warn"),
}
_VERDICTS: tuple[Cell, ...] = (("same", "good"), ("DIFFERENT", "bad"), ("not judged", "warn"))
_LEAVES = (
    Column("leaf", least=24),
    Column("verdict"),
    Column("RMSE reference", right=True, drop=2),
    Column("target", right=True, drop=2),
    Column("ratio", right=True),
    Column("max reference", right=True, drop=1),
    Column("target", right=True, drop=1),
    Column("ratio", right=True),
)
_SEEDS = (Column("seed", right=True), Column("verdict"), Column("finding", least=40, end=True))


def write_noise(page: Page, comparison: Comparison) -> None:
    """Write how large a difference is beside the reference's own noise, for each leaf that differs."""
    leaves = comparison.outputs.leaves if comparison.outputs else ()
    known = [leaf for leaf in leaves if leaf.noise is not None and leaf.noise < math.inf and leaf.max_abs is not None]
    known = [leaf for leaf in known if leaf.draws is None]
    odd = [leaf for leaf in known if leaf.verdict == "different"]
    for text in dict.fromkeys(noise_words(leaf) for leaf in odd[:MOST_LEAVES] if leaf.noise):
        page.item(text, "dim")
    still = [leaf.path for leaf in odd if not leaf.noise]
    if still:
        page.item(f"{listed(still, 3)}: the reference repeats itself exactly{_settings(comparison)}", "dim")


def noise_words(leaf: LeafReport) -> str:
    """Say how large a leaf's difference is in units of the reference's own noise."""
    if leaf.noise is None or leaf.max_abs is None:
        return f"{leaf.path}: the reference's own noise is not known"
    if leaf.max_abs.value == 0:
        return f"{leaf.path}: no difference"
    size = f"the reference's own noise ({figure(leaf.noise, 2)} between two of its runs)"
    if leaf.max_abs.value <= leaf.noise:
        return f"{leaf.path}: the difference is within {size}"
    if leaf.noise == 0:
        return f"{leaf.path}: the reference repeats itself exactly"
    return f"{leaf.path}: the difference is {figure(leaf.max_abs.value / leaf.noise)}x {size}"


def _settings(comparison: Comparison) -> str:
    others = [rerun.setting for rerun in comparison.reference.reruns if rerun.leaves]
    return f", also with {listed(others)}" if others else ""


def write_truth(page: Page, comparison: Comparison, verbose: bool) -> None:
    """Write what the truth says of every leaf, and what the tolerance would have said."""
    truth, outputs = comparison.truth, comparison.outputs
    if truth is None:
        return
    page.entry("truth", f"a {truth.dtype} copy of the reference judges floating values, {_by_tolerance(comparison)}")
    for reason in truth.reasons:
        page.item(cut(reason, 5 * page.width), "warn")
    leaves = truth.leaves if verbose else truth.leaves[:MOST_LEAVES]
    if leaves:
        page.table(_LEAVES, [_row(leaf) for leaf in leaves])
    if len(truth.leaves) > len(leaves):
        page.more(f"and {plural(len(truth.leaves) - len(leaves), 'more leaf', 'more leaves')}")
    below = [leaf for leaf in leaves if _below_floor(leaf)]
    for leaf in below if verbose else below[:1]:
        page.item(_floor(leaf, comparison), "dim")
    for leaf in leaves:
        for text in _sentences(leaf, verbose):
            page.item(f"{leaf.path}: {text}", "dim" if leaf.verdict == "same" else "warn")
    for reason, count in truth.skipped:
        page.item(f"{plural(count, 'batch', 'batches')} not judged: {reason}", "warn")
    if truth.lifted:
        casts = truth.lifted if verbose else truth.lifted[:1]
        more = f" and {len(truth.lifted) - len(casts):,} more" if len(truth.lifted) > len(casts) else ""
        page.item(f"note: what the model itself makes narrower stays {truth.dtype}: {'; '.join(casts)}{more}", "dim")
    if outputs is not None and not truth.batches and not truth.reasons:
        page.item("nothing was judged", "warn")


def _below_floor(leaf: LeafTruth) -> bool:
    """Tell whether an error of either side is smaller than its floor, so that the ratio is not that of the errors."""
    if leaf.floor is None or leaf.rmse is None or leaf.max_abs is None:
        return False
    return min(leaf.rmse) < leaf.floor[0] or min(leaf.max_abs) < leaf.floor[1]


def _floor(leaf: LeafTruth, comparison: Comparison) -> str:
    """Say what the rounding floor is, by a leaf in which it matters."""
    known = {each.path: each.dtypes[0] for each in comparison.outputs.leaves} if comparison.outputs else {}
    rmse, largest = leaf.floor or (0.0, 0.0)
    return (
        f"{leaf.path}: one rounding to the reference's own {known.get(leaf.path) or 'dtype'} makes an RMSE of "
        f"{figure(rmse, 2)} and a largest error of {figure(largest, 2)}; in a ratio no error counts as less"
    )


def _by_tolerance(comparison: Comparison) -> str:
    outputs = comparison.outputs
    if outputs is None or not outputs.batches:
        return "not the tolerance"
    words: dict[Verdict, str] = {"same": "the same", "different": "different", "unjudged": "not judged"}
    return f"not the tolerance (by which they are {words[outputs.verdict]})"


def _row(leaf: LeafTruth) -> list[Cell]:
    rmse, largest = leaf.rmse or (None, None), leaf.max_abs or (None, None)
    return [
        leaf.path, _CELLS[leaf.verdict], figure(rmse[0], 2), figure(rmse[1], 2), _times(leaf.rmse_ratio),
        figure(largest[0], 2), figure(largest[1], 2), _times(leaf.max_ratio),
    ]  # fmt: skip


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{figure(ratio)}x"


def _sentences(leaf: LeafTruth, verbose: bool) -> Iterator[str]:
    yield from leaf.reasons
    if leaf.outlier is not None and (verbose or leaf.verdict == "different"):
        found = leaf.outlier
        values = apart(found.reference, found.target, digits=6)
        truth = figure(found.truth, 8)
        yield f"farthest at {list(found.at)}: truth {truth}, reference {values[0]}, target {values[1]}"
    if verbose and leaf.elements:
        count, closer = f"{leaf.elements:,}", leaf.closer
        yield f"of {count} values the target is closer at {closer[1]:,}, the reference at {closer[0]:,}"


def write_seeds(page: Page, comparison: Comparison) -> None:
    """Write a line for each seed, the worst first; nothing where there is one seed."""
    if not comparison.seeds:
        return
    every = worst_first(comparison)
    odd = sum(each.exit_code != 0 for each in every)
    found = f"{odd:,} of {len(every):,} {differ(odd)} or cannot be judged" if odd else f"{len(every):,} agree"
    below = f"; below stands what was found at seed {every[0].reference.job.seed}, the worst of them"
    page.entry("seeds", found + (below if comparison.complete else ""))
    page.table(_SEEDS, [_seed_row(each) for each in every])
    page.gap()


def _seed_row(comparison: Comparison) -> list[Cell]:
    seed, verdict = str(comparison.reference.job.seed), _VERDICTS[comparison.exit_code]
    found = one_line(" · ".join(text for text, _ in told(comparison)))
    for known in ("SAME OUTPUTS", "DIFFERENT OUTPUTS: ", "DIFFERENT OUTPUTS ", "CANNOT BE JUDGED: "):
        found = found.removeprefix(known)
    return [seed, verdict, found.strip()]

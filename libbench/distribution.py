"""Outputs that are drawn at random, judged by their distribution where the sides draw other numbers.

Each side is called several times, each time from another seed. If both have one distribution, it makes no difference
which call is whose: so the calls are shuffled many times (a permutation test; the largest score of all features of
all outputs counts, as P. H. Westfall and S. S. Young have it). Whatever depends on whatever within a call, the
probability of a false alarm is what it is said to be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from libbench.drawn import PLACE, Draws, LeafDistribution, LeafDraws
from libbench.findings import LeafReport, OutputsReport, Verdict

TOKENS = {"output", "sequences"}
"""Paths of generated tokens."""
ALPHA = 0.001
"""How often two sides of one distribution are found different, at the seeds that are looked at."""
SHUFFLES = 9_999
LEAST = 10
"""Calls of each side; of fewer, no shuffle would be rare enough to tell."""
_AT_ONCE = 500
_ROUNDING = 1e-9
"""The share of a feature that its own reckoning in float64 may make of it."""

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def by_distribution(report: OutputsReport, reference: Draws, target: Draws | None, parting: str = "") -> OutputsReport:
    """Judge what the reference draws at random by its distribution; all else stays judged by its values.

    Args:
        report: judged by values.
        reference: its calls from other seeds.
        target: the same for the target; None where there are none.
        parting: the reason in the report that tells where generated tokens part, which is none where they are drawn.
    """
    drawn = {leaf.path for leaf in reference.leaves}
    judged = [leaf for leaf in report.leaves if leaf.path in drawn and not _of_other_form(leaf, reference)]
    if not judged:
        return report
    theirs = {leaf.path for leaf in target.leaves} if target is not None and target.calls >= LEAST else set()
    why = (target.note if target is not None else "") or "the target was not called from other seeds"
    found: dict[str, LeafDistribution | str] = {leaf.path: why for leaf in judged}
    both = [leaf for leaf in judged if leaf.path in theirs]
    if target is not None and both and reference.calls >= LEAST:
        found |= compared(reference, target, both)
    leaves = tuple(_placed(leaf, found[leaf.path]) if leaf.path in found else leaf for leaf in report.leaves)
    verdicts = {leaf.verdict for leaf in leaves}
    odd: Sequence[Verdict] = ("different", "unjudged")
    reasons = tuple(reason for reason in report.reasons if reason != parting or not found.keys() & TOKENS)
    verdict: Verdict = "different" if reasons else next((each for each in odd if each in verdicts), "same")
    order = ("different", "unjudged", "same")
    leaves = tuple(sorted(leaves, key=lambda leaf: order.index(leaf.verdict)))
    return replace(report, leaves=leaves, reasons=reasons, verdict=verdict)


def compared(reference: Draws, target: Draws, leaves: Sequence[LeafReport]) -> dict[str, LeafDistribution]:
    """Give, by path, how the calls of both sides compare.

    Args:
        leaves: the outputs to look at, with the tolerance by which a difference is none.
    """
    sides = [{leaf.path: leaf for leaf in draws.leaves} for draws in (reference, target)]
    columns = [column for leaf in leaves for column in _columns(leaf, *(side[leaf.path] for side in sides))]
    table = np.stack([column.standard() for column in columns], axis=1)
    groups = _groups(columns)
    scores, largest = _scores(table, reference.calls, list(groups.values()))
    limit = float(np.quantile(largest, 1 - ALPHA, method="higher"))
    found: dict[str, LeafDistribution] = {}
    farthest = [max(group, key=lambda place: scores[place]) for group in groups.values()]
    together = [replace(columns[place], name=f"{columns[place].name}, with other places,") for place in farthest]
    for column, score in zip([*columns, *together], map(float, scores), strict=True):
        known = found.get(column.path)
        if known is None or score > known.score:
            chance = (1 + int((largest >= score - 1e-9).sum())) / (1 + len(largest))
            found[column.path] = LeafDistribution(
                calls=(reference.calls, target.calls), feature=column.name, reference=_spread(column.reference),
                target=_spread(column.target), score=score, limit=limit, chance=chance,
            )  # fmt: skip
    worth = math.sqrt(1 / reference.calls + 1 / target.calls)
    means = {column.path: column for column in columns if column.name == "mean" and not column.spread}
    for path, column in means.items():
        found[path] = replace(found[path], shift=limit * worth * _spread(column.reference)[1])
    for path in found:
        own = [column for column in columns if column.path == path and not column.spread]
        found[path] = replace(found[path], fixed=all(np.ptp(column.target) <= column.allowed for column in own))
    return found


def told(found: LeafDistribution) -> str:
    """Say in one line what was found."""
    ours, theirs = (f"{mean:.4g} ± {spread:.2g}" for mean, spread in (found.reference, found.target))
    calls = f"{found.calls[0]:,} and {found.calls[1]:,} calls from other seeds"
    if found.fixed:
        return f"it is the same from every seed, where the reference's is not ({found.feature} {ours} in {calls})"
    chance = f"p = {found.chance:.2g}" if found.chance > ALPHA else f"p < {ALPHA:g}"
    return f"{found.feature} {ours} against {theirs} in {calls}, {chance}"


@dataclass(frozen=True)
class _Column:
    """One feature of one output, over the calls of both sides.

    Attributes:
        spread: whether it stands for how far the feature lies from its own middle, and not for the feature.
        allowed: a difference that rounding may make.
    """

    path: str
    name: str
    spread: bool
    allowed: float
    reference: Floats
    target: Floats

    def standard(self) -> Floats:
        """Give it in standard deviations of all calls; what rounding may make does not count as one."""
        every = np.concatenate([self.reference, self.target])
        every = every - every.mean()
        scaled: Floats = every / max(1e-300, math.hypot(float(every.std()), self.allowed))
        return scaled


def _columns(leaf: LeafReport, reference: LeafDraws, target: LeafDraws) -> list[_Column]:
    """Give the features of an output, and of each its distance from the middle, by which it varies."""
    found = []
    counts = [len(next(iter(each.features.values()))) for each in (reference, target)]
    for name in dict.fromkeys([*reference.features, *target.features]):
        given = reference.features.get(name), target.features.get(name)
        ours, others = (_filled(values, count) for values, count in zip(given, counts, strict=True))
        every = np.concatenate([ours, others])
        size = float(np.abs(every).mean())
        allowed = max(_ROUNDING * (1 + size), (leaf.atol or 0.0) + (leaf.rtol or 0.0) * size)
        middle = float(np.median(every))
        found.append(_Column(leaf.path, name, False, allowed, ours, others))
        found.append(_Column(leaf.path, name, True, allowed, abs(ours - middle), abs(others - middle)))
    return found


def _filled(values: Sequence[float] | None, count: int) -> Floats:
    """Give the values of a feature; that one is missing, or not finite, has a feature of its own."""
    known = np.array([0.0] * count if values is None else values)
    return np.where(np.isfinite(known), known, 0.0)


def _groups(columns: Sequence[_Column]) -> dict[str, list[int]]:
    """Give, by path, the columns that are looked at together: the values of an output in several places."""
    found: dict[str, list[int]] = {}
    for place, column in enumerate(columns):
        if column.name.startswith(PLACE) and not column.spread:
            found.setdefault(column.path, []).append(place)
    return {path: places for path, places in found.items() if len(places) > 1}


def _scores(table: Floats, first: int, groups: Sequence[Sequence[int]]) -> tuple[Floats, Floats]:
    """Give the scores of the columns, then of the groups, and the largest one of each shuffle.

    That of a group is the sum of its columns' squares, less its mean over the shuffles, in its standard deviations.

    Args:
        table: calls by features, those of the reference first.
        first: how many these are.
        groups: columns that are looked at together, too.
    """
    count = len(table)
    worth = math.sqrt(1 / first + 1 / (count - first))
    weights = np.where(np.arange(count) < first, 1 / first, -1 / (count - first))
    scores: Floats = np.abs(weights @ table) / worth
    rng = np.random.default_rng(0)
    largest, sums = [], []
    for begin in range(0, SHUFFLES, _AT_ONCE):
        order = rng.random((min(_AT_ONCE, SHUFFLES - begin), count)).argsort(axis=1)
        shuffled = np.abs(weights[order] @ table) / worth
        largest.append(shuffled.max(axis=1))
        sums.append(_sums(shuffled, groups))
    known = np.concatenate(sums)
    mean, spread = known.mean(axis=0), np.maximum(known.std(axis=0), _ROUNDING)
    together = ((known - mean) / spread).max(axis=1, initial=0.0)
    own = (_sums(scores[None], groups)[0] - mean) / spread
    return np.concatenate([scores, own]), np.maximum(np.concatenate(largest), together)


def _sums(scores: Floats, groups: Sequence[Sequence[int]]) -> Floats:
    """Give, for each shuffle and group, the sum of the squares of the group's scores."""
    return np.array([(scores[:, list(group)] ** 2).sum(axis=1) for group in groups]).T.reshape(len(scores), -1)


def _spread(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1))


def _of_other_form(leaf: LeafReport, reference: Draws) -> bool:
    """Tell whether a leaf differs in more than what is drawn; its size may be drawn, too."""
    if leaf.dtypes[0] != leaf.dtypes[1]:
        return True
    sizes = next((each.features.get("size", ()) for each in reference.leaves if each.path == leaf.path), ())
    return bool(leaf.form_reasons) and len(set(sizes)) < 2


def _placed(leaf: LeafReport, found: LeafDistribution | str) -> LeafReport:
    """Put what the distribution says in place of what the values say, which are drawn and need not agree."""
    leaf = replace(leaf, reasons=(), value_reasons=(), vacuous="")
    if isinstance(found, str):
        return replace(leaf, verdict="unjudged", reasons=(f"it is drawn at random, with other numbers: {found}",))
    if found.score > found.limit:
        text = told(found)
        reason = f"drawn at random, {text}" if found.fixed else f"drawn at random, from another distribution: {text}"
        return replace(leaf, verdict="different", reasons=(reason,), draws=found)
    note = f"drawn at random, judged by its distribution, which agrees: {told(found)}"
    if found.shift is not None:
        note += f"; a mean that is off by {found.shift:.2g} would show"
    return replace(leaf, verdict="same", notes=(*leaf.notes, note), draws=found)

"""What makes two loss curves part, where the figures themselves tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from libbench.curves import Step, total

Pair = tuple[Step, Step]
Close = Callable[[int, float, float], bool]

_EVEN = 1e-3
"""A ratio is constant, or a whole number, when it is so within this share."""
_NAMES = ("reference", "target")


def causes(pairs: Sequence[Pair], parts: int | None, close: Close) -> Iterator[str]:
    """Name what is known to make losses part in this way; nothing where they do not part or no cause is certain.

    Args:
        pairs: the steps of both sides on the same data.
        parts: the first step that differs; None for none.
        close: tells for a step, counted from 0, whether two losses agree.
    """
    if parts is None:
        return
    if parts == 0:
        means = [*_mean_of_means(pairs[0], close), *_samples_counted(pairs[0])]
        yield from means or _scaled(pairs)
        return
    yield from _uneven(pairs, parts)
    if parts == 1:
        yield "the losses part with the first update: another gradient, optimizer or learning rate"


def _scaled(pairs: Sequence[Pair]) -> Iterator[str]:
    """Say that the target's losses are the reference's times something, and what that number stands for."""
    ratios = [ratio for pair in pairs if math.isfinite(ratio := _ratio(pair))]
    if not ratios or ratios[0] <= 0:
        return
    first = ratios[0]
    every = len(ratios) > 1 and all(abs(ratio - first) <= _EVEN * first for ratio in ratios)
    meaning = _meaning(first, pairs[0])
    if not every and not meaning:
        return
    what = "every loss of the target is" if every else "before any update, the loss of the target is"
    yield f"{what} {first:.4g} times the reference's" + (f": {meaning}" if meaning else "")


def _meaning(ratio: float, pair: Pair) -> str:
    ranks = [len(step.losses) for step in pair]
    samples = len(pair[0].indices)
    known: dict[float, str] = {count: "the world size" for count in ranks if count > 1}
    known.setdefault(samples, "the number of samples in a step")
    for step, name in zip(pair, _NAMES, strict=True):
        counted = total(each.count for each in step.losses)
        known.setdefault(counted, f"what the {name} counts in a step")
    for count, name in known.items():
        if count > 1 and abs(ratio - count) <= _EVEN * count:
            return f"{count:g} is {name}, so that it is a sum where the reference's is a mean"
        if count > 1 and abs(ratio * count - 1) <= _EVEN:
            return f"{count:g} is {name}, so that it is a mean where the reference's is a sum"
    return ""


def _mean_of_means(pair: Pair, close: Close) -> Iterator[str]:
    """Say that one side has the mean of what the ranks' means are, where ranks do not count the same."""
    for ranked, name, other in ((pair[1], *_NAMES[::-1]), (pair[0], *_NAMES)):
        losses, loss = ranked.losses, pair[0 if name == "target" else 1].loss
        if len(losses) < 2:
            continue
        plain = total(each.mean for each in losses) / len(losses)
        weighed = total(each.mean * each.samples for each in losses) / max(1, sum(each.samples for each in losses))
        counts = ", ".join(f"{each.samples:,}" for each in losses)
        if close(0, loss, plain):
            yield f"the {other}'s loss is the mean of the {name}'s per-rank means, a mean of means"
        elif close(0, loss, weighed):
            yield (
                f"the {name}'s loss is a mean of means: weighed by the ranks' samples ({counts}), "
                f"its per-rank means give the {other}'s loss"
            )


def _samples_counted(pair: Pair) -> Iterator[str]:
    """Say that ranks gave means of which nobody knows what they are means over, where the other side counts it."""
    for ranked, other, names in ((pair[1], pair[0], _NAMES), (pair[0], pair[1], _NAMES[::-1])):
        by_samples = all(each.count == each.samples for each in ranked.losses)
        counted, samples = (total(getattr(each, name) for each in other.losses) for name in ("count", "samples"))
        if len(ranked.losses) > 1 and by_samples and counted != samples:
            yield (
                f"the {names[1]}'s ranks give means, weighed here by their samples, where the {names[0]} counts "
                f"{counted:g} in {samples:g} samples: a mean of means unless all count the same; give (sum, count)"
            )


def _uneven(pairs: Sequence[Pair], parts: int) -> Iterator[str]:
    """Say that the losses part right after the first step whose ranks do not count the same."""
    for side, name in enumerate(_NAMES):
        counts = [[loss.count for loss in pair[side].losses] for pair in pairs[:parts]]
        uneven = [len(set(each)) > 1 for each in counts]
        if uneven and uneven[-1] and not any(uneven[:-1]):
            listed = ", ".join(f"{count:g}" for count in counts[-1])
            yield (
                f"the losses part after step {parts - 1}, the first in which the {name}'s ranks count unevenly "
                f"({listed}): gradients averaged over ranks without their counts, a mean of means, do that"
            )


def _ratio(pair: Pair) -> float:
    reference, target = pair[0].loss, pair[1].loss
    return target / reference if reference else math.nan

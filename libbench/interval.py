"""The interval of a median of values that came one after the other, and how wide those of means are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

LEAST_MEMORY = 0.05
"""Pairs that follow one another are at least so much alike: what a ratio is drifts with what else the machine does."""
MOST_MEMORY = 0.9
"""More cannot be told from so few pairs."""


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Give the order-statistic interval of the median of values in the order of time; None for too few.

    Between two ranks it is interpolated as Hettmansperger and Sheather do (Statistics & Probability Letters 4, 1986),
    so that it covers the median of independent values with `confidence` whatever their distribution is. Its ranks
    then move apart as much as the number of values above the median varies more than that of independent ones:
    by sqrt((1 + r) / (1 - r)), where r is how far a value tells on which side of the median the next one lies. So
    few values show r only roughly; it is never taken to be less than `LEAST_MEMORY`.

    The interval never reaches beyond the least and the largest of the values.
    """
    n = len(values)
    rank = _rank(n, confidence)
    if rank is None:
        return None
    ordered, middle, r = sorted(values), (n + 1) / 2, _memory(values)
    reach = min((middle - rank) * math.sqrt((1 + r) / (1 - r)), middle - 1)
    return _at(ordered, middle - reach), _at(ordered, middle + reach)


def student(freedom: int, confidence: float = 0.95) -> float:
    """Give the t within which Student's distribution lies with this probability, on both sides together.

    By bisection of the probability, which for a whole number of degrees of freedom is a finite sum (Abramowitz and
    Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4).

    Args:
        freedom: degrees of freedom, at least 1; more than 100 are taken for 100, which is a little wider.
        confidence: above 0 and below 1.
    """
    return _quantile(min(freedom, 100), confidence)


@lru_cache(maxsize=1024)
def _quantile(freedom: int, confidence: float) -> float:
    low, high = 0.0, 2.0
    while _within(high, freedom) < confidence:
        low, high = high, 2 * high
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """Give the probability that Student's t lies between -t and t."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, odd = math.cos(angle), freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= cosine**2 * (k - 1) / k
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


@lru_cache(maxsize=1024)
def _rank(n: int, confidence: float) -> float | None:
    """Give the rank from which to the same from above the median of n independent values is covered; None for few.

    The whole ranks k have 1 - 2 P(B < k), B binomial with n and 1/2 (Conover, Practical Nonparametric Statistics, 3rd
    ed., section 3.2).
    """
    outside = (1 - confidence) / 2
    # What lies 12 standard deviations off adds nothing. Logarithms, since 2**n leaves the floats at n = 1024.
    below, k = 0.0, max(0, int(n / 2 - 6 * math.sqrt(n)))
    while (here := math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2))) > 0:
        if below + here > outside:
            break
        below, k = below + here, k + 1
    if k == 0:
        return None
    share = (outside - below) / here
    return k + (n - k) * share / (k + (n - 2 * k) * share)


def _memory(values: Sequence[float]) -> float:
    """Give the correlation of the side of the median on which a value lies with that of the next one."""
    median = statistics.median(values)
    sides = [(value > median) - (value < median) for value in values]
    seen = sum(here * following for here, following in pairwise(sides)) / max(1, sum(map(abs, sides)))
    # That the sides add up to nothing takes as much off as one value in n is worth.
    return min(max(seen + 1 / len(values), LEAST_MEMORY), MOST_MEMORY)


def _at(ordered: Sequence[float], rank: float) -> float:
    """Give the value at a rank from 1, which may lie between two."""
    low = ordered[int(rank) - 1]
    high = ordered[min(int(rank), len(ordered) - 1)]
    return min(high, low + (rank - int(rank)) * (high - low))

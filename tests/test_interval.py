"""The interval of a median: how often it holds the true one."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libbench.interval import median_interval


@pytest.mark.parametrize("n", range(6))
def test_fewer_than_six_values_have_no_interval(n):
    assert median_interval(list(range(n))) is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=3000))
def test_the_interval_holds_the_median_of_its_values(values):
    low, high = median_interval(values)
    ordered = sorted(values)

    assert ordered[0] <= low <= ordered[(len(values) - 1) // 2]
    assert ordered[len(values) // 2] <= high <= ordered[-1]


@pytest.mark.parametrize(
    ("n", "wider", "narrower"),
    [(6, (1, 6), (2, 5)), (12, (3, 10), (4, 9)), (31, (10, 22), (11, 21)), (100, (40, 61), (41, 60))],
)
def test_independent_values_have_ranks_between_those_of_the_published_tables(n, wider, narrower):
    # In this order each value is followed by one from the other half, so that no two neighbours are alike.
    low, high = median_interval([k for pair in zip(range(1, n + 1), range(n, 0, -1), strict=True) for k in pair][:n])

    assert wider[0] <= low < narrower[0]
    assert narrower[1] < high <= wider[1]


def independent(rng):
    return rng.expovariate(1.0) - math.log(2)


def following(memory):
    """Give a draw of which each value is so much like the one before."""
    last = 0.0

    def draw(rng):
        nonlocal last
        last = memory * last + rng.gauss(0, 1)
        return last

    return draw


def cover(draw, n, intervals=1500):
    rng, inside = random.Random(1), 0
    for _ in range(intervals):
        low, high = median_interval([draw(rng) for _ in range(n)])
        inside += low <= 0 <= high
    return inside / intervals


@pytest.mark.parametrize("n", [10, 20, 31, 150])
def test_it_covers_the_true_median_of_independent_values_as_often_as_it_says(n):
    assert 0.94 <= cover(independent, n) <= 0.98


@pytest.mark.parametrize("n", [31, 150])
def test_it_covers_the_true_median_also_where_each_value_is_like_the_one_before(n):
    assert 0.92 <= cover(following(0.2), n) <= 0.97
    assert 0.90 <= cover(following(0.4), n) <= 0.97


@pytest.mark.parametrize("n", [31, 150])
def test_it_covers_the_true_median_more_often_where_each_value_is_unlike_the_one_before(n):
    assert cover(following(-0.3), n) >= 0.96


def test_values_that_come_in_long_stretches_have_a_wider_interval_than_the_same_mixed():
    stretches = sorted(range(60), key=lambda k: (k // 2) % 30 * 2 + k % 2)
    low, high = median_interval(stretches)
    mixed = random.Random(0).sample(stretches, len(stretches))

    assert high - low > 2 * (median_interval(mixed)[1] - median_interval(mixed)[0])


def test_equal_values_have_an_interval_without_width():
    assert median_interval([2.0] * 31) == (2.0, 2.0)


def test_a_lower_confidence_has_a_narrower_interval_around_the_same_median():
    values = [random.Random(3).random() for _ in range(5)] + [k / 50 for k in range(50)]
    low, high = median_interval(values, 0.5)
    wide_low, wide_high = median_interval(values)

    assert wide_low < low <= statistics.median(values) <= high < wide_high

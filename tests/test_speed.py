"""From pairs to a speedup: intervals that cover, verdicts that do not cry wolf."""

import math
import random
from dataclasses import replace

import pytest

from libbench.measured import Measurement, Timing
from libbench.speed import null_arm, speedups, speedups_apart


def pairs(reference, target):
    return Measurement(({"wall": Timing(tuple(reference))}, {"wall": Timing(tuple(target))}), (1, 1), (0, 0), 1.0)


def noisy(ratio, seed, n=50, noise=0.02):
    rng = random.Random(seed)
    drift = [1 + 0.5 * i / n for i in range(n)]
    return pairs(
        [1e-3 * ratio * d * (1 + noise * rng.random()) for d in drift],
        [1e-3 * d * (1 + noise * rng.random()) for d in drift],
    )


def test_a_drift_that_hits_both_sides_alike_leaves_the_ratio_alone():
    (found,) = speedups([noisy(1.0, seed) for seed in range(3)])

    assert found.verdict == "level"
    assert found.ratio == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(("ratio", "verdict"), [(1.8, "faster"), (0.5, "slower")])
def test_a_clear_difference_is_named(ratio, verdict):
    (found,) = speedups([noisy(ratio, seed) for seed in range(3)])

    assert found.verdict == verdict
    assert found.low < ratio < found.high


def test_processes_that_disagree_widen_the_interval_whatever_their_pairs_say():
    (found,) = speedups([noisy(ratio, 0, noise=0.001) for ratio in (0.97, 1.0, 1.06)])

    assert found.verdict == "inconclusive"
    assert found.high - found.low > 0.1


def test_one_process_is_said_to_be_alone_and_gets_no_verdict_for_a_small_difference():
    (found,) = speedups([noisy(1.04, 0, noise=0.001)])

    assert found.verdict == "inconclusive"
    assert "one process" in found.note


def test_too_few_pairs_give_a_ratio_without_an_interval_or_a_verdict():
    (found,) = speedups([noisy(2.0, seed, n=5) for seed in range(3)])

    assert found.ratio == pytest.approx(2.0, rel=0.05)
    assert (found.low, found.high, found.verdict) == (None, None, "inconclusive")
    assert "no interval" in found.note


def test_only_clocks_that_both_sides_have_are_compared():
    both = Measurement(
        ({"wall": Timing((1.0,) * 10), "gpu": Timing((0.5,) * 10)}, {"wall": Timing((1.0,) * 10)}), (1, 1), (0, 0), 1.0
    )

    assert [speedup.clock for speedup in speedups([both, both])] == ["wall"]


def test_nothing_measured_gives_no_speedup():
    assert speedups([]) == ()


def with_null(measured, ratio, pairs=20):
    reference = measured.clocks[0]["wall"].seconds[:pairs]
    return replace(measured, null=(Timing(reference), Timing(tuple(s / ratio for s in reference))))


def test_the_null_arm_is_the_reference_against_its_copy():
    found = null_arm([with_null(noisy(1.5, seed), ratio) for seed, ratio in enumerate((0.99, 1.0, 1.01))])

    assert found.ratio == pytest.approx(1.0)
    assert found.half_width == pytest.approx(4.303 * 0.01 / math.sqrt(3), rel=0.01)
    assert found.pairs == (20, 20, 20)


def test_where_two_copies_of_the_reference_differ_no_speed_verdict_is_given():
    (found,) = speedups([with_null(noisy(1.8, seed), 1.03) for seed in range(3)])

    assert found.verdict == "inconclusive"
    assert "copy of itself came out at 1.030x" in found.note
    assert found.ratio == pytest.approx(1.8, rel=0.02)


def test_too_few_null_pairs_say_nothing():
    assert null_arm([with_null(noisy(1.0, seed), 1.03, pairs=5) for seed in range(3)]) is None
    assert null_arm([noisy(1.0, 0)]) is None
    assert null_arm([]) is None


def test_an_inconclusive_ratio_says_how_many_more_processes_would_decide():
    (found,) = speedups([noisy(ratio, 0, noise=0.001) for ratio in (1.02, 1.05, 1.08)])
    more = [noisy(ratio, 0, noise=0.001) for ratio in (1.02, 1.05, 1.08)] * (1 + math.ceil(found.further / 3))
    (decided,) = speedups(more)

    assert found.verdict == "inconclusive"
    assert decided.verdict == "faster"


def test_a_ratio_on_the_edge_of_the_zone_has_no_end_in_sight():
    (found,) = speedups([noisy(ratio * 1.02, 0, noise=0.0) for ratio in (0.9, 1.0, 1 / 0.9)])

    assert (found.verdict, found.further) == ("inconclusive", None)


def interrupted(wall, cpu, count):
    clocks = [
        {"wall": Timing((w,) * 10), "cpu": Timing((c,) * 10)} for w, c in zip((wall, 1.0), (cpu, 1.0), strict=True)
    ]
    return [Measurement(tuple(clocks), (1, 1), (0, 0), 1.0, interrupted=count) for _ in range(3)]


@pytest.mark.parametrize(
    ("wall", "cpu", "count", "verdict"),
    [
        (4.0, 1.8, 9, "inconclusive"),  # the longer calls of the reference had to wait for others
        (4.0, 1.8, 2, "faster"),  # more threads, say, and few interruptions
        (1.8, 1.8, 9, "faster"),
    ],
)
def test_waiting_for_the_processor_is_no_speedup(wall, cpu, count, verdict):
    by_clock = {each.clock: each for each in speedups(interrupted(wall, cpu, count))}

    assert by_clock["wall"].verdict == verdict
    assert by_clock["wall"].ratio == pytest.approx(wall)
    assert by_clock["cpu"].verdict == "faster"
    assert ("by the time on processors it is 1.8x" in by_clock["wall"].note) == (verdict == "inconclusive")


def test_a_clock_that_stood_still_has_no_speedup():
    still = replace(noisy(1.0, 0), clocks=({"cpu": Timing((0.0,) * 10)}, {"cpu": Timing((1.0,) * 10)}))

    assert speedups([still]) == ()


def processes(*medians, clock="wall"):
    return [{clock: Timing((0.9 * median, median, 1.1 * median))} for median in medians]


@pytest.mark.parametrize(
    ("target", "verdict"),
    [(0.5, "faster"), (0.8, "inconclusive"), (1.0, "inconclusive"), (1.3, "inconclusive"), (2.0, "slower")],
)
def test_sides_timed_apart_get_a_verdict_only_far_from_level(target, verdict):
    (found,) = speedups_apart(processes(1.0, 1.01, 0.99), processes(*(target * x for x in (1.0, 1.02, 0.99))))

    assert found.ratio == pytest.approx(1 / target)
    assert found.low < found.ratio < found.high
    assert (found.verdict, found.pairs) == (verdict, ())
    assert "not alternated with the reference" in found.note


def test_the_interval_of_sides_timed_apart_is_welchs():
    reference, target = processes(1.0, 1.1, 1.2), processes(0.5, 0.6, 0.55, 0.58)

    (found,) = speedups_apart(reference, target)

    # From scipy.stats.ttest_ind of the logs with equal_var=False, which has 4.053 degrees of freedom, not 4.
    assert (found.low, found.high) == pytest.approx((1.64368, 2.36652), rel=2e-3)
    assert found.low < 1.64368 < 2.36652 < found.high


def test_unlike_sides_get_a_ratio_and_no_verdict():
    (found,) = speedups_apart(processes(1.0, 1.0), processes(0.1, 0.1), unlike="threads")

    assert (found.ratio, found.verdict) == (pytest.approx(10), "inconclusive")
    assert "no verdict: threads differs" in found.note


def test_one_process_timed_apart_has_no_interval():
    (found,) = speedups_apart(processes(1.0), processes(0.1, 0.1))

    assert (found.low, found.high, found.verdict) == (None, None, "inconclusive")
    assert "fewer than 2 processes" in found.note


def test_only_clocks_of_all_processes_are_compared_apart():
    both = [{"wall": Timing((1.0,)), "gpu": Timing((1.0,))}] * 2

    assert [each.clock for each in speedups_apart(both, processes(1.0, 1.0, clock="gpu"))] == ["gpu"]
    assert speedups_apart([], both) == ()

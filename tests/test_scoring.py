"""S(t) and ES(t): by hand, by both ways, and what they do at their edges."""

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from libbench.scores import LEVELS, TOLERATED, WEIGHTS, Sample, Scoring
from libbench.scoring import closed_es, closed_s, score, score_runs

GRID = range(-10, 6)


def passing(lowest, speedup=1.0, name="a", **more):
    """Give a sample that passes from a level on, or from none."""
    passes = tuple(t for t in GRID if t >= lowest)
    error = None if 1 in passes else "accuracy"
    return Sample(name=name, passes=passes, speedup=speedup, **{"error": error, **more})


def failing(error, **more):
    return Sample(name="a", error=error, **more)


@st.composite
def any_sample(draw):
    passes = tuple(draw(st.sets(st.sampled_from(GRID))))  # a log from elsewhere may pass in no order
    error = None if 1 in passes else draw(st.sampled_from(sorted(TOLERATED["default"])))
    speedup = draw(st.none() | st.floats(0.01, 100))
    return Sample(name="a", passes=passes if error in (None, "accuracy") else (), error=error, speedup=speedup)


settings_of_any_kind = st.builds(
    Scoring,
    penalty=st.floats(0.01, 1),
    power=st.floats(0, 3),
    errors=st.sampled_from(sorted(LEVELS)),
    draws=st.just(0),
)


@given(st.lists(any_sample(), max_size=12), settings_of_any_kind)
def test_both_ways_agree_at_every_level(samples, how):
    found = score(samples, how)

    assert [point.level for point in found.points] == list(LEVELS[how.errors])
    for point in found.points:
        assert point.s == pytest.approx(closed_s(point, how), rel=1e-9)
        assert point.es == pytest.approx(closed_es(found, point.level, how), rel=1e-9)


@given(st.lists(any_sample(), min_size=1, max_size=12), settings_of_any_kind)
@settings(max_examples=30)
def test_the_aggregate_is_the_weighted_mean_of_the_logarithms_of_es(samples, how):
    found = score(samples, how)

    total = sum(WEIGHTS.values())
    wanted = sum(WEIGHTS.get(p.level, 0.0) / total * math.log10(p.es) for p in found.points)
    assert found.aggregate == pytest.approx(wanted, abs=1e-9)


@given(st.lists(any_sample(), min_size=1, max_size=8), settings_of_any_kind)
@settings(max_examples=30)
def test_es_never_falls_from_level_1_on_and_is_s_below_it(samples, how):
    points = score(samples, how).points

    assert all(point.es == point.s for point in points if point.level < 1)
    after = [point.es for point in points if point.level >= 1]
    assert all(one <= two * (1 + 1e-12) for one, two in pairwise(after))


def test_three_samples_by_hand():
    samples = [passing(-10, 2.0), passing(-5, 0.5), failing("compile", speedup=None)]

    found = score(samples, Scoring(power=1.0))

    assert found.at(-6).s == pytest.approx((2.0 * 0.1 * 0.1) ** (1 / 3))
    assert found.at(-5).s == pytest.approx((2.0 * 0.25 * 0.1) ** (1 / 3))
    assert found.at(-5).es == found.at(-5).s
    assert found.at(2).es == pytest.approx((2.0 * 0.25 * 0.1) ** (1 / 3))
    assert found.at(3).es == pytest.approx((2.0 * 0.25 * 1.0) ** (1 / 3))
    point = found.at(-5)
    assert (point.passing, point.alpha, point.beta) == (2, pytest.approx(1.0), pytest.approx(0.5))
    assert (point.share, point.slow) == (pytest.approx(2 / 3), 0.5)
    assert found.errors == {"compile": 1}


@pytest.mark.parametrize(
    ("errors", "error", "first"),
    [
        ("default", "accuracy", 1),
        ("default", "nan", 3),
        ("default", "compile", 3),
        ("default", "reference", 3),
        ("mismatch_extended", "accuracy", 1),
        ("mismatch_extended", "nan", 2),
        ("mismatch_extended", "inf", 2),
        ("mismatch_extended", "type", 2),
        ("mismatch_extended", "shape", 2),
        ("mismatch_extended", "runtime", 3),
        ("mismatch_extended", "compile", 4),
        ("mismatch_extended", "reference", None),
    ],
)
def test_an_error_counts_as_1_from_the_level_that_tolerates_it(errors, error, first):
    found = score([failing(error)], Scoring(errors=errors))

    for point in found.points:
        assert point.s == pytest.approx(0.1)
        assert point.es == pytest.approx(1.0 if first is not None and point.level >= first else 0.1)


def test_from_level_1_on_es_takes_what_passed_there():
    found = score([passing(3, 2.0)])

    assert found.at(3).s == pytest.approx(2.0)
    assert found.at(3).es == pytest.approx(1.0)


def test_ten_times_as_fast_at_all_levels_is_an_aggregate_of_1():
    assert score([passing(-10, 10.0)] * 3).aggregate == pytest.approx(1.0)
    assert score([failing("reference")], Scoring(errors="mismatch_extended")).aggregate == pytest.approx(-1.0)


def test_nothing_at_all_is_1():
    found = score([])

    assert all((p.s, p.es, p.alpha, p.beta) == (1, 1, 1, 1) for p in found.points)
    assert (found.aggregate, found.interval, found.samples) == (0.0, None, 0)


def test_a_sample_without_a_speedup_counts_as_1_and_is_counted():
    found = score([passing(-10, None), passing(-10, 4.0, speed="faster", interval=True)])

    assert found.at(-10).s == pytest.approx(2.0)
    assert found.untimed == 1


def test_speedups_that_are_not_decided_are_counted():
    samples = [
        passing(-10, 1.1, speed="inconclusive"),
        passing(-10, 1.1, speed="inconclusive", interval=True),
        passing(-10, 1.1, speed="level", interval=True),
        passing(-10, 1.1),
    ]

    found = score(samples)

    assert (found.inconclusive, found.no_interval, found.unsaid, found.untimed) == (2, 1, 1, 0)


def test_an_interval_holds_its_score_and_is_the_same_for_the_same_seed():
    samples = [passing(-10 + i % 9, 0.5 + i / 10, name=str(i)) for i in range(30)]

    found = score(samples)

    assert found.interval[0] < found.aggregate < found.interval[1]
    assert all(p.s_interval[0] < p.s < p.s_interval[1] for p in found.points)
    assert all(p.es_interval[0] < p.es < p.es_interval[1] for p in found.points)
    assert score(samples).interval == found.interval
    assert score(samples, Scoring(seed=1)).interval != found.interval


def test_an_interval_covers_the_truth_about_as_often_as_it_says():
    chance = random.Random(5)
    covered = 0
    for _ in range(100):
        samples = [passing(-10, math.exp(chance.gauss(0.3, 0.5))) for _ in range(40)]
        low, high = score(samples, Scoring(draws=400)).interval
        covered += low <= 0.3 / math.log(10) <= high

    assert 0.88 <= covered / 100 <= 0.99


def test_one_sample_has_no_interval():
    assert score([passing(-10)]).interval is None
    assert score([passing(-10)]).at(-10).s_interval is None
    assert score([passing(-10)] * 2, Scoring(draws=0)).interval is None


def test_judged_samples_are_scored_beside_all_of_them_or_alone():
    samples = [
        passing(-10, 2.0),
        passing(-10, 8.0, doubt="vacuous"),
        passing(-10, 8.0, doubt="stochastic", category="x"),
        failing("reference", doubt="reference"),
    ]

    (run,) = score_runs([("a", "a.jsonl", samples)]).runs
    alone = score_runs([("a", "a.jsonl", samples)], Scoring(judged=True))

    assert (run.all.samples, run.judged.samples) == (4, 1)
    assert run.judged.at(-5).s == pytest.approx(2.0)
    assert run.doubts == {"vacuous": 1, "stochastic": 1, "reference": 1}
    assert set(run.categories) == {"", "x"}
    assert alone.counted(alone.runs[0]).samples == 1
    assert alone.runs[0].categories == {}


def test_a_run_is_set_beside_the_first_one_by_the_samples_of_both():
    first = [passing(-10, 1.0 + i, name=str(i)) for i in range(10)]
    second = [passing(-10, 1.2 * (1.0 + i), name=str(i)) for i in range(1, 12)]

    one, two = score_runs([("a", "a", first), ("b", "b", second)]).runs

    assert one.beside is None
    assert two.beside.samples == 9
    # 1.2 times as fast sample by sample, which the intervals of both runs alone do not tell.
    assert two.beside.aggregate == pytest.approx(math.log10(1.2))
    assert two.beside.interval == (pytest.approx(math.log10(1.2)), pytest.approx(math.log10(1.2)))
    assert one.all.interval[1] > two.all.interval[0]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"penalty": 0.0}, "penalty must be above 0 and at most 1, got 0.0"),
        ({"penalty": 1.5}, "penalty must be above 0"),
        ({"power": -1.0}, "power must be a finite number of at least 0"),
        ({"errors": "strict"}, "errors must be one of default, mismatch_extended, got 'strict'"),
        ({"seed": -1}, "seed and draws must be at least 0"),
    ],
)
def test_settings_out_of_range_are_refused(wrong, text):
    with pytest.raises(ValueError, match=text):
        Scoring(**wrong)


def test_a_sample_that_contradicts_itself_is_refused():
    with pytest.raises(ValueError, match="wanted an error for what does not pass at level 1"):
        Sample(name="a", passes=(-10,))
    with pytest.raises(ValueError, match="wanted an error"):
        Sample(name="a", passes=(1,), error="nan")
    with pytest.raises(ValueError, match="must be a finite number above 0, got 0"):
        passing(-10, 0.0)

"""The timed rounds, on sides whose time is made up."""

import gc
import random
import time
from types import SimpleNamespace

import pytest

from libbench.measure import LEAST_PAIRS, MOST_PAIRS, NULL_PAIRS, REDRAWN, ROUND, Trial, measure
from libbench.settings import Timer


class Fake:
    """A side that says how long its calls took; the first ones are slow, and some trials are interrupted."""

    def __init__(self, seconds, log=None, slow_calls=0, noise=0.0, name="", interrupted=lambda trial: 0):
        self.seconds, self.slow_calls, self.noise, self.name = seconds, slow_calls, noise, name
        self.trials, self.log, self.rng = [], [] if log is None else log, random.Random(0)
        self.interrupted = interrupted
        self.collector, self.turns, self.kept = set(), [], []

    def refresh(self, number):
        self.turns.append(number)

    def trial(self, first, inner, *, keep=False):
        self.trials.append((first, inner))
        self.log.append(self.name)
        self.collector.add(gc.isenabled())
        if keep:
            self.kept.append(len(self.trials))
        slow = 1 + max(0, self.slow_calls - len(self.trials))
        wall = inner * self.seconds * slow * (1 + self.noise * self.rng.random())
        return Trial({"wall": wall}, self.interrupted(len(self.trials)))


def run(*sides, seed=0, copy=None, **timer):
    return measure(sides, Timer(**timer), random.Random(seed), lambda done, total: None, copy=copy)


def test_seconds_are_those_of_one_call_whatever_the_inner_count():
    measured = run(Fake(5e-5), Fake(5e-3))

    assert measured.inner == (4, 1)
    assert measured.clocks[0]["wall"].median == pytest.approx(5e-5)
    assert measured.clocks[1]["wall"].median == 5e-3


def test_the_sides_alternate_pair_by_pair_in_an_order_drawn_at_random():
    log = []
    run(Fake(1e-3, log, name="a"), Fake(1e-3, log, name="b"), pairs=40, warmup=0)

    pairs = [tuple(log[i : i + 2]) for i in range(len(log) - 80, len(log), 2)]

    assert set(pairs) == {("a", "b"), ("b", "a")}


def test_both_sides_of_a_pair_get_the_same_input():
    a, b = Fake(1e-3), Fake(2e-3)
    run(a, b, pairs=20, warmup=3)

    assert [number for number, _ in a.trials[-20:]] == [number for number, _ in b.trials[-20:]] == list(range(20))


def test_the_warm_up_lasts_until_slow_first_calls_are_behind():
    measured = run(Fake(1e-3, slow_calls=15))

    assert measured.warmup[0] >= 15
    assert max(measured.clocks[0]["wall"].seconds) == pytest.approx(1e-3)


def test_it_stops_when_the_interval_is_narrow_enough():
    quiet, loud = run(Fake(1e-3, noise=0.001)), run(Fake(1e-3, noise=20.0))

    assert len(quiet.clocks[0]["wall"].seconds) < len(loud.clocks[0]["wall"].seconds)
    assert len(loud.clocks[0]["wall"].seconds) == MOST_PAIRS


def test_a_used_up_budget_ends_it_as_soon_as_there_are_pairs_for_an_interval():
    measured = run(Fake(1e-3, noise=0.5), budget=1e-9)

    assert 1 <= len(measured.clocks[0]["wall"].seconds) <= LEAST_PAIRS


def test_as_many_pairs_are_made_as_were_asked_for():
    assert len(run(Fake(1e-3), pairs=7).clocks[0]["wall"].seconds) == 7


@pytest.fixture
def by_the_clock(monkeypatch):
    """Make a side whose calls move the clock on by as long as they take, and nothing else does."""
    now = [0.0]

    class Real(Fake):
        def trial(self, first, inner, *, keep=False):
            found = super().trial(first, inner, keep=keep)
            now[0] += found.clocks["wall"]
            return found

    monkeypatch.setattr("libbench.measure.time", SimpleNamespace(perf_counter=lambda: now[0]))
    return Real


@pytest.mark.parametrize(("seconds", "fewest", "most"), [(0.01, 90, 101), (0.1, 20, 20), (0.5, 5, 7), (9.0, 1, 1)])
def test_at_least_so_many_pairs_are_made_unless_they_pass_the_budget_three_times_over(
    by_the_clock, seconds, fewest, most
):
    measured = run(by_the_clock(seconds, noise=0.1), budget=1.0, precision=1e-9, least=20, warmup=1)

    assert fewest <= len(measured.clocks[0]["wall"].seconds) <= most


def test_a_warm_up_of_so_many_calls_ends_with_a_quarter_of_the_budget(by_the_clock):
    assert run(by_the_clock(1.0), budget=4.0, warmup=5).warmup == (2,)
    assert run(by_the_clock(0.1), budget=4.0, warmup=5).warmup == (5,)


def test_the_garbage_collector_rests_while_calls_are_timed_and_then_goes_on():
    side = Fake(1e-3)
    assert gc.isenabled()

    run(side)

    assert side.collector == {False}
    assert gc.isenabled()


def test_what_was_frozen_before_the_timing_stays_frozen():
    run(Fake(1e-3), pairs=1)
    assert gc.get_freeze_count() == 0

    gc.freeze()
    try:
        run(Fake(1e-3), pairs=1)
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_a_trial_is_filled_with_calls_but_not_beyond_a_millisecond():
    measured = measure(
        (Fake(3e-4), Fake(9e-3)), Timer(pairs=1), random.Random(0), lambda done, total: None, shortest=5e-3
    )

    assert measured.inner == (3, 1)


def test_inputs_that_are_not_alike_are_called_as_often_by_both_sides():
    sides = Fake(5e-5), Fake(5e-4)
    measured = measure(sides, Timer(pairs=20, warmup=6), random.Random(0), lambda done, total: None, alike=False)

    assert measured.inner == (4, 4)
    assert [first for first, _ in sides[0].trials] == [first for first, _ in sides[1].trials]


def test_a_trial_is_longer_where_much_goes_by_around_it():
    class Slow(Fake):
        def trial(self, first, inner, *, keep=False):
            time.sleep(4e-4)
            return super().trial(first, inner, keep=keep)

    side = Slow(5e-5)

    assert run(side, pairs=1).inner == (20,)


def test_a_device_may_ask_for_one_call_at_a_time():
    measured = measure((Fake(1e-6),), Timer(pairs=1), random.Random(0), lambda done, total: None, most_calls=1)

    assert measured.inner == (1,)


def test_a_pair_with_an_interrupted_trial_is_measured_again():
    side = Fake(1e-3, interrupted=lambda trial: trial in (3, 6))
    measured = run(side, Fake(1e-3), pairs=10, warmup=1)

    assert (measured.redrawn, measured.interrupted) == (2, 0)
    assert len(measured.clocks[0]["wall"].seconds) == 10
    assert len(side.trials) == 1 + 10 + 2


def test_a_pair_that_is_interrupted_again_and_again_is_kept_and_counted():
    measured = run(Fake(1e-3, interrupted=lambda trial: 1), Fake(1e-3), pairs=5, warmup=1)

    assert measured.interrupted == 5
    assert 0 < measured.redrawn <= 5


def test_a_pair_of_long_trials_is_kept_though_it_was_interrupted():
    measured = run(Fake(1e-3), Fake(2 * REDRAWN, interrupted=lambda trial: 1), pairs=5, warmup=1)

    assert (measured.redrawn, measured.interrupted) == (0, 5)


def test_a_pair_that_is_measured_again_has_another_input():
    side = Fake(1e-3, interrupted=lambda trial: trial % 2)
    run(side, pairs=20, warmup=1)
    numbers = [number for number, _ in side.trials[1:]]

    assert numbers == sorted(set(numbers))


def test_the_null_arm_stands_before_and_after_the_rounds():
    log = []
    measured = run(
        Fake(1e-3, log, name="a"), Fake(2e-3, log, name="b"), copy=Fake(1e-3, log, name="c"), pairs=30, warmup=1
    )
    rounds = log[3:]

    assert [len(side.seconds) for side in measured.null] == [NULL_PAIRS, NULL_PAIRS]
    assert set(rounds[:20]) == set(rounds[-20:]) == {"a", "c"}
    assert set(rounds[20:-20]) == {"a", "b"}
    assert len(measured.clocks[0]["wall"].seconds) == 30


def test_the_null_arm_takes_no_more_than_its_share_of_the_budget():
    class Slow(Fake):
        def trial(self, number, inner, *, keep=False):
            time.sleep(0.01)
            return super().trial(number, inner, keep=keep)

    measured = run(Slow(1e-2), Slow(1e-2), copy=Slow(1e-2), budget=0.4, warmup=1)

    assert 2 <= len(measured.null[0].seconds) <= 6


def test_inputs_change_from_round_to_round_on_all_sides_alike():
    a, b = Fake(1e-3), Fake(1e-3)
    run(a, b, pairs=3 * ROUND, warmup=1)

    assert a.turns == b.turns == [0, 0, 1, 2]


def test_the_outputs_of_one_round_are_kept_last_and_every_round_may_be_the_one():
    last = []
    # Each run collects garbage; what other tests have left would be gone through every time.
    gc.collect()
    gc.freeze()
    try:
        for seed in range(100):
            a, b = Fake(1e-3), Fake(1e-3)
            run(a, b, pairs=4 * ROUND, warmup=1, seed=seed)
            assert a.kept == b.kept
            assert len(a.kept) % ROUND == 0
            last.append((a.kept[-1] - 2) // ROUND)
    finally:
        gc.unfreeze()

    assert {round_number: last.count(round_number) > 10 for round_number in range(4)} == dict.fromkeys(range(4), True)

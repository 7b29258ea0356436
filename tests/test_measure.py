"""The timed rounds, on sides whose time is made up."""

import gc
import random

import pytest

from libbench.measure import LEAST_PAIRS, MOST_PAIRS, measure
from libbench.settings import Timer


class Fake:
    """A side that says how long its calls took; the first ones are slow."""

    def __init__(self, seconds, log=None, slow_calls=0, noise=0.0, name=""):
        self.seconds, self.slow_calls, self.noise, self.name = seconds, slow_calls, noise, name
        self.trials, self.log, self.rng = [], [] if log is None else log, random.Random(0)
        self.collector = set()

    def trial(self, number, inner):
        self.trials.append((number, inner))
        self.log.append(self.name)
        self.collector.add(gc.isenabled())
        slow = 1 + max(0, self.slow_calls - len(self.trials))
        return {"wall": inner * self.seconds * slow * (1 + self.noise * self.rng.random())}


def run(*sides, seed=0, **timer):
    return measure(sides, Timer(**timer), random.Random(seed), lambda done, total: None)


def test_seconds_are_those_of_one_call_whatever_the_inner_count():
    measured = run(Fake(1e-5), Fake(5e-3))

    assert measured.inner == (20, 1)
    assert measured.clocks[0]["wall"].median == pytest.approx(1e-5)
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


def test_the_garbage_collector_rests_while_calls_are_timed_and_then_goes_on():
    side = Fake(1e-3)
    assert gc.isenabled()

    run(side)

    assert side.collector == {False}
    assert gc.isenabled()

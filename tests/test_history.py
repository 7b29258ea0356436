"""The same pair over time: what counts as a regression, and how seldom it is a false one."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_records import comparison, different_leaf, failed, leaf, outputs, side

from libbench.entry import Entry
from libbench.history import Rule, history
from libbench.measured import Measurement, Timing
from libbench.report.entries import pair_entry, side_entry
from libbench.result import Failure
from libbench.speed import null_arm, speedups

STEADY = (1.80, 1.81, 1.79, 1.80, 1.82)
"""Speedups in five processes of one run."""
SHAKY = (1.5, 2.1, 1.9, 1.6, 1.8)


def timed(ratios, null=1.0):
    """Give the measurements of a run: in each process 8 pairs of this ratio."""
    both = [(Timing((1e-3 * r,) * 8), Timing((1e-3,) * 8), Timing((1e-3 * null,) * 8)) for r in ratios]
    return tuple(Measurement(({"wall": r}, {"wall": t}), (1, 1), (5, 5), 1.0, null=(copy, t)) for r, t, copy in both)


def run(day, ratios=STEADY, null=1.0, environment=None, **more):
    """Give what a history keeps of a run on this day."""
    found = timed(ratios, null)
    known = {"measurements": found, "speedups": speedups(found), "null": null_arm(found), **more}
    made = comparison(**known, began=86_400.0 * day)
    if environment:
        both = [replace(s, environment={**s.environment, **environment}) for s in (made.reference, made.target)]
        made = replace(made, reference=both[0], target=both[1])
    return pair_entry(made, f"{day}.json")


def scaled(factor, ratios=STEADY):
    return tuple(ratio * factor for ratio in ratios)


def only(found):
    (trend,) = found.trends
    return trend


def test_a_slowdown_by_a_tenth_is_a_regression_whatever_the_machine_does_to_both_sides():
    trend = only(found := history([run(1), run(2, scaled(0.9))]))

    assert (found.exit_code, trend.speed.verdict, trend.outcome.verdict) == (1, "slower", "alike")
    assert trend.speed.ratio == pytest.approx(0.9)
    assert trend.speed.low < 0.9 < trend.speed.high < 0.98


@pytest.mark.parametrize(
    ("ratios", "verdict", "strict"),
    [(STEADY, "level", 0), (scaled(1.2), "faster", 0), (SHAKY, "inconclusive", 2), (scaled(0.99), "inconclusive", 2)],
)
def test_what_is_not_slower_breaks_nothing_and_what_is_open_only_on_request(ratios, verdict, strict):
    runs = [run(1), run(2, ratios)]

    assert only(history(runs)).speed.verdict == verdict
    assert history(runs).exit_code == 0
    assert history(runs, Rule(strict=True)).exit_code == strict


def test_the_interval_is_welchs_of_both_runs_processes():
    before, after = run(1, (math.e**0.1, math.e**0.3)), run(2, (math.e**0.2, math.e**0.4, math.e**0.6))

    speed = only(history([before, after])).speed

    # Means 0.2 and 0.4, variances 0.02 / 2 and 0.04 / 3; Satterthwaite's degrees 2.88, taken for 2; t(0.99, 2) 6.9646.
    assert speed.confidence == 0.98
    assert math.log(speed.low) == pytest.approx(0.2 - 6.9646 * math.sqrt(0.02 / 2 + 0.04 / 3), abs=1e-4)
    assert math.log(speed.high) == pytest.approx(0.2 + 6.9646 * math.sqrt(0.02 / 2 + 0.04 / 3), abs=1e-4)
    assert speed.ratio == pytest.approx(math.e**0.2)


def steady_entry(rng, pair, day, noise, change=0.0):
    logs = tuple(math.log(1.8) + change + rng.gauss(0, noise) for _ in range(5))
    return Entry(str(pair), str(pair), f"{day}.json", float(day), "same", "-", True, logs=logs, ratio=1.8)


@pytest.mark.parametrize(("pairs", "noise"), [(1, 0.01), (1, 0.2), (20, 0.02), (20, 0.2)])
def test_of_histories_in_which_nothing_has_changed_one_in_a_hundred_is_a_regression_at_most(pairs, noise):
    rng, runs = random.Random(5), 1000 if pairs == 1 else 100

    found = [history([steady_entry(rng, p, day, noise) for p in range(pairs) for day in (1, 2)]) for _ in range(runs)]

    # Of a rate of 1 %, more come out in one such test of ten thousand.
    assert sum(each.exit_code == 1 for each in found) <= (22 if pairs == 1 else 6)


@pytest.mark.parametrize(("pairs", "noise", "least"), [(1, 0.01, 0.99), (1, 0.02, 0.9), (20, 0.01, 0.95)])
def test_a_slowdown_by_a_tenth_is_found_in_the_noise_of_five_processes(pairs, noise, least):
    rng, slower, found = random.Random(7), math.log(0.9), 0
    for _ in range(100):
        runs = [steady_entry(rng, p, day, noise) for p in range(pairs) for day in (1, 2)]
        found += history([*runs[:-1], steady_entry(rng, pairs - 1, 2, noise, slower)]).trends[-1].worse

    assert found >= 100 * least


@pytest.mark.parametrize(
    ("before", "after", "verdict", "code"),
    [
        ({}, {"outputs": outputs(different_leaf())}, "worse", 1),
        ({"outputs": outputs(different_leaf())}, {}, "better", 0),
        ({"outputs": outputs(different_leaf())}, {"outputs": outputs(different_leaf())}, "alike", 0),
        ({"outputs": outputs(leaf(level=-6.7))}, {"outputs": outputs(leaf(level=-5.6))}, "worse", 1),
        ({"outputs": outputs(leaf(level=-6.7))}, {"outputs": outputs(leaf(level=-5.8))}, "alike", 0),
        ({"outputs": outputs(leaf(level=-math.inf))}, {"outputs": outputs(leaf(level=-6.9))}, "worse", 1),
        ({"outputs": outputs(leaf(level=-6.9))}, {"outputs": outputs(leaf(level=-math.inf))}, "alike", 0),
        ({"outputs": outputs(leaf(level=-6.9))}, {"outputs": outputs(leaf("others", level=3.0))}, "alike", 0),
        ({}, {"complete": False}, "unjudged", 2),
        ({"complete": False}, {}, "unjudged", 2),
        ({}, {"min_speedup": 3.0}, "worse", 1),
    ],
)
def test_an_outcome_is_judged_by_the_one_before(before, after, verdict, code):
    found = history([run(1, **before), run(2, **after)])

    assert (only(found).outcome.verdict, found.exit_code) == (verdict, code)


def test_a_target_that_fails_now_is_a_regression_and_one_that_failed_before_is_none():
    broken = pair_entry(failed(began=86_400.0 * 2), "2.json")
    runs = [run(1), broken, replace(broken, began=86_400.0 * 3)]

    assert only(history(runs[:2])).outcome.text == "same -> FAILED"
    assert history(runs[:2]).exit_code == 1
    assert history(runs).exit_code == 0
    assert history(runs, baseline="first").exit_code == 1


def test_how_much_worse_t_star_may_get_can_be_said():
    runs = [run(1, outputs=outputs(leaf(level=-6.7))), run(2, outputs=outputs(leaf(level=-5.6)))]

    assert only(history(runs)).outcome.text == "t* of logits -6.70 -> -5.60"
    assert history(runs, Rule(levels=2.0)).exit_code == 0


def test_a_regression_outweighs_what_could_not_be_judged():
    other = replace(run(1), known_by="other"), replace(run(2, complete=False), known_by="other")

    assert history([run(1), run(2), *other]).exit_code == 2
    assert history([run(1), run(2, scaled(0.8)), *other]).exit_code == 1


@given(st.permutations([*range(5), 2, 4]))
def test_runs_are_told_apart_and_ordered_by_when_they_began(order):
    runs = [run(day) for day in range(1, 5)] + [run(5, scaled(0.8))]

    trend = only(history([runs[i] for i in order]))

    assert trend.entries == tuple(runs)
    assert trend.speed.baseline is runs[3]


def test_one_run_is_no_comparison_and_a_new_pair_breaks_nothing():
    new = replace(run(3), known_by="new")

    assert history([run(1)]).exit_code == 2
    assert only(history([run(1)])).outcome.verdict == "new"
    assert history([run(1), run(2), new]).exit_code == 0
    assert history([run(1), run(2), new], Rule(strict=True)).exit_code == 2


def test_a_slow_creep_is_seen_from_the_first_run_and_from_a_baseline_of_its_own():
    runs = [run(day, scaled(0.97**day)) for day in range(5)]

    assert history(runs).exit_code == 0
    assert history(runs, baseline="first").exit_code == 1
    assert history(runs[1:], baseline=[runs[0]]).exit_code == 1
    assert history(runs, baseline=runs[:4]).exit_code == 0
    assert history(runs, baseline=[replace(runs[0], known_by="other")]).exit_code == 2


def test_a_change_that_is_allowed_is_none():
    assert history([run(1), run(2, scaled(0.95))]).exit_code == 1
    assert history([run(1), run(2, scaled(0.95))], Rule(zone=0.1)).exit_code == 0


def test_no_speed_is_judged_from_one_machine_to_another_unless_asked_for_and_then_it_is_said():
    moved = [run(1), run(2, scaled(0.8), environment={"machine": "another", "processor": "EPYC"})]

    speed = only(history(moved)).speed
    asked = only(history(moved, Rule(across=True))).speed

    assert (speed.verdict, speed.note) == ("inconclusive", "no verdict: machine, processor differ")
    assert [(each.name, each.target) for each in speed.unlike] == [("machine", "another"), ("processor", "EPYC")]
    assert (asked.verdict, asked.note) == ("slower", "judged from one machine to another: other machine, processor")


def test_runs_on_another_machine_are_passed_over_where_there_is_one_on_this():
    trend = only(history([run(1), run(2, environment={"machine": "another"}), run(3, scaled(0.8))]))

    assert (trend.speed.verdict, trend.speed.baseline.source) == ("slower", "1.json")
    assert trend.outcome.baseline.source == "2.json"


@pytest.mark.parametrize("name", ["threads", "inputs"])
def test_other_threads_and_other_inputs_hinder_a_verdict_even_where_machines_may_differ(name):
    change = {"inputs": "another"} if name == "inputs" else {"environment": {"threads": 2}}

    speed = only(history([run(1), run(2, scaled(0.8), **change)], Rule(across=True))).speed

    assert (speed.verdict, speed.note) == ("inconclusive", f"no verdict: {name} differs")


def test_another_torch_is_named_and_judged():
    speed = only(history([run(1), run(2, scaled(0.8), environment={"torch": "3.0"})])).speed

    assert (speed.verdict, [(u.name, u.reference, u.target) for u in speed.unlike]) == (
        "slower",
        [("torch", "2.7.0", "3.0")],
    )


def test_a_run_that_gave_no_verdict_for_its_own_noise_is_no_ground_for_one():
    noisy = run(2, scaled(0.8), null=1.1)

    now, before = only(history([run(1), noisy])).speed, only(history([noisy, run(3)])).speed

    assert (now.verdict, before.verdict) == ("inconclusive", "inconclusive")
    assert "no verdict: now: the reference against a copy of itself came out at 1.100x" in now.note
    assert before.note.startswith("no verdict: before: the reference")
    assert only(history([run(1), noisy, run(3)])).speed.baseline.source == "1.json"


def test_one_process_has_no_interval_from_run_to_run():
    speed = only(history([run(1), run(2, (1.2,))])).speed

    assert (speed.verdict, speed.low, speed.note) == (
        "inconclusive",
        None,
        "no interval: fewer than 2 processes in a run",
    )


def test_a_pair_that_is_not_run_any_more_is_judged_unless_only_others_are_asked_for():
    gone = [replace(run(day, scaled(1 - day / 5)), known_by="gone") for day in (1, 2)]
    runs = [run(day) for day in (1, 2, 3)]

    assert history([*gone, *runs]).exit_code == 1
    assert history([*gone, *runs], only=runs[-1:]).exit_code == 0
    assert len(history([*gone, *runs], only=runs[-1:]).trends) == 1
    assert history([*gone, *runs], only=gone).exit_code == 1


def test_runs_of_other_configs_are_one_pair_by_name_only_on_request():
    runs = [run(1), replace(run(2, scaled(0.8)), known_by="edited")]

    assert [trend.outcome.verdict for trend in history(runs).trends] == ["new", "new"]
    assert only(history(runs, by="name")).worse


def own(day, seconds, **more):
    """Give a run of one side by itself, in three processes."""
    timings = tuple({"wall": Timing((each,) * 5)} for each in (seconds, seconds * 1.01, seconds * 0.99))
    return side_entry(side(timings=timings, began=86_400.0 * day, **more), f"{day}.json")


@pytest.mark.parametrize(("seconds", "verdict"), [(1.2e-3, "inconclusive"), (2e-3, "slower"), (5e-4, "faster")])
def test_the_times_of_one_side_drift_so_that_only_a_large_change_is_called_one(seconds, verdict):
    speed = only(history([own(1, 1e-3), own(2, seconds)])).speed

    assert (speed.verdict, speed.ratio) == (verdict, pytest.approx(1e-3 / seconds))
    assert "beyond 30%" in speed.note


def test_a_side_that_fails_now_is_a_regression():
    found = history([own(1, 1e-3), own(2, 1e-3, failure=Failure("compile", "exception", "no"))])

    assert (only(found).outcome.text, found.exit_code) == ("ran -> FAILED", 1)


def test_a_rule_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="zone must be a share from 0 to below 1, got 2"):
        Rule(zone=2)
    with pytest.raises(ValueError, match="levels must be above 0, got 0"):
        Rule(levels=0)

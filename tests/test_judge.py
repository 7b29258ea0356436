import math

import pytest

from libbench.judge import judge_metrics
from libbench.settings import Tolerance


def verdicts(reference, target, defaults=None, **tolerance):
    return {m.name: m.verdict for m in judge_metrics(reference, target, Tolerance(**tolerance), defaults or {})}


def test_a_metric_of_one_side_only_is_different_and_the_others_are_judged():
    found = judge_metrics({"a": 1.0, "b": 2.0}, {"b": 2.0, "c": 3.0}, Tolerance())

    assert [(m.name, m.verdict, m.note) for m in found] == [
        ("a", "different", "missing in the target"),
        ("b", "same", ""),
        ("c", "different", "missing in the reference"),
    ]


@pytest.mark.parametrize(
    ("reference", "target", "verdict"),
    [
        (1.0, 1.0 + 9e-7, "same"),
        (1.0, 1.0 + 2e-6, "different"),
        (1e6, 1e6 + 0.9, "same"),
        (-1e6, -1e6 - 1.1, "different"),
        (0.0, 9e-7, "same"),
        (math.nan, math.nan, "same"),
        (math.nan, 1.0, "different"),
        (1.0, math.nan, "different"),
        (math.inf, math.inf, "same"),
        (math.inf, -math.inf, "different"),
        (math.inf, 1.0, "different"),
    ],
)
def test_without_an_entry_a_metric_agrees_within_a_millionth(reference, target, verdict):
    assert verdicts({"m": reference}, {"m": target}) == {"m": verdict}


def test_the_first_glob_of_the_tolerance_wins_then_the_default_of_the_evaluator():
    reference = {"top1": 0.9, "top5": 0.9, "loss": 0.9}
    target = {"top1": 0.95, "top5": 0.95, "loss": 0.95}

    found = judge_metrics(reference, target, Tolerance(metrics={"top1": 0.1, "top*": 0.01}), {"loss": 0.06, "top1": 0})

    assert {m.name: m.allowed for m in found} == {"top1": 0.1, "top5": 0.01, "loss": 0.06}
    assert {m.name: m.verdict for m in found} == {"top1": "same", "top5": "different", "loss": "same"}


def test_nan_agreement_can_be_refused():
    assert verdicts({"m": math.nan}, {"m": math.nan}, nan="refuse") == {"m": "different"}


def test_the_difference_is_target_minus_reference():
    (found,) = judge_metrics({"m": 3.0}, {"m": 1.0}, Tolerance())

    assert found.difference == -2


def test_without_metrics_there_is_nothing_to_judge():
    assert judge_metrics({}, {}, Tolerance()) == ()

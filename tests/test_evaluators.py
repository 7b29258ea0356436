"""Accuracy and regression: facts on small numbers."""

from collections import namedtuple
from dataclasses import dataclass
from fractions import Fraction
from math import isnan

import numpy as np
import pytest
import torch
from evaluator_cases import LABELS, PREDICTIONS, SCORES, TARGETS, batch

from libbench.evaluators.accuracy import Accuracy, sign_test
from libbench.evaluators.regression import Regression
from libbench.settings import Tolerance

Pair = namedtuple("Pair", ["hidden", "logits"])


@dataclass
class Answer:
    logits: torch.Tensor
    text: list[str]


def test_the_same_records_can_be_judged_by_another_evaluator():
    records = Accuracy(LABELS).process(batch(*range(12)), SCORES)

    assert Accuracy([], topk=(1, 2, 3)).evaluate(records)["top3"] == 1


# Accuracy


def test_one_right_of_three_is_a_third():
    evaluator = Accuracy([0, 1, 1])

    records = evaluator.process(batch(0, 1, 2), torch.tensor([[1.0, 0], [1, 0], [1, 0]]))

    assert evaluator.evaluate(records) == {"top1": 1 / 3}


def test_labels_are_found_by_dataset_index():
    evaluator = Accuracy([9, 9, 9, 1, 0])

    assert evaluator.process(batch(4, 3), torch.tensor([[5.0, 1], [0, 3]])) == {4: 0, 3: 0}


@pytest.mark.parametrize("labels", [[1, 0], np.array([1, 0], np.uint8), torch.tensor([1, 0])])
def test_labels_may_be_any_sequence_of_numbers(labels):
    evaluator = Accuracy(labels)

    assert evaluator.evaluate(evaluator.process(batch(0, 1), torch.eye(2).flip(0))) == {"top1": 1}


def test_a_record_is_the_place_of_the_label():
    scores = torch.tensor([[0.1, 0.4, 0.3, 0.2]]).expand(4, 4)

    assert Accuracy([0, 1, 2, 3]).process(batch(0, 1, 2, 3), scores) == {0: 3, 1: 0, 2: 1, 3: 2}


def test_topk_counts_a_label_among_the_first_k():
    evaluator = Accuracy([0, 1, 2, 3], topk=(1, 3, 4))

    assert evaluator.evaluate({0: 3, 1: 0, 2: 1, 3: 2}) == {"top1": 0.25, "top3": 0.75, "top4": 1}


def test_of_equal_scores_the_lower_class_comes_first():
    assert Accuracy([0, 1, 2]).process(batch(0, 1, 2), torch.zeros(3, 3)) == {0: 0, 1: 1, 2: 2}


def test_a_sample_with_nan_is_wrong_for_every_k():
    evaluator = Accuracy([0, 0], topk=(1, 2))

    records = evaluator.process(batch(0, 1), torch.tensor([[1.0, float("nan")], [1, 0]]))

    assert records == {0: None, 1: 0}
    assert evaluator.evaluate(records) == {"top1": 0.5, "top2": 0.5}


@pytest.mark.parametrize(
    ("outputs", "output"),
    [
        (torch.eye(2), None),
        (np.eye(2, dtype=np.float16), None),
        (torch.eye(2, dtype=torch.bfloat16), None),
        (torch.eye(2, dtype=torch.int8), None),
        ((torch.eye(2),), None),
        ({"scores": torch.eye(2), "text": ["a", "b"]}, None),
        ({"hidden": torch.zeros(2, 2), "logits": torch.eye(2)}, None),
        (Pair(torch.zeros(2, 2), torch.eye(2)), None),
        (Answer(torch.eye(2), ["a", "b"]), None),
        (Answer(torch.eye(2), ["a", "b"]), "logits"),
        ({"a": torch.zeros(2, 2), "b": torch.eye(2)}, "b"),
        ((torch.zeros(2, 2), torch.eye(2)), 1),
        ([torch.zeros(2, 2), torch.eye(2)], -1),
    ],
)
def test_scores_are_found_in_what_a_model_returns(outputs, output):
    assert Accuracy([0, 1], output=output).process(batch(0, 1), outputs) == {0: 0, 1: 0}


@pytest.mark.parametrize(
    ("outputs", "output", "says"),
    [
        ((torch.eye(2), torch.eye(2)), None, r"tuple has 2 tensors \(0, 1\) and none is named 'logits'"),
        (["a"], None, "list has no tensor in it"),
        ({"text": "a"}, "text", "dict has a str at 'text', not a tensor"),
        ({"scores": torch.eye(2)}, "score", "dict has no 'score'; it has scores; did you mean 'scores'"),
        ((torch.eye(2),), 1, "tuple has no 1; it has 0"),
        (None, None, "NoneType has no tensor in it"),
    ],
)
def test_scores_that_cannot_be_found_are_an_error(outputs, output, says):
    with pytest.raises(LookupError, match=says):
        Accuracy([0, 1], output=output).process(batch(0, 1), outputs)


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        (torch.zeros(3, 2), r"shape \(2, classes\) for 2 indices, got \(3, 2\)"),
        (torch.zeros(2), r"shape \(2, classes\) for 2 indices, got \(2,\)"),
        (torch.zeros(2, 3, 4), r"got \(2, 3, 4\)"),
        (torch.zeros(2, 1), "label of sample 5 must be below 1, the number of classes, got 1"),
    ],
)
def test_scores_of_another_shape_are_an_error_that_names_both(scores, says):
    with pytest.raises(ValueError, match=says):
        Accuracy([0, 0, 0, 0, 0, 1]).process(batch(0, 5), scores)


def test_a_sample_without_label_is_an_error():
    with pytest.raises(ValueError, match="sample 2 has no label; there are 2 labels"):
        Accuracy([0, 1]).process(batch(2), torch.zeros(1, 2))


def test_more_places_than_classes_are_an_error():
    with pytest.raises(ValueError, match="top5 needs at least 5 classes, got 2"):
        Accuracy([0], topk=(1, 5)).process(batch(0), torch.zeros(1, 2))


@pytest.mark.parametrize("topk", [(), (0,), (1, 1), (1.0,), (True,)])
def test_a_wrong_topk_is_refused(topk):
    with pytest.raises(ValueError, match="topk must hold"):
        Accuracy([0], topk=topk)


def test_no_samples_have_no_accuracy():
    with pytest.raises(ValueError, match="no samples"):
        Accuracy([0]).evaluate({})


def test_accuracy_of_two_sides_is_compared_sample_by_sample():
    reference = dict.fromkeys(range(100), 0)
    target = reference | {3: 1, 7: None, 8: 2}

    assert list(Accuracy([], topk=(1, 2)).compare_records(reference, target)) == [
        "top1: right in the reference only 3, in the target only 0; by chance p = 0.25",
        "top2: right in the reference only 2, in the target only 0; by chance p = 0.5",
    ]
    assert list(Accuracy([]).compare_records(target, target)) == []


@pytest.mark.parametrize(("first", "second"), [(0, 1), (1, 1), (3, 9), (20, 5), (0, 40), (700, 800)])
def test_the_sign_test_is_that_of_scipy(first, second):
    stats = pytest.importorskip("scipy.stats")

    assert sign_test(first, second) == pytest.approx(stats.binomtest(first, first + second).pvalue, rel=1e-9)


def test_the_sign_test_of_no_throw_or_of_very_many_has_an_answer():
    assert sign_test(0, 0) == 1
    assert 0 < sign_test(25_000, 25_500) < 1


def test_a_change_of_a_fifth_of_a_point_is_still_the_same():
    reports = [
        Accuracy([]).compare({"top1": 0.9}, {"top1": value}, Tolerance())[0].verdict for value in (0.8985, 0.8975)
    ]

    assert reports == ["same", "different"]


def test_the_outputs_are_left_as_they_are():
    scores = torch.eye(2, requires_grad=True)

    Accuracy([0, 1]).process(batch(0, 1), scores)
    Regression(np.zeros((2, 2))).process(batch(0, 1), scores)

    assert torch.equal(scores, torch.eye(2))
    assert scores.requires_grad


# Regression


def regression(targets, outputs):
    evaluator = Regression(targets)
    return evaluator.evaluate(evaluator.process(batch(*range(len(targets))), outputs))


def test_errors_of_single_numbers_are_means_over_samples():
    assert regression([1.0, 2.0, 6.0], torch.tensor([1.0, 4.0, 5.0])) == {
        "mse": 5 / 3,
        "mae": 1.0,
        "r2": 1 - 5 / 14,
    }


def test_errors_of_arrays_are_means_over_all_numbers():
    metrics = regression([[1.0, 2.0], [3.0, 4.0]], torch.tensor([[1.0, 2.0], [3.0, 6.0]]))

    assert metrics == {"mse": 1.0, "mae": 0.5, "r2": 1 - 4 / 5}


def test_samples_of_different_sizes_weigh_by_their_numbers():
    evaluator = Regression([[1.0], [0.0, 0.0, 0.0]])
    records = evaluator.process(batch(0), torch.tensor([[5.0]])) | evaluator.process(batch(1), torch.zeros(1, 3))

    assert evaluator.evaluate(records)["mse"] == 4.0


def test_metrics_are_those_of_exact_fractions():
    metrics = regression(TARGETS, PREDICTIONS)

    true = [Fraction(value) for value in TARGETS.ravel().tolist()]
    errors = [Fraction(value) - each for value, each in zip(PREDICTIONS.double().ravel().tolist(), true, strict=True)]
    mean = sum(true) / len(true)
    spread = sum((each - mean) ** 2 for each in true)
    assert metrics["mse"] == pytest.approx(float(sum(e * e for e in errors) / len(true)), rel=1e-15)
    assert metrics["mae"] == pytest.approx(float(sum(map(abs, errors)) / len(true)), rel=1e-15)
    assert metrics["r2"] == pytest.approx(float(1 - sum(e * e for e in errors) / spread), rel=1e-14)


def test_a_large_offset_costs_r2_no_digits():
    targets = [1e9 + 1, 1e9 + 2, 1e9 + 3]

    assert regression(targets, torch.tensor(targets, dtype=torch.float64) + 1)["r2"] == -0.5


@pytest.mark.parametrize("value", [0.1, 0.0, 1e300])
def test_equal_targets_have_no_r2(value):
    assert regression([value] * 3, torch.full((3,), value, dtype=torch.float64)) == {"mse": 0.0, "mae": 0.0}


def test_a_perfect_prediction_has_r2_of_one():
    assert regression(TARGETS, TARGETS) == {"mse": 0.0, "mae": 0.0, "r2": 1.0}


def test_a_nan_shows_in_every_metric():
    assert all(map(isnan, regression([1.0, 2.0], torch.tensor([1.0, float("nan")])).values()))


def test_one_number_may_stand_in_a_row_of_its_own():
    assert regression([1.0, 2.0], torch.tensor([[1.0], [3.0]]))["mse"] == 0.5


def test_targets_are_found_by_dataset_index_and_predictions_by_name():
    evaluator = Regression([0.0, 0.0, 7.0], output="depth")

    records = evaluator.process(batch(2), {"depth": torch.tensor([5.0]), "other": torch.zeros(1)})

    assert evaluator.evaluate(records) == {"mse": 4.0, "mae": 2.0}


@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        (torch.zeros(3, 2), r"one row for each of 2 indices, got shape \(3, 2\)"),
        (torch.tensor(1.0), r"one row for each of 2 indices, got shape \(\)"),
        (torch.zeros(2, 3), r"prediction for sample 0 has shape \(3,\), its target \(2,\)"),
        (torch.zeros(2, 2, 1), r"sample 0 has shape \(2, 1\), its target \(2,\)"),
    ],
)
def test_predictions_of_another_shape_are_an_error_that_names_both(outputs, says):
    with pytest.raises(ValueError, match=says):
        Regression(np.zeros((2, 2))).process(batch(0, 1), outputs)


def test_a_sample_without_target_is_an_error():
    with pytest.raises(ValueError, match="sample 1 has no target; there are 1 targets"):
        Regression([0.0]).process(batch(1), torch.zeros(1))


@pytest.mark.parametrize("records", [{}, Regression(np.zeros((1, 0))).process(batch(0), torch.zeros(1, 0))])
def test_no_numbers_have_no_error(records):
    with pytest.raises(ValueError, match="no numbers"):
        Regression([]).evaluate(records)

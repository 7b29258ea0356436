"""Metrics of torchmetrics, updated from records."""

import pytest
import torch
from evaluator_cases import LABELS, PREDICTIONS, SCORES, TARGETS, TEXTS, batch

from libbench.evaluators.accuracy import Accuracy
from libbench.evaluators.torchmetrics import Torchmetrics

torchmetrics = pytest.importorskip("torchmetrics")
classification = torchmetrics.classification


def metrics(evaluator, outputs):
    return evaluator.evaluate(evaluator.process(batch(*range(12)), outputs))


def test_a_metric_is_what_torchmetrics_says_of_all_samples_at_once():
    found = metrics(Torchmetrics(classification.MulticlassF1Score(num_classes=3), LABELS), SCORES)

    whole = classification.MulticlassF1Score(num_classes=3)(SCORES, torch.tensor(LABELS))
    assert found == {"MulticlassF1Score": pytest.approx(whole.item(), rel=1e-6)}


def test_a_collection_has_a_metric_for_each():
    own = torchmetrics.MetricCollection(
        {
            "accuracy": classification.MulticlassAccuracy(num_classes=3, average="micro"),
            "recall": classification.MulticlassRecall(num_classes=3, average=None),
        }
    )

    found = metrics(Torchmetrics(own, LABELS), {"logits": SCORES, "hidden": SCORES})

    assert list(found) == ["accuracy", "recall.0", "recall.1", "recall.2"]
    assert found["accuracy"] == pytest.approx(metrics(Accuracy(LABELS), SCORES)["top1"], rel=1e-6)


def test_targets_may_be_arrays_and_a_metric_may_need_none():
    found = metrics(Torchmetrics(torchmetrics.MeanAbsoluteError(), TARGETS.astype("float32")), PREDICTIONS)
    alone = metrics(Torchmetrics(torchmetrics.MeanMetric()), PREDICTIONS)

    errors = (PREDICTIONS - torch.tensor(TARGETS, dtype=torch.float32)).abs()
    assert found == {"MeanAbsoluteError": pytest.approx(errors.mean().item(), rel=1e-5)}
    assert alone == {"MeanMetric": pytest.approx(PREDICTIONS.mean().item(), rel=1e-5)}


def test_texts_are_records_too():
    found = metrics(Torchmetrics(torchmetrics.text.WordErrorRate(), TEXTS, output="text"), {"text": TEXTS[::-1]})

    assert 0 < found["WordErrorRate"] < 1


def test_judging_twice_gives_the_same():
    evaluator = Torchmetrics(torchmetrics.MeanMetric())

    assert metrics(evaluator, PREDICTIONS) == metrics(evaluator, PREDICTIONS)


def test_a_record_does_not_hold_its_batch():
    record = Torchmetrics(torchmetrics.MeanMetric()).process(batch(0, 1), torch.zeros(2, 5))[1]

    assert record.untyped_storage().nbytes() == 20


def test_what_cannot_be_measured_is_an_error():
    evaluator = Torchmetrics(torchmetrics.MeanAbsoluteError(), [1.0])

    with pytest.raises(ValueError, match="a row for each of 2 samples, got 3"):
        evaluator.process(batch(0, 1), torch.zeros(3))
    with pytest.raises(ValueError, match="sample 1 has no target; there are 1 targets"):
        evaluator.evaluate({1: torch.zeros(())})
    with pytest.raises(ValueError, match="no samples"):
        evaluator.evaluate({})
    with pytest.raises(TypeError, match=r"must be one of torchmetrics, with reset, update, compute\(\), got 3"):
        Torchmetrics(3)

"""Several loaders in one `data`, each with metrics of its own."""

import pytest
import torch

from libbench.data import DataError, IndexedLoader
from libbench.diff import Plan, diff
from libbench.errors import LibbenchError
from libbench.evaluation import Collected, evaluate, process
from libbench.evaluators.accuracy import Accuracy
from libbench.evaluators.by_source import BySource
from libbench.evaluators.together import Together
from libbench.interfaces import Batch
from libbench.several import Several

LABELS = {"val": [1, 0, 1, 1, 0], "test": [0, 0, 1]}


class Corners(list):
    """Pairs of numbers, of which the larger one is the label."""

    def __init__(self, labels):
        super().__init__(torch.eye(2)[label] for label in labels)


def several(size=2):
    return Several(**{name: IndexedLoader(Corners(labels), size) for name, labels in LABELS.items()})


def test_batches_come_loader_by_loader_with_indices_that_no_two_samples_share():
    batches = list(several())

    assert [batch.indices for batch in batches] == [(0, 1), (2, 3), (4,), (5, 6), (7,)]
    assert [batch.number for batch in batches] == [0, 1, 2, 3, 4]
    assert [(batch.source, batch.own.indices, batch.own.number) for batch in batches] == [
        ("val", (0, 1), 0), ("val", (2, 3), 1), ("val", (4,), 2), ("test", (0, 1), 0), ("test", (2,), 1),
    ]  # fmt: skip
    assert (len(several()), several().first) == (5, {"val": 0, "test": 5})


def test_all_loaders_are_in_one_epoch_also_after_a_pass_that_was_left():
    data = several()
    next(iter(data))

    assert {batch.epoch for batch in data} == {1}


def judged(evaluator, outputs):
    collected = Collected()
    for batch in several():
        collected.add(process(evaluator, batch, outputs(batch)))
    return evaluate(evaluator, collected.records), collected.records


def by_source(**labels):
    return BySource(**{name: Accuracy(own) for name, own in {**LABELS, **labels}.items()})


def test_each_loader_has_its_own_metrics_by_labels_of_its_own_dataset():
    metrics, _ = judged(by_source(test=[0, 1, 0]), lambda batch: batch.inputs)

    assert metrics == {"val.top1": 1, "test.top1": 1 / 3}


def test_by_source_may_stand_among_others():
    together = Together(own=by_source(), all=Accuracy([*LABELS["val"], *LABELS["test"]]))

    metrics, _ = judged(together, lambda batch: -batch.inputs if batch.source == "test" else batch.inputs)

    assert metrics == {"own.val.top1": 1, "own.test.top1": 0, "all.top1": 5 / 8}


def test_what_differs_between_sides_is_told_by_source():
    evaluator = by_source()
    _, ours = judged(evaluator, lambda batch: batch.inputs)
    _, theirs = judged(evaluator, lambda batch: -batch.inputs if batch.source == "test" else batch.inputs)

    assert list(evaluator.compare_records(ours, theirs)) == [
        "test: top1: right in the reference only 3, in the target only 0; by chance p = 0.25"
    ]


@pytest.mark.parametrize(
    ("batch", "says"),
    [
        (Batch((0,), None, 0), "wanted a batch of val, test, as Several gives it; this one has no source"),
        (Batch((0,), None, 0, source="vall", own=Batch((0,), None, 0)), "comes from 'vall'; did you mean 'val'?"),
    ],
)
def test_a_batch_of_another_source_is_an_error(batch, says):
    with pytest.raises(LookupError, match=says):
        process(by_source(), batch, None)


def test_what_is_no_loader_is_refused():
    with pytest.raises(ValueError, match="Several must have a loader"):
        Several()
    with pytest.raises(TypeError, match=r"val must be a loader with a dataset that has len\(\), got \[\]"):
        Several(val=[])


def test_an_index_beyond_the_dataset_is_an_error():
    class Wrong(IndexedLoader):
        def __iter__(self):
            yield Batch((7,), None, 0)

    with pytest.raises(DataError, match="val gave index 7; its dataset has 5 samples"):
        list(Several(val=Wrong(Corners(LABELS["val"]), 2)))


def test_two_loaders_of_one_dataset_class_have_two_results(config):
    file = config(
        "two",
        """
        from libbench.data import IndexedLoader
        from libbench.evaluators.accuracy import Accuracy
        from libbench.evaluators.by_source import BySource
        from libbench.several import Several

        class Rows(list):
            def __init__(self, start):
                super().__init__(torch.eye(3)[(start + i) % 3] for i in range(4))
        def labels(start):
            return [(start + i) % 3 for i in range(4)]
        model = L(torch.nn.Softmax)(dim=-1)
        data = L(Several)(val=L(IndexedLoader)(dataset=L(Rows)(start=0), batch_size=3),
                          test=L(IndexedLoader)(dataset=L(Rows)(start=1), batch_size=3))
        evaluator = L(BySource)(val=L(Accuracy)(labels=L(labels)(start=0)), test=L(Accuracy)(labels=L(labels)(start=2)))
        """,
    )

    comparison = diff(file, file, Plan(speed=False))

    assert comparison.reference.metrics == {"val.top1": 1.0, "test.top1": 0.0}
    assert [(metric.name, metric.allowed) for metric in comparison.metrics] == [
        ("val.top1", 0.002), ("test.top1", 0.002),
    ]  # fmt: skip
    assert comparison.outputs.samples == 8
    assert comparison.exit_code == 0


def test_a_rank_has_its_part_of_each_batch_of_every_loader():
    parts = [list(several(4).part(rank, 2)) for rank in range(2)]

    assert [[batch.indices for batch in part] for part in parts] == [
        [(0, 2), (4,), (5, 7)],
        [(1, 3), (4,), (6, 5)],
    ]
    assert [[batch.padding for batch in part] for part in parts] == [[0, 0, 0], [0, 1, 1]]
    assert [batch.source for batch in parts[1]] == ["val", "val", "test"]


def test_a_loader_without_parts_is_named():
    class Whole:
        dataset = (1, 2)

    with pytest.raises(LibbenchError, match=r"test has no part\(rank, world\)"):
        Several(val=IndexedLoader(Corners([0]), 1), test=Whole()).part(0, 2)

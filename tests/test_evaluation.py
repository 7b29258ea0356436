"""What evaluators are given and must leave alone, and how the records of batches and ranks come together."""

import json
import random
from collections import OrderedDict, defaultdict
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from evaluator_cases import (
    HIDDEN,
    LABELS,
    LOGITS,
    LOSSES,
    MASK,
    PICTURES,
    PREDICTIONS,
    REFERENCES,
    SCORES,
    TARGETS,
    TEXTS,
    TOKENS,
    TRUE_PICTURES,
    batch,
    padded,
    records_of,
)  # fmt: skip
from hypothesis import given, settings
from hypothesis import strategies as st

from libbench.errors import LibbenchError
from libbench.evaluation import Collected, drop_empty, evaluate, give_folder, merge_records, process, shallow
from libbench.evaluators.accuracy import Accuracy
from libbench.evaluators.bleu import Bleu
from libbench.evaluators.image_quality import ImageQuality
from libbench.evaluators.loss import Loss
from libbench.evaluators.perplexity import Perplexity
from libbench.evaluators.regression import Regression
from libbench.evaluators.retrieval import Retrieval
from libbench.evaluators.together import Together
from libbench.evaluators.torchmetrics import Torchmetrics
from libbench.interfaces import Evaluator
from libbench.recordfiles import RecordWriter, load_records
from libbench.settings import Tolerance


def scores(indices):
    return SCORES[indices]


def retrieval():
    return Retrieval({0: [1], 2: [1, 3], 5: {4: 2.0, 1: 1.0}}, mask="mask", recall=(1, 2), ndcg=(3,))


def f1():
    classification = pytest.importorskip("torchmetrics.classification")
    return Torchmetrics(classification.MulticlassF1Score(num_classes=3), LABELS)


def bleu():
    pytest.importorskip("sacrebleu")
    return Bleu(REFERENCES)


CASES = {
    "accuracy": (lambda: Accuracy(LABELS, topk=(1, 2)), scores),
    "regression": (lambda: Regression(TARGETS), lambda indices: PREDICTIONS[indices]),
    "images": (lambda: ImageQuality(TRUE_PICTURES), lambda indices: {"rgb": PICTURES[indices]}),
    "loss": (lambda: Loss(perplexity=True),
             lambda indices: {"lm_loss": LOSSES[indices], "aux_loss": SCORES[indices, 0]}),
    "perplexity": (lambda: Perplexity(TOKENS), lambda indices: LOGITS[indices]),
    "bleu": (bleu, lambda indices: [TEXTS[i] for i in indices]),
    "retrieval": (retrieval, lambda indices: HIDDEN[indices]),
    "torchmetrics": (f1, scores),
    "together": (lambda: Together(a=Accuracy(LABELS), f=Regression(LABELS, output="first")),
                 lambda indices: {"logits": SCORES[indices], "first": SCORES[indices, 0]}),
}  # fmt: skip
SMALLEST = {"retrieval": 6}
"""The relevant documents must be among the samples."""


def masks(indices):
    return {"mask": MASK[indices]}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_metrics_of_any_size_and_batch_size_are_the_same_on_any_number_of_ranks(name, ranks):
    make, outputs = CASES[name]
    evaluator = make()
    for size in range(SMALLEST.get(name, 1), 13):
        whole = evaluate(evaluator, records_of(evaluator, outputs, list(range(size)), size, masks))
        for batch_size in (1, 2, 3):
            parts = [records_of(evaluator, outputs, own, batch_size, masks) for own in padded(size, ranks)]
            merged = merge_records(parts)

            assert list(merged) == list(range(size))
            assert evaluate(evaluator, merged) == whole, (size, batch_size)


@settings(max_examples=60)
@given(st.data())
def test_metrics_are_the_same_however_samples_are_shared_out_and_repeated(data):
    name = data.draw(st.sampled_from(["accuracy", "regression", "perplexity", "loss"]))
    make, outputs = CASES[name]
    evaluator = make()
    samples = data.draw(st.sets(st.integers(0, 11), min_size=1))
    ranks = data.draw(st.lists(st.lists(st.sampled_from(sorted(samples)), max_size=15), min_size=1, max_size=5))
    left = sorted(samples - {index for own in ranks for index in own})
    parts = [records_of(evaluator, outputs, own, data.draw(st.integers(1, 4)), masks) for own in [*ranks, left] if own]

    whole = records_of(evaluator, outputs, sorted(samples), len(samples), masks)
    assert evaluate(evaluator, merge_records(parts)) == evaluate(evaluator, whole)


@pytest.mark.parametrize("name", CASES)
def test_saved_records_give_bit_equal_metrics(name, tmp_path):
    make, outputs = CASES[name]
    evaluator = make()
    writer = RecordWriter(tmp_path)
    collected = Collected()
    for start in range(0, 12, 5):
        indices = list(range(start, min(start + 5, 12)))
        records = process(evaluator, batch(*indices, inputs=masks(indices)), outputs(indices))
        writer.add(records)
        collected.add(records)
    writer.close()

    assert evaluate(make(), load_records(tmp_path)) == evaluate(evaluator, collected.records)


@pytest.mark.parametrize(("size", "ranks", "repeated"), [(6, 4, 2), (21, 2, 1)])
def test_a_padded_sample_has_one_record(size, ranks, repeated):
    shares = padded(size, ranks)
    parts = [{index: f"sample {index}" for index in own} for own in shares]

    assert sum(map(len, shares)) == size + repeated
    assert merge_records(parts) == {index: f"sample {index}" for index in range(size)}


def test_of_unequal_records_the_first_is_kept_and_the_sample_is_named():
    collected = Collected()
    for part in ({3: 1.0, 1: float("nan")}, {1: float("nan"), 3: 2.0, 0: torch.ones(2)}, {0: torch.ones(2)}):
        collected.add(part)

    assert list(collected.records) == [0, 1, 3]
    assert collected.records[3] == 1.0
    assert collected.disputed == {3}


# What an evaluator gets


class Pops(Evaluator):
    """Takes a key out of what it gets."""

    def process(self, batch, outputs):
        self.got = outputs
        return dict.fromkeys(batch.indices, outputs["nested"].pop("text"))

    def evaluate(self, records):
        return {"letters": float(sum(map(len, records.values())))}


def test_an_evaluator_that_pops_a_key_leaves_it_to_the_next():
    together = Together(first=Pops(), second=Pops(), third=Pops())
    inner = torch.ones(2)
    outputs = {"nested": OrderedDict(text="abc", tensor=inner), "list": [inner], "more": defaultdict(list, a=[1])}

    records = process(together, batch(4), outputs)

    assert evaluate(together, records) == {"first.letters": 3, "second.letters": 3, "third.letters": 3}
    assert together.evaluators["first"].got is outputs
    copy = together.evaluators["second"].got
    assert copy is not outputs
    assert copy["nested"]["tensor"] is copy["list"][0] is inner
    assert [type(each) for each in copy.values()] == [OrderedDict, list, defaultdict]


@pytest.mark.parametrize("value", ["text", 3, None, torch.ones(2), (1, 2), {1, 2}, range(3), np.ones(2)])
def test_what_is_no_container_is_shared_and_a_copy_is_equal(value):
    copy = shallow(value)

    assert type(copy) is type(value)
    assert copy is value or copy == value


class Changes(Evaluator):
    """Changes a tensor deep in what it gets, if it is told to."""

    def __init__(self, how=None):
        self.how = how

    def process(self, batch, outputs):
        if self.how is not None:
            self.how(outputs["deep"][0]["x"])
        return dict.fromkeys(batch.indices, 1)

    def evaluate(self, records):
        return {"n": len(records)}


@pytest.mark.parametrize("inference", [True, False])
@pytest.mark.parametrize(
    "how", [torch.Tensor.zero_, lambda x: x.add_(1e-3), lambda x: x[1].neg_(), lambda x: x.copy_(x.flip(0))]
)
def test_a_tensor_that_is_changed_in_place_is_an_error_that_names_the_evaluator(inference, how):
    with torch.inference_mode(inference):
        outputs = {"deep": [{"x": torch.tensor([1.0, 2.0, 3.0])}], "y": torch.ones(1)}

    with (
        torch.inference_mode(),
        pytest.raises(LibbenchError, match=r"^bad, a Changes changed the tensor at deep.0.x in place"),
    ):
        process(Together(good=Changes(), bad=Changes(how), last=Changes()), batch(0), outputs)


def test_a_tensor_that_is_only_read_is_no_error():
    with torch.inference_mode():
        outputs = {"deep": [{"x": torch.randn(3).expand(2, 3)}], "sparse": torch.eye(2).to_sparse(), "none": None}

    assert process(Changes(lambda x: x.clone().zero_()), batch(0, 1), outputs) == {0: 1, 1: 1}


class Draws(Evaluator):
    """Draws and seeds random numbers, and may then fail."""

    def __init__(self, fails):
        self.fails = fails

    def process(self, batch, outputs):
        random.seed(0), np.random.seed(0), torch.manual_seed(0)
        if self.fails:
            raise KeyError("no label")
        return {}

    def evaluate(self, records):
        return self.process(None, None)


@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize("call", [lambda e: process(e, batch(5, 6, number=2), None), lambda e: evaluate(e, {5: 1})])
def test_random_numbers_go_on_as_if_nothing_had_been_drawn(fails, call):
    before = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

    with pytest.raises(KeyError) if fails else nullcontext() as error:
        call(Draws(fails))

    if fails:
        assert error.value.__notes__[0] in ("in Draws.process, batch 2, indices 5, 6", "in Draws.evaluate, 1 records")
    assert (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()) == before


def test_one_of_several_evaluators_is_named_when_it_fails():
    with pytest.raises(KeyError) as error:
        process(Together(a=Changes(), b=Draws(fails=True)), batch(*range(7)), {})

    assert error.value.__notes__ == [
        "in b, a Draws.process, batch 0, indices 0, 1, 2, 3, 4, ... (7)",
        "in Together.process, batch 0, indices 0, 1, 2, 3, 4, ... (7)",
    ]


def test_a_record_for_a_sample_of_another_batch_is_an_error():
    class Strange(Changes):
        def process(self, batch, outputs):
            return {9: 1}

    with pytest.raises(LibbenchError, match="gave records for indices that are not in the batch: 9"):
        process(Strange(), batch(0, 1), None)


def test_indices_of_any_integer_type_become_plain_ones():
    class Numpy(Changes):
        def process(self, batch, outputs):
            return dict.fromkeys(np.asarray(batch.indices), 1)

    records = process(Numpy(), batch(0, 1), None)

    assert json.dumps(records) == '{"0": 1, "1": 1}'


# Folders


def test_each_evaluator_has_a_folder_of_its_own_and_empty_ones_go(tmp_path):
    together = Together(a=Changes(), b=Together(c=Changes(), d=Changes()))
    give_folder(together, tmp_path / "files")

    inner = together.evaluators["b"].evaluators
    assert inner["c"].folder == tmp_path / "files" / "b" / "c"
    (inner["c"].folder / "picture.png").write_bytes(b"x")
    drop_empty(tmp_path / "files")

    assert [str(each.relative_to(tmp_path)) for each in sorted(tmp_path.rglob("*"))] == [
        "files", "files/b", "files/b/c", "files/b/c/picture.png",
    ]  # fmt: skip


# Together


def test_metrics_are_named_and_judged_by_evaluator():
    together = Together(a=Accuracy(LABELS), b=Accuracy(LABELS), loss=Loss())
    reference = {"a.top1": 0.9, "b.top1": 0.9, "loss.loss": 1.0}
    target = {"a.top1": 0.8985, "b.top1": 0.8975, "loss.loss": 1.4}

    reports = together.compare(reference, target, Tolerance(metrics={"loss.*": 0.5}))

    assert [(each.name, each.verdict, each.allowed) for each in reports] == [
        ("a.top1", "same", 0.002), ("b.top1", "different", 0.002), ("loss.loss", "same", 0.5),
    ]  # fmt: skip
    assert together.tolerances == {"a.top*": 0.002, "b.top*": 0.002}


def test_a_metric_of_one_side_only_is_different():
    reports = Together(a=Accuracy(LABELS)).compare({"a.top1": 0.9}, {}, Tolerance())

    assert [(each.name, each.verdict) for each in reports] == [("a.top1", "different")]


def test_what_evaluators_say_of_the_records_has_their_names():
    together = Together(first=Accuracy(LABELS), second=Changes())
    ours, theirs = ({i: {"first": place, "second": 1} for i in range(6)} for place in (0, 1))

    assert list(together.compare_records(ours, theirs)) == [
        "first: top1: right in the reference only 6, in the target only 0; by chance p = 0.031"
    ]


@pytest.mark.parametrize("evaluators", [{}, {"a": 3}, {"a": Accuracy}])
def test_together_is_made_of_evaluators(evaluators):
    with pytest.raises((ValueError, TypeError), match="must (have|be) an evaluator"):
        Together(**evaluators)


@pytest.mark.parametrize(
    ("given", "found", "words"),
    [
        ([1.0], {}, "wanted a dict of one record for each dataset index, got a list"),
        (None, {}, "wanted a dict of one record for each dataset index, got None"),
        ({}, 1.0, "wanted a dict of a number for each metric, got a float"),
        ({}, {"n": "many"}, "metric 'n' must be a number, got 'many'"),
        ({}, {"n": torch.ones(2)}, "metric 'n' must be a number, got a Tensor"),
    ],
)
def test_what_an_evaluator_must_not_give_is_named(given, found, words):
    class Gives(Evaluator):
        def process(self, batch, outputs):
            return given

        def evaluate(self, records):
            return found

    def run():
        process(Gives(), batch(0), torch.ones(1))
        evaluate(Gives(), {})

    with pytest.raises(TypeError) as error:
        run()

    assert str(error.value) == words

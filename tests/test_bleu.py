"""BLEU of a model's texts, by sacrebleu."""

import pytest
import torch
from evaluator_cases import REFERENCES, TEXTS, batch

from libbench.errors import MissingPackageError
from libbench.evaluators.bleu import Bleu

sacrebleu = pytest.importorskip("sacrebleu")


def test_the_score_is_that_of_the_corpus_and_no_mean_of_batches():
    evaluator = Bleu(REFERENCES)
    records = evaluator.process(batch(0, 1), TEXTS[:2]) | evaluator.process(batch(*range(2, 12)), TEXTS[2:])

    assert evaluator.evaluate(records) == {"bleu": sacrebleu.corpus_bleu(TEXTS, [REFERENCES]).score}
    assert 10 < evaluator.evaluate(records)["bleu"] < 90


def test_a_sample_may_have_several_references():
    true = [["a cat sat on the mat", "one cat was sitting there on a mat"], ["the dog barked at it"]]

    found = Bleu(true).evaluate({0: "one cat was sitting on the mat", 1: "the dog barked at him"})

    streams = [[true[0][0], true[1][0]], [true[0][1], None]]
    assert (
        found["bleu"]
        == sacrebleu.corpus_bleu(["one cat was sitting on the mat", "the dog barked at him"], streams).score
    )


def test_the_same_text_has_a_score_of_a_hundred():
    assert Bleu(TEXTS).evaluate(dict(enumerate(TEXTS)))["bleu"] == pytest.approx(100)


@pytest.mark.parametrize(
    ("outputs", "settings"),
    [
        (["a b"], {}),
        ("a b", {}),
        ({"text": ["a b"], "ids": torch.ones(1)}, {"output": "text"}),
        (torch.tensor([[0, 1]]), {"decode": lambda ids: [" ".join("ab"[i] for i in row) for row in ids.tolist()]}),
    ],
)
def test_texts_are_found_in_what_a_model_returns(outputs, settings):
    assert Bleu([], **settings).process(batch(3), outputs) == {3: "a b"}


@pytest.mark.parametrize(
    ("outputs", "error", "says"),
    [
        (["a"], ValueError, "a text for each of 2 samples, got 1"),
        (torch.zeros(2, 3), TypeError, "got a Tensor; decode=... may make one of it"),
    ],
)
def test_what_is_no_text_for_each_sample_is_an_error(outputs, error, says):
    with pytest.raises(error, match=says):
        Bleu([]).process(batch(0, 1), outputs)


@pytest.mark.parametrize(
    ("references", "records", "says"),
    [(["a"], {}, "no texts"), (["a"], {1: "a"}, "sample 1 has no reference; there are 1"), ([[]], {0: "a"}, "empty")],
)
def test_what_cannot_be_scored_is_an_error(references, records, says):
    with pytest.raises(ValueError, match=says):
        Bleu(references).evaluate(records)


def test_without_sacrebleu_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sacrebleu.metrics", None)

    with pytest.raises(MissingPackageError, match=r"pip install 'libbench\[text\]'"):
        Bleu([])

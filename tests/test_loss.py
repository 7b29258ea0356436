"""Losses and perplexity: sums and counts, divided once."""

import math

import pytest
import torch
from evaluator_cases import LOGITS, TOKENS, batch

from libbench.evaluators.loss import Loss
from libbench.evaluators.perplexity import Perplexity


def metrics(evaluator, *batches):
    records = {}
    for indices, outputs in batches:
        records |= evaluator.process(batch(*indices), outputs)
    return evaluator.evaluate(records)


def test_perplexity_of_two_losses_is_that_of_each():
    outputs = {"lm_loss": torch.tensor(2.0), "sop_loss": torch.tensor(0.5), "logits": torch.zeros(2, 3)}

    found = metrics(Loss(perplexity=True), ((0, 1), outputs))

    assert found == {
        "lm_loss": 2.0,
        "lm_loss.perplexity": pytest.approx(math.exp(2)),
        "sop_loss": 0.5,
        "sop_loss.perplexity": pytest.approx(math.exp(0.5)),
    }


def test_means_of_batches_of_other_sizes_weigh_by_their_samples():
    assert metrics(Loss(), ((0, 1, 2), torch.tensor(1.0)), ((3,), torch.tensor(5.0))) == {"loss": 2.0}


def test_means_over_tokens_weigh_by_their_tokens():
    first = {"loss": torch.tensor([1.0, 3.0]), "n": torch.tensor([1, 3])}
    second = {"loss": torch.tensor(7.0), "n": 4}

    assert metrics(Loss(counts="n"), ((0, 1), first), ((2, 3), second)) == {"loss": (1 + 9 + 28) / 8}


@pytest.mark.parametrize(
    ("outputs", "names"),
    [
        (torch.tensor([1.0, 2.0]), None),
        ({"logits": torch.zeros(2, 2), "loss": torch.tensor([1.0, 2.0])}, None),
        ((torch.zeros(2, 2), torch.tensor([1.0, 2.0])), [1]),
        ({"total": 1.5}, ["total"]),
    ],
)
def test_losses_are_found_in_what_a_model_returns(outputs, names):
    assert list(metrics(Loss(names), ((0, 1), outputs)).values()) == [1.5]


def test_a_perplexity_beyond_all_floats_is_infinite_and_of_nan_nan():
    outputs = {"a_loss": torch.tensor(1e4), "b_loss": torch.tensor(math.nan)}

    found = metrics(Loss(perplexity=True), ((0,), outputs))

    assert found["a_loss.perplexity"] == math.inf
    assert math.isnan(found["b_loss.perplexity"])


def test_a_loss_of_neither_one_number_nor_one_for_each_sample_is_an_error():
    with pytest.raises(ValueError, match=r"loss must be one number, or one for each of 2 samples, got shape \(3,\)"):
        Loss().process(batch(0, 1), {"loss": torch.zeros(3)})


def test_nothing_has_no_loss():
    with pytest.raises(ValueError, match="no samples"):
        Loss().evaluate({})
    with pytest.raises(ValueError, match="loss is the mean of nothing"):
        Loss().evaluate({0: {"loss": (0.0, 0.0)}})
    with pytest.raises(ValueError, match="outputs must list the losses"):
        Loss("loss")


# Perplexity


@pytest.mark.parametrize("shift", [True, False])
def test_the_loss_is_torchs_cross_entropy_over_all_tokens(shift):
    tokens = TOKENS.clone()
    tokens[3, 2:] = -100
    scores, wanted = (LOGITS[:, :-1], tokens[:, 1:]) if shift else (LOGITS, tokens)

    found = metrics(Perplexity(tokens, shift=shift), (range(5), LOGITS[:5]), (range(5, 12), {"logits": LOGITS[5:]}))

    loss = torch.nn.functional.cross_entropy(scores.double().flatten(0, 1), wanted.flatten()).item()
    assert found == {"loss": pytest.approx(loss, rel=1e-14), "perplexity": pytest.approx(math.exp(loss), rel=1e-14)}


def test_a_model_that_knows_nothing_has_the_perplexity_of_its_vocabulary():
    assert metrics(Perplexity(TOKENS), ((0, 1), torch.zeros(2, 5, 7)))["perplexity"] == pytest.approx(7)


def test_a_token_that_cannot_be_has_infinite_perplexity():
    scores = torch.zeros(1, 2, 3)
    scores[0, 0, 1] = -math.inf

    assert metrics(Perplexity([[0, 1]]), ((0,), scores)) == {"loss": math.inf, "perplexity": math.inf}


@pytest.mark.parametrize(
    ("scores", "says"),
    [
        (torch.zeros(2, 5), r"shape \(2, positions, vocabulary\) for 2 indices, got \(2, 5\)"),
        (torch.zeros(2, 4, 7), r"sample 0 has \(5,\) tokens and 4 positions"),
        (torch.zeros(2, 5, 3), "tokens of sample 0 must be below 3, got"),
    ],
)
def test_scores_of_another_shape_are_an_error(scores, says):
    with pytest.raises(ValueError, match=says):
        Perplexity(TOKENS).process(batch(0, 1), scores)


def test_no_tokens_have_no_perplexity():
    with pytest.raises(ValueError, match="no tokens"):
        metrics(Perplexity([[-100, -100]]), ((0,), torch.zeros(1, 2, 3)))
    with pytest.raises(ValueError, match="sample 1 has no tokens; there are 1 samples"):
        Perplexity([[0, 1]]).process(batch(1), torch.zeros(1, 2, 3))

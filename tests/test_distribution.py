"""Two sides that draw other random numbers: do they draw from one distribution?"""

import numpy as np
import pytest
import torch
from report_records import different_leaf, leaf, outputs

from libbench import distribution
from libbench.distribution import by_distribution, compared, told
from libbench.drawn import Draws
from libbench.features import draws_of, features
from libbench.tree import snapshot

CALLS = 64
SHAPE = (20, 8)


def draws(draw, calls=CALLS, seed=0):
    torch.manual_seed(seed)
    return draws_of([features(snapshot(draw())) for _ in range(calls)], wanted=["output"])


def found(reference, target, calls=CALLS):
    judged = compared(draws(reference, calls), draws(target, calls, seed=1), [leaf("output")])
    return judged["output"]


def dropout(rate):
    return lambda: torch.nn.functional.dropout(torch.linspace(0.5, 1.5, 160).reshape(SHAPE), rate)


def noise():
    return torch.randn(SHAPE)


def even(width):
    """Give numbers drawn evenly, with the mean and the spread of `noise` where the width is 2 * sqrt(3)."""
    return lambda: (torch.rand(SHAPE) - 0.5) * width


def in_one_place():
    drawn = noise()
    drawn[0, 0] = 0.3
    return drawn


def alike_in_a_row():
    return torch.randn(20, 1).expand(SHAPE).clone()


def tickets(back):
    """Give which two of eight were drawn, 20 times, put back between the two or not."""
    return lambda: torch.multinomial(torch.ones(20, 8), 2, replacement=back)


def coins(lean):
    """Give ones and zeros, one column in two leaning to each; the mean stays where all lean the other way."""
    chances = torch.tensor([0.5 - lean, 0.5 + lean] * 4).expand(SHAPE)
    return lambda: torch.bernoulli(chances)


KINDS = {
    "normal": noise,
    "even": even(1.0),
    "dropout": dropout(0.4),
    "whole numbers": lambda: torch.randint(0, 5, SHAPE),
    "booleans": lambda: torch.rand(SHAPE) < 0.3,
    "an order": lambda: torch.randperm(160).float(),
    "one number for all": lambda: torch.randn(()).expand(SHAPE).clone(),
    "complex": lambda: torch.randn(SHAPE, dtype=torch.complex64),
    "a plain number": lambda: float(torch.randn(())),
    "of any length": lambda: torch.randn(int(torch.randint(1, 9, ()))),
    "infinite": lambda: torch.randn(SHAPE).log(),
}


@pytest.mark.parametrize("kind", KINDS)
def test_other_numbers_of_one_distribution_agree(kind):
    one = found(KINDS[kind], KINDS[kind])

    assert one.score <= one.limit
    assert one.chance > distribution.ALPHA


@pytest.mark.parametrize(
    ("reference", "target", "feature"),
    [
        (dropout(0.5), dropout(0.4), "share of zeros"),
        (dropout(0.4), lambda: dropout(0.4)() * 0.6, "mean"),
        (noise, even(1.0), "standard deviation"),
        (noise, even(2 * 3**0.5), "99% quantile"),
        (noise, lambda: noise() + 0.1, "mean"),
        (noise, in_one_place, "value 0"),
        (coins(0.3), lambda: 1 - coins(0.3)(), "value 0, with other places,"),
        (noise, alike_in_a_row, "likeness of neighbours"),
        (tickets(False), tickets(True), "share of equal neighbours"),
        (lambda: torch.randint(0, 5, SHAPE), lambda: torch.randint(0, 4, SHAPE), "mean"),
        (lambda: torch.randn(6), lambda: torch.randn(7), "size"),
        (noise, lambda: noise().log(), "share that is not finite"),
    ],
)
def test_another_distribution_is_found_and_the_feature_named(reference, target, feature):
    one = found(reference, target)

    assert one.score > one.limit
    assert one.chance <= distribution.ALPHA
    both = draws(reference), draws(target, seed=1)
    name = feature.partition(",")[0]
    alone = [Draws(calls=CALLS, leaves=(_only(each.leaves[0], name),)) for each in both]
    told_by_it = compared(*alone, [leaf("output")])["output"]
    assert (told_by_it.feature, told_by_it.score > told_by_it.limit) in ((feature, True), (name, True))


def _only(leaf, feature):
    return type(leaf)(path=leaf.path, features={feature: leaf.features[feature]})


def test_what_is_the_same_from_every_seed_is_told_from_what_is_drawn_otherwise():
    kept = torch.randn(SHAPE)

    fixed, other = found(noise, lambda: kept), found(noise, even(1.0))

    assert (fixed.fixed, other.fixed) == (True, False)
    assert fixed.score > fixed.limit
    assert told(fixed).startswith("it is the same from every seed, where the reference's is not")


def test_false_alarms_are_as_rare_as_they_are_said_to_be(monkeypatch):
    monkeypatch.setattr(distribution, "ALPHA", 0.1)
    monkeypatch.setattr(distribution, "SHUFFLES", 499)
    alarms = 0
    for seed in range(40):
        # Within a call all depends on all, which a test that takes values for independent does not stand.
        both = [draws(KINDS["one number for all"], 12, seed=2 * seed + side) for side in (0, 1)]
        one = compared(*both, [leaf("output")])["output"]
        alarms += one.score > one.limit

    assert 0 < alarms < 11


def test_differences_that_rounding_makes_are_none():
    order = lambda: torch.linspace(0, 1, 160)[torch.randperm(160)]  # noqa: E731
    rounded = lambda: order() + 1e-7  # noqa: E731

    one = found(order, rounded)

    assert one.score <= one.limit


def test_the_least_shift_that_would_show_does_show_and_a_tenth_of_it_does_not():
    shift = found(noise, noise).shift

    # Twice: a shift of just that size shows in every other case.
    beyond, within = (found(noise, lambda by=by: noise() + by) for by in (2 * shift, shift / 10))

    assert beyond.score > beyond.limit
    assert within.score <= within.limit


def report(*leaves):
    return outputs(*leaves)


def test_only_what_is_drawn_is_judged_so_and_the_rest_keeps_its_verdict():
    given = report(different_leaf("output"), different_leaf("other"))

    judged = by_distribution(given, draws(noise), draws(noise, seed=1))

    leaves = {each.path: each for each in judged.leaves}
    assert (leaves["output"].verdict, leaves["other"].verdict) == ("same", "different")
    assert leaves["output"].draws is not None
    assert leaves["other"].draws is None
    assert judged.verdict == "different"
    assert by_distribution(report(different_leaf("output")), draws(noise), draws(noise, seed=1)).verdict == "same"


def test_values_that_agree_by_chance_are_no_proof():
    judged = by_distribution(report(leaf("output")), draws(noise), draws(lambda: torch.ones(SHAPE)))

    assert judged.verdict == "different"


def test_another_dtype_or_shape_stays_a_difference_but_a_size_that_is_drawn():
    form = "shape (2,) in the reference, (3,) in the target"
    shape = different_leaf("output", reasons=(form,), shapes=((2,), (3,)))
    dtype = different_leaf("output", dtypes=("float32", "float16"))
    sizes = KINDS["of any length"]

    assert by_distribution(report(shape), draws(noise), draws(noise, seed=1)).verdict == "different"
    assert by_distribution(report(dtype), draws(noise), draws(noise, seed=1)).verdict == "different"
    assert by_distribution(report(shape), draws(sizes), draws(sizes, seed=1)).verdict == "same"


@pytest.mark.parametrize("target", [None, Draws(calls=0, note="a call takes too long"), draws(noise, 5)])
def test_without_enough_calls_nothing_is_judged(target):
    judged = by_distribution(report(different_leaf("output")), draws(noise), target)

    assert judged.verdict == "unjudged"
    assert (target.note if target else "") in judged.leaves[0].reasons[0]


def test_the_place_where_drawn_tokens_part_is_no_reason():
    tokens = lambda: torch.randint(0, 9, (4, 6))  # noqa: E731
    given = outputs(different_leaf("output"), reasons=("sample 0 parts at token 1",), verdict="different")

    assert by_distribution(given, draws(tokens), draws(tokens, seed=1), "sample 0 parts at token 1").verdict == "same"
    assert by_distribution(given, draws(tokens), draws(tokens, seed=1)).verdict == "different"


def test_the_same_calls_give_the_same_answer():
    both = draws(noise), draws(noise, seed=1)

    assert compared(*both, [leaf("output")]) == compared(*both, [leaf("output")])
    assert np.isfinite(compared(*both, [leaf("output")])["output"].score)

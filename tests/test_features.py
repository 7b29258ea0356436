"""A few numbers that stand for an output."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from libbench.features import LARGEST, draws_of, features
from libbench.tree import snapshot


def of(value, path="output"):
    return features(snapshot(value))[path]


def test_the_features_of_plain_numbers_are_what_they_are_called():
    found = of(torch.tensor([[0.0, 1.0], [2.0, 5.0]]))

    assert (found["size"], found["mean"], found["share of zeros"], found["share that is not finite"]) == (4, 2, 0.25, 0)
    assert found["standard deviation"] == pytest.approx(math.sqrt(3.5))
    assert (found["50% quantile"], found["value 0"], found["value 3"]) == (1.5, 0, 5)


def test_what_is_not_finite_is_counted_and_left_out_of_the_rest():
    found = of(torch.tensor([1.0, math.nan, math.inf, 3.0]))

    assert (found["share that is not finite"], found["mean"]) == (0.5, 2)


@pytest.mark.parametrize(
    "value",
    [
        torch.empty(0, 3),
        torch.tensor(3),
        torch.tensor([True, False]),
        torch.full((3,), math.nan),
        torch.tensor([1 + 2j]),
        torch.ones(3, dtype=torch.bfloat16),
        torch.ones(3, dtype=torch.float8_e4m3fn),
        4.5,
        True,
    ],
)
def test_every_kind_of_number_has_features(value):
    assert {type(number) for number in of(value).values()} == {float}


@pytest.mark.parametrize("value", ["text", None, torch.eye(3).to_sparse(), torch.empty(3, device="meta")])
def test_what_has_no_plain_numbers_has_none(value):
    assert features(snapshot(value)) == {}


def test_a_nested_output_has_features_by_path():
    assert set(features(snapshot({"a": [torch.ones(2), 3], "b": "text"}))) == {"a.0", "a.1"}


@given(st.integers(1, 40), st.integers(0, 2**31))
def test_the_same_values_in_another_order_differ_in_where_they_stand_only(count, seed):
    generator = torch.Generator().manual_seed(seed)
    values = torch.rand(count, generator=generator)
    one, two = of(values), of(values[torch.randperm(count, generator=generator)])

    for name in ("size", "mean", "standard deviation", "share of zeros", "1% quantile", "99% quantile"):
        assert one[name] == pytest.approx(two[name], rel=1e-6)


def test_a_large_output_is_looked_at_in_part_and_random_numbers_go_on_as_if_it_had_not():
    state = torch.get_rng_state()

    found = of(torch.arange(3 * LARGEST, dtype=torch.float32))

    assert found["size"] <= LARGEST
    assert found["mean"] == pytest.approx(1.5 * LARGEST, rel=1e-3)
    assert torch.equal(torch.get_rng_state(), state)


def test_calls_are_put_together_and_what_never_changes_is_left_out_but_where_it_is_wanted():
    calls = [{"a": {"mean": value}, "b": {"mean": 2.0}} for value in (1.0, 3.0)]

    alone, wanted = draws_of(calls), draws_of(calls, ["b"])

    assert (alone.calls, [leaf.path for leaf in alone.leaves]) == (2, ["a"])
    assert [leaf.path for leaf in wanted.leaves] == ["a", "b"]
    assert alone.leaves[0].features == {"mean": (1.0, 3.0)}


def test_a_feature_that_a_call_lacks_is_nan():
    (leaf,) = draws_of([{"a": {"mean": 1.0}}, {"a": {"mean": 1.0, "value 3": 2.0}}]).leaves

    assert leaf.features["mean"] == (1.0, 1.0)
    assert math.isnan(leaf.features["value 3"][0])

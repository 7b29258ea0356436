"""Batches and the indices of their samples."""

import math
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from libbench.data import DataError, IndexedLoader, RandomInputs, stack


class Point(NamedTuple):
    x: torch.Tensor
    name: str


class Numbers:
    """Item `i` is a dict of a tensor, a text and a tuple, all of them telling `i`."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return {"x": torch.tensor([float(index)]), "name": f"n{index}", "pair": (index, -index)}


class Broken(Numbers):
    def __getitem__(self, index):
        if index == 4:
            raise KeyError("no such file")
        return super().__getitem__(index)


def same(left, right):
    """Say whether two nested batches are equal, values and dtypes."""
    if isinstance(left, torch.Tensor):
        return left.dtype == right.dtype and torch.equal(left, right)
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, tuple | list):
        return type(left) is type(right) and all(map(same, left, right))
    return left == right


# The loader


@given(size=st.integers(0, 12), batch_size=st.integers(1, 14))
def test_every_sample_comes_once_in_the_order_of_the_dataset(size, batch_size):
    loader = IndexedLoader(Numbers(size), batch_size)

    batches = list(loader)

    assert [index for batch in batches for index in batch.indices] == list(range(size))
    assert [batch.number for batch in batches] == list(range(len(loader)))
    assert all(len(batch.indices) == batch_size for batch in batches[:-1])
    assert all(batch.inputs["x"].flatten().tolist() == list(batch.indices) for batch in batches)


def test_indices_are_a_tuple_of_plain_ints():
    (batch,) = IndexedLoader(Numbers(3), 4)

    assert batch.indices == (0, 1, 2)
    assert {type(index) for index in batch.indices} == {int}


def test_a_second_pass_gives_the_same_and_counts_one_epoch_more():
    loader = IndexedLoader(Numbers(5), 2)

    first, second = list(loader), list(loader)

    assert all(same(a.inputs, b.inputs) and a.indices == b.indices for a, b in zip(first, second, strict=True))
    assert [batch.epoch for batch in first] == [0, 0, 0]
    assert [batch.epoch for batch in second] == [1, 1, 1]


def test_two_passes_at_once_do_not_disturb_each_other():
    loader = IndexedLoader(Numbers(4), 2)

    pairs = list(zip(loader, loader, strict=True))

    assert [(a.indices, b.indices) for a, b in pairs] == [((0, 1), (0, 1)), ((2, 3), (2, 3))]
    assert [(a.epoch, b.epoch) for a, b in pairs] == [(0, 1), (0, 1)]


def test_no_inputs_named_gives_the_whole_item():
    (batch,) = IndexedLoader(Numbers(2), 2)

    assert same(
        batch.inputs,
        {
            "x": torch.tensor([[0.0], [1.0]]),
            "name": ["n0", "n1"],
            "pair": (torch.tensor([0, 1]), torch.tensor([0, -1])),
        },
    )


@pytest.mark.parametrize(
    ("inputs", "wanted"),
    [
        ("x", torch.tensor([[0.0], [1.0]])),
        (["x"], {"x": torch.tensor([[0.0], [1.0]])}),
        (["name", "x"], {"name": ["n0", "n1"], "x": torch.tensor([[0.0], [1.0]])}),
        (lambda item: (item["x"], 2), (torch.tensor([[0.0], [1.0]]), torch.tensor([2, 2]))),
    ],
)
def test_inputs_say_what_the_model_gets_of_a_dict(inputs, wanted):
    (batch,) = IndexedLoader(Numbers(2), 2, inputs)

    assert same(batch.inputs, wanted)


@pytest.mark.parametrize(
    ("inputs", "wanted"),
    [
        (0, torch.tensor([[1], [3]])),
        (-1, ["a", "b"]),
        ([1, 0], (["a", "b"], torch.tensor([[1], [3]]))),
        ([0], (torch.tensor([[1], [3]]),)),
    ],
)
def test_inputs_say_what_the_model_gets_of_a_tuple(inputs, wanted):
    (batch,) = IndexedLoader([(torch.tensor([1]), "a"), (torch.tensor([3]), "b")], 2, inputs)

    assert same(batch.inputs, wanted)


def test_inputs_may_name_an_attribute():
    (batch,) = IndexedLoader([Point(torch.tensor(1), "a"), Point(torch.tensor(2), "b")], 2, "x")

    assert same(batch.inputs, torch.tensor([1, 2]))


def test_a_collate_of_the_users_own_is_used_as_it_is():
    (batch,) = IndexedLoader(Numbers(3), 4, "name", collate="-".join)

    assert batch.inputs == "n0-n1-n2"


def test_a_sample_that_fails_is_named_by_its_index():
    batches = iter(IndexedLoader(Broken(6), 2))

    assert next(batches).indices == (0, 1)
    assert next(batches).indices == (2, 3)
    with pytest.raises(DataError, match=r"^dataset\[4\] failed: KeyError: 'no such file'$") as caught:
        next(batches)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_dataset_that_ends_too_early_is_no_silent_end():
    class Short(Numbers):
        def __getitem__(self, index):
            return [torch.tensor(0)][index]

    with pytest.raises(DataError, match=r"dataset\[1\] failed: IndexError"):
        list(IndexedLoader(Short(2), 1))


def test_an_input_that_is_not_there_is_named_with_the_nearest_that_is():
    with pytest.raises(DataError, match=r"inputs of dataset\[0\] failed: .*'nme'.*did you mean 'name'"):
        list(IndexedLoader(Numbers(2), 2, "nme"))


def test_samples_of_different_shapes_make_no_batch():
    with pytest.raises(DataError, match=r"samples 0 to 1 make no batch: .*shapes differ: \(1,\) and \(2,\)"):
        list(IndexedLoader([torch.zeros(1), torch.zeros(2)], 2))


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1, got 0"),
        ({"batch_size": 2.0}, TypeError, "batch_size must be an int, got 2.0"),
        ({"batch_size": True}, TypeError, "batch_size must be an int, got True"),
        ({"dataset": iter([])}, TypeError, "dataset must have len"),
        ({"inputs": []}, TypeError, r"inputs must be .*, got \[\]"),
        ({"inputs": ["x", 0]}, TypeError, "inputs must be"),
        ({"inputs": 1.5}, TypeError, "inputs must be"),
        ({"collate": "stack"}, TypeError, "collate must be callable or None, got 'stack'"),
    ],
)
def test_a_wrong_argument_of_the_loader_is_refused(arguments, error, says):
    with pytest.raises(error, match=says):
        IndexedLoader(**{"dataset": Numbers(2), "batch_size": 1, **arguments})


# Making one batch


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        ([1, 2], torch.tensor([1, 2])),
        ([1.0, 2.5], torch.tensor([1.0, 2.5])),
        ([True, False], torch.tensor([True, False])),
        ([np.float64(1), np.float64(2)], torch.tensor([1, 2], dtype=torch.float64)),
        ([np.zeros((2, 1), np.int16)] * 3, torch.zeros(3, 2, 1, dtype=torch.int16)),
        ([torch.zeros(2, dtype=torch.bfloat16)], torch.zeros(1, 2, dtype=torch.bfloat16)),
        (["a", "b"], ["a", "b"]),
        ([b"a"], [b"a"]),
        ([None, None], [None, None]),
        ([[1, 2], [3, 4]], [torch.tensor([1, 3]), torch.tensor([2, 4])]),
        ([("a", {"n": 1}), ("b", {"n": 2})], (["a", "b"], {"n": torch.tensor([1, 2])})),
        ([Point(torch.tensor(1), "a")], Point(torch.tensor([1]), ["a"])),
        ([np.array(["a"])], [np.array(["a"])]),
        ([(), ()], ()),
    ],
)
def test_items_become_one_batch(items, wanted):
    assert same(stack(items), wanted)


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ([{"a": 1}, {"b": 1}], r"keys differ: \['a'\] and \['b'\]"),
        ([(1, 2), (1,)], "lengths differ: 2 and 1"),
        ([np.zeros(2), np.zeros((2, 1))], r"shapes differ: \(2,\) and \(2, 1\)"),
    ],
)
def test_items_that_do_not_fit_together_are_refused(items, says):
    with pytest.raises(ValueError, match=says):
        stack(items)


def test_arrays_of_the_dataset_are_copied_not_shared():
    item = np.zeros(2)

    stack([item])[0, 0] = 1

    assert item.tolist() == [0, 0]


# Random inputs


def all_samples(loader):
    return torch.cat([batch.inputs for batch in loader])


@pytest.mark.parametrize("batch_size", [1, 2, 3, 7, 8])
def test_the_batch_size_changes_no_sample(batch_size):
    wanted = all_samples(RandomInputs((2, 3), samples=7, batch_size=7))

    assert torch.equal(all_samples(RandomInputs((2, 3), samples=7, batch_size=batch_size)), wanted)


def test_more_samples_change_none_of_the_first():
    few, many = (all_samples(RandomInputs((4,), samples=n, batch_size=4)) for n in (3, 9))

    assert torch.equal(many[:3], few)


def test_samples_seeds_and_names_all_differ():
    one, other = (
        next(iter(RandomInputs({"a": (4,), "b": (4,)}, samples=2, batch_size=2, seed=seed))).inputs for seed in (0, 1)
    )
    drawn = [row for inputs in (one, other) for rows in inputs.values() for row in rows]

    assert len({tuple(row.tolist()) for row in drawn}) == 8


def test_the_state_of_other_random_numbers_changes_nothing_and_is_left_alone():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = all_samples(RandomInputs((3,), samples=2, batch_size=2))

    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert torch.equal(all_samples(RandomInputs((3,), samples=2, batch_size=2)), first)


@pytest.mark.parametrize(
    ("shapes", "wanted"),
    [
        ((), torch.Size([2])),
        ((3,), torch.Size([2, 3])),
        ([3, 8], torch.Size([2, 3, 8])),
        ([(3,), (8, 1)], (torch.Size([2, 3]), torch.Size([2, 8, 1]))),
        (((3,), ()), (torch.Size([2, 3]), torch.Size([2]))),
        ({"x": (3,), "y": [4]}, {"x": torch.Size([2, 3]), "y": torch.Size([2, 4])}),
    ],
)
def test_shapes_say_how_the_model_is_called(shapes, wanted):
    (batch,) = RandomInputs(shapes, samples=2, batch_size=2)

    inputs = batch.inputs
    if isinstance(wanted, dict):
        assert {name: tensor.shape for name, tensor in inputs.items()} == wanted
    elif isinstance(inputs, tuple):
        assert tuple(tensor.shape for tensor in inputs) == wanted
    else:
        assert inputs.shape == wanted


def test_floats_are_drawn_from_the_normal_distribution():
    values = all_samples(RandomInputs((1000,), samples=10, batch_size=5, dtype=torch.float64))

    assert values.dtype == torch.float64
    assert abs(values.mean().item()) < 5 / math.sqrt(10_000)
    assert abs(values.std().item() - 1) < 5 / math.sqrt(20_000)


def test_integers_take_every_value_of_their_range_and_no_other():
    values = all_samples(RandomInputs((50,), samples=4, batch_size=4, dtype=torch.int32, low=-1, high=3))

    assert values.dtype == torch.int32
    assert set(values.flatten().tolist()) == {-1, 0, 1, 2}


def test_floats_with_a_range_stay_in_it():
    values = all_samples(RandomInputs((500,), samples=4, batch_size=4, low=2, high=3))

    assert values.min() >= 2
    assert values.max() <= 3
    assert values.max() - values.min() > 0.9


@pytest.mark.parametrize("dtype", [torch.bool, torch.bfloat16, torch.float16, torch.complex64])
def test_this_dtype_needs_no_range(dtype):
    values = all_samples(RandomInputs((40,), samples=2, batch_size=2, dtype=dtype))

    assert values.dtype == dtype
    assert len(values.unique() if not dtype.is_complex else torch.view_as_real(values).unique()) > 1


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"dtype": torch.int64}, ValueError, "torch.int64 needs low and high"),
        ({"dtype": torch.int64, "low": 0}, ValueError, "low and high go together, got 0 and None"),
        ({"dtype": torch.int64, "low": 5, "high": 5}, ValueError, "low must be below high, got 5 and 5"),
        ({"dtype": torch.uint8, "low": 0, "high": 257}, ValueError, "whole numbers 0 to 255, got 0 and 257"),
        ({"dtype": torch.int8, "low": 0.5, "high": 3}, ValueError, "whole numbers -128 to 127, got 0.5 and 3"),
        ({"dtype": torch.bool, "low": 0, "high": 1}, ValueError, "torch.bool has no low and high"),
        ({"dtype": "float32"}, TypeError, "dtype must be a torch dtype, got 'float32'"),
        ({"shapes": (2, -1)}, ValueError, r"a shape must be .*, got \(2, -1\)"),
        ({"shapes": 3}, ValueError, "a shape must be .*, got 3"),
        ({"shapes": {}}, ValueError, "a shape must be .*, got {}"),
        ({"shapes": {"x": 3}}, ValueError, "a shape must be .*, got 3"),
        ({"shapes": (2, 1.5)}, ValueError, "a shape must be .*, got 2"),
        ({"samples": 0}, ValueError, "samples must be at least 1, got 0"),
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1, got 0"),
        ({"seed": -1}, ValueError, "seed must be at least 0, got -1"),
    ],
)
def test_a_wrong_argument_of_random_inputs_is_refused(arguments, error, says):
    with pytest.raises(error, match=says):
        RandomInputs(**{"shapes": (2,), "samples": 2, "batch_size": 1, **arguments})


@pytest.mark.parametrize(
    ("dtype", "low", "high"), [(torch.uint8, 0, 256), (torch.int64, -(2**63), 2**63), (torch.int8, -128, 128)]
)
def test_a_range_may_be_as_wide_as_the_dtype(dtype, low, high):
    values = all_samples(RandomInputs((2,), samples=2, batch_size=2, dtype=dtype, low=low, high=high))

    assert values.dtype == dtype

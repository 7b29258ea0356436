"""Inputs of timed calls: other values in every round, in the same tensors where that is possible."""

import copy
import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from libbench.interfaces import Batch
from libbench.pool import Pool
from libbench.tree import fingerprint, map_tensors, same_form


def fresh(batch):
    inputs = map_tensors(torch.clone, batch.inputs)
    return Batch(batch.indices, inputs if isinstance(inputs, torch.Tensor) else copy.deepcopy(inputs), batch.number)


def pool_of(*inputs):
    return Pool([Batch((number,), each, number) for number, each in enumerate(inputs)], fresh)


@given(st.integers(1, 8), st.lists(st.integers(0, 20), max_size=5))
def test_every_place_holds_the_values_of_the_batch_that_it_says(size, turns):
    pool = pool_of(*[{"x": torch.full((2, 3), float(i)), "n": torch.tensor(i)} for i in range(size)])

    for turn in [0, *turns]:
        pool.refresh(turn)
        seen = [pool.at(position) for position in range(100)]
        for position, batch in enumerate(seen):
            assert fingerprint(batch.inputs) == fingerprint(pool.batch(pool.number(position)).inputs)
        assert size == 1 or all(a.inputs is not b.inputs for a, b in itertools.pairwise(seen))


def test_four_turns_give_every_place_other_values_and_going_back_the_old_ones():
    pool = pool_of(*[torch.tensor(i) for i in range(8)])

    def held():
        return {id(pool.at(position).inputs): pool.at(position).inputs.item() for position in range(100)}

    first = held()
    pool.refresh(4)
    later = held()
    pool.refresh(0)

    assert first.keys() == later.keys()
    assert all(first[place] != later[place] for place in first)
    assert held() == first


def test_values_change_in_the_very_tensors_that_are_there():
    pool = pool_of(torch.zeros(3), torch.ones(3))
    before = pool.at(0).inputs

    pool.refresh(1)

    assert pool.at(0).inputs is before
    assert before.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (torch.zeros(3), torch.ones(4)),
        (torch.zeros(3), torch.ones(3, dtype=torch.float64)),
        ({"x": torch.zeros(3), "words": "a"}, {"x": torch.ones(3), "words": "b"}),
        (np.zeros(3), np.ones(3)),
        ([torch.zeros(3)], [torch.zeros(3), torch.ones(3)]),
    ],
)
def test_what_is_more_than_values_of_tensors_is_given_anew(first, second):
    pool = pool_of(first, second)

    pool.refresh(4)

    assert fingerprint(pool.at(0).inputs) == fingerprint(second)
    assert fingerprint(pool.at(1).inputs) == fingerprint(first)


def test_one_tensor_in_two_places_of_one_batch_only_is_no_place_for_two_tensors():
    x = torch.zeros(3)
    pool = pool_of([x, x], [torch.ones(3), torch.full((3,), 2.0)])

    pool.refresh(4)

    assert [each.tolist() for each in pool.at(0).inputs] == [[1, 1, 1], [2, 2, 2]]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_sparse_inputs_of_other_density_are_given_anew():
    pool = pool_of(*[torch.tensor(row).to_sparse_csr() for row in ([[0.0, 1.0]], [[1.0, 1.0]])])

    pool.refresh(4)

    assert pool.at(0).inputs.to_dense().tolist() == [[1, 1]]


def test_the_data_are_never_written_to():
    data = [torch.zeros(3), torch.ones(3)]
    pool = pool_of(*data)

    for turn in range(3):
        pool.refresh(turn)

    assert [each.tolist() for each in data] == [[0, 0, 0], [1, 1, 1]]


def test_trees_have_one_form_when_only_values_of_tensors_differ():
    assert same_form({"a": (torch.zeros(2), 1)}, {"a": (torch.ones(2), 1)})
    assert not same_form({"a": (torch.zeros(2), 1)}, {"a": (torch.zeros(2), 2)})
    assert not same_form([object()], [object()])


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_rows_of_several_lengths_are_never_copied_into_one_another(layout):
    made = [torch.nested.nested_tensor([torch.full((n, 2), float(i)) for n in (2, 3)], layout=layout) for i in range(4)]
    pool = Pool(
        [Batch((i,), each, i) for i, each in enumerate(made)],
        lambda batch: Batch(batch.indices, batch.inputs.clone(), batch.number),
    )
    before = {id(pool.at(i).inputs): pool.at(i).inputs for i in range(50)}

    pool.refresh(4)

    assert not before.keys() & {id(pool.at(i).inputs) for i in range(50)}
    for position in range(50):
        held = pool.batch(pool.number(position)).inputs
        assert fingerprint(pool.at(position).inputs) == fingerprint(held)

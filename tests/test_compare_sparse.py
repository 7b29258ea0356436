"""Sparse and quantised tensors that are compared piece by piece, held against their dense values."""

import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from libbench.compare import OutputComparison, compare, quantised, sparse
from libbench.compare.chunks import CHUNK
from libbench.tree import snapshot

LAYOUTS = {
    "coo": torch.Tensor.to_sparse,
    "hybrid": lambda dense: dense.to_sparse(1),
    "csr": torch.Tensor.to_sparse_csr,
    "csc": torch.Tensor.to_sparse_csc,
    "bsr": lambda dense: dense.to_sparse_bsr((2, 3)),
    "bsc": lambda dense: dense.to_sparse_bsc((2, 3)),
}


@pytest.fixture(autouse=True)
def without_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says of most of these that they may change
        yield


@pytest.fixture(params=[1, 5, 100_000])
def entries(request, monkeypatch):
    """How many stored entries of each side are read at once."""
    monkeypatch.setattr(sparse, "_ENTRIES", request.param)


def only_leaf(reference, target):
    (leaf,) = compare(reference, target).leaves
    return leaf


@st.composite
def matrices(draw):
    """Two matrices, most of whose values are 0."""
    value = st.sampled_from([0, 0, 0, 1, 2, -3])
    rows = st.lists(st.lists(value, min_size=6, max_size=6), min_size=4, max_size=4)
    return [torch.tensor(draw(rows)) for _ in range(2)]


@pytest.mark.usefixtures("entries")
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64, torch.int64])
@pytest.mark.parametrize("layout", LAYOUTS)
@settings(deadline=None, max_examples=25)
@given(pair=matrices())
def test_what_is_found_is_what_the_dense_values_say(layout, dtype, pair):
    reference, target = (side.to(dtype) for side in pair)

    leaf = only_leaf(*(LAYOUTS[layout](side) for side in (reference, target)))

    apart = (target - reference).abs()
    assert leaf.mismatches == int((reference != target).sum())
    assert leaf.verdict == ("different" if leaf.mismatches else "same")
    if leaf.mismatches:
        assert leaf.max_abs.value == apart.max()
        assert apart[leaf.max_abs.at] == apart.max()
        assert reference[leaf.first_mismatch] != target[leaf.first_mismatch]
        assert leaf.max_abs.reference == str(complex(reference[leaf.max_abs.at])) or (
            leaf.max_abs.reference == reference[leaf.max_abs.at]
        )


@pytest.mark.usefixtures("entries")
def test_positions_among_stored_entries_begin_with_the_dataset_index():
    reference, target = torch.eye(4), torch.eye(4)
    target[2, 1] = 7
    comparison = OutputComparison()
    comparison.add(snapshot(reference.to_sparse_csr()), snapshot(target.to_sparse_csr()), [40, 41, 42, 43])

    assert comparison.report().leaves[0].first_mismatch == (42, 1)


def test_entries_in_no_order_are_put_in_order():
    def unordered(places, values):
        return torch.sparse_coo_tensor(
            torch.tensor([places]), torch.tensor(values), (9,), is_coalesced=True, check_invariants=False
        )

    reference = unordered([7, 2, 5], [1.0, 2.0, 3.0])

    assert only_leaf(reference, unordered([2, 5, 7], [2.0, 3.0, 1.0])).verdict == "same"
    leaf = only_leaf(reference, unordered([5, 2, 7], [4.0, 2.0, 1.0]))
    assert (leaf.mismatches, leaf.first_mismatch, leaf.max_abs.value) == (1, (5,), 1)


def test_batches_and_blocks_of_other_sizes_are_compared():
    dense = torch.eye(6).expand(2, 6, 6).clone()
    other = dense.clone()
    other[1, 2, 2], other[1, 2, 3] = 0, 5

    leaf = only_leaf(dense.to_sparse_csr(), other.to_sparse_csr())
    assert (leaf.mismatches, leaf.max_abs.at) == (2, (1, 2, 3))
    leaf = only_leaf(dense[0].to_sparse_bsr((2, 2)), other[1].to_sparse_bsr((3, 3)))
    assert (leaf.mismatches, leaf.max_abs.at) == (2, (2, 3))


def by_channel(values, axis, dtype):
    count = values.shape[axis]
    scales = torch.linspace(0.01, 0.1, count, dtype=torch.float64)
    return torch.quantize_per_channel(values, scales, torch.arange(count) % 5, axis, dtype)


@pytest.mark.parametrize("dtype", [torch.quint8, torch.qint8, torch.qint32])
@pytest.mark.parametrize("axis", [0, 1])
def test_pieces_of_a_tensor_quantised_by_channel_are_its_values(axis, dtype):
    reference, target = (by_channel(torch.randn(70, CHUNK // 30), axis, dtype) for _ in range(2))

    found = list(quantised.channel_pieces(reference, target))

    assert max(len(r) for _, r, _ in found) == CHUNK
    assert torch.equal(torch.cat([r for _, r, _ in found]), reference.dequantize().reshape(-1))
    assert torch.equal(torch.cat([t for _, _, t in found]), target.dequantize().reshape(-1))


def test_a_tensor_quantised_by_channel_with_other_strides_is_compared_by_value():
    values = torch.randn(2, 40, 30, 90)
    reference = by_channel(values, 1, torch.qint8)
    values[1, 2, 3, 4] = -values[1, 2, 3, 4]
    target = by_channel(values.contiguous(memory_format=torch.channels_last), 1, torch.qint8)

    assert only_leaf(reference, by_channel(reference.dequantize(), 1, torch.qint8)).verdict == "same"
    leaf = only_leaf(reference, target)
    assert (leaf.mismatches, leaf.first_mismatch) == (1, (1, 2, 3, 4))

import collections
import dataclasses
import math
import subprocess
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch

from libbench.compare import OutputComparison, compare, grid
from libbench.compare.levels import family
from libbench.settings import Tolerance
from libbench.tree import load_snapshot, save_snapshot, snapshot

NAN, INF = math.nan, math.inf
EVERY_FLOAT = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
EVERY_INT = (
    torch.uint8,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
)


class Pair(NamedTuple):
    left: object
    right: object


@dataclasses.dataclass
class Answer:
    logits: torch.Tensor


class Mapping(collections.OrderedDict):
    pass


def only_leaf(reference, target, **tolerance):
    report = compare(reference, target, Tolerance(**tolerance))
    (leaf,) = report.leaves
    assert report.verdict == leaf.verdict
    return leaf


def x(*values, dtype=torch.float32):
    return torch.tensor(values, dtype=dtype)


def quietly(make):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


@pytest.mark.parametrize("dtype", EVERY_FLOAT)
@pytest.mark.parametrize(
    ("reference", "target", "verdict"),
    [
        ([1, NAN], [1, NAN], "same"),
        ([NAN, 1], [1, NAN], "different"),
        ([NAN, 1], [2, 1], "different"),
        ([INF, 1], [INF, 1], "same"),
        ([INF, 1], [-INF, 1], "different"),
        ([1, 2], [INF, 2], "different"),
        ([NAN, 1], [INF, 1], "different"),
        ([0.0], [-0.0], "same"),
        ([], [], "same"),
    ],
)
def test_nan_and_infinity_agree_only_at_the_same_places(dtype, reference, target, verdict):
    assert compare(x(*reference, dtype=dtype), x(*target, dtype=dtype)).verdict == verdict


def test_nan_agreement_can_be_refused():
    leaf = only_leaf(x(1, NAN), x(1, NAN), nan="refuse")

    assert (leaf.verdict, leaf.mismatches, leaf.nans, leaf.level) == ("different", 1, (1, 1), INF)


def test_an_overflow_in_the_target_is_different():
    leaf = only_leaf(x(1e38), x(INF), rtol=1e30)

    assert (leaf.verdict, leaf.infs, leaf.first_mismatch, leaf.level) == ("different", (0, 1), (0,), INF)


@pytest.mark.parametrize("others", [torch.empty(3, 0), torch.empty(0, 2), torch.empty(0)])
def test_empty_tensors_are_the_same_only_with_the_same_shape(others):
    assert compare(torch.empty(0, 3), torch.empty(0, 3)).verdict == "same"
    assert compare(torch.empty(0, 3), others).verdict == "different"


@pytest.mark.parametrize(
    ("reference", "target"),
    [(torch.ones(3), torch.ones(1, 3)), (torch.tensor(1.0), torch.ones(1)), (torch.ones(2, 2), torch.ones(2, 1))],
)
def test_another_shape_is_different_and_is_never_broadcast(reference, target):
    leaf = only_leaf(reference, target)

    assert leaf.verdict == "different"
    assert "shape" in leaf.reasons[0]
    assert leaf.elements == 0


def test_integers_beyond_the_exact_floats_are_told_apart():
    leaf = only_leaf(torch.tensor([2**53 + 1]), torch.tensor([2**53]))

    assert (leaf.verdict, leaf.max_abs.value, leaf.max_abs.reference) == ("different", 1, 2**53 + 1)


@pytest.mark.parametrize("dtype", EVERY_INT)
def test_the_difference_of_integers_never_wraps_around(dtype):
    info = torch.iinfo(dtype)

    leaf = only_leaf(torch.tensor([5, info.min], dtype=dtype), torch.tensor([5, info.max], dtype=dtype))

    assert leaf.max_abs.value == info.max - info.min
    assert (leaf.mismatches, leaf.first_mismatch, leaf.level) == (1, (1,), None)


@pytest.mark.parametrize("dtype", EVERY_INT)
def test_integers_are_exact_whatever_the_tolerance(dtype):
    reference = torch.tensor([10, 100], dtype=dtype)

    assert compare(reference, reference.clone(), Tolerance(rtol=0.5, atol=9)).verdict == "same"
    leaf = only_leaf(reference, torch.tensor([14, 100], dtype=dtype), rtol=0.5, atol=9)
    assert (leaf.verdict, leaf.max_abs.value) == ("different", 4)


def test_integers_of_other_widths_are_different_but_their_values_are_compared():
    huge = torch.tensor([2**64 - 1, 3], dtype=torch.uint64)

    equal = only_leaf(torch.tensor([1, 2], dtype=torch.int32), torch.tensor([1, 2]))
    apart = only_leaf(huge, torch.tensor([-1, 3]))

    assert (equal.verdict, equal.mismatches, equal.notes) == ("different", 0, ("the values are equal",))
    assert (apart.max_abs.value, apart.mismatches) == (2**64, 1)


def test_booleans_are_exact():
    leaf = only_leaf(torch.tensor([True, False]), torch.tensor([True, True]))

    assert (leaf.verdict, leaf.mismatches, leaf.first_mismatch, leaf.max_abs.value) == ("different", 1, (1,), 1)


@pytest.mark.parametrize("dtype", [torch.complex32, torch.complex64, torch.complex128])
def test_complex_numbers_are_compared_by_parts(dtype):
    reference = quietly(lambda: torch.tensor([1 + 2j, 3 + 4j]).to(dtype))
    target = quietly(lambda: torch.tensor([1 + 2j, 3 + 5j]).to(dtype))

    assert compare(reference, reference.clone()).verdict == "same"
    leaf = only_leaf(reference, target)
    assert (leaf.verdict, leaf.mismatches, leaf.elements, leaf.first_mismatch) == ("different", 1, 2, (1,))
    assert (leaf.max_abs.value, leaf.max_abs.at, leaf.max_abs.target) == (1, (1,), "(3+5j)")


def test_the_next_bfloat16_is_one_ulp_away_and_the_same():
    one = x(1, dtype=torch.bfloat16)

    leaf = only_leaf(one, torch.nextafter(one, one * 2))

    assert (leaf.verdict, leaf.ulp_max, leaf.ulp_p50, leaf.ulp_p99) == ("same", 1, 1, 1)


@pytest.mark.parametrize("dtype", EVERY_FLOAT)
def test_ulps_count_across_zero_and_across_binades(dtype):
    tiny = torch.tensor(0.0, dtype=dtype).nextafter(torch.tensor(1.0, dtype=dtype))
    below = torch.tensor(1.0, dtype=dtype).nextafter(torch.tensor(0.0, dtype=dtype))

    assert only_leaf(tiny, -tiny).ulp_max == 2
    assert only_leaf(torch.tensor(-0.0, dtype=dtype), torch.tensor(0.0, dtype=dtype)).ulp_max == 0
    assert only_leaf(below, torch.tensor(1.0, dtype=dtype)).ulp_max == 1


def test_ulps_of_the_widest_distance_do_not_wrap_around():
    most = torch.finfo(torch.float64).max

    assert only_leaf(x(-most, dtype=torch.float64), x(most, dtype=torch.float64)).ulp_max == 2 * 0x7FEFFFFFFFFFFFFF


@pytest.mark.parametrize("detail", ["verdict", "level", "grid", "full"])
@pytest.mark.parametrize("other", [torch.float32, torch.float64, torch.bfloat16])
def test_another_dtype_is_different_and_its_values_are_reported_as_equal(other, detail):
    (leaf,) = compare(x(1, dtype=torch.float16), x(1, dtype=other), detail=detail).leaves

    assert leaf.verdict == "different"
    assert leaf.dtypes == ("float16", str(other).removeprefix("torch."))
    assert leaf.notes == ("the values are equal",)


def test_another_floating_dtype_can_be_allowed():
    reference = torch.randn(100)

    leaf = only_leaf(reference, reference.bfloat16(), dtype="any", rtol=0.01, atol=0.01)

    assert leaf.verdict == "same"
    assert "the values are within tolerance" in leaf.notes
    assert compare(reference.int(), reference.int().float(), Tolerance(dtype="any")).verdict == "different"


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz])
def test_float8_is_exact_by_default(dtype):
    ones = torch.ones(3).to(dtype)

    assert only_leaf(ones, ones.clone()).verdict == "same"
    leaf = only_leaf(ones, x(1, 1, 1.25).to(dtype))
    assert (leaf.verdict, leaf.mismatches, leaf.max_abs.value, leaf.level) == ("different", 1, 0.25, None)
    assert only_leaf(ones, x(1, 1, 1.25).to(dtype), atol=0.5).verdict == "same"


@pytest.mark.parametrize("dtype", [torch.float4_e2m1fn_x2, torch.int4, torch.uint3])
def test_dtypes_below_a_byte_are_compared_by_their_bytes(dtype):
    bits = torch.tensor([1, 2, 3], dtype=torch.uint8)

    assert compare(bits.view(dtype), bits.clone().view(dtype)).verdict == "same"
    leaf = only_leaf(bits.view(dtype), torch.tensor([1, 2, 4], dtype=torch.uint8).view(dtype))
    assert (leaf.verdict, leaf.first_mismatch, leaf.max_abs) == ("different", (2,), None)


@pytest.mark.parametrize("size", [(3, 4), (300, 500), (3, 70000), (2, 3, 5, 4000)])
def test_strides_never_matter(size):
    reference = torch.randn(*size).transpose(0, -1)
    target = reference.contiguous()

    assert only_leaf(reference, target).level == -INF
    target[-1, ..., 1] += 1
    leaf = only_leaf(reference, target)
    assert leaf.first_mismatch == (*torch.nonzero(reference != target)[0].tolist(),)
    assert leaf.mismatches == int((reference != target).sum())


def test_grad_and_inference_mode_never_matter():
    with torch.inference_mode():
        target = torch.ones(3)

    assert compare(torch.ones(3, requires_grad=True) * 1, target).verdict == "same"


SPARSE = {
    "coo": torch.Tensor.to_sparse,
    "csr": torch.Tensor.to_sparse_csr,
    "csc": torch.Tensor.to_sparse_csc,
    "bsr": lambda dense: dense.to_sparse_bsr((2, 2)),
    "hybrid": lambda dense: dense.to_sparse(1),
}


@pytest.mark.parametrize("layout", SPARSE)
def test_sparse_tensors_are_compared_by_value(layout):
    dense = torch.eye(4)
    other = dense.clone()
    other[2, 3] = 5

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference, target = SPARSE[layout](dense), SPARSE[layout](other)
        assert compare(reference, SPARSE[layout](dense.clone())).verdict == "same"
        leaf = only_leaf(reference, target)

    assert (leaf.verdict, leaf.mismatches, leaf.first_mismatch, leaf.max_abs.value) == ("different", 1, (2, 3), 5)


def test_a_sparse_zero_that_is_stored_changes_nothing():
    stored = torch.sparse_coo_tensor([[0, 1]], [1.0, 0.0], (3,), check_invariants=True)

    assert compare(x(1, 0, 0).to_sparse(), stored).verdict == "same"


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (2**31, 2**31)])
def test_sparse_tensors_of_unusual_sizes_are_compared(shape):
    places = torch.zeros(len(shape), 0 if 0 in shape else 1, dtype=torch.int64)
    values = torch.ones(places.shape[1])
    reference, target = (
        torch.sparse_coo_tensor(places, side, shape, check_invariants=True) for side in (values, values * 2)
    )

    assert compare(reference, reference.clone()).verdict == "same"
    assert compare(reference, target).verdict == ("same" if 0 in shape else "different")


def test_nested_tensors_are_compared_piece_by_piece():
    def nested(value):
        return quietly(lambda: torch.nested.nested_tensor([torch.ones(2), torch.tensor([1, 1, value])]))

    assert compare(nested(1.0), nested(1.0)).verdict == "same"
    assert [leaf.path for leaf in compare(nested(1.0), nested(2.0)).leaves if leaf.verdict == "different"] == ["1"]


def test_models_returned_as_outputs_are_compared_by_their_weights():
    assert compare(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)).verdict == "different"


def test_sparse_and_dense_are_different_structures():
    leaf = only_leaf(torch.eye(3).to_sparse(), torch.eye(3))

    assert leaf.verdict == "different"
    assert "layout" in leaf.reasons[0]


def test_quantised_tensors_are_compared_by_value():
    def quantised(values):
        return quietly(lambda: torch.quantize_per_tensor(values, 0.5, 0, torch.quint8))

    assert compare(quantised(x(1, 2)), quantised(x(1, 2))).verdict == "same"
    assert only_leaf(quantised(x(1, 2)), quantised(x(1, 3))).max_abs.value == 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.complex64])
def test_a_tensor_without_values_is_unjudged(dtype):
    empty = torch.empty(2, dtype=dtype, device="meta")

    assert only_leaf(empty, empty).verdict == "unjudged"
    assert compare([empty, x(1)], [empty, x(1)]).verdict == "unjudged"
    assert compare([empty, x(1)], [empty, x(2)]).verdict == "different"


@pytest.mark.parametrize(
    ("reference", "target", "verdict"),
    [
        (None, None, "same"),
        (None, x(1), "different"),
        (3, 3, "same"),
        (3, 4, "different"),
        (3, 3.0, "different"),
        (True, 1, "different"),
        (0.1, 0.1 + 1e-12, "same"),
        (0.1, 0.2, "different"),
        (NAN, NAN, "same"),
        (INF, -INF, "different"),
        (1 + 2j, 1 + 2j, "same"),
        (1 + 2j, 1 + 3j, "different"),
        (1 + 2j, 1.0, "different"),
        (np.float32(0.1), np.float32(0.1) * np.float32(1 + 1e-6), "same"),
        ("a", "a", "same"),
        ("a", "b", "different"),
        (b"a", b"b", "different"),
        ("a", b"a", "different"),
        (torch.float32, torch.float16, "different"),
        ({1, 2}, {2, 1}, "same"),
        ({1, 2}, {1, 3}, "different"),
        (np.ones(2), np.ones(2), "same"),
        (np.ones(2), torch.ones(2, dtype=torch.float64), "different"),
        (np.array(["a"]), np.array(["b"]), "different"),
        (np.array(["a", None], dtype=object), np.array(["a", None], dtype=object), "same"),
        (object(), object(), "unjudged"),
        (lambda: 1, lambda: 1, "unjudged"),
        (len, len, "same"),
        (int, str, "different"),
        (object(), 3, "different"),
        ({}, {}, "unjudged"),
        ([], [x(1)], "different"),
    ],
)
def test_values_outside_of_tensors_are_judged_by_their_kind(reference, target, verdict):
    assert compare({"a": reference}, {"a": target}).verdict == verdict


def test_integers_of_any_size_are_exact():
    huge = 10**5000

    assert compare(huge, 10**5000).verdict == "same"
    leaf = only_leaf(huge, huge + 1)
    assert (leaf.verdict, leaf.max_abs.value, leaf.max_abs.target) == ("different", 1, hex(huge + 1))
    assert only_leaf(huge, -huge).max_abs.value == INF


def test_a_missing_element_is_named_and_the_others_are_compared():
    report = compare((x(1), (x(2),)), (x(5),))

    assert report.verdict == "different"
    assert any("length 2" in reason for reason in report.reasons)
    assert {leaf.path: leaf.reasons[0][:4] for leaf in report.leaves} == {"0": "1 of", "1.0": "only"}


def test_an_extra_key_is_named_and_the_others_are_compared():
    report = compare({"a": x(1)}, {"a": x(1), "b": x(2)})

    assert report.verdict == "different"
    assert report.reasons[0].startswith("b: only in the target")
    assert [(leaf.path, leaf.verdict) for leaf in report.leaves] == [("b", "different"), ("a", "same")]


def test_an_equal_nesting_is_the_same():
    tree = (x(1), (x(2), [x(3)], {"k": Pair(x(4), Answer(x(5)))}, Mapping(logits=x(6))))

    report = compare(tree, tree)

    assert report.verdict == "same"
    assert len(report.leaves) == 6
    assert report.elements == 6


def test_key_order_and_list_or_tuple_are_notes():
    report = compare({"a": [x(1)], "b": x(2)}, {"b": x(2), "a": (x(1),)})

    assert report.verdict == "same"
    assert len(report.notes) == 2


@pytest.mark.parametrize(
    "other", [Mapping(logits=x(1)), Answer(x(1)), [x(1)], {"other": x(1)}, x(1)], ids=lambda tree: type(tree).__name__
)
def test_another_kind_of_container_is_different(other):
    report = compare({"logits": x(1)}, other)

    assert report.verdict == "different"
    assert report.reasons


def test_containers_that_hold_themselves_are_compared():
    def ring(value):
        tree = {"x": x(value)}
        tree["self"] = tree
        return tree

    assert compare(ring(1), ring(1)).verdict == "same"
    assert compare(ring(1), ring(2)).verdict == "different"


def test_one_wrong_element_of_many_is_found():
    reference = torch.ones(100_000)
    target = reference.clone()
    target[77_777] += 1e-3

    leaf = only_leaf(reference, target)

    assert (leaf.verdict, leaf.mismatches, leaf.first_mismatch, leaf.max_abs.at) == (
        "different",
        1,
        (77_777,),
        (77_777,),
    )
    assert leaf.max_abs.value == target[77_777].double().item() - 1


@pytest.mark.parametrize("dtype", EVERY_FLOAT)
def test_a_scaled_output_is_different_although_its_cosine_is_one(dtype):
    reference = torch.linspace(1, 2, 5000).to(dtype)

    leaf = only_leaf(reference, (reference * 1.05).to(dtype))

    assert leaf.verdict == "different"
    assert leaf.cosine == pytest.approx(1, abs=1e-5)
    assert leaf.max_rel.value == pytest.approx(0.05, rel=0.1)
    assert leaf.snr_db == pytest.approx(26, abs=0.5)


def test_a_float64_difference_is_not_lost():
    leaf = only_leaf(x(1, dtype=torch.float64), x(1 + 1e-9, dtype=torch.float64))

    assert leaf.verdict == "same"
    assert leaf.max_abs.value == (1 + 1e-9) - 1


@pytest.mark.parametrize("size", [4, 5000])
@pytest.mark.parametrize("dtype", EVERY_FLOAT)
def test_zeros_give_no_nan_in_any_statistic(size, dtype):
    zeros = torch.zeros(size, dtype=dtype)
    ones = zeros.clone()
    ones[-1] = 1

    for reference, target in [(zeros, zeros), (zeros, ones), (ones, zeros), (ones, ones)]:
        leaf = only_leaf(reference, target)
        for value in dataclasses.asdict(leaf).values():
            assert value == value
        assert leaf.max_rel.value == (0 if reference is target else INF if reference is zeros else 1)


@pytest.mark.parametrize("size", [3, 5000])
def test_values_that_overflow_when_squared_are_still_measured(size):
    reference = torch.full((size,), 1e30)

    leaf = only_leaf(reference, reference * 1.5)

    assert leaf.rmse == pytest.approx(5e29, rel=1e-5)
    assert leaf.cosine == pytest.approx(1)
    assert leaf.snr_db == pytest.approx(6.0206, abs=1e-3)


@pytest.mark.parametrize("size", [3, 5000])
def test_values_that_vanish_when_squared_are_still_measured(size):
    reference = torch.full((size,), 1e-30)

    assert only_leaf(reference, reference * 1.5).rmse == pytest.approx(5e-31, rel=1e-5)


def test_a_cosine_near_zero_keeps_its_digits():
    reference, target = torch.zeros(5000), torch.zeros(5000)
    reference[0], target[1], target[0] = 1e6, 1.0, 1e-3

    assert only_leaf(reference, target).cosine == pytest.approx(1e-3, rel=1e-5)
    assert only_leaf(target, reference).cosine == pytest.approx(1e-3, rel=1e-5)


def test_a_leaf_can_have_its_own_tolerance():
    report = compare(
        {"logits": x(1), "loss": x(1)}, {"logits": x(1.1), "loss": x(1.1)}, Tolerance(leaves={"log*": (0.2, 0.0)})
    )

    assert {leaf.path: leaf.verdict for leaf in report.leaves} == {"logits": "same", "loss": "different"}
    assert report.leaves[-1].rtol == 0.2


def test_the_worst_leaf_comes_first():
    report = compare([x(1), x(1), x(1), None], [x(1), x(3), x(2), None])

    assert [leaf.path for leaf in report.leaves][:2] == ["1", "2"]


def test_positions_begin_with_the_dataset_index_where_the_batch_is_dimension_0():
    comparison = OutputComparison()
    for indices in ([40, 41], [7, 3]):
        reference = {"logits": torch.zeros(2, 3), "mean": torch.zeros(3)}
        target = {"logits": torch.zeros(2, 3), "mean": torch.zeros(3)}
        if 3 in indices:
            target["logits"][1, 2] = 1
            target["mean"][1] = 1
        comparison.add(snapshot(reference), snapshot(target), indices)

    report = comparison.report()

    leaves = {leaf.path: leaf for leaf in report.leaves}
    assert leaves["logits"].first_mismatch == leaves["logits"].max_abs.at == (3, 2)
    assert leaves["mean"].max_abs.at == (1,)
    assert (report.batches, report.samples, report.elements) == (2, 4, 18)


def test_nothing_compared_is_unjudged_and_skipped_batches_are_counted():
    comparison = OutputComparison()
    comparison.skip("no room")
    comparison.skip("no room")

    report = comparison.report()

    assert report.verdict == "unjudged"
    assert report.skipped == (("no room", 2),)


def test_a_difference_in_one_batch_of_many_is_kept():
    comparison = OutputComparison()
    for number in range(5):
        comparison.add(snapshot(x(1)), snapshot(x(1) if number != 2 else torch.ones(2)))

    report = comparison.report()

    assert report.verdict == "different"
    assert report.leaves[0].elements == 4


def test_a_dtype_that_changes_between_batches_is_reported_apart():
    comparison = OutputComparison()
    comparison.add(snapshot(x(1)), snapshot(x(1)))
    comparison.add(snapshot(x(1)), snapshot(x(1).double()))

    leaves = comparison.report().leaves

    assert [leaf.verdict for leaf in leaves] == ["different", "same"]


def test_saved_snapshots_compare_as_the_outputs_themselves(tmp_path):
    reference = {
        "a": torch.randn(50, 3),
        "b": [torch.randn(4).to(torch.float8_e5m2), 3, "t"],
        "c": torch.eye(3).to_sparse(),
    }
    target = {**reference, "a": reference["a"] + 1e-3}
    sides = [snapshot(reference), snapshot(target)]
    for number, side in enumerate(sides):
        save_snapshot(side, tmp_path, number)
    direct, loaded = OutputComparison(), OutputComparison()

    direct.add(*sides)
    loaded.add(load_snapshot(tmp_path, 0), load_snapshot(tmp_path, 1))

    assert loaded.report() == direct.report()


def test_the_outputs_of_a_call_are_kept_although_the_model_overwrites_its_buffer():
    buffer = torch.zeros(2)

    def model(value):
        return buffer.fill_(value)

    first, second = snapshot(model(1)), snapshot(model(2))
    comparison = OutputComparison()
    comparison.add(first, snapshot(x(1, 1)))
    comparison.add(second, snapshot(x(2, 2)))

    assert comparison.report().verdict == "same"


def test_dropout_in_train_mode_differs_from_itself():
    torch.manual_seed(0)
    dropout = torch.nn.Dropout(0.5)

    assert compare(dropout(torch.ones(100)), dropout(torch.ones(100))).verdict == "different"


def test_comparing_changes_neither_side():
    reference, target = torch.randn(5000), torch.randn(5000)
    reference[7], target[8] = NAN, INF
    before = reference.clone(), target.clone()

    compare(reference, target)

    assert torch.equal(target, before[1])
    assert torch.allclose(reference, before[0], rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", EVERY_FLOAT)
@pytest.mark.parametrize("size", [1, 5000])
def test_the_default_tolerance_is_level_minus_5(dtype, size):
    rtol, atol = torch.testing._comparison.default_tolerances(dtype)
    reference = torch.zeros(size, dtype=torch.float64)

    assert only_leaf(reference.to(dtype), (reference + atol).to(dtype)).level == pytest.approx(-5, abs=0.01)
    leaf = only_leaf(reference.to(dtype), reference.to(dtype))
    assert (leaf.rtol, leaf.atol) == (rtol, atol)


def test_a_level_takes_the_size_of_the_reference_into_account():
    leaf = only_leaf(x(1e6, 1), x(1e6 + 1, 1))

    assert 10**leaf.level + 10 ** (1.1772 * leaf.level) * 1e6 == pytest.approx(1)
    assert leaf.level < -4


def test_a_tiny_reference_against_a_huge_target_has_a_signal_to_noise_ratio():
    reference = torch.tensor([1e-160], dtype=torch.float64)

    report = compare(reference, torch.tensor([1e150], dtype=torch.float64))

    assert report.leaves[0].snr_db == pytest.approx(-6200)


EVERY_DTYPE = {
    **{str(dtype).removeprefix("torch."): dtype for dtype in (*EVERY_FLOAT, *EVERY_INT, torch.bool)},
    **{str(dtype).removeprefix("torch."): dtype for dtype in (torch.complex32, torch.complex64, torch.complex128)},
    **{
        name: getattr(torch, name)
        for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
        if hasattr(torch, name)
    },
}
EVERY_QUANTISED = (torch.quint8, torch.qint8, torch.qint32)


def with_ones(count, where, dtype):
    """Ones, and at one place zero, or two where the dtype has no zero."""
    values = torch.ones(count, dtype=torch.float32)
    values[where] = 2 if dtype is getattr(torch, "float8_e8m0fnu", None) else 0
    return quietly(lambda: values.to(dtype))


@pytest.mark.parametrize("size", [9, 3000, 400_000])
@pytest.mark.parametrize("dtype", EVERY_DTYPE.values(), ids=EVERY_DTYPE)
def test_each_dtype_is_the_same_as_its_copy_and_one_other_value_is_found(dtype, size):
    reference, target = with_ones(size, 2, dtype), with_ones(size, 2, dtype)

    assert only_leaf(reference, target).verdict == "same"
    leaf = only_leaf(reference, with_ones(size, 7, dtype))
    assert (leaf.verdict, leaf.mismatches, leaf.first_mismatch, leaf.elements) == ("different", 2, (2,), size)
    assert (leaf.max_abs.value, leaf.max_abs.at) == (1, (2,))


@pytest.mark.parametrize("size", [9, 3000, 400_000])
@pytest.mark.parametrize("dtype", EVERY_QUANTISED)
def test_each_quantised_dtype_is_compared_by_value(dtype, size):
    def quantised(where):
        return quietly(lambda: torch.quantize_per_tensor(with_ones(size, where, torch.float32), 0.5, 1, dtype))

    assert only_leaf(quantised(2), quantised(2)).verdict == "same"
    leaf = only_leaf(quantised(2), quantised(7))
    assert (leaf.mismatches, leaf.first_mismatch, leaf.max_abs.value, leaf.rtol) == (2, (2,), 1, 1.3e-6)


@pytest.mark.parametrize("dtype", [*EVERY_FLOAT, torch.complex64, torch.complex128])
@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "hybrid"])
def test_sparse_tensors_of_each_dtype_and_equal_places_are_compared(layout, dtype):
    dense = torch.eye(40, dtype=dtype)
    other = dense.clone()
    other[30, 30] = 3

    reference, target, copy = (
        quietly(lambda side=side: SPARSE[layout](side)) for side in (dense, other, dense.clone())
    )

    assert only_leaf(reference, copy).verdict == "same"
    leaf = only_leaf(reference, target)
    assert (leaf.mismatches, leaf.first_mismatch, leaf.max_abs.value) == (1, (30, 30), 2)


@pytest.mark.parametrize("dtype", [*EVERY_FLOAT, torch.complex64, torch.complex128])
def test_nans_in_many_pieces_are_told_apart_from_mismatches(dtype):
    reference = torch.linspace(1, 2, 500_000, dtype=torch.float64).to(dtype)
    reference[::3] = NAN
    target = reference.clone()

    assert only_leaf(reference, target).verdict == "same"
    target[300_000], target[400_001], target[450_001] = 1, NAN, 5
    leaf = only_leaf(reference, target)
    assert (leaf.mismatches, leaf.first_mismatch, leaf.level) == (3, (300_000,), INF)
    assert leaf.nans == (166_667, 166_667)
    assert leaf.max_abs.at == (450_001,)


@pytest.mark.parametrize("dtype", EVERY_FLOAT)
def test_a_pair_of_the_grid_at_minus_5_is_that_of_torch_testing(dtype):
    assert grid.pair(dtype, -5) == torch.testing._comparison.default_tolerances(dtype)


def test_the_grid_says_which_level_of_each_dtype_passes():
    leaf = only_leaf(x(100, 1), x(100.01, 1))

    assert dict(leaf.grid) == {"float32": -3, "float16": -6, "bfloat16": -10, "float64": -2}
    assert set(only_leaf(x(1), x(INF)).grid.values()) == {None}
    assert set(only_leaf(x(1, NAN), x(1, NAN), nan="refuse").grid.values()) == {None}
    assert only_leaf(torch.tensor([1]), torch.tensor([1])).grid is None


def test_how_much_is_asked_has_to_be_one_of_four():
    with pytest.raises(ValueError, match="verdict, level, grid, full, got 'all'"):
        compare(x(1), x(1), detail="all")


def test_small_outputs_of_many_batches_keep_their_positions_and_their_order():
    comparison = OutputComparison()
    for number in range(200):
        reference, target = torch.zeros(2, 3), torch.zeros(2, 3)
        if number in (70, 150):
            target[1, 2] = number
        comparison.add(snapshot(reference), snapshot(target), [2 * number, 2 * number + 1])
        if number == 100:
            assert comparison.report().leaves[0].max_abs.at == (141, 2)

    leaf = comparison.report().leaves[0]

    assert (leaf.elements, leaf.mismatches, leaf.first_mismatch, leaf.max_abs.at) == (1200, 2, (141, 2), (301, 2))
    assert leaf.max_abs.target == 150


def test_small_and_large_batches_of_one_leaf_are_taken_in_their_order():
    comparison = OutputComparison()
    for size in (3, 5000, 3, 300_000, 3):
        target = torch.zeros(size)
        target[-1] = 1
        comparison.add(snapshot(torch.zeros(size)), snapshot(target))

    leaf = comparison.report().leaves[0]

    assert (leaf.elements, leaf.mismatches, leaf.first_mismatch) == (305_009, 5, (2,))


def test_a_small_output_that_is_changed_after_it_was_compared_counts_as_it_was():
    reference, target = torch.zeros(3), torch.zeros(3)
    comparison = OutputComparison()
    comparison.add(snapshot(reference, copy=False), snapshot(target, copy=False))

    target.fill_(9)

    assert comparison.report().verdict == "same"


def test_the_share_of_rows_that_rank_alike_is_told_where_values_differ():
    reference = torch.eye(10).repeat(100, 1)
    target = reference.clone()
    target[7] = target[7].roll(1)

    leaf = only_leaf(reference, target)

    assert (leaf.top1, leaf.ranked_rows) == (0.999, 1000)
    assert leaf.notes == ("top-1 agrees in 999 of 1,000 rows",)
    assert only_leaf(reference, reference.clone()).top1 == 1
    assert only_leaf(reference[0], target[0]).top1 is None


def test_equal_scores_are_no_disagreement():
    leaf = only_leaf(torch.tensor([[1.0, 1.0, 0, 0, 0, 0, 0]]), torch.tensor([[0.9, 1.1, 0, 0, 0, 0, 0.0]]))

    assert (leaf.top1, leaf.top5) == (1, 1)


@pytest.mark.parametrize("shape", [(3000, 700), (300, 20, 600), (200_000, 3)])
def test_ranks_of_large_outputs_are_counted_in_pieces_and_in_any_layout(shape):
    generator = torch.Generator().manual_seed(0)
    reference, noise = (torch.randn(shape, generator=generator) for _ in range(2))
    target = reference + 0.02 * noise
    agree = (reference.argmax(-1) == target.argmax(-1)).double().mean().item()
    agree_of = reference[..., 0].numel()

    leaf = only_leaf(reference, target)
    turned = only_leaf(reference.transpose(0, 1).contiguous().transpose(0, 1), target)

    assert leaf.top1 == pytest.approx(agree, abs=1e-12 if leaf.ranked_rows == agree_of else 0.01)
    assert (turned.top1, turned.top5) == (leaf.top1, leaf.top5)
    assert (leaf.top5 is None) == (shape[-1] <= 5)
    assert leaf.top5 is None or 0.9 < leaf.top5 < 1


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("size", [10, 500_000])
def test_outputs_on_a_gpu_are_compared_by_their_values(size):
    reference = torch.randn(size, device="cuda")
    target = reference.clone()

    assert compare(reference, target.cpu()).verdict == "same"
    target[5] += 1
    leaf = only_leaf(reference, target)
    assert (leaf.mismatches, leaf.first_mismatch) == (1, (5,))


def started(code, *arguments):
    """Run Python code in a fresh interpreter and give what it prints."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_comparing_does_not_import_the_compiler():
    code = """
import sys, torch
from libbench.compare import compare
for dtype in torch.float32, torch.bfloat16, torch.complex64, torch.int64:
    compare(torch.ones(3, 9, dtype=dtype), torch.zeros(3, 9, dtype=dtype))
    compare(torch.ones(3000, 9, dtype=dtype), torch.zeros(3000, 9, dtype=dtype))
compare(torch.eye(9).to_sparse(), torch.eye(9).to_sparse())
print("torch._dynamo" in sys.modules)
"""
    assert started(code) == "False"


PAIRS = {
    "all mismatch": "a = torch.rand(n); b = a * 1.01 + 0.01",
    "float64 with NaN": "a = torch.rand(n // 2, dtype=torch.float64); a[::5] = float('nan'); b = a * 1.01",
    "bfloat16": "a = torch.rand(n).bfloat16(); b = a * 1.01",
    "transposed scores": "a = torch.rand(n).view(10_000, -1).t(); b = a.contiguous() * 1.01",
    "expanded": "a = torch.rand(n // 10_000).expand(10_000, -1); b = a * 1.01",
    "sparse": (
        "i = torch.arange(n // 4)[None]; a, b = (torch.sparse_coo_tensor(i, torch.rand(n // 4), (n,), "
        "is_coalesced=True, check_invariants=False) for _ in 'ab')"
    ),
    "sparse with other places": (
        "a, b = (torch.sparse_coo_tensor(torch.arange(n // 20)[None] * k, torch.rand(n // 20), (n,), "
        "is_coalesced=True, check_invariants=False) for k in (2, 3))"
    ),
    "compressed": (
        "i = torch.tensor([0, n // 20]); a, b = (torch.sparse_csr_tensor(i, torch.arange(n // 20) + k, "
        "torch.rand(n // 20), (1, n), check_invariants=False) for k in (0, 1))"
    ),
    "quantised by channel": (
        "a, b = (torch.quantize_per_channel(torch.rand(n // 4000, 1000), torch.full((1000,), 0.01), "
        "torch.zeros(1000), 1, torch.quint8) for _ in 'ab')"
    ),
    "quantised": "a = torch.quantize_per_tensor(torch.rand(n), 0.01, 0, torch.quint8); b = a.clone()",
    "integers": "a = torch.arange(n // 4); b = a + 1",
}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's peak of resident memory")
@pytest.mark.parametrize("pair", PAIRS)
def test_the_memory_that_comparing_takes_does_not_grow_with_the_outputs(pair):
    code = """
import sys, warnings, torch
warnings.simplefilter("ignore")
torch.set_num_threads(1)
from libbench.compare import compare
def resident(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))
compare(torch.rand(3, 9), torch.rand(3, 9))  # what is loaded late
n = int(sys.argv[1])
exec(sys.argv[2])
before = resident("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
compare(a, b)
print(resident("VmHWM") - before)
"""
    assert int(started(code, "50_000_000", PAIRS[pair])) <= 20e6


MADE = {
    "five percent more": lambda r: r * 1.05,
    "a little more and moved": lambda r: r * 1.01 + 0.01,
    "moved by one": lambda r: r + 1,
    "random": lambda r: torch.randn(r.shape, generator=torch.Generator().manual_seed(3)).to(r.dtype),
    "noise": lambda r: r + (1e-3 * torch.randn(r.shape, generator=torch.Generator().manual_seed(3))).to(r.dtype),
    "turned": lambda r: -r,
    "zeros": torch.zeros_like,
    "doubled": lambda r: 2 * r,
}


STARTS = [("normal", dtype) for dtype in EVERY_FLOAT] + [(start, torch.float32) for start in ("constant", "holed")]


def ranks(side):
    """The place of every value among all values of its dtype; both zeros are 0."""
    bits = side.view({2: torch.int16, 4: torch.int32, 8: torch.int64}[side.dtype.itemsize]).long()
    size = bits & torch.iinfo(torch.int64 if side.dtype.itemsize == 8 else torch.int32).max
    if side.dtype.itemsize == 2:
        size &= torch.iinfo(torch.int16).max
    return torch.where(bits < 0, -size, size).tolist()


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(("start", "dtype"), STARTS)
def test_outputs_that_differ_everywhere_have_the_statistics_of_all_values(made, start, dtype):
    reference = torch.randn(150_000, generator=torch.Generator().manual_seed(2))
    if start == "constant":
        reference = torch.full_like(reference, 0.3)
    elif start == "holed":
        reference[::7] = 0
    reference = reference.to(dtype)
    target = MADE[made](reference).to(dtype)

    leaf = only_leaf(reference, target)

    r, t = reference.double(), target.double()
    d = (t - r).abs()
    wrong = ~torch.isclose(t, r, rtol=leaf.rtol, atol=leaf.atol)
    relative = torch.where(d > 0, d / r.abs(), d)
    assert leaf.mismatches == int(wrong.sum())
    assert leaf.first_mismatch == ((int(wrong.nonzero()[0]),) if leaf.mismatches else None)
    assert (leaf.max_abs.value, leaf.max_abs.at) == (d.max(), (int(d.argmax()),))
    assert (leaf.max_rel.value, relative[leaf.max_rel.at]) == (relative.max(), relative.max())
    assert leaf.rmse == pytest.approx(d.square().mean().sqrt().item(), rel=1e-5)
    assert leaf.mean_abs == pytest.approx(d.mean().item(), rel=1e-5)
    assert leaf.ulp_max == max(abs(b - a) for a, b in zip(ranks(reference), ranks(target), strict=True))
    for of in EVERY_FLOAT:
        passing = [level for level in grid.LEVELS if torch.allclose(t, r, *grid.pair(of, level))]
        assert leaf.grid[str(of).removeprefix("torch.")] == (passing[0] if passing else None)
    if math.isfinite(leaf.level):
        of = family(dtype)
        for level, passes in ((leaf.level, True), (leaf.level - 1e-9, False)):
            allowed = 10.0 ** (of.relative * level), 10.0 ** (of.absolute * level)
            assert torch.allclose(t, r, *allowed) == passes


@pytest.mark.parametrize("dtype", [torch.int64, torch.int8, torch.bool])
def test_sparse_integers_are_compared_by_their_values(dtype):
    values = torch.tensor([[0, 1], [1, 0]], dtype=dtype)
    other = torch.tensor([[0, 1], [0, 1]], dtype=dtype)

    assert compare(values.to_sparse(), values.to_sparse()).verdict == "same"
    found = compare(values.to_sparse(), other.to_sparse())

    assert found.verdict == "different"
    assert found.leaves[0].mismatches == 2

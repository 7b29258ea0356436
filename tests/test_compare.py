import collections
import dataclasses
import math
import warnings
from typing import NamedTuple

import numpy as np
import pytest
import torch

from libbench.compare import OutputComparison, compare
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


@pytest.mark.parametrize("other", [torch.float32, torch.float64, torch.bfloat16])
def test_another_dtype_is_different_and_its_values_are_reported_as_equal(other):
    leaf = only_leaf(x(1, dtype=torch.float16), x(1, dtype=other))

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

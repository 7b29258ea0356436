"""A float64 copy of the reference that judges both sides: how it is made, and what it says."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from report_records import different_leaf, leaf, outputs
from torch.nn import functional as F

from libbench.compare.truth import LARGEST, TruthComparison, allowed_rmse
from libbench.diff import Plan, diff, diff_all
from libbench.errors import LibbenchError
from libbench.job import Job
from libbench.report.text import headline, render, render_many
from libbench.tree import snapshot
from libbench.truth import Float64
from libbench.truths import but_for_values

TRUTH = Plan(speed=False, truth="float64")
MODEL = """
class Net(torch.nn.Module):
    def __init__(self, method="plain", off=0.0, spike=0.0):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 64), torch.nn.Linear(64, 8)
        self.table = torch.ones(8, 8)
        self.method, self.off, self.spike = method, off, spike
    def forward(self, x):
        y = self.b(torch.relu(self.a(x))) + self.off
        if self.spike:
            y = y + torch.nn.functional.pad(torch.full((1, 1), self.spike), (2, 5, 1, len(y) - 2))
        return getattr(self, self.method)(y)
    def plain(self, y):
        return y
    def quantised(self, y):
        return torch.quantize_per_tensor(y, 0.01, 0, torch.qint8).dequantize()
    def constant(self, y):
        return y @ self.table
    def normed(self, y):
        h = y.to(torch.float32)
        return (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).to(y.dtype)
    def narrow(self, y):
        return y, torch.from_numpy(y.cpu().numpy().astype("float32"))
    def ranked(self, y):
        return {"scores": y, "best": y.argmax(-1), "name": "net"}
    def whole(self, y):
        return y.argmax(-1)
    def noisy(self, y):
        return y + torch.randn(y.shape, generator=torch.Generator().manual_seed(3))
model = L(Net)()
data = L(RandomInputs)(shapes=(4,), samples=300, batch_size=128)
"""


@pytest.fixture
def job(config):
    def load(*overrides, lines=""):
        return Job.load(config("precise" if lines else "net", MODEL + lines), list(overrides))

    return load


def verdicts(comparison):
    return {check.name: check.verdict for check in comparison.checks}


def judged(truth, reference, target, indices=None):
    comparison = TruthComparison("float64")
    comparison.add(*(snapshot(side, copy=False) for side in (truth, reference, target)), indices)
    return comparison.report()


def test_a_config_against_itself_is_as_close_to_the_truth(job):
    comparison = diff(job(), job(), TRUTH)

    (leaf,) = comparison.truth.leaves
    assert (comparison.exit_code, verdicts(comparison)) == (0, {"outputs": "same", "truth": "same"})
    assert (leaf.rmse_ratio, leaf.max_ratio, leaf.outlier, leaf.closer) == (1.0, 1.0, None, (0, 0))
    assert 0 < leaf.rmse[0] == leaf.rmse[1] < 1e-6
    assert (leaf.elements, comparison.truth.batches) == (2400, 3)
    assert comparison.truth_side.preparation.compiler.startswith("float64 copy")
    assert headline(comparison).startswith("SAME OUTPUTS by float64: as close to it as the reference")


def test_a_target_within_tolerance_that_is_worse_than_the_reference_is_different(job):
    comparison = diff(job(), job("model.off=2e-6"), TRUTH)

    assert comparison.outputs.verdict == "same"
    assert (comparison.exit_code, verdicts(comparison)) == (1, {"outputs": "same", "truth": "different"})
    assert 10 < comparison.truth.leaves[0].rmse_ratio < 200
    assert "(by tolerance: the same)" in headline(comparison)
    assert "worse by" in headline(comparison)


def test_one_outlier_is_named_with_its_place_and_its_three_values(job):
    comparison = diff(job(), job("model.spike=1e-5"), TRUTH)

    (leaf,) = comparison.truth.leaves
    assert verdicts(comparison)["truth"] == "different"
    assert leaf.max_ratio > LARGEST
    assert leaf.outlier.at[1] == 2
    assert leaf.outlier.at[0] in (1, 129, 257)
    assert leaf.outlier.target - leaf.outlier.truth == pytest.approx(1e-5, rel=0.1)
    assert f"at {list(leaf.outlier.at)}" in headline(comparison)
    assert leaf.closer[0] == 3


def test_a_target_that_is_closer_than_the_reference_is_the_same_although_the_tolerance_says_otherwise(job):
    lines = """
from libbench.settings import Tolerance
tolerance = L(Tolerance)(dtype="any", atol=1e-7, rtol=0.0)
compiler = L('libbench.compilers.precision.Precision')(dtype=torch.bfloat16)
"""
    coarse = job(lines=lines)

    comparison = diff(coarse, job(), TRUTH)

    assert comparison.outputs.verdict == "different"
    assert (comparison.exit_code, verdicts(comparison)) == (0, {"outputs": "same", "truth": "same"})
    assert comparison.truth.leaves[0].rmse[1] < comparison.truth.leaves[0].rmse[0] / 1000
    assert headline(comparison).startswith("SAME OUTPUTS by float64: closer to it than the reference, by up to")
    assert "(by tolerance: different)" in headline(comparison)


def test_another_dtype_stays_a_difference(job):
    lines = "compiler = L('libbench.compilers.precision.Precision')(dtype=torch.bfloat16)\n"

    comparison = diff(job(), job(lines=lines), TRUTH)

    assert (comparison.exit_code, verdicts(comparison)["outputs"]) == (1, "different")
    assert headline(comparison).startswith("DIFFERENT OUTPUTS: output: bfloat16, not float32")


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("quantised", ["Quantize only works on Float", "the model itself, a Net", "quantize_per_tensor(y, 0.01"]),
        ("constant", ["dtype", "y @ self.table"]),
    ],
)
def test_an_operator_without_float64_is_named_and_nothing_else_judges_in_its_place(job, method, words):
    comparison = diff(job(f"model.method={method}"), job(f"model.method={method}"), TRUTH)

    assert (comparison.exit_code, verdicts(comparison)) == (2, {"outputs": "same", "truth": "unjudged"})
    assert comparison.outputs.verdict == "same"
    assert comparison.truth_side.failure is not None
    for word in words:
        assert word in comparison.truth.reasons[0]
    assert headline(comparison).startswith("CANNOT BE JUDGED by float64: the float64 copy failed: ")
    assert words[-1] in " ".join(render(comparison).split())


def test_what_a_model_casts_down_by_itself_is_left_in_float64_and_told(job):
    comparison = diff(job("model.method=normed"), job("model.method=normed"), TRUTH)

    assert comparison.exit_code == 0
    assert comparison.truth.leaves[0].rmse[0] > 1e-9
    assert [cast.partition(": ")[2] for cast in comparison.truth.lifted] == ["h = y.to(torch.float32)"]
    assert "stays float64" in render(comparison)


def test_a_leaf_that_the_copy_has_in_no_better_dtype_is_unjudged_and_the_others_are_judged(job):
    comparison = diff(job("model.method=narrow"), job("model.method=narrow"), TRUTH)

    unjudged, same = comparison.truth.leaves
    assert (unjudged.path, unjudged.verdict, same.path, same.verdict) == ("1", "unjudged", "0", "same")
    assert unjudged.reasons == ("the float64 copy computes it in float32, which is no better than that",)
    assert comparison.exit_code == 2


def test_what_is_no_floating_value_is_compared_as_without_a_truth(job):
    same = diff(job("model.method=ranked"), job("model.method=ranked"), TRUTH)
    other = diff(job("model.method=ranked"), job("model.method=ranked", "model.spike=5.0"), TRUTH)

    assert (same.exit_code, [leaf.path for leaf in same.truth.leaves]) == (0, ["scores"])
    assert verdicts(other) == {"outputs": "different", "truth": "different"}
    assert other.exit_code == 1


def test_outputs_without_any_floating_value_leave_the_truth_without_a_judgement(job):
    comparison = diff(job("model.method=whole"), job("model.method=whole"), TRUTH)

    assert (comparison.exit_code, verdicts(comparison)) == (2, {"outputs": "same", "truth": "unjudged"})
    assert comparison.truth.reasons == ("there is no floating output to judge",)


def test_batches_that_are_beyond_what_is_kept_are_counted_as_not_judged(job):
    comparison = diff(job(), job(), Plan(speed=False, truth="float64", spill=12_000))

    assert (comparison.outputs.batches, comparison.truth.batches) == (3, 2)
    ((reason, count),) = comparison.truth.skipped
    assert count == 1
    assert "float64 copy's outputs beyond" in reason


@pytest.mark.parametrize("value", ["float32", 64, True])
def test_no_other_truth_is_taken(value):
    with pytest.raises(ValueError, match="truth must be 'float64' or None"):
        Plan(truth=value)


# The statistics, by themselves.


@given(st.integers(0, 2**32 - 1), st.integers(11, 3000), st.floats(1e-9, 1e-3), st.booleans())
def test_every_figure_is_what_numpy_finds_in_one_go(seed, size, scale, batched):
    draw = np.random.default_rng(seed)
    truth = draw.standard_normal(size)
    reference = (truth + scale * draw.standard_normal(size)).astype(np.float32)
    target = (truth + scale * draw.standard_normal(size)).astype(np.float32)
    sides = [torch.from_numpy(side) for side in (truth, reference, target)]
    indices = list(range(100, 100 + size)) if batched else None

    (leaf,) = judged(*sides, indices).leaves

    errors = [np.abs(side.astype(np.float64) - truth) for side in (reference, target)]
    more = errors[1] - errors[0]
    assert leaf.rmse == pytest.approx([np.sqrt(np.mean(each**2)) for each in errors], rel=1e-9)
    assert leaf.max_abs == tuple(each.max() for each in errors)
    assert leaf.closer == (int((more > 0).sum()), int((more < 0).sum()))
    worst = int(more.argmax())
    if more[worst] > 0:
        assert leaf.outlier.at == (worst + (100 if batched else 0),)
        assert (leaf.outlier.truth, leaf.outlier.target) == (truth[worst], float(target[worst]))


def test_several_batches_and_pieces_are_one_leaf():
    truth = torch.randn(3, 50_000, dtype=torch.float64)
    reference = truth.float()
    target = reference.clone()
    target[2, 49_999] += 1e-3
    comparison = TruthComparison("float64")
    for row in range(3):
        parts = (snapshot(each[row : row + 1], copy=False) for each in (truth, reference, target))
        comparison.add(*parts, indices=[40 + row])

    (leaf,) = comparison.report().leaves

    assert (leaf.elements, leaf.outlier.at, leaf.closer) == (150_000, (42, 49_999), (1, 0))
    assert (leaf.verdict, leaf.max_ratio > LARGEST) == ("different", True)


def test_errors_below_one_rounding_are_no_errors():
    truth = torch.randn(2000, dtype=torch.float64)
    reference = truth.float()
    exact = reference.double()

    (leaf,) = judged(exact, reference, torch.nextafter(reference, torch.tensor(math.inf))).leaves

    assert leaf.rmse[0] == 0 < leaf.rmse[1]
    assert (leaf.verdict, leaf.rmse_ratio, leaf.max_ratio) == ("same", 1.0, 1.0)


@pytest.mark.parametrize(
    ("elements", "dtype", "times"),
    [(10**6, torch.float32, 2), (10**6, torch.float16, 3), (999, torch.float32, 3), (10, torch.float16, 10)],
)
def test_a_few_values_and_half_precision_may_be_farther(elements, dtype, times):
    assert allowed_rmse(elements, dtype) == times


def test_a_nan_of_the_target_alone_is_worse_and_one_of_the_reference_alone_is_not():
    truth = torch.randn(100, dtype=torch.float64)
    sound, broken = truth.float(), truth.float()
    broken[7] = math.nan

    worse, better = judged(truth, sound, broken).leaves[0], judged(truth, broken, sound).leaves[0]

    assert (worse.verdict, worse.lost, worse.elements) == ("different", (0, 1), 99)
    assert (better.verdict, better.lost) == ("same", (1, 0))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_truth_and_both_sides_have_alike_is_no_loss(value):
    truth = torch.full((5,), value, dtype=torch.float64)

    (leaf,) = judged(truth, truth.float(), truth.float()).leaves

    assert (leaf.verdict, leaf.lost) == ("same", (0, 0))
    assert judged(truth, truth.float(), torch.zeros(5)).leaves[0].verdict == "different"


def test_two_sides_that_are_infinite_where_the_truth_is_not_are_unjudged():
    truth = torch.full((5,), 7e4, dtype=torch.float64)

    assert judged(truth, truth.half(), truth.half()).leaves[0].verdict == "unjudged"


def test_complex_values_are_judged_by_their_parts():
    truth = torch.randn(20, dtype=torch.complex128)
    reference = truth.to(torch.complex64)
    target = reference.clone()
    target[3] += 1e-3j

    (leaf,) = judged(truth, reference, target).leaves

    assert (leaf.elements, leaf.outlier.at, leaf.verdict) == (40, (3,), "different")


def test_lone_numbers_are_judged_as_exactly_as_they_were_made():
    truth, single = 1 / 3, float(np.float32(1 / 3))
    near = float(np.nextafter(np.float32(1 / 3), np.float32(1)))

    assert judged(truth, single, near).leaves[0].verdict == "same"
    assert judged(truth, truth, near).leaves[0].verdict == "different"
    assert judged(truth, single, single + 1e-5).leaves[0].verdict == "different"


@pytest.mark.parametrize(
    ("truth", "sides", "words"),
    [
        (torch.ones(3), torch.ones(3), "computes it in float32"),
        (torch.ones(4, dtype=torch.float64), torch.ones(3), "gives the shape [4]"),
        (torch.ones(3, dtype=torch.int64), torch.ones(3), "returns int64"),
        ({}, torch.ones(3), "does not return it"),
        (torch.eye(3).double().to_sparse(), torch.eye(3).to_sparse(), "layout sparse_coo"),
    ],
)
def test_a_leaf_without_a_fitting_truth_is_unjudged(truth, sides, words):
    report = judged([truth], [sides], [sides])

    assert (report.verdict, report.leaves[0].verdict) == ("unjudged", "unjudged")
    assert words in report.leaves[0].reasons[0]


def test_an_empty_leaf_is_no_reason_not_to_judge():
    assert judged(torch.ones(0, 3, dtype=torch.float64), torch.ones(0, 3), torch.ones(0, 3)).verdict == "same"


# The copy.


def copied(model, *inputs):
    compiled = Float64().compile(model, None, "forward")
    with torch.inference_mode():
        return compiled.call(*inputs), compiled.facts().fallbacks


def test_weights_buffers_and_inputs_are_the_same_numbers_and_whole_numbers_stay():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(3))
            self.phase = torch.nn.Parameter(torch.randn(3, dtype=torch.complex64))
            self.register_buffer("shift", torch.arange(3))

        def forward(self, x, number):
            return x * self.weight, self.phase, self.shift, number, torch.ones(2), x.float().half()

    model, x = Model(), torch.randn(3)
    weight, phase = model.weight.detach().clone(), model.phase.detach().clone()

    outputs, lifted = copied(model, x, torch.tensor(3))

    kinds = [each.dtype for each in outputs]
    assert kinds == [torch.float64, torch.complex128, torch.int64, torch.int64, torch.float64, torch.float64]
    assert torch.equal(outputs[0], x.double() * weight.double())
    assert torch.equal(outputs[1], phase.to(torch.complex128))
    assert len(lifted) == 1
    assert "test_truth.py" in lifted[0]
    assert torch.get_default_dtype() is torch.float32


def test_the_default_dtype_is_put_back_after_a_failure():
    def fails(x):
        raise KeyError("no")

    with pytest.raises(KeyError) as error:
        copied(fails, torch.ones(2))

    assert torch.get_default_dtype() is torch.float32
    assert any('raise KeyError("no")' in note for note in error.value.__notes__)


def test_what_is_narrowed_in_spite_of_it_is_an_error():
    with pytest.raises(TypeError, match="makes float32 of float64"):
        copied(lambda x: x.type(torch.FloatTensor), torch.ones(2))


def test_bits_that_are_read_as_another_dtype_are_let_alone():
    outputs, lifted = copied(lambda x: x.view(torch.int64).view(torch.float64), torch.ones(2))

    assert torch.equal(outputs, torch.ones(2, dtype=torch.float64))
    assert lifted == ()


def test_parameters_that_the_first_call_would_draw_are_refused():
    with pytest.raises(LibbenchError, match="weight is made in the first call"):
        copied(torch.nn.LazyLinear(3), torch.ones(2, 2))


# What it leaves to the other rules.


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "numpy.float64", "float"])
def test_floating_values_are_left_to_the_truth(dtype):
    assert but_for_values(outputs(different_leaf(dtypes=(dtype, dtype)))).verdict == "same"


@pytest.mark.parametrize("dtypes", [("qint8", "qint8"), ("int64", "int64"), ("bool", "bool"), ("float32", "int64")])
def test_values_that_no_truth_can_judge_are_not(dtypes):
    assert but_for_values(outputs(different_leaf(dtypes=dtypes))).verdict == "different"


@pytest.mark.parametrize("reason", ["dtype float32 in the reference, float16 in the target", "shape (2,) ... (3,)"])
def test_what_differs_besides_the_values_stays(reason):
    odd = different_leaf()
    found = but_for_values(outputs(leaf(), replace(odd, reasons=(reason, *odd.reasons))))

    assert (found.verdict, found.leaves[1].reasons) == ("different", (reason,))
    assert but_for_values(outputs(leaf("a", "unjudged", reasons=("opaque",)), leaf("b"))).verdict == "unjudged"


def test_sides_of_other_shapes_are_no_matter_of_truth():
    report = judged(torch.ones(3, dtype=torch.float64), torch.ones(3), torch.ones(4))

    assert report.leaves[0].reasons == ("reference and target have other shapes",)


def test_several_targets_have_their_truth_in_their_row(job):
    found = list(diff_all(job(), [job(), job("model.off=2e-6")], TRUTH))

    text = " ".join(render_many(found, width=200).split())
    assert [each.exit_code for each in found] == [0, 1]
    assert found[0].truth_side == found[1].truth_side
    assert "by float64: as close to it as the reference" in text
    assert "by float64: output: worse by" in text


def test_a_model_that_draws_random_numbers_has_no_float64_truth(job):
    comparison = diff(job("model.method=noisy"), job("model.method=noisy", "model.off=0.5"), TRUTH)

    assert comparison.exit_code == 2
    assert verdicts(comparison)["truth"] == "unjudged"
    assert "draws random numbers" in render(comparison, verbose=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.scaled_dot_product_attention(x, x, x),
        lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.0),
        lambda x: F.dropout(x, 0.5, training=False),
        lambda x: F.dropout(x, 0.0),
        lambda x: torch.native_dropout(x, 0.5, False)[0],
        lambda x: F.rrelu(x - 0.5),
    ],
)
def test_what_could_draw_random_numbers_and_does_not_has_a_truth(call):
    assert copied(call, torch.rand(2, 3, 4))[0].dtype is torch.float64


@pytest.mark.parametrize(
    "call",
    [
        lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.5),
        lambda x: F.dropout(x, 0.5),
        lambda x: torch.native_dropout(x, 0.5, True)[0],
        lambda x: F.rrelu(x - 0.5, training=True),
        lambda x: x[0].multinomial(1),
        lambda x: x.bernoulli(),
        lambda x: torch.rand_like(x),
        lambda x: x + torch.randn(x.shape, generator=torch.Generator().manual_seed(3)),
    ],
)
def test_what_draws_random_numbers_has_none(call):
    with pytest.raises(TypeError, match="draws random numbers"):
        copied(call, torch.rand(2, 3, 4))

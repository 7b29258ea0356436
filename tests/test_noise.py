"""The reference's own noise and what it does to a verdict."""

import math
from dataclasses import replace

import pytest
import torch
from report_records import different_leaf, leaf, outputs, side

from libbench.compare import compare
from libbench.diff import Plan, diff
from libbench.findings import Extreme, LeafNoise, Rerun
from libbench.job import Job
from libbench.noise import AGAIN, bands, rerun_of, within_noise
from libbench.report.text import render
from libbench.truths import but_for_values

NO_SPEED = Plan(speed=False)
THREADS = """
class Threads(torch.nn.Module):
    def __init__(self, off=0.0):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.off = off
    def forward(self, x):
        return self.linear(x) + (self.off if torch.get_num_threads() == 1 else 0.01)
model = L(Threads)()
runner = L('libbench.runners.process.Process')(threads=1)
"""


def rerun(setting=AGAIN, **noise):
    leaves = tuple(LeafNoise(path=path, max_abs=size) for path, size in noise.items())
    return Rerun(setting=setting, verdict="same", leaves=leaves)


def test_the_band_of_a_leaf_is_its_largest_difference_over_all_runs():
    prepared = replace(side().preparation, again=rerun(logits=1e-6, cache=0.0))
    reference = side(preparation=prepared, reruns=(rerun("2 threads instead of 1", logits=3e-6),))

    assert bands(reference) == {"logits": 3e-6, "cache": 0.0}


@pytest.mark.parametrize(
    ("noise", "verdict"), [(0.2, "unjudged"), (0.125, "unjudged"), (0.12, "different"), (0.0, "different")]
)
def test_a_difference_is_unjudged_exactly_when_it_is_within_the_noise(noise, verdict):
    found = within_noise(outputs(different_leaf()), {"logits": noise})

    assert (found.verdict, found.leaves[0].verdict) == (verdict, verdict)
    assert found.leaves[0].noise == noise
    assert ("within the reference's own noise" in found.leaves[0].reasons[0]) == (verdict == "unjudged")


@pytest.mark.parametrize("reason", ["dtype float32 in the reference, float16 in the target", "3 of them are NaN"])
def test_what_is_no_matter_of_values_is_never_within_the_noise(reason):
    odd = different_leaf()
    odd = replace(odd, reasons=(*odd.reasons, reason))

    assert within_noise(outputs(odd), {"logits": 1.0}).verdict == "different"


def test_what_speaks_of_values_is_known_whatever_its_words():
    plain = replace(different_leaf(), reasons=("off",), value_reasons=("off",))
    count = "12 of 3,600 values are in the wrong place"

    assert within_noise(outputs(plain), {"logits": 1.0}).verdict == "unjudged"
    assert but_for_values(outputs(plain)).verdict == "same"
    assert within_noise(outputs(replace(plain, not_finite=3)), {"logits": 1.0}).verdict == "different"
    for form in (replace(plain, reasons=("off", count)), replace(plain, reasons=(count,), value_reasons=())):
        assert within_noise(outputs(form), {"logits": 1.0}).verdict == "different"
        assert but_for_values(outputs(form)).leaves[0].reasons == (count,)


def test_a_leaf_keeps_what_it_says_of_values_apart_from_what_it_says_of_its_form():
    ours, theirs = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 2.5, math.nan]).half()

    (found,) = compare(ours, theirs).leaves

    assert found.form_reasons == ("dtype float32 in the reference, float16 in the target",)
    assert [text.partition(" ")[0] for text in found.value_reasons] == ["2", "1"]
    assert found.reasons == (*found.form_reasons, *found.value_reasons)
    assert (found.mismatches, found.not_finite) == (2, 1)


def test_one_leaf_outside_of_the_noise_keeps_the_verdict():
    report = outputs(different_leaf("a"), different_leaf("b"), leaf("c"))

    found = within_noise(report, {"a": 1.0, "c": 1.0})

    assert found.verdict == "different"
    assert [each.verdict for each in found.leaves] == ["unjudged", "different", "same"]
    assert within_noise(outputs(leaf()), {"logits": 1.0}).verdict == "same"


def test_a_difference_of_structure_keeps_the_verdict():
    report = outputs(different_leaf(), reasons=("x: only in the target",), verdict="different")

    assert within_noise(report, {"logits": 1.0}).verdict == "different"


def test_runs_that_differ_in_more_than_values_have_no_bounded_noise():
    kinds = leaf(), different_leaf("b", reasons=("shape (2,) in the reference, (3,) in the target",), mismatches=0)

    made = rerun_of(AGAIN, outputs(*kinds))

    assert [each.max_abs for each in made.leaves] == [2.4e-07, math.inf]
    assert (made.verdict, made.exact) == ("different", False)
    assert within_noise(outputs(different_leaf("b")), {"b": math.inf}).verdict == "different"


def test_runs_without_any_difference_are_exact():
    none = Extreme(value=0.0, at=(0, 0), reference=1.0, target=1.0)

    assert rerun_of(AGAIN, outputs(leaf(max_abs=none), leaf("text", max_abs=None))).exact
    assert not rerun_of(AGAIN, outputs(leaf())).exact
    assert rerun_of(AGAIN, outputs(leaf(max_abs=none), leaf("odd", "unjudged", reasons=("opaque",)))).exact


@pytest.mark.parametrize(("off", "code"), [("0.0", 0), ("0.005", 2), ("0.02", 1)])
def test_differences_within_what_another_number_of_threads_does_cannot_be_judged(config, off, code):
    file = config("threads", THREADS)

    comparison = diff(Job.load(file), Job.load(file, [f"model.off={off}"]), NO_SPEED)

    (made,) = comparison.reference.reruns
    assert (made.setting, made.verdict) == ("2 threads instead of 1", "different")
    assert made.leaves[0].max_abs == pytest.approx(0.01, rel=1e-4)
    assert comparison.target.reruns == ()
    assert comparison.exit_code == code
    assert any("threads instead of 1, the reference differs from itself" in note for note in comparison.notes)
    text = " ".join(render(comparison).split())
    assert ("within the reference's own noise" in text) == (code == 2)
    assert ("2.00x the reference's own noise" in text) == (code == 1)


def test_a_compiled_reference_is_not_run_with_other_threads_which_would_compile_it_anew(config):
    lines = "compiler = L('libbench.compilers.torch_compile.TorchCompile')(backend='aot_eager')\n"

    comparison = diff(config("compiled", lines), config("plain"), NO_SPEED)

    (made,) = comparison.reference.reruns
    assert made.verdict == "unjudged"
    assert "compiled again" in made.note
    assert comparison.reference.preparation.facts.graphs == 1


def test_a_tolerance_below_the_noise_judges_nothing_within_it(config):
    file = config("threads", THREADS.replace("0.01)", "1e-6)"))

    comparison = diff(Job.load(file), Job.load(file, ["model.off=5e-7"]), Plan(speed=False, rtol=0.0, atol=0.0))

    assert comparison.reference.reruns[0].verdict == "same"
    assert (comparison.exit_code, comparison.outputs.leaves[0].verdict) == (2, "unjudged")

"""The digits project: its weights, its configs and its README."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from libbench.config import LazyConfig, instantiate
from libbench.diff import Plan, diff
from libbench.job import Job

pytest.importorskip("sklearn")

PROJECT = Path(__file__).parents[2] / "projects" / "digits"
CONFIGS = sorted(path.stem for path in (PROJECT / "configs").glob("*.py"))
TRAIN_TWICE = """
import sys; sys.path.insert(0, sys.argv[1])
import torch, train
from data import Digits
torch.set_num_threads(1)
train.EPOCHS, train.STEADY_EPOCHS = 2, 1
first, second = (train.train((4, 6), Digits(held_out=False)).state_dict() for _ in range(2))
assert all(torch.equal(first[name], second[name]) for name in first)
assert not torch.equal(first["head.weight"], train.DigitsNet((4, 6)).head.weight)
"""


@pytest.fixture(scope="module")
def comparisons(against_eager):
    return against_eager(PROJECT)


def verdicts(comparison):
    return {check.name: check.verdict for check in comparison.checks}


def test_both_weight_files_together_stay_below_300_kb():
    files = list(PROJECT.glob("*.safetensors"))

    assert len(files) == 2
    assert sum(file.stat().st_size for file in files) <= 300_000


@pytest.mark.parametrize("name", ["eager", "narrow"])
def test_the_trained_network_is_as_accurate_as_the_readme_says(comparisons, name):
    comparison = comparisons[name]
    weights = {"eager": "weights", "narrow": "narrow"}[name]
    found = re.search(rf"\| `{weights}.safetensors` \|.*?\| (\d+) \| ([\d.]+) %", (PROJECT / "README.md").read_text())

    assert comparison.target.metrics["top1"] >= 0.97
    assert comparison.target.metrics["top1"] == int(found[1]) / 360
    assert f"{comparison.target.metrics['top1'] * 100:.1f}" == found[2]


def test_eager_is_exactly_the_same_as_itself(comparisons):
    comparison = comparisons["eager"]

    assert comparison.changes == ()
    assert comparison.outputs.samples == 360
    assert comparison.outputs.leaves[0].mismatches == 0
    assert comparison.outputs.leaves[0].level == float("-inf")
    assert comparison.exit_code == 0


def test_the_compiled_network_gives_the_same(comparisons):
    assert comparisons["inductor"].target.preparation.facts.graphs == 1
    assert comparisons["inductor"].exit_code == 0


def test_bfloat16_gives_other_outputs_and_the_same_accuracy(comparisons):
    comparison = comparisons["bfloat16"]
    (leaf,) = comparison.outputs.leaves

    assert (comparison.outputs.verdict, leaf.dtypes) == ("different", ("float32", "bfloat16"))
    assert leaf.mismatches > 3000
    assert [report.difference for report in comparison.metrics] == [0]
    assert comparison.exit_code == 1


def test_bfloat16_with_a_tolerance_for_it_is_the_same(comparisons):
    comparison = comparisons["bfloat16_tolerant"]

    assert set(verdicts(comparison).values()) == {"same"}
    assert comparison.outputs.leaves[0].max_abs.value > 0.01
    assert comparison.exit_code == 0


def test_weights_of_8_bits_give_other_outputs_and_the_same_accuracy(comparisons):
    comparison = comparisons["int8"]

    assert comparison.target.facts.notes == ("8-bit weights in 5 of 9 layers",)
    assert 0.1 < comparison.outputs.leaves[0].max_abs.value < 1.5
    assert [report.verdict for report in comparison.metrics] == ["same"]
    assert comparison.exit_code == 1


def test_onnx_runtime_gives_the_same(comparisons):
    pytest.importorskip("onnxruntime")

    assert comparisons["onnx"].target.facts.graphs == 1
    assert comparisons["onnx"].target.facts.calls >= 8
    assert comparisons["onnx"].exit_code == 0


def test_openvino_in_its_own_precision_is_the_same_only_where_that_is_float32(comparisons):
    pytest.importorskip("openvino")
    comparison = comparisons["openvino"]

    lowered = "bf16" in comparison.target.preparation.compiler
    assert ("bf16" in comparison.target.facts.notes[0]) == lowered
    assert comparison.exit_code == (1 if lowered else 0)
    assert comparison.outputs.leaves[0].max_abs.value < 0.2
    assert [report.difference for report in comparison.metrics] == [0]


def test_the_network_learns_and_a_compiled_training_has_the_same_losses():
    jobs = [
        Job.load(PROJECT / "configs" / f"{name}.py", ["workload.steps=100", *changes])
        for name, changes in (("training", []), ("training_inductor", ["compiler.backend=aot_eager"]))
    ]

    comparison = diff(*jobs, Plan(speed=False))

    losses = [step.loss for step in comparison.target.curve.steps]
    assert (comparison.curve.verdict, comparison.curve.judged, comparison.exit_code) == ("same", 100, 0)
    assert comparison.target.curve.steps[-1].epoch == 4
    assert losses[-1] < 0.6 * losses[0]
    assert comparison.target.evaluation.facts.graphs >= 1


def test_narrow_differs_in_channels_outputs_and_accuracy(comparisons):
    comparison = comparisons["narrow"]

    assert {change.path for change in comparison.changes} == {"model.channels.0", "model.channels.1", "model.weights"}
    assert comparison.outputs.verdict == "different"
    assert [report.verdict for report in comparison.metrics] == ["different"]
    assert comparison.exit_code == 1


def test_no_picture_is_both_trained_on_and_held_out():
    dataset = LazyConfig.load(PROJECT / "configs" / "eager.py").data.dataset
    held_out = instantiate(dataset)
    dataset.held_out = False
    seen = instantiate(dataset)
    pictures = [tuple(image.flatten().tolist()) for part in (held_out, seen) for image in part.images]

    assert (len(held_out), len(seen)) == (360, 1437)
    assert len(set(pictures)) == 1797


def test_items_are_pictures_from_zero_to_one_with_their_digit():
    dataset = instantiate(LazyConfig.load(PROJECT / "configs" / "eager.py").data.dataset)

    assert dataset[3]["image"].shape == (1, 8, 8)
    assert (dataset.images.min(), dataset.images.max()) == (0, 1)
    assert [dataset[i]["label"] for i in range(360)] == dataset.labels
    assert set(dataset.labels) == set(range(10))


def test_training_twice_gives_the_same_weights():
    done = subprocess.run(
        [sys.executable, "-c", TRAIN_TWICE, str(PROJECT)], capture_output=True, text=True, timeout=300, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", CONFIGS)
def test_the_readme_tells_of_this_config(name):
    assert f"| `{name}.py` |" in (PROJECT / "README.md").read_text()

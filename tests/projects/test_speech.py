"""The speech project: its recordings, and the trained detector where it is there."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from libbench.config import LazyCall as L
from libbench.config import LazyConfig, instantiate
from libbench.diff import Plan, diff
from libbench.job import Job
from libbench.runners.local import Local

PROJECT = Path(__file__).parents[2] / "projects" / "speech"
CONFIGS = sorted(path.stem for path in (PROJECT / "configs").glob("*.py"))
README = (PROJECT / "README.md").read_text()
with_weights = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("silero_vad", "onnxruntime", "onnx")),
    reason="the extra 'speech' is not installed",
)


def recordings(**settings):
    """Give the recordings of `eager.py`, some settings changed."""
    node = LazyConfig.load(PROJECT / "configs" / "eager.py").data.dataset
    node.update(settings)
    return instantiate(node)


# The recordings


def test_a_recording_depends_on_its_index_and_the_seed_alone():
    few, more, other = (
        recordings(count=2, chunks=20),
        recordings(count=3, chunks=20),
        recordings(count=2, chunks=20, seed=1),
    )

    assert torch.equal(few.audio, more.audio[:2])
    assert torch.equal(few.spoken, more.spoken[:2])
    assert not torch.equal(few[0], other[0])
    assert few[0].shape == (20 * 512,)
    assert few.audio.abs().max() <= 1


def test_there_is_speech_and_what_is_none_in_every_recording():
    shares = recordings(count=4).spoken.float().mean(dim=1)

    assert 0.3 < shares.min() < shares.max() < 0.9


# The detector


@pytest.fixture(scope="module")
def comparisons(against_eager):
    def smaller(config):
        config.data.dataset.count = 4

    return against_eager(PROJECT, smaller)


@with_weights
def test_the_detector_finds_what_the_readme_says():
    config = LazyConfig.load(PROJECT / "configs" / "eager.py")
    evaluator, detector, found = instantiate(config.evaluator), instantiate(config.model).eval(), {}

    with torch.inference_mode():
        for batch in instantiate(config.data):
            found |= evaluator.process(batch, detector(batch.inputs))

    readme = dict(re.findall(r"\| `(accuracy|f1|precision|recall)` \| ([\d.]+) \|", README))
    assert {name: f"{value:.3f}" for name, value in evaluator.evaluate(found).items()} == readme


@with_weights
def test_eager_is_exactly_the_same_as_itself(comparisons):
    assert {leaf.level for leaf in comparisons["eager"].outputs.leaves} == {float("-inf")}
    assert comparisons["eager"].exit_code == 0


@with_weights
@pytest.mark.parametrize("name", ["script", "onnx", "inductor"])
def test_chunk_by_chunk_and_all_at_once_give_the_same(comparisons, name):
    comparison = comparisons[name]

    assert comparison.exit_code == 0
    assert {leaf.path: leaf.elements for leaf in comparison.outputs.leaves} == {"speech": 400, "state": 1024}
    assert max(leaf.max_abs.value for leaf in comparison.outputs.leaves if leaf.path == "speech") < 5e-6


@with_weights
@pytest.mark.parametrize("name", ["half", "half_weights", "safetensors"])
def test_files_that_hold_another_training_are_far_off(comparisons, name):
    comparison = comparisons[name]

    speech = next(leaf for leaf in comparison.outputs.leaves if leaf.path == "speech")
    assert speech.max_abs.value > 0.2
    assert any(re.fullmatch(r"\d+ of 400 chunks are speech for one side only", note) for note in comparison.notes)
    assert comparison.exit_code == 1


@with_weights
def test_the_half_precision_file_is_what_its_weights_give_in_float32():
    file, weights = (LazyConfig.load(PROJECT / "configs" / name).model for name in ("half.py", "half_weights.py"))
    audio = recordings(count=2).audio

    with torch.inference_mode():
        one, other = instantiate(file)(audio)["speech"], instantiate(weights).eval()(audio)["speech"]

    assert (one - other).abs().max() < 5e-6


@with_weights
def test_float16_moves_a_probability_by_little_and_decides_the_same(comparisons):
    comparison = comparisons["float16"]

    speech = next(leaf for leaf in comparison.outputs.leaves if leaf.path == "speech")
    assert 1e-3 < speech.max_abs.value < 1e-2
    assert {report.verdict for report in comparison.metrics} == {"same"}


@with_weights
@pytest.mark.parametrize("name", ["steps_script", "steps_onnx"])
def test_one_chunk_with_the_state_before_it_gives_the_same_and_the_same_state_after_it(name):
    sides = [LazyConfig.load(PROJECT / "configs" / f"{each}.py") for each in ("steps", name)]
    for side in sides:
        side.data.dataset.recordings.chunks = 20
        side.runner = L(Local)(threads=1)

    comparison = diff(*(Job.of(side) for side in sides), Plan(speed=False))

    assert comparison.exit_code == 0
    assert {leaf.path: leaf.elements for leaf in comparison.outputs.leaves} == {"speech": 20, "state": 20 * 256}
    assert [report.name for report in comparison.metrics] == ["accuracy", "f1", "precision", "recall"]


@with_weights
def test_what_was_heard_before_counts():
    config = LazyConfig.load(PROJECT / "configs" / "eager.py")
    audio, detector = recordings(count=1).audio, instantiate(config.model).eval()

    with torch.inference_mode():
        whole, end = detector(audio)["speech"], detector(audio[:, 50 * 512 :])["speech"]

    assert (whole[:, 50:] - end).abs().max() > 0.01


@with_weights
def test_audio_that_is_no_whole_number_of_chunks_is_told():
    detector = instantiate(LazyConfig.load(PROJECT / "configs" / "eager.py").model)

    with pytest.raises(ValueError, match=r"audio must have shape \(batch, 512 \* chunks\), got \(1, 600\)"):
        detector(torch.zeros(1, 600))


@pytest.mark.parametrize("name", CONFIGS)
def test_the_readme_tells_of_this_config(name):
    assert re.search(rf"^\| .*`{name}\.py`.* \|", README, re.MULTILINE)

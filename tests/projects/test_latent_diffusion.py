"""The latent diffusion: its noise, its words, its training, its configs and its README."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from libbench.config import LazyCall as L
from libbench.config import LazyConfig, instantiate
from libbench.interfaces import feed

pytest.importorskip("diffusers")
pytest.importorskip("PIL")

PROJECT = Path(__file__).parents[2] / "projects" / "latent_diffusion"
README = (PROJECT / "README.md").read_text()
CONFIGS = sorted(path.stem for path in (PROJECT / "configs").glob("*.py"))
STEPS = 4


def small(config):
    config.data.dataset.count = 4
    config.model.steps //= 20 // STEPS


@pytest.fixture(scope="module")
def comparisons(against_eager, tmp_path_factory):
    file = tmp_path_factory.mktemp("drawn") / "drawn.npy"
    np.save(file, (drawn_by(eager()).pictures * 255).round().numpy() / 255)

    def change(config):
        small(config)
        config.evaluator.images = L(np.load)(file=str(file))  # what so few steps draw, in 8 bits as ever

    return against_eager(PROJECT, change)


def eager():
    config = LazyConfig.load(PROJECT / "configs" / "eager.py")
    small(config)
    return config


@pytest.fixture
def config():
    return eager()


def drawn_by(config, rows=slice(None)):
    """Give what a config's model draws for its first batch, or for some rows of that."""
    batch = next(iter(instantiate(config.data)))
    model = instantiate(config.model).eval()
    with torch.inference_mode():
        return feed(model.generate, {name: values[rows] for name, values in batch.inputs.items()})


# The model


def test_pictures_are_drawn_from_latents_and_lie_between_black_and_white(config):
    drawing = drawn_by(config)

    assert drawing.pictures.shape == (4, 1, 32, 32)
    assert drawing.latents.shape == (4, 4, 8, 8)
    assert (drawing.pictures.min(), drawing.pictures.max()) == (0, 1)


def test_noise_belongs_to_a_picture_whatever_is_drawn_beside_it(config):
    torch.manual_seed(1)
    whole = drawn_by(config).latents
    torch.manual_seed(2)
    parts = torch.cat([drawn_by(config, slice(0, 1)).latents, drawn_by(config, slice(1, 4)).latents])

    torch.testing.assert_close(parts, whole, atol=1e-4, rtol=0)


def test_one_generator_for_a_batch_gives_a_picture_other_noise_than_by_itself(config):
    config.model.noise = "batch"

    assert not torch.allclose(drawn_by(config).latents[1:], drawn_by(config, slice(1, 4)).latents, atol=0.1)


def test_noise_is_drawn_in_every_step_unless_none_is_asked_for(config):
    config.model.steps = 2
    found = {}
    for eta in (0.0, 1.0):
        config.model.eta = eta
        found[eta] = drawn_by(config).latents

    assert not torch.allclose(found[0.0], found[1.0], atol=0.1)


def test_noise_is_of_a_picture_or_of_a_batch(config):
    config.model.noise = "pictures"

    with pytest.raises(Exception, match="noise must be 'picture' or 'batch', got 'pictures'"):
        instantiate(config.model)


def test_what_is_drawn_is_what_was_kept_and_as_white_as_it_was_told(config):
    full = LazyConfig.load(PROJECT / "configs" / "eager.py")
    full.data.batch_size = 20

    pictures, kept = drawn_by(full).pictures, instantiate(full.evaluator.images)

    assert (pictures - kept).abs().max() < 1 / 255
    assert pictures[:10].mean() < 0.5 < pictures[10:].mean()


# The training


@pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is not installed")
def test_training_changes_both_networks_and_repeats_itself(config):
    from projects.latent_diffusion.training import train_unet, train_vae

    config.model.weights = None
    trained = []
    for _ in range(2):
        torch.manual_seed(0)
        model, generator = instantiate(config.model), torch.Generator().manual_seed(0)
        before = {name: value.clone() for name, value in model.state_dict().items()}
        train_vae(model, 2, 4, generator)
        train_unet(model, 2, 4, generator)
        trained.append(model.state_dict())

    assert all(torch.equal(values, trained[1][name]) for name, values in trained[0].items())
    same = {name for name, values in trained[0].items() if torch.equal(values, before[name])}
    assert not any(name.startswith(("unet.", "words.", "vae.decoder.conv_out")) for name in same)


# The configs


def test_eager_is_exactly_the_same_as_itself(comparisons):
    comparison = comparisons["eager"]

    assert {leaf.path for leaf in comparison.outputs.leaves} == {"pictures", "latents"}
    assert {leaf.level for leaf in comparison.outputs.leaves} == {float("-inf")}
    assert comparison.reference.preparation.repeats == "same"
    assert comparison.exit_code == 0


@pytest.mark.parametrize("name", ["inductor", "onnx"])
def test_a_compiled_unet_and_decoder_draw_the_same_and_are_called_in_every_step(comparisons, name):
    if name == "onnx":
        pytest.importorskip("onnxruntime")
        pytest.importorskip("onnxscript")
    facts = comparisons[name].target.evaluation.facts

    assert comparisons[name].exit_code == 0
    assert facts.graphs == 2
    assert facts.calls == 3 * (STEPS + 1)  # two calls to prepare, one batch
    assert not facts.recompiles


@pytest.mark.parametrize("name", ["bfloat16", "autocast"])
def test_a_unet_in_bfloat16_is_found_in_the_outputs(comparisons, name):
    comparison = comparisons[name]

    assert {leaf.verdict for leaf in comparison.outputs.leaves} == {"different"}
    assert comparison.exit_code == 1


def test_a_unet_in_bfloat16_leaves_the_latents_in_float32(comparisons):
    assert {leaf.dtypes for leaf in comparisons["bfloat16"].outputs.leaves} == {("float32", "float32")}


@pytest.mark.parametrize("name", ["fewer", "wrong_betas", "batch_noise"])
def test_other_steps_and_the_faults_are_found_in_outputs_and_pictures(comparisons, name):
    comparison = comparisons[name]

    assert {leaf.verdict for leaf in comparison.outputs.leaves} == {"different"}
    assert {report.verdict for report in comparison.metrics} == {"different"}
    assert comparison.exit_code == 1


@pytest.mark.parametrize("name", CONFIGS)
def test_the_readme_tells_of_this_config(name):
    assert f"| `{name}.py` |" in README

"""The nerf project: its scene, its network, its evaluator, its configs and its README."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from libbench.config import LazyConfig, instantiate
from libbench.interfaces import Batch

pytest.importorskip("PIL")

from PIL import Image, features

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "projects" / "nerf"
CONFIGS = sorted(path.stem for path in (PROJECT / "configs").glob("*.py"))
ZLIB = "1.2.13"
"""The compression that the committed pictures were written with."""
TRAIN_TWICE = """
import torch
from projects.nerf.data import Views
from projects.nerf.model import NeRF
from projects.nerf.training import train
torch.set_num_threads(1)
views = Views("seen", stride=8, count=2)
models = []
for _ in range(2):
    torch.manual_seed(0)
    models.append(NeRF(samples=(6, 4), widths=(4, 6), depths=(2, 2)))
before = models[0].fine.colour.weight.clone()
for model in models:
    train(model, views, steps=3, count=20)
first, second = (model.state_dict() for model in models)
assert all(torch.equal(first[name], second[name]) for name in first)
assert not torch.equal(first["fine.colour.weight"], before)
"""


def small(config):
    config.data.dataset.stride = 5
    config.data.dataset.count = 2


@pytest.fixture(scope="module")
def comparisons(against_eager):
    return against_eager(PROJECT, small)


@pytest.fixture
def config():
    config = LazyConfig.load(PROJECT / "configs" / "eager.py")
    small(config)
    return config


@pytest.fixture
def view(config):
    (view, *_) = instantiate(config.data.dataset)
    return view


def run(*arguments):
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


# The scene


def test_the_renderer_gives_the_committed_pictures_again(tmp_path):
    names = ["seen_03.png", "held_09.png"]

    run("-m", "projects.nerf.scene", "--to", str(tmp_path), "--only", *[name.removesuffix(".png") for name in names])

    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "poses.json"])
    assert (tmp_path / "poses.json").read_bytes() == (PROJECT / "views" / "poses.json").read_bytes()
    for name in names:
        with Image.open(tmp_path / name) as again, Image.open(PROJECT / "views" / name) as kept:
            assert again.tobytes() == kept.tobytes()
        if features.version("zlib") == ZLIB:
            assert (tmp_path / name).read_bytes() == (PROJECT / "views" / name).read_bytes()


def test_every_pose_has_its_picture_and_no_held_one_is_among_those_seen():
    poses = json.loads((PROJECT / "views" / "poses.json").read_text())
    places = {name: tuple(row[3] for row in camera) for name, camera in poses.items()}

    assert {f"{name}.png" for name in poses} == {path.name for path in (PROJECT / "views").glob("*.png")}
    assert {name[:4] for name in poses} == {"seen", "held"}
    assert len(set(places.values())) == len(poses)


def test_pictures_and_weights_are_small():
    assert sum(path.stat().st_size for path in (PROJECT / "views").iterdir()) < 400_000
    assert (PROJECT / "weights.safetensors").stat().st_size < 400_000


def test_a_view_has_a_ray_of_length_one_for_every_pixel(config, view):
    assert view["picture"].shape == (16, 16, 3)
    assert view["origins"].shape == view["directions"].shape == (256, 3)
    torch.testing.assert_close(view["directions"].norm(dim=1), torch.ones(256))


def test_a_kind_of_view_that_there_is_not_is_an_error_that_lists_them(config):
    config.data.dataset.kind = "hidden"

    with pytest.raises(Exception, match="kind must be one of seen, held, got 'hidden'"):
        instantiate(config.data.dataset)


# The network


class SolidBall(nn.Module):
    """A field that is a green ball of radius 0.3 around the middle of the floor."""

    def forward(self, points, directions):
        # Points come with the box's middle at 0 and half its width as the unit.
        inside = (points * 1.15 + torch.tensor([0, 0, 0.35])).norm(dim=-1) < 0.3
        return inside * 1e4, torch.tensor([0.0, 1.0, 0.0]).expand(points.shape)


def test_a_ball_is_seen_at_its_distance_and_all_else_is_white(config):
    config.model.weights = None
    config.model.samples = (200, 200)
    model = instantiate(config.model).eval()
    model.coarse = model.fine = SolidBall()
    origins = torch.tensor([[0.0, -3.0, 0.0], [0.0, -3.0, 0.0], [3.0, 0.1, 0.0], [0.0, -3.0, 5.0]])
    directions = torch.tensor([[0.0, 1.0, 0.0], [0.3, 0.9539392, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])

    seen = model(origins, directions)

    green, white = [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]
    torch.testing.assert_close(seen.colour, torch.tensor([green, white, green, white]), atol=1e-4, rtol=0)
    torch.testing.assert_close(seen.opacity, torch.tensor([1.0, 0, 1, 0]), atol=1e-4, rtol=0)
    leaves = 1.15 / 0.3  # the second ray, which goes by the ball; the last one never enters the box
    torch.testing.assert_close(seen.depth[:3], torch.tensor([2.7, leaves, 3 - 0.08**0.5]), atol=0.02, rtol=0)


def test_every_ray_is_rendered_by_itself(config, view):
    model = instantiate(config.model).eval()
    rays = view["origins"], view["directions"]

    with torch.inference_mode():
        whole = model(*rays).colour
        parts = torch.cat([model(*part).colour for part in zip(*(each.split(100) for each in rays), strict=True)])

    torch.testing.assert_close(parts, whole, atol=1e-4, rtol=0)


def test_points_are_drawn_in_training_and_fixed_in_evaluation(config, view):
    model = instantiate(config.model)
    rays = view["origins"], view["directions"]

    with torch.inference_mode():
        trained = [model.train()(*rays).colour for _ in range(2)]
        evaluated = [model.eval()(*rays).colour for _ in range(2)]

    assert not torch.equal(*trained)
    assert torch.equal(*evaluated)


def test_training_twice_gives_the_same_weights():
    run("-c", TRAIN_TWICE)


# The evaluator


def test_pictures_are_written_view_by_view_and_the_film_at_the_end(config, tmp_path):
    model, loader, film = (instantiate(each) for each in (config.model.copy(), config.data, config.evaluator))
    film.folder = tmp_path
    records = {}

    with torch.inference_mode():
        for number, batch in enumerate(loader):
            records |= film.process(batch, model.eval()(*batch.inputs.values()))
            assert len(list(tmp_path.glob("view_*.png"))) == number + 1
            assert not (tmp_path / "film.gif").exists()
    metrics = film.evaluate(records)

    assert set(records) == {0, 1}
    assert set(metrics) == {"psnr", "ssim"}
    with Image.open(tmp_path / "film.gif") as written:
        assert (written.n_frames, written.size) == (2, (32, 16))
    with Image.open(tmp_path / "view_00.png") as picture, Image.open(tmp_path / "depth_00.png") as depth:
        assert picture.size == depth.size == (16, 16)
        assert picture.getpixel((0, 0)) == depth.getpixel((0, 0)) == (255, 255, 255)


def test_without_a_folder_nothing_is_written(config, view, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, film = instantiate(config.model).eval(), instantiate(config.evaluator)
    rays = {name: view[name] for name in ("origins", "directions")}

    with torch.inference_mode():
        film.evaluate(film.process(Batch(indices=(0,), inputs=rays, number=0), model(**rays)))

    assert list(tmp_path.iterdir()) == []


# The configs


def test_held_views_are_rendered_as_well_as_the_readme_says(config):
    config.data.dataset.count, config.data.dataset.stride = None, 3
    model, loader, film = (instantiate(each) for each in (config.model, config.data, config.evaluator))

    with torch.inference_mode():
        records = [film.process(batch, model.eval()(*batch.inputs.values())) for batch in loader]
    metrics = film.evaluate({index: record for each in records for index, record in each.items()})

    readme = re.search(r"PSNR of ([\d.]+) dB", (PROJECT / "README.md").read_text())[1]
    assert len(records) == 16
    assert metrics["psnr"] == pytest.approx(float(readme), abs=0.5)  # of a ninth of the pixels, as against all
    assert metrics["psnr"] > 27


def test_eager_is_exactly_the_same_as_itself(comparisons):
    comparison = comparisons["eager"]

    assert {leaf.path for leaf in comparison.outputs.leaves} == {"colour", "depth", "opacity"}
    assert comparison.outputs.samples == 2
    assert {leaf.level for leaf in comparison.outputs.leaves} == {float("-inf")}
    assert comparison.exit_code == 0


def test_the_compiled_field_gives_the_same(comparisons):
    assert comparisons["inductor"].target.preparation.facts.graphs == 1
    assert comparisons["inductor"].target.preparation.facts.breaks == 0
    assert comparisons["inductor"].exit_code == 0


@pytest.mark.parametrize("name", CONFIGS)
def test_the_readme_tells_of_this_config(name):
    assert f"| `{name}.py` |" in (PROJECT / "README.md").read_text()

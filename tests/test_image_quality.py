"""PSNR and SSIM of rendered pictures, found by index, judged in dB."""

from math import fsum, inf

import pytest
import torch
from evaluator_cases import PICTURES, TRUE_PICTURES, batch

from libbench.evaluators.image_quality import ImageQuality
from libbench.images import psnr, ssim
from libbench.settings import Tolerance


def test_metrics_are_the_means_over_pictures():
    evaluator = ImageQuality(TRUE_PICTURES)

    metrics = evaluator.evaluate(evaluator.process(batch(*range(12)), PICTURES))

    pairs = list(zip(PICTURES, TRUE_PICTURES, strict=True))
    assert metrics == {
        "psnr": fsum(psnr(*pair) for pair in pairs) / 12,
        "ssim": fsum(ssim(*pair, channels=-1) for pair in pairs) / 12,
    }


@pytest.mark.parametrize(
    "lay_out",
    [lambda p: p, lambda p: p[0], lambda p: p[0].reshape(-1, 3), lambda p: {"rgb": p[0].reshape(-1, 3), "by": "ray"}],
)
def test_a_picture_may_come_as_it_is_or_as_a_row_for_each_ray(lay_out):
    evaluator = ImageQuality(TRUE_PICTURES)

    found = evaluator.process(batch(7), lay_out(PICTURES[7:8]))

    assert found == {
        7: {"psnr": psnr(PICTURES[7], TRUE_PICTURES[7]), "ssim": ssim(PICTURES[7], TRUE_PICTURES[7], 1, -1)}
    }


def test_rays_of_several_pictures_of_different_sizes_follow_one_another():
    truths = [torch.rand(4, 5, 3), torch.rand(2, 3, 3)]
    rays = torch.cat([truth.reshape(-1, 3) + 0.1 for truth in truths])

    found = ImageQuality(truths, structure=False).process(batch(0, 1), rays)

    assert found == {0: {"psnr": pytest.approx(20, abs=1e-5)}, 1: {"psnr": pytest.approx(20, abs=1e-5)}}


@pytest.mark.parametrize(
    "outputs", [torch.zeros(1, 3, 12, 13), torch.zeros(2, 12, 13, 3), torch.zeros(155, 3), torch.zeros(156, 4)]
)
def test_pictures_of_another_shape_are_an_error_that_names_both(outputs):
    with pytest.raises(ValueError, match=r"shape \(1, 12, 13, 3\).* 156 pixels, got \("):
        ImageQuality(TRUE_PICTURES).process(batch(0), outputs)


def test_a_sample_without_picture_is_an_error():
    with pytest.raises(ValueError, match="sample 12 has no picture; there are 12 pictures"):
        ImageQuality(list(TRUE_PICTURES)).process(batch(12), PICTURES[:1])


@pytest.mark.parametrize(
    ("reference", "target", "verdict"),
    [(30, 29.91, "same"), (30, 29.89, "different"), (30, 40, "same"), (30, inf, "same"), (inf, 60, "different")],
)
def test_a_drop_of_a_tenth_of_a_decibel_is_allowed_and_any_gain(reference, target, verdict):
    (report,) = ImageQuality([]).compare({"psnr": reference}, {"psnr": target}, Tolerance())

    assert (report.verdict, report.allowed) == (verdict, 0.1)


def test_the_tolerance_of_the_config_wins():
    (report,) = ImageQuality([]).compare({"psnr": 30}, {"psnr": 29.5}, Tolerance(metrics={"psnr": 1.0}))

    assert report.verdict == "same"


@pytest.mark.parametrize("target", [{}, {"psnr": float("nan")}])
def test_a_psnr_that_is_gone_or_nan_is_no_gain(target):
    (report,) = ImageQuality([]).compare({"psnr": 30}, target, Tolerance())

    assert report.verdict == "different"


def test_the_picture_that_loses_the_most_is_named():
    reference = {2: {"psnr": 30.0}, 5: {"psnr": 31.0}, 9: {"psnr": inf}}

    assert list(ImageQuality([]).compare_records(reference, reference | {5: {"psnr": 29.5}})) == [
        "psnr drops the most at sample 5, by 1.5 dB"
    ]
    assert list(ImageQuality([]).compare_records(reference, reference)) == []


def test_no_pictures_have_no_quality():
    with pytest.raises(ValueError, match="no pictures"):
        ImageQuality([]).evaluate({})

"""PSNR and SSIM, beside those of scikit-image."""

import math

import numpy as np
import pytest
import torch

from libbench.images import psnr, ssim

metrics = pytest.importorskip("skimage.metrics")
RNG = np.random.default_rng(0)
SMOOTH = np.add.outer(np.linspace(0, 0.5, 24), np.linspace(0, 0.5, 31) ** 2)
WINDOWS = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}


def noisy(picture, by):
    return np.clip(picture + by * RNG.standard_normal(picture.shape), 0, 1)


@pytest.mark.parametrize("by", [1e-4, 0.02, 0.3])
@pytest.mark.parametrize("peak", [1.0, 255.0])
def test_pictures_are_as_alike_as_scikit_image_says(by, peak):
    a, b = SMOOTH * peak, noisy(SMOOTH, by) * peak

    assert psnr(b, a, peak) == pytest.approx(metrics.peak_signal_noise_ratio(a, b, data_range=peak), rel=1e-12)
    assert ssim(b, a, peak) == pytest.approx(metrics.structural_similarity(a, b, data_range=peak, **WINDOWS), rel=1e-9)


@pytest.mark.parametrize("axis", [0, 2])
def test_channels_may_stand_at_either_end(axis):
    a = np.stack([SMOOTH, SMOOTH**2, 1 - SMOOTH], axis)
    b = noisy(a, 0.05)

    wanted = metrics.structural_similarity(a, b, data_range=1.0, channel_axis=axis, **WINDOWS)
    assert ssim(a, b, channels=axis) == pytest.approx(wanted, rel=1e-9)
    assert ssim(a, b, channels=axis - 3) == ssim(a, b, channels=axis)


def test_arrays_and_tensors_of_any_dtype_give_the_same():
    a, b = (SMOOTH * 255).astype(np.uint8), (noisy(SMOOTH, 0.1) * 255).astype(np.uint8)

    found = {psnr(*pair, 255) for pair in ((a, b), (torch.tensor(a), torch.tensor(b)), (a.astype(float), b))}
    assert list(found) == [pytest.approx(metrics.peak_signal_noise_ratio(a, b, data_range=255), rel=1e-12)]
    assert ssim(a, torch.tensor(b), 255) == ssim(a.astype(float), b, 255)


def test_equal_pictures_have_an_infinite_psnr_and_an_ssim_of_one():
    assert psnr(SMOOTH, SMOOTH) == math.inf
    assert ssim(SMOOTH, SMOOTH) == pytest.approx(1, abs=1e-12)


def test_a_nan_shows():
    broken = SMOOTH.copy()
    broken[3, 4] = math.nan

    assert math.isnan(psnr(SMOOTH, broken))
    assert math.isnan(ssim(broken, SMOOTH))


@pytest.mark.parametrize(
    ("function", "shapes", "says"),
    [
        (psnr, [(3, 4), (4, 3)], r"must have one shape, got \(3, 4\) and \(4, 3\)"),
        (psnr, [(0, 4), (0, 4)], r"must have pixels, got shape \(0, 4\)"),
        (ssim, [(10, 20), (10, 20)], r"11 x 11 pixels or more, got \(10, 20\)"),
        (ssim, [(20, 20, 3), (20, 20, 3)], r"must have shape \(height, width\), got \(20, 20, 3\)"),
    ],
)
def test_what_is_no_pair_of_pictures_is_an_error(function, shapes, says):
    with pytest.raises(ValueError, match=says):
        function(*(np.zeros(shape) for shape in shapes))

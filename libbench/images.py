"""How alike two pictures are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

WINDOW = 11
"""Pixels along a side of the window that SSIM looks through; its pictures are no smaller."""
_SIGMA = 1.5
_STABILISERS = 0.01, 0.03


def psnr(a: Any, b: Any, peak: float = 1.0) -> float:
    """Give the peak signal-to-noise ratio in dB: `10 * log10(peak**2 / mean squared difference)`.

    Args:
        a, b: arrays or tensors of one shape, with values from 0 to `peak`; not empty.
        peak: the largest value that there can be.

    Returns:
        Infinity for equal pictures, NaN where one holds a NaN.

    Raises:
        ValueError: the shapes differ, or there is no pixel.
    """
    first, second = _pair(a, b)
    error = float(((first - second) ** 2).mean())
    return 10 * math.log10(peak**2 / error) if error else math.inf


def ssim(a: Any, b: Any, peak: float = 1.0, channels: int | None = None) -> float:
    """Give the mean structural similarity: 1 for equal pictures, about 0 for unrelated ones, at least -1.

    As in Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to structural
    similarity" (IEEE Transactions on Image Processing 13(4), 2004): means, variances and the covariance under a
    Gaussian window of 11 x 11 pixels with sigma 1.5, K1 = 0.01, K2 = 0.03, averaged over all windows that lie wholly
    in the picture. Colours are averaged, too.

    Args:
        a, b: arrays or tensors of one shape, `(height, width)` or with an axis of channels, values from 0 to `peak`.
        peak: the largest value that there can be.
        channels: the axis of the channels, such as -1 or 0; None where there is none.

    Returns:
        NaN where one of them holds a NaN.

    Raises:
        ValueError: the shapes differ, are not those of pictures, or are smaller than the window.
    """
    first, second = _pair(a, b)
    if first.ndim != (2 if channels is None else 3):
        wanted = "(height, width)" if channels is None else f"height, width and channels at {channels}"
        raise ValueError(f"a picture must have shape {wanted}, got {tuple(first.shape)}")
    if channels is None:
        first, second = first[None], second[None]
    else:
        first, second = first.movedim(channels, 0), second.movedim(channels, 0)
    if min(first.shape[1:]) < WINDOW:
        raise ValueError(f"SSIM needs {WINDOW} x {WINDOW} pixels or more, got {tuple(first.shape[1:])}")
    mean, other = _blurred(first), _blurred(second)
    variance = _blurred(first**2) - mean**2
    other_variance = _blurred(second**2) - other**2
    covariance = _blurred(first * second) - mean * other
    c1, c2 = ((k * peak) ** 2 for k in _STABILISERS)
    alike = (2 * mean * other + c1) * (2 * covariance + c2)
    return float((alike / ((mean**2 + other**2 + c1) * (variance + other_variance + c2))).mean())


def _pair(a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor]:
    first, second = _float64(a), _float64(b)
    if first.shape != second.shape:
        raise ValueError(f"pictures must have one shape, got {tuple(first.shape)} and {tuple(second.shape)}")
    if not first.numel():
        raise ValueError(f"a picture must have pixels, got shape {tuple(first.shape)}")
    return first, second


def _float64(picture: Any) -> torch.Tensor:
    tensor = picture if isinstance(picture, torch.Tensor) else torch.from_numpy(np.array(picture))
    return tensor.detach().to("cpu", torch.float64).contiguous()


def _blurred(channels: torch.Tensor) -> torch.Tensor:
    """Give the mean under the window at each place where it lies wholly in the picture."""
    places = torch.arange(WINDOW, dtype=torch.float64) - WINDOW // 2
    weights = torch.exp(-(places**2) / (2 * _SIGMA**2))
    weights /= weights.sum()
    down = torch.nn.functional.conv2d(channels[:, None], weights[None, None, :, None])
    return torch.nn.functional.conv2d(down, weights[None, None, None])[:, 0]

"""Where the pictures are taken from, and the rays of their pixels."""

from math import cos, pi, sin, sqrt
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]

DISTANCE = 3.4
AIM = (0.0, 0.0, 0.16)
"""The point that every camera looks at."""
FOCAL = 1.35
"""Focal length in widths of the picture."""
SEEN = 32
FILMED = 16
ELEVATIONS = (10, 75)
"""The lowest and the highest of the views for training, in degrees above the horizon."""
FILM_ELEVATION = 30


def seen() -> list[Array]:
    """Give the cameras for training: spread evenly over the upper part of a sphere, along a spiral."""
    low, high = (sin(degrees * pi / 180) for degrees in ELEVATIONS)
    heights = [low + (high - low) * (i + 0.5) / SEEN for i in range(SEEN)]
    turn = pi * (3 - sqrt(5))
    return [_camera(i * turn, height) for i, height in enumerate(heights)]


def filmed() -> list[Array]:
    """Give the cameras that are held out: once around the scene, none of them among those for training."""
    return [_camera(2 * pi * i / FILMED, sin(FILM_ELEVATION * pi / 180)) for i in range(FILMED)]


def _camera(angle: float, height: float) -> Array:
    """Give a camera at an angle around the vertical axis, at the sine of its elevation.

    Returns:
        `(3, 4)`: in its columns the directions right, up and backwards of the camera and its place, in the world.
    """
    flat = sqrt(1 - height * height)
    # Rounded, since the last digit of a cosine is not the same on every machine; the rest is.
    backwards = np.array([round(value, 6) for value in (flat * cos(angle), flat * sin(angle), height)])
    backwards /= sqrt((backwards * backwards).sum())
    right = np.array([-backwards[1], backwards[0], 0.0])
    right /= sqrt((right * right).sum())
    up = np.array(
        [
            backwards[1] * right[2] - backwards[2] * right[1],
            backwards[2] * right[0] - backwards[0] * right[2],
            backwards[0] * right[1] - backwards[1] * right[0],
        ]
    )
    return np.stack([right, up, backwards, np.array(AIM) + DISTANCE * backwards], axis=1).round(8)


def rays(camera: Array, width: int, height: int, within: tuple[float, float] = (0.5, 0.5)) -> tuple[Array, Array]:
    """Give the rays of a picture, row by row from the upper left corner.

    Args:
        camera: `(3, 4)`, as `seen` gives it.
        within: the point of each pixel that its ray goes through, from (0, 0), its upper left, to (1, 1).

    Returns:
        Origins and directions of length 1, each `(height * width, 3)`.
    """
    row, column = np.divmod(np.arange(height * width), width)
    x = (column + within[0] - width / 2) / (FOCAL * width)
    y = (height / 2 - row - within[1]) / (FOCAL * width)
    # Written out: a matrix product may add in another order on another machine.
    directions = x[:, None] * camera[:, 0] + y[:, None] * camera[:, 1] - camera[:, 2]
    x, y, z = directions.T
    directions = directions / np.sqrt(x * x + y * y + z * z)[:, None]
    return np.broadcast_to(camera[:, 3], directions.shape), directions

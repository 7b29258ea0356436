"""What a ray can hit: a ball, a box, a round slab.

Only sums, products, quotients and square roots are used, which give the same bits on every machine.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Point = tuple[float, float, float]

NEAREST = 1e-6
"""A ray does not hit what is nearer: the surface that it starts from."""


def dot(a: Array, b: Array) -> Array:
    """Give the inner products of the last axis, added in a fixed order."""
    product = a * b
    return product[..., 0] + product[..., 1] + product[..., 2]


def unit(vectors: Array) -> Array:
    """Give vectors of length 1 along the last axis."""
    return vectors / np.sqrt(dot(vectors, vectors))[..., None]


@dataclass(frozen=True)
class Ball:
    """A ball around a point."""

    centre: Point
    radius: float

    def hit(self, origins: Array, directions: Array) -> Array:
        """Give how far along each ray, of length 1, it is hit; infinity where it is not."""
        away = origins - np.array(self.centre)
        half = dot(away, directions)
        inside = half * half - dot(away, away) + self.radius * self.radius
        root = np.sqrt(np.maximum(inside, 0))
        distance = np.where(-half - root > NEAREST, -half - root, -half + root)
        return np.where((inside > 0) & (distance > NEAREST), distance, np.inf)

    def normals(self, points: Array) -> Array:
        """Give the directions out of the surface at points of it."""
        return unit(points - np.array(self.centre))


@dataclass(frozen=True)
class Box:
    """A box along the axes, between two corners."""

    low: Point
    high: Point

    def hit(self, origins: Array, directions: Array) -> Array:
        """Give how far along each ray it is hit from outside; infinity where it is not."""
        with np.errstate(divide="ignore", invalid="ignore"):
            first, second = ((np.array(corner) - origins) / directions for corner in (self.low, self.high))
        enter, leave = np.fmin(first, second).max(axis=1), np.fmax(first, second).min(axis=1)
        return np.where((enter < leave) & (enter > NEAREST), enter, np.inf)

    def normals(self, points: Array) -> Array:
        """Give the directions out of the surface at points of it."""
        low, high = np.array(self.low), np.array(self.high)
        across = (points - (low + high) / 2) / (high - low)
        nearest = np.abs(across).argmax(axis=1)
        rows = np.arange(len(points))
        normals = np.zeros_like(points)
        normals[rows, nearest] = np.sign(across[rows, nearest])
        return normals


@dataclass(frozen=True)
class Slab:
    """A round slab around the vertical axis, whose top is at height 0."""

    radius: float
    thickness: float

    def hit(self, origins: Array, directions: Array) -> Array:
        """Give how far along each ray its top or its rim is hit; infinity where neither is."""
        return np.fmin(self._top(origins, directions), self._rim(origins, directions))

    def _top(self, origins: Array, directions: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = -origins[:, 2] / directions[:, 2]
            x, y = (origins[:, axis] + distance * directions[:, axis] for axis in (0, 1))
            there = (x * x + y * y <= self.radius * self.radius) & (distance > NEAREST) & (directions[:, 2] < 0)
        return np.where(there, distance, np.inf)

    def _rim(self, origins: Array, directions: Array) -> Array:
        (ox, oy, oz), (dx, dy, dz) = origins.T, directions.T
        a, half = dx * dx + dy * dy, ox * dx + oy * dy
        inside = half * half - a * (ox * ox + oy * oy - self.radius * self.radius)
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = (-half - np.sqrt(np.maximum(inside, 0))) / a
            z = oz + distance * dz
        there = (inside > 0) & (z <= 0) & (z >= -self.thickness) & (distance > NEAREST)
        return np.where(there, distance, np.inf)

    def normals(self, points: Array) -> Array:
        """Give the directions out of the surface at points of it: upwards on the top, outwards at the rim."""
        outwards = points * np.array([1.0, 1.0, 0.0])
        top = points[:, 2] > -NEAREST
        outwards[top] = (0.0, 0.0, 1.0)
        return unit(outwards)

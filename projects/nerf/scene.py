"""Renders the pictures that the network learns from: `python -m projects.nerf.scene`.

Three balls, one of which mirrors the others, and a box stand on a round checkered floor under one soft light. The
same pixels come out on every machine, and with the same Pillow the same files.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from libbench.optional import need

from .cameras import Array, filmed, rays, seen
from .shapes import Ball, Box, Slab, dot, unit

FOLDER = Path(__file__).with_name("views")
SIZE = 80
"""Width and height of a picture."""
FINE = 4
"""A pixel is the mean of so many rays in each direction, every one with its own point of the light."""
LIGHT, LIGHT_WIDTH = (2.2, -1.6, 3.6), 1.1
SKY = (1.0, 1.0, 1.0)
BOUNCES = 2


@dataclass(frozen=True)
class Thing:
    """A shape and how it looks.

    Attributes:
        colour: gives `(n, 3)`, from 0 to 1, for the points `(n, 3)` of the surface.
        gloss: how bright the light's reflection is.
        mirror: share of the colour that is what the surface reflects.
    """

    shape: Ball | Box | Slab
    colour: Callable[[Array], Array]
    gloss: float = 0.0
    mirror: float = 0.0


def _plain(*colour: float) -> Callable[[Array], Array]:
    return lambda points: np.broadcast_to(np.array(colour), points.shape)


def _checkers(points: Array) -> Array:
    squares = np.floor(points[:, 0] / 0.3) + np.floor(points[:, 1] / 0.3)
    light = np.where(squares % 2 == 0, 1.0, 0.0)[:, None]
    colours = light * np.array([0.86, 0.82, 0.72]) + (1 - light) * np.array([0.10, 0.16, 0.30])
    return np.where(points[:, 2:] < -1e-6, np.array([0.30, 0.26, 0.24]), colours)


def _stripes(points: Array) -> Array:
    light = (np.floor(points[:, 2] / 0.1) % 2)[:, None]
    return light * np.array([0.95, 0.78, 0.20]) + (1 - light) * np.array([0.12, 0.48, 0.36])


THINGS = (
    Thing(Slab(radius=1.1, thickness=0.1), _checkers),
    Thing(Ball((-0.42, -0.30, 0.36), 0.36), _plain(0.80, 0.09, 0.07), gloss=0.8),
    Thing(Ball((0.30, 0.42, 0.40), 0.40), _plain(0.10, 0.24, 0.50), gloss=0.9, mirror=0.4),
    Thing(Ball((0.12, -0.68, 0.18), 0.18), _plain(0.93, 0.45, 0.08), gloss=0.4),
    Thing(Box((0.38, -0.42, 0.0), (0.78, -0.02, 0.48)), _stripes),
)


def trace(origins: Array, directions: Array, light: Array, bounces: int = BOUNCES) -> Array:
    """Give the light, `(n, 3)` from 0 to 1, that comes back along rays `(n, 3)` when the lamp is at a point."""
    distances = np.stack([thing.shape.hit(origins, directions) for thing in THINGS])
    nearest, distance = distances.argmin(axis=0), distances.min(axis=0)
    result = np.broadcast_to(np.array(SKY), directions.shape).copy()
    for number, thing in enumerate(THINGS):
        hit = (nearest == number) & np.isfinite(distance)
        if hit.any():
            points = origins[hit] + distance[hit, None] * directions[hit]
            result[hit] = _shade(thing, points, directions[hit], light, bounces)
    return result


def _shade(thing: Thing, points: Array, directions: Array, light: Array, bounces: int) -> Array:
    normals = thing.shape.normals(points)
    start = points + 1e-5 * normals
    to_light = unit(light - points)
    lit = np.maximum(dot(normals, to_light), 0) * _unshadowed(start, light)
    around = 0.30 + 0.22 * normals[:, 2]
    colour = thing.colour(points) * (around + 0.75 * lit)[:, None]
    if thing.mirror and bounces:
        mirrored = directions - 2 * dot(directions, normals)[:, None] * normals
        colour = (1 - thing.mirror) * colour + thing.mirror * trace(start, mirrored, light, bounces - 1)
    if thing.gloss:
        shine = np.maximum(dot(normals, unit(to_light - directions)), 0)
        for _ in range(5):
            shine = shine * shine
        colour = colour + (thing.gloss * shine * np.sign(lit))[:, None]
    return np.minimum(colour, 1)


def _unshadowed(points: Array, light: Array) -> Array:
    """Give 1 where nothing stands between a point and the light, else 0."""
    way = light - points
    far = np.sqrt(dot(way, way))
    blocked = np.zeros(len(points), dtype=bool)
    for thing in THINGS:
        blocked |= thing.shape.hit(points, way / far[:, None]) < far
    return np.where(blocked, 0.0, 1.0)


def render(camera: Array, size: int = SIZE) -> np.ndarray:
    """Give the picture that a camera takes, `(size, size, 3)` in bytes."""
    total = np.zeros((size * size, 3))
    for sample in range(FINE * FINE):
        row, column = divmod(sample, FINE)
        origins, directions = rays(camera, size, size, within=((column + 0.5) / FINE, (row + 0.5) / FINE))
        # Another point of the lamp for each ray of a pixel: neighbours in the pixel are far apart on the lamp.
        spot = np.array([(sample * 7 % 16 % 4 - 1.5) / 3, (sample * 7 % 16 // 4 - 1.5) / 3, 0.0])
        total += trace(origins, directions, np.array(LIGHT) + LIGHT_WIDTH * spot)
    # The square root stands in for the curve of a screen.
    return np.floor(np.sqrt(total / (FINE * FINE)) * 255 + 0.5).astype(np.uint8).reshape(size, size, 3)


def main() -> None:
    """Write the pictures and `poses.json`."""
    parser = argparse.ArgumentParser(prog="python -m projects.nerf.scene", description=__doc__)
    parser.add_argument("--to", type=Path, default=FOLDER, metavar="FOLDER", help="where to write (views/)")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="views to render, as seen_00; all by default")
    chosen = parser.parse_args()
    image = need("PIL.Image", extra="nerf", purpose="projects/nerf")
    chosen.to.mkdir(parents=True, exist_ok=True)
    poses = {}
    for kind, cameras in (("seen", seen()), ("held", filmed())):
        for number, camera in enumerate(cameras):
            name = f"{kind}_{number:02}"
            poses[name] = camera.tolist()
            if chosen.only is None or name in chosen.only:
                image.fromarray(render(camera)).save(chosen.to / f"{name}.png", optimize=True)
    lines = ",\n".join(f'  "{name}": {json.dumps(camera)}' for name, camera in poses.items())
    (chosen.to / "poses.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()

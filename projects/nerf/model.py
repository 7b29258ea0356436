"""A neural radiance field: a network that knows, of every point, how dense it is and which colour it has from where."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

from .sampling import absorbed, positions, redistributed, within

DENSEST = 10.0
"""Natural logarithm of the largest density; beyond it, nothing would look different."""


@dataclass(frozen=True)
class Rendering:
    """What `n` rays see.

    Attributes:
        colour: `(n, 3)`, from 0 to 1, on a white background.
        depth: `(n,)`, mean distance of what is seen, from the ray's origin; the background is taken to begin where the
            ray leaves the box.
        opacity: `(n,)`, from 0 where nothing is seen but the background, to 1.
    """

    colour: torch.Tensor
    depth: torch.Tensor
    opacity: torch.Tensor


class Waves(nn.Module):
    """Gives numbers with their sines and cosines, at frequencies that double: `2 * frequencies + 1` for each."""

    def __init__(self, frequencies: int) -> None:
        super().__init__()
        self.frequencies = frequencies

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Take `(..., d)` with values from -1 to 1; give `(..., d * (2 * frequencies + 1))`."""
        powers = 2.0 ** torch.arange(self.frequencies, dtype=x.dtype, device=x.device)
        angles = (x[..., None] * powers * torch.pi / 2).flatten(-2)
        return torch.cat([x, angles.sin(), angles.cos()], dim=-1)


class Field(nn.Module):
    """Gives density and colour of points, the colour as it is seen from a direction.

    Args:
        width: of the hidden layers.
        depth: number of hidden layers; the one in the middle sees the point once more.
        frequencies: of the points' encoding and of the directions'.
    """

    def __init__(self, width: int, depth: int, frequencies: tuple[int, int]) -> None:
        super().__init__()
        self.point, self.direction = (Waves(count) for count in frequencies)
        points, directions = (3 * (2 * count + 1) for count in frequencies)
        self.skip = depth // 2
        inputs = [points, *[width] * (depth - 1)]
        inputs[self.skip] += points
        self.layers = nn.ModuleList(nn.Linear(size, width) for size in inputs)
        self.density = nn.Linear(width, 1)
        self.feature = nn.Linear(width, width)
        self.shade = nn.Linear(width + directions, width // 2)
        self.colour = nn.Linear(width // 2, 3)

    def forward(self, points: torch.Tensor, directions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Take points `(n, count, 3)` and directions `(n, 3)`; give densities `(n, count)`, colours `(n, count, 3)`."""
        encoded = self.point(points)
        hidden = encoded
        for number, layer in enumerate(self.layers):
            if number == self.skip:
                hidden = torch.cat([hidden, encoded], dim=-1)
            hidden = F.relu(layer(hidden))
        density = self.density(hidden)[..., 0].clamp(max=DENSEST).exp()
        seen_from = self.direction(directions)[:, None].expand(*points.shape[:2], -1)
        shaded = F.relu(self.shade(torch.cat([self.feature(hidden), seen_from], dim=-1)))
        return density, self.colour(shaded).sigmoid()


class NeRF(nn.Module):
    """Renders rays: a small field finds where something is, a larger one is asked there.

    Args:
        samples: intervals of a ray in which each of the two fields is asked.
        widths, depths: of the two fields, the small one first.
        frequencies: of the encoding of points and of directions.
        low, high: corners of the box outside of which nothing is.
        weights: name of a safetensors file in this folder; None leaves the weights at random.
    """

    def __init__(
        self,
        samples: tuple[int, int] = (48, 24),
        widths: tuple[int, int] = (32, 96),
        depths: tuple[int, int] = (3, 5),
        frequencies: tuple[int, int] = (8, 3),
        low: Sequence[float] = (-1.15, -1.15, -0.15),
        high: Sequence[float] = (1.15, 1.15, 0.85),
        weights: str | None = None,
    ) -> None:
        super().__init__()
        self.samples = samples
        self.coarse, self.fine = (Field(w, d, frequencies) for w, d in zip(widths, depths, strict=True))
        self.register_buffer("low", torch.tensor(low), persistent=False)
        self.register_buffer("high", torch.tensor(high), persistent=False)
        if weights is not None:
            self.load_state_dict(load_file(Path(__file__).parent / weights))

    def forward(self, origins: torch.Tensor, directions: torch.Tensor) -> Rendering:
        """Take rays, their origins and directions of length 1, both `(n, 3)`; give what they see."""
        return self.passes(origins, directions)[1]

    def passes(self, origins: torch.Tensor, directions: torch.Tensor) -> tuple[Rendering, Rendering]:
        """Give what the small field sees, and what the large one does; in train mode, samples are drawn at random."""
        first, second = self.samples
        enter, leave = within(self.low, self.high, origins, directions)
        edges = enter + (leave - enter) * positions(origins, first + 1, jitter=self.training)
        coarse, weights = self._render(self.coarse, origins, directions, edges)
        at = positions(origins, second + 1, jitter=self.training)
        edges = redistributed(edges, weights.detach(), at)
        return coarse, self._render(self.fine, origins, directions, edges)[0]

    def _render(
        self, field: Field, origins: torch.Tensor, directions: torch.Tensor, edges: torch.Tensor
    ) -> tuple[Rendering, torch.Tensor]:
        """Give what a field sees in the intervals between edges, and the weight of each."""
        middles = (edges[:, 1:] + edges[:, :-1]) / 2
        points = origins[:, None] + directions[:, None] * middles[..., None]
        centre, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        densities, colours = field((points - centre) / half.amax(), directions)
        weights = absorbed(densities, edges)
        opacity = weights.sum(dim=1)
        colour = (weights[..., None] * colours).sum(dim=1) + (1 - opacity)[:, None]
        depth = (weights * middles).sum(dim=1) + (1 - opacity) * edges[:, -1]
        return Rendering(colour, depth, opacity), weights

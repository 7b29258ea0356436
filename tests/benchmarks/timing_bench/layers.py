"""A model of equal layers, which can become slower after some of its calls."""

import itertools

import torch

from libbench.config import LazyCall as L
from libbench.data import RandomInputs

WIDTH = 256


class Layers(torch.nn.Module):
    """Equal linear layers.

    Args:
        depth: how many.
        slower_after: after so many calls of any such model in this process one more layer is called in every call, as
            if the machine had become slower for everybody; None never.
    """

    calls = itertools.count(1)

    def __init__(self, depth: int = 20, slower_after: int | None = None) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(depth))
        self.slower_after = slower_after

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Take and give `(batch, WIDTH)`."""
        slower = self.slower_after is not None and next(self.calls) > self.slower_after
        for layer in [*self.layers, *([self.layers[0]] if slower else [])]:
            x = torch.relu(layer(x))
        return x


model = L(Layers)()
data = L(RandomInputs)(shapes=(WIDTH,), samples=64, batch_size=8)

"""A small convolutional network for pictures of 8 x 8 pixels."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

CLASSES = 10


class ResponseNorm(nn.Module):
    """Scales each channel by how strong it is over the picture, beside the other channels.

    From "ConvNeXt V2" (Woo et al., 2023, arXiv:2301.00808), where it is called global response normalisation.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(channels))
        self.shift = nn.Parameter(torch.zeros(channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Take and give `(batch, height, width, channels)`."""
        strength = torch.linalg.vector_norm(x, dim=(1, 2), keepdim=True)
        relative = strength / (strength.mean(dim=-1, keepdim=True) + 1e-6)
        return x + self.scale * (x * relative) + self.shift


class Block(nn.Module):
    """Looks around each pixel channel by channel, then mixes the channels, and adds that to its input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.around = nn.Conv2d(channels, channels, kernel_size=3, padding=1, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.widen = nn.Linear(channels, 2 * channels)
        self.response = ResponseNorm(2 * channels)
        self.narrow = nn.Linear(2 * channels, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Take and give `(batch, channels, height, width)`."""
        mixed = self.norm(self.around(x).permute(0, 2, 3, 1))
        mixed = self.narrow(self.response(F.gelu(self.widen(mixed))))
        return x + mixed.permute(0, 3, 1, 2)


class DigitsNet(nn.Module):
    """Gives ten scores for each picture.

    Args:
        channels: width of each stage; every stage after the first halves height and width.
        weights: name of a safetensors file in this folder; None leaves the weights at random.
    """

    def __init__(self, channels: Sequence[int] = (16, 32), weights: str | None = None) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(1, channels[0], kernel_size=3, padding=1), Block(channels[0])]
        for before, after in pairwise(channels):
            layers += [nn.Conv2d(before, after, kernel_size=2, stride=2), Block(after)]
        self.stages = nn.Sequential(*layers)
        self.norm = nn.LayerNorm(channels[-1])
        self.head = nn.Linear(channels[-1], CLASSES)
        if weights is not None:
            self.load_state_dict(load_file(Path(__file__).parent / weights))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Take pictures `(batch, 1, 8, 8)` with values from 0 to 1; give scores `(batch, 10)`."""
        features = self.stages(images).mean(dim=(2, 3))
        return self.head(self.norm(features))

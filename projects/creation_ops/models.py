"""Small models that make a tensor of nothing, or draw at random, in every call: one for each way to do so."""

from __future__ import annotations

import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


class Model(nn.Module):
    """A layer that the others put something on top of."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)


class Arange(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + torch.arange(8)


class Full(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + torch.full((8,), 0.5)


class Tensor(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * torch.tensor(0.5)


class Empty(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + torch.empty(8).fill_(0.5)


class Rand(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + torch.rand(8)


class Randn(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + torch.randn(8)


class RandLike(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + torch.rand_like(x)


class Randint(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + torch.randint(0, 5, (8,))


class Randperm(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)[:, torch.randperm(8)]


class Normal(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + torch.empty(8).normal_()


class Uniform(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + torch.empty(8).uniform_(-1.0, 1.0)


class Bernoulli(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.bernoulli(torch.sigmoid(self.linear(x)))


class Dropout(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.dropout(self.linear(x), 0.3, True)


class Multinomial(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.multinomial(torch.softmax(self.linear(x), dim=1), 2)


class Generator(Model):
    """Draws the same numbers in every call, by a generator of its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) + torch.rand(8, generator=torch.Generator().manual_seed(5))


class PythonRandom(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * random.random()


class NumpyRandom(Model):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * float(np.random.rand())


class Number(Model):
    """Makes a number of Python of what it is given."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * float(x.abs().max())


class Branch(Model):
    """Goes one way or another by what it is given."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x)
        if x.sum() > 0:
            return y + 1
        return y - 1


MODELS = {
    "arange": Arange,
    "full": Full,
    "tensor": Tensor,
    "empty": Empty,
    "rand": Rand,
    "randn": Randn,
    "rand_like": RandLike,
    "randint": Randint,
    "randperm": Randperm,
    "normal_": Normal,
    "uniform_": Uniform,
    "bernoulli": Bernoulli,
    "dropout": Dropout,
    "multinomial": Multinomial,
    "generator": Generator,
    "random.random": PythonRandom,
    "numpy.random": NumpyRandom,
    "number": Number,
    "branch": Branch,
}


def creates(op: str) -> nn.Module:
    """Give the model that does so.

    Raises:
        ValueError: there is none.
    """
    if op not in MODELS:
        raise ValueError(f"op must be one of {', '.join(MODELS)}, got {op!r}")
    return MODELS[op]()

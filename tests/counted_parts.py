"""A model whose calls take what its config says, and a device whose clock counts that: nothing waits or jitters."""

from collections.abc import Callable, Mapping
from typing import Any

import torch

from libbench.devices.cpu import Cpu


class Counted(torch.nn.Linear):
    """A layer whose calls take the product of some factors in milliseconds.

    Args:
        factors: by any name; none of them is anything but a factor.
    """

    spent = 0.0

    def __init__(self, **factors: float) -> None:
        super().__init__(4, 3)
        self.cost = 1e-3
        for factor in factors.values():
            self.cost *= factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        Counted.spent += self.cost
        return super().forward(x)


class Counting(Cpu):
    """A CPU with that clock."""

    def time(self, call: Callable[[], Any]) -> Mapping[str, float]:
        before = Counted.spent
        call()
        return {"wall": Counted.spent - before}

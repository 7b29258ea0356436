"""The tolerance grid: 16 levels of four dtypes, each pair rounded as a person would write it."""

from __future__ import annotations

import math
from functools import cache

import torch

from libbench.compare.buffers import Array
from libbench.compare.levels import family
from libbench.compare.piece import Line

LEVELS = range(-10, 6)
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
"""In this order a row is often implied by those before it."""


def pair(dtype: torch.dtype, level: int) -> Line:
    """Give rtol and atol of a level of the grid, rounded to three significant digits.

    Raises:
        ValueError: levels have no meaning for the dtype.
    """
    of = family(dtype)
    if of.relative is None:
        raise ValueError(f"levels have no meaning for {dtype}")
    return float(f"{10.0 ** (of.relative * level):.3g}"), float(f"{10.0 ** (of.absolute * level):.3g}")


@cache
def _pairs(dtype: torch.dtype) -> tuple[Line, ...]:
    return tuple(pair(dtype, level) for level in LEVELS)


class Row:
    """The smallest level of one dtype that all pairs so far pass; those above it pass, too, as both parts only grow.

    A pair passes as `torch.allclose` has it on float64 values.

    Args:
        dtype: which of the four.

    Attributes:
        line: rtol and atol of that level; None when no level passes.
    """

    def __init__(self, dtype: torch.dtype) -> None:
        self._pairs = _pairs(dtype)
        self._at = 0
        self.line: Line | None = self._pairs[0]

    @property
    def level(self) -> int | None:
        """The level, from -10 to 5; None when none of them passes."""
        return LEVELS[self._at] if self.line is not None else None

    def fail(self) -> None:
        """Take a pair that no tolerance passes."""
        self.line = None

    def admit(self, differences: Array, references: Array, positions: Array) -> None:
        """Take pairs, at least one, of absolute difference and absolute reference, float64 without NaN.

        Args:
            differences: absolute.
            references: absolute.
            positions: of no interest here.
        """
        worst = float(differences.max())
        while self.line is not None:
            rtol, atol = self.line
            if worst <= atol or (worst < math.inf and bool((differences <= atol + rtol * references).all())):
                return
            self._at += 1
            self.line = self._pairs[self._at] if self._at < len(self._pairs) else None

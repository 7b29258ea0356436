"""Whether the values at one path could have told a wrong answer from the right one."""

from __future__ import annotations

import math

import numpy as np

from libbench.compare.buffers import Array


class Spread:
    """Looks at the reference's values until they have proved to differ, and to be larger than what zeros may be off by.

    NaNs do not count.

    Args:
        bound: the largest size of a value in the place of which zero would pass; below 0 where none would.
        parts: 2 when real and imaginary parts alternate, else 1.

    Attributes:
        open: whether more values could tell more.
    """

    def __init__(self, bound: float = -1.0, parts: int = 1) -> None:
        self._bound = bound
        self._ranges: list[tuple[float, float] | None] = [None] * parts
        self.open = True

    @classmethod
    def within(cls, rtol: float, atol: float, parts: int) -> Spread:
        """Look at values that are judged by a tolerance."""
        return cls(atol / (1 - rtol) if rtol < 1 else math.inf, parts)

    def take(self, values: Array) -> None:
        """Take a flat piece of numbers, with NumPy's warnings about floats turned off."""
        parts = len(self._ranges)
        for part in range(parts if len(values) else 0):
            own = values[part::parts]
            least, most = np.fmin.reduce(own).item(), np.fmax.reduce(own).item()
            known = self._ranges[part] or (least, most)
            if not math.isnan(least):
                self._ranges[part] = min(known[0], least), max(known[1], most)
        self.open = self.constant or self.small

    @property
    def constant(self) -> bool:
        """Whether all values were one; also before there are any."""
        return all(known is None or known[0] == known[1] for known in self._ranges)

    @property
    def small(self) -> bool:
        """Whether zeros would pass in the place of all values; also before there are any."""
        return all(known is None or max(map(abs, known)) <= self._bound for known in self._ranges)

"""Tolerances by dtype, and the tolerance level of a pair of values."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import torch

from libbench.compare.buffers import Array
from libbench.compare.piece import Line


@dataclass(frozen=True)
class Family:
    """What a dtype is judged by.

    Attributes:
        rtol: relative tolerance by default, as `torch.testing` has it.
        atol: absolute tolerance by default.
        relative: k in the relative tolerance 10^(k t) of level t; None where levels have no meaning.
        absolute: the same for the absolute tolerance.
    """

    rtol: float
    atol: float
    relative: float | None = None
    absolute: float = 1.0


_HALF = Family(1e-3, 1e-5, 0.6)
_SINGLE = Family(1.3e-6, 1e-5, 1.1772)
_DOUBLE = Family(1e-7, 1e-7, 1.4, 1.4)
EXACT = Family(0.0, 0.0)
_FAMILIES = {
    torch.float16: _HALF,
    torch.complex32: _HALF,
    torch.bfloat16: Family(1.6e-2, 1e-5, 0.3592),
    torch.float32: _SINGLE,
    torch.complex64: _SINGLE,
    torch.quint8: _SINGLE,
    torch.qint8: _SINGLE,
    torch.qint32: _SINGLE,
    torch.float64: _DOUBLE,
    torch.complex128: _DOUBLE,
}


def family(dtype: torch.dtype) -> Family:
    """Give what a dtype is judged by; what is not in the table, as float8 or integers, is judged exactly."""
    return _FAMILIES.get(dtype, EXACT)


class Level:
    """The smallest level that all pairs so far pass; level t allows `10^(at) + 10^(kt) * abs(reference)`.

    Attributes:
        value: -inf as long as all pairs agree exactly, inf when no level passes.
        rtol: the relative tolerance of that level; without meaning when no level passes.
        atol: the absolute tolerance of that level, likewise.
    """

    def __init__(self, of: Family) -> None:
        if of.relative is None:
            raise ValueError("levels have no meaning for this dtype")
        self._relative, self._absolute = of.relative, of.absolute
        self.value = -math.inf
        self.rtol = 0.0
        self.atol = 0.0

    @property
    def line(self) -> Line | None:
        """The level's rtol and atol; None when no level passes."""
        return (self.rtol, self.atol) if self.value < math.inf else None

    def fail(self) -> None:
        """Take a pair that no level passes."""
        self.value = math.inf

    def admit(self, differences: Array, references: Array, positions: Array) -> None:
        """Raise the level until it passes pairs, at least one.

        Args:
            differences: absolute, float64 without NaN.
            references: likewise.
            positions: of no interest here.
        """
        worst = int(differences.argmax())
        if not differences[worst] < math.inf:
            self.value = math.inf
        elif self.value == -math.inf and differences[worst] > 0:
            self._solve(float(differences[worst]), float(references[worst]))
        while -math.inf < self.value < math.inf:
            # The pair that exceeds the level most by ratio is a good guess at the one that needs the highest level;
            # a wrong guess costs another round.
            ratios = differences / (self.atol + self.rtol * references)
            worst = int(ratios.argmax())
            if differences[worst] <= self.atol + self.rtol * references[worst]:
                failing = ~(differences <= self.atol + self.rtol * references)
                if not failing.any():
                    return
                worst = int(failing.argmax())
            self._solve(float(differences[worst]), float(references[worst]))

    def _solve(self, difference: float, reference: float) -> None:
        a, k = self._absolute, self._relative
        log_d = math.log(difference)
        log_r = math.log(reference) if reference > 0 else -math.inf
        ten = math.log(10.0)
        level = log_d / (ten * a)  # passes by the absolute part alone; from here Newton's steps only go down
        for _ in range(60):
            x, y = a * ten * level, k * ten * level + log_r
            high = max(x, y)
            wx, wy = math.exp(x - high), math.exp(y - high)
            step = (high + math.log(wx + wy) - log_d) * (wx + wy) / (ten * (a * wx + k * wy))
            level -= step
            if abs(step) <= 1e-15 * abs(level):
                break
        nudge = 4e-16 * max(1.0, abs(level))
        while not difference <= _power(a * level) + _power(k * level) * reference:
            level += nudge
            nudge *= 2
        self.value, self.atol, self.rtol = level, _power(a * level), _power(k * level)


def _power(exponent: float) -> float:
    # Finite at any level: infinity times a reference of zero would be no number.
    return 10.0**exponent if exponent < 308.2 else sys.float_info.max

"""Numbers outside of tensors: exact for integers, by tolerance for floats."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from libbench.findings import Extreme, Number

_MOST_BITS = 10_000  # Python refuses to write an int of more than 4300 digits
_DTYPES = {
    "numpy.float16": torch.float16,
    "numpy.float32": torch.float32,
    "numpy.complex64": torch.complex64,
}


class WholeStatistics:
    """What is counted about Python integers and booleans at one path; they have no largest size."""

    def __init__(self) -> None:
        self.elements = 0
        self.mismatches = 0
        self.first_mismatch: tuple[int, ...] | None = None
        self.max_abs: Extreme | None = None
        self.max_rel: Extreme | None = None
        self._error = self._apart = 0.0

    def add(self, reference: int, target: int) -> None:
        """Take one pair."""
        self.elements += 1
        difference = abs(target - reference)
        if difference:
            self.mismatches += 1
            self.first_mismatch = ()
        sides = {"reference": _writable(reference), "target": _writable(target)}
        if self.max_abs is None or difference > self.max_abs.value:
            size = difference if difference.bit_length() <= _MOST_BITS else math.inf
            self.max_abs = Extreme(value=size, at=(), **sides)
        relative = _ratio(difference, abs(reference))
        if self.max_rel is None or relative > self.max_rel.value:
            self.max_rel = Extreme(value=relative, at=(), **sides)
        rough = _ratio(difference, 1)
        self._error += rough * rough
        self._apart += rough

    @property
    def rmse(self) -> float | None:
        return math.sqrt(self._error / self.elements) if self.elements else None

    @property
    def mean_abs(self) -> float | None:
        return self._apart / self.elements if self.elements else None


def whole(node: Mapping[str, Any]) -> int:
    """Give the exact value of a number node that holds an int or a bool."""
    value = node["value"]
    return int(value, 16) if isinstance(value, str) else int(value)


def as_tensor(node: Mapping[str, Any]) -> torch.Tensor:
    """Give a number node as a 0-dimensional tensor of the dtype that judges it."""
    value, kind = node["value"], node["type"]
    if kind == "complex":
        number: complex = complex(float(value[0]), float(value[1]))
        return torch.tensor(number, dtype=_DTYPES.get(node["class"], torch.complex128))
    if kind == "float":
        return torch.tensor(float(value), dtype=_DTYPES.get(node["class"], torch.float64))
    return torch.tensor(_ratio(whole(node), 1), dtype=torch.float64)


def _writable(number: int) -> Number:
    return number if number.bit_length() <= _MOST_BITS else f"{number:#x}"


def _ratio(number: int, by: int) -> float:
    if not by:
        return math.inf if number else 0.0
    try:
        return number / by
    except OverflowError:
        return math.inf if number > 0 else -math.inf

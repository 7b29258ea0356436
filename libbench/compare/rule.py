"""How the floating values of one leaf are judged, and how much is asked about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from libbench.compare.levels import Family

Detail = Literal["verdict", "level", "grid", "full"]
"""How much is asked: mismatches alone; t*, too; the tolerance grid, too; every statistic."""


@dataclass(frozen=True)
class Rule:
    """How floating values are judged.

    Attributes:
        rtol: at least 0.
        atol: at least 0.
        nan_agrees: whether NaN agrees with NaN at the same place.
        family: what levels mean for these values.
        parts: 2 when real and imaginary parts alternate, else 1.
        ulp: the dtype in which distances are counted; None counts none.
        detail: how much is asked.
    """

    rtol: float
    atol: float
    nan_agrees: bool
    family: Family
    parts: int = 1
    ulp: torch.dtype | None = None
    detail: Detail = "full"

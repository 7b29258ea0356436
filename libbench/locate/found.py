"""What a pass over the operators of two sides finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from libbench.locate.graph import Link


@dataclass
class Found:
    """What is found of one operator of the target.

    Attributes:
        op: its position in the target's graph.
        partner: that of its counterpart in the reference's; None where it has none.
        local: the error when it is fed what the reference feeds; None where that could not be told.
        inherited: how far apart its outputs on its own and on the reference's inputs lie.
        total: the error of its outputs in the target's own run, which is the global one.
        incoming: the largest global error among its inputs.
        level: t* of the local error; None where there is none.
        dtypes, shapes: of its first output on both sides.
        rounding: the largest relative error of one rounding to the reference's dtype.
        not_finite: whether the target's own run has NaN or an infinity here, and the reference's has not.
        before: the counterpart that an operator without one feeds, by its position in the target's graph.
        note: what else is to be said of it.
    """

    op: int
    partner: int | None = None
    local: float | None = None
    inherited: float | None = None
    total: float | None = None
    incoming: float = 0.0
    level: float | None = None
    dtypes: tuple[str, str] = ("", "")
    shape: tuple[int, ...] | None = None
    rounding: float = 0.0
    not_finite: bool = False
    before: int | None = None
    note: str = ""


@dataclass
class Kept:
    """What one operator of the target was judged by.

    Attributes:
        fed: its inputs.
        judged: the inputs of its counterpart.
        wanted: what the reference has in the place of what an operator without a counterpart gives.
        leaf: which of its outputs that is.
    """

    fed: dict[Link, Any]
    judged: dict[Link, Any] = field(default_factory=dict)
    wanted: Any = None
    leaf: int = 0

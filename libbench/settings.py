"""The two settings that belong to a comparison, not to a side: how closely to judge and how long to time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """How far the target may be from the reference.

    A value is close when `abs(target - reference) <= atol + rtol * abs(reference)`.

    Attributes:
        rtol: relative part, at least 0; None takes it by the reference's dtype, as `torch.testing` has it.
        atol: absolute part, at least 0; None as for `rtol`.
        dtype: "exact" makes another dtype a difference, "any" makes a floating dtype difference a note.
        nan: "equal" lets a NaN agree with a NaN at the same place, "refuse" makes every NaN a difference.
        leaves: `(rtol, atol)` for the leaves whose path matches a glob; the first match wins.
        metrics: absolute tolerance for the metrics whose name matches a glob; the first match wins.
        vacuous: "refuse" leaves the question open where all outputs agree and none proves anything, as constants or
            what is all NaN; "allow" takes that for an agreement.
    """

    rtol: float | None = None
    atol: float | None = None
    dtype: Literal["exact", "any"] = "exact"
    nan: Literal["equal", "refuse"] = "equal"
    leaves: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    vacuous: Literal["refuse", "allow"] = "refuse"

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            _not_negative(name, getattr(self, name))
        if self.dtype not in ("exact", "any"):
            raise ValueError(f"dtype must be 'exact' or 'any', got {self.dtype!r}")
        if self.nan not in ("equal", "refuse"):
            raise ValueError(f"nan must be 'equal' or 'refuse', got {self.nan!r}")
        if self.vacuous not in ("refuse", "allow"):
            raise ValueError(f"vacuous must be 'refuse' or 'allow', got {self.vacuous!r}")
        for glob, pair in self.leaves.items():
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ValueError(f"leaves[{glob!r}] must be (rtol, atol), got {pair!r}")
            for name, value in zip(("rtol", "atol"), pair, strict=True):
                _not_negative(f"{name} of leaves[{glob!r}]", value)
        for glob, value in self.metrics.items():
            _not_negative(f"metrics[{glob!r}]", value)


@dataclass(frozen=True, kw_only=True)
class Timer:
    """How long and how closely a pair is timed.

    Attributes:
        pairs: pairs per process, at least 1; None lets `precision` and `budget` decide. A timing by fewer than 6
            pairs in a process has no interval and no verdict.
        precision: the half width of a process's interval, as a share of the ratio, at which it has enough pairs.
        budget: seconds that the timed rounds of all processes may take together, above 0.
        warmup: calls before the timed ones, or as many of them as a quarter of the budget has room for; None finds out
            when the calls have become steady.
        least: pairs per process that are made even when the budget is used up, as long as it is not passed three
            times over; None for as many as an interval needs. Not together with `pairs`.
    """

    pairs: int | None = None
    precision: float = 0.01
    budget: float = 30.0
    warmup: int | None = None
    least: int | None = None

    def __post_init__(self) -> None:
        for name in ("pairs", "warmup", "least"):
            value = getattr(self, name)
            if value is not None and type(value) is not int:
                raise TypeError(f"{name} must be an int or None, got {value!r}")
        for name in ("pairs", "least"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        if self.pairs is not None and self.least is not None:
            raise ValueError(f"pairs and least cannot both be given, got {self.pairs} and {self.least}")
        if not 0 < self.precision < 1:
            raise ValueError(f"precision must lie between 0 and 1, got {self.precision}")
        if not self.budget > 0:
            raise ValueError(f"budget must be above 0 seconds, got {self.budget}")
        if self.warmup is not None and self.warmup < 0:
            raise ValueError(f"warmup must be at least 0 calls, got {self.warmup}")


def _not_negative(name: str, value: float | None) -> None:
    if value is not None and not value >= 0:
        raise ValueError(f"{name} must be at least 0, got {value!r}")

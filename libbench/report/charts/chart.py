"""What a chart is made of: two axes, a few kinds of marks, and the same figures as a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["reference", "target", "plain", "good", "bad", "warn", "quiet"]
"""What a mark stands for; it has a colour for each, and never a colour alone."""
Tick = tuple[float, str]
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_TICKS = 5
_WIDE = 20.0
"""A range whose ends are so many times apart is told apart better on a logarithmic axis."""


@dataclass(frozen=True)
class Axis:
    """One direction of a chart.

    Attributes:
        label: what it counts, with the unit; may be empty.
        low, high: its ends; `low` below `high`, and above 0 where it is logarithmic.
        ticks: positions within the ends, and what is written there.
        names: whether the ticks are names of rows that follow one another, not places on a scale.
    """

    label: str
    low: float
    high: float
    ticks: tuple[Tick, ...] = ()
    log: bool = False
    names: bool = False

    @classmethod
    def over(
        cls,
        label: str,
        values: Iterable[float],
        text: Callable[[float], str] = "{:.6g}".format,
        *,
        log: bool | None = None,
    ) -> Axis:
        """Give an axis that has room for all values, those that are not finite left out.

        Args:
            text: writes a tick.
            log: whether it is logarithmic; None: where the values are above 0 and far apart.
        """
        known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
        low, high = min(known), max(known)
        log = low > 0 and high / low > _WIDE if log is None else log and low > 0
        if log:
            room = max(math.log10(high / low) * 0.06, 0.02)
            low, high = low / 10**room, high * 10**room
        else:
            room = (high - low) * 0.06 or abs(low) * 0.05
            low, high = low if low == 0 else low - room, (high if high == 0 else high + room)
            high = high if low < high else 1.0
        ticks = tuple((at, text(at)) for at in (_decades(low, high) if log else _round(low, high)))
        return cls(label, low, high, ticks, log)

    @classmethod
    def of_names(cls, names: Sequence[str], label: str = "") -> Axis:
        """Give an axis with a row for each name, at 0, 1 and so on."""
        return cls(label, -0.5, max(len(names), 1) - 0.5, tuple(enumerate(names)), names=True)

    def share(self, value: float) -> float:
        """Give where a value lies between the ends, from 0 to 1; what lies beyond is put at the end."""
        if self.log:
            found = math.log(max(value, 1e-300) / self.low) / math.log(self.high / self.low)
        else:
            found = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, found))


@dataclass(frozen=True)
class Dots:
    """Points; crosses for what is wrong."""

    xs: Sequence[float]
    ys: Sequence[float]
    role: Role
    cross: bool = False
    large: bool = False


@dataclass(frozen=True)
class Line:
    """A line through points; it breaks where a value is not finite."""

    xs: Sequence[float]
    ys: Sequence[float]
    role: Role
    dashed: bool = False
    thin: bool = False


@dataclass(frozen=True)
class Block:
    """A rectangle between two points, with a text right of it."""

    x0: float
    y0: float
    x1: float
    y1: float
    role: Role
    text: str = ""
    faint: bool = False


@dataclass(frozen=True)
class Shape:
    """A closed area."""

    xs: Sequence[float]
    ys: Sequence[float]
    role: Role


Mark = Dots | Line | Block | Shape


@dataclass(frozen=True)
class Chart:
    """One chart.

    Attributes:
        name: of its file, without a suffix.
        title: what it shows, in a few words.
        words: what is to be seen in it, for who cannot see it, and how to read it for who can.
        legend: a mark of each kind and its meaning.
        heads, rows: the same figures as a table.
        height: of its inner part, in units of which the whole is 360 wide.
    """

    name: str
    title: str
    words: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    legend: tuple[tuple[Mark, str], ...] = ()
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    height: float = 150.0


def _round(low: float, high: float) -> list[float]:
    """Give round numbers from low to high, at most five."""
    step = (high - low) / _MOST_TICKS
    size = 10.0 ** math.floor(math.log10(step))
    step = next(each * size for each in _STEPS if each * size >= step * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{number * step:.12g}") for number in range(first, last + 1)]


def _decades(low: float, high: float) -> list[float]:
    """Give powers of ten from low to high, at most five; of few also what lies between, as 2 and 5."""
    if high / low < 8:
        return _round(low, high)
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = -(-(last - first + 1) // _MOST_TICKS)
    factors = (1.0, 2.0, 5.0) if last - first <= 2 else (1.0,)
    found = [factor * 10.0**power for power in range(first - 1, last + 1, step) for factor in factors]
    return [value for value in found if low <= value <= high]

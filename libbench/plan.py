"""What is asked of a comparison."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

from libbench.errors import ConfigError
from libbench.saved import AnySide, SavedSide
from libbench.settings import Timer, Tolerance

Setting = TypeVar("Setting", Timer, Tolerance)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is asked of a comparison.

    Attributes:
        rtol, atol: win over the configs' tolerance; None leaves it.
        timer: wins over the configs'; None takes the target's, then the reference's, then the default.
        budget: wins over the timer's; None leaves it.
        processes: at most so many processes time a pair; None leaves it to the runner.
        speed: False leaves the timing out.
        min_speedup: adds a check that the target is at least so many times as fast, by the wall clock.
        spill: bytes of reference outputs that are kept for comparing; batches beyond them are not compared.
        truth: "float64" lets a float64 copy of the reference judge the floating outputs of both sides, instead of the
            tolerance; None leaves it out.
        seeds: at how many seeds, from the configs' own, outputs and metrics are compared, at least 1; the worst counts.
        save: a folder for outputs, which is made and must be empty; None keeps no outputs.
    """

    rtol: float | None = None
    atol: float | None = None
    timer: Timer | None = None
    budget: float | None = None
    processes: int | None = None
    speed: bool = True
    min_speedup: float | None = None
    spill: int = 4 * 2**30
    save: Path | None = None
    truth: Literal["float64"] | None = None
    seeds: int = 1

    def __post_init__(self) -> None:
        if self.truth not in ("float64", None):
            raise ValueError(f"truth must be 'float64' or None, got {self.truth!r}")
        if type(self.seeds) is not int or self.seeds < 1:
            raise ValueError(f"seeds must be an int of at least 1, got {self.seeds!r}")


def settings_of(reference: AnySide, target: AnySide, plan: Plan) -> tuple[Tolerance, Timer]:
    """Give what a pair is judged and timed by, and check that it can be compared."""
    if target.seed != reference.seed:
        raise ConfigError(f"different seeds cannot be judged: {reference.seed} and {target.seed} ({target.name})")
    for side in (reference, target):
        if isinstance(side, SavedSide) and plan.seeds > 1:
            raise ConfigError(f"{side.folder} is a saved side, which has one seed, not the {plan.seeds} wanted")
    if isinstance(reference, SavedSide) and plan.truth is not None:
        raise ConfigError(f"{reference.folder} is a saved side, of which no {plan.truth} copy can be run")
    tolerance = setting("tolerance", Tolerance, target, reference)
    tolerance = tolerance if plan.rtol is None else replace(tolerance, rtol=plan.rtol)
    tolerance = tolerance if plan.atol is None else replace(tolerance, atol=plan.atol)
    return tolerance, timer_of(plan, target, reference)


def timer_of(plan: Plan, *jobs: AnySide) -> Timer:
    """Give what the plan, or the first job that says anything, wants the timing to be."""
    timer = setting("timer", Timer, *jobs)
    timer = plan.timer or timer
    return timer if plan.budget is None else replace(timer, budget=plan.budget)


def setting(name: str, kind: type[Setting], *jobs: AnySide) -> Setting:
    """Give the first job's timer or tolerance that is there, or the default."""
    for job in jobs:
        value = job.build(name)[name]
        if isinstance(value, kind):
            return value
        if value is not None:
            raise ConfigError(f"{name} of {job.name} must be a {kind.__name__}, got {value!r}")
    return kind()

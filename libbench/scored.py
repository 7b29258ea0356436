"""What one comparison counts for in a score: at which levels it passes, what is wrong, and how fast it is."""

from __future__ import annotations

import math
from collections.abc import Sequence

from libbench.comparability import no_speedup
from libbench.compare.grid import LEVELS
from libbench.findings import LeafReport
from libbench.measured import by_wall
from libbench.result import Comparison
from libbench.scores import FROZEN, Doubt, ErrorClass, Sample

_GRAVITY: tuple[ErrorClass, ...] = (
    "reference", "unjudged", "compile", "runtime", "shape", "type", "nan", "inf", "accuracy",
)  # fmt: skip
"""Of several errors the first of these counts."""
_NOT_SO = ("target timed outputs", "target ranks")
"""Checks of a target that does not always give the outputs that were compared."""

_ELSEWHERE = ("unavailable", "lost")
"""Kinds of failure that say nothing of the target."""


def scored(comparison: Comparison, name: str, category: str = "") -> Sample:
    """Give what a comparison counts for, from its records alone; at several seeds the worst counts.

    An output of one of the four dtypes with levels passes from that level on which its grid names; one of any other
    dtype has to be equal, and passes at every level then. A target that gave other outputs while it was timed, or on
    another rank, passes nowhere.

    Args:
        comparison: as a list leaves it.
        name: what tells it from the others.
        category: as in `Sample`.
    """
    seeds = comparison.at_each_seed()
    found = [_found(seed) for seed in seeds]
    lowest = max(level for level, _ in found)
    errors = {error for _, error in found if error is not None}
    speedup = None if no_speedup(comparison) else by_wall(comparison.speedups)
    return Sample(
        name=name,
        passes=tuple(level for level in LEVELS if level >= lowest),
        error=None if lowest <= FROZEN else _gravest(errors),
        speedup=speedup.ratio if speedup else None,
        speed=speedup.verdict if speedup else None,
        interval=speedup is not None and speedup.low is not None,
        doubt=_doubt(seeds, errors),
        category=category,
    )


def _found(comparison: Comparison) -> tuple[float, ErrorClass | None]:
    """Give from which level on a comparison at one seed passes, infinite for none, and what is wrong at level 1."""
    outputs = comparison.outputs
    if comparison.reference.failure is not None:
        return math.inf, "reference"
    if comparison.target.failure is not None:
        return math.inf, "compile" if comparison.target.failure.stage == "compile" else "runtime"
    if not comparison.complete or outputs is None or not outputs.leaves:
        return math.inf, "unjudged"
    leaves = [_of_leaf(leaf) for leaf in outputs.leaves]
    errors = {error for level, error in leaves if level > FROZEN}
    errors |= {"shape"} if outputs.reasons else set()
    strayed = any(check.name in _NOT_SO and check.verdict == "different" for check in comparison.checks)
    errors |= {"accuracy"} if strayed else set()
    lowest = math.inf if outputs.reasons or strayed else max(level for level, _ in leaves)
    return lowest, _gravest(errors) if errors else None


def _of_leaf(leaf: LeafReport) -> tuple[float, ErrorClass]:
    """Give from which level on an output passes, infinite for none, and what is wrong where it does not."""
    if leaf.verdict == "unjudged" and not leaf.value_reasons:
        return math.inf, "unjudged"
    if leaf.form_reasons:
        return math.inf, _form(leaf)
    if leaf.draws is not None:
        return (-math.inf if leaf.verdict == "same" else math.inf), _values(leaf)
    dtype = leaf.dtypes[0] or ""
    if leaf.grid is not None and dtype in leaf.grid:
        level = leaf.grid[dtype]
        return (math.inf if level is None else level), _values(leaf)
    return (-math.inf if equal(leaf) else math.inf), _values(leaf)


def _form(leaf: LeafReport) -> ErrorClass:
    ours, theirs = leaf.dtypes
    if ours is None or theirs is None or leaf.shapes[0] != leaf.shapes[1]:
        return "shape"
    if ours != theirs:
        return "type"
    return "shape" if leaf.kind in ("tensor", "ndarray") else "accuracy"  # another layout, or another text


def _values(leaf: LeafReport) -> ErrorClass:
    if not leaf.not_finite:
        return "accuracy"
    # Where counts agree they stand at other places, or infinities have other signs.
    if leaf.infs[0] != leaf.infs[1] and leaf.nans[0] == leaf.nans[1]:
        return "inf"
    return "nan" if any(leaf.nans) else "inf"


def equal(leaf: LeafReport) -> bool:
    """Tell whether the values of an output that has the same form on both sides are equal."""
    if leaf.level is not None:
        return leaf.level == -math.inf
    return not leaf.mismatches and (leaf.max_abs is None or leaf.max_abs.value == 0)


def _gravest(errors: set[ErrorClass]) -> ErrorClass:
    return min(errors, key=_GRAVITY.index)


def _doubt(seeds: Sequence[Comparison], errors: set[ErrorClass]) -> Doubt | None:
    if "reference" in errors:
        return "reference"
    failures = [seed.target.failure for seed in seeds if seed.target.failure is not None]
    if "unjudged" in errors or any(failure.kind in _ELSEWHERE for failure in failures):
        return "unjudged"
    checks = [check for seed in seeds for check in seed.checks]
    if any(check.name.startswith("reference") and check.verdict == "unjudged" for check in checks):
        return "stochastic"
    return "vacuous" if all(seed.vacuous for seed in seeds) else None

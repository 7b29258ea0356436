"""Two loss curves beside each other, step by step."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from libbench.causes import causes
from libbench.curves import Curve, CurveReport, Step
from libbench.findings import Verdict
from libbench.result import Output

_FEWEST = 3
"""Steps with a difference that a growth takes at least."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """How far the target's loss may be from the reference's.

    A step may add one tolerance to what the steps before it have left: at step k, from 0,
    `abs(target - reference) <= (k + 1) * (atol + rtol * abs(reference))`. So the first loss is judged as any output,
    and rounding, which every update carries on, is no difference; what grows faster than that is one.

    Attributes:
        rtol, atol: as for outputs.
        nan: as in `Tolerance`.
    """

    rtol: float
    atol: float
    nan: Literal["equal", "refuse"] = "equal"

    def at(self, step: int, reference: float) -> float:
        """Give the absolute difference that is allowed at a step, counted from 0."""
        return (step + 1) * (self.atol + self.rtol * abs(reference))

    def close(self, step: int, reference: float, target: float) -> bool:
        """Tell whether two losses agree; an infinity agrees with the same infinity, a NaN as `nan` says."""
        if math.isnan(reference) or math.isnan(target):
            return self.nan == "equal" and math.isnan(reference) and math.isnan(target)
        if math.isinf(reference) or math.isinf(target):
            return reference == target
        return abs(target - reference) <= self.at(step, reference)


def curve_of(outputs: Iterable[Output]) -> Curve | None:
    """Give the curve of what a side has run; None where it has not trained."""
    steps = tuple(step_of(output) for output in outputs if output.losses)
    return Curve(steps) if steps else None


def step_of(output: Output) -> Step:
    """Give the step of a training that an output is of."""
    return Step(output.number, output.epoch, output.indices, output.inputs, output.losses)


def compare_curves(reference: Curve, target: Curve, allowance: Allowance) -> CurveReport:
    """Align two curves step by step, and say from where on they part, and why if that can be told.

    Steps from the first one with other data on are not judged: their losses are those of unlike things.

    Args:
        reference, target: curves of any lengths; a curve that is longer than the other is a difference.
        allowance: how far apart a step may be.
    """
    common = min(len(reference.steps), len(target.steps))
    pairs = list(zip(reference.steps, target.steps, strict=False))
    other, why = _other_data(reference, target)
    judged = pairs[: common if other is None else other]
    losses = [(ours.loss, theirs.loss) for ours, theirs in judged]
    parts = next((k for k, (r, t) in enumerate(losses) if not allowance.close(k, r, t)), None)
    drift = tuple(relative(r, t) for r, t in losses)
    reasons = [*([why] if why else []), *_reasons(losses, parts)]
    if other is None and len(reference.steps) != len(target.steps):
        reasons.append(f"{len(reference.steps):,} steps in the reference, {len(target.steps):,} in the target")
    verdict: Verdict = "same" if judged and not reasons else "unjudged"
    if parts is not None or (reasons and other is None):
        verdict = "different"
    return CurveReport(
        verdict=verdict,
        reasons=tuple(reasons),
        causes=tuple(causes([(a, b) for a, b in judged], parts, allowance.close)),
        judged=len(judged),
        diverges=parts,
        other_data=other,
        drift=drift,
        growth=growth(drift),
        not_finite=(_first_not_finite(reference), _first_not_finite(target)),
        rtol=allowance.rtol,
        atol=allowance.atol,
    )


def relative(reference: float, target: float) -> float:
    """Give the difference over the reference's absolute value: 0/0 is 0, x/0 infinite; NaN where one is not finite.

    Two losses that are the same infinity, or both NaN, do not differ: 0.
    """
    if reference == target or (math.isnan(reference) and math.isnan(target)):
        return 0.0
    if not (math.isfinite(reference) and math.isfinite(target)):
        return math.nan
    return abs(target - reference) / abs(reference) if reference else math.inf


def growth(drift: Sequence[float]) -> float | None:
    """Give by what the drift is multiplied from step to step: the exponential of the slope of its logarithm.

    A least-squares line through the steps that have a finite drift above 0.

    Returns:
        None for fewer than three such steps.
    """
    points = [(float(k), math.log(x)) for k, x in enumerate(drift) if 0 < x < math.inf]
    if len(points) < _FEWEST:
        return None
    mean_k, mean_y = (sum(column) / len(points) for column in zip(*points, strict=True))
    slope = sum((k - mean_k) * (y - mean_y) for k, y in points) / sum((k - mean_k) ** 2 for k, _ in points)
    return math.exp(min(slope, 700.0))


def _reasons(losses: Sequence[tuple[float, float]], parts: int | None) -> Iterator[str]:
    if parts is None:
        return
    ours, theirs = losses[parts]
    for name, value in (("reference", ours), ("target", theirs)):
        if not math.isfinite(value):
            yield f"the {name}'s loss is {'NaN' if math.isnan(value) else 'infinite'} from step {parts} on"
    yield f"diverges from step {parts}: {ours:.6g} in the reference, {theirs:.6g} in the target"


def _other_data(reference: Curve, target: Curve) -> tuple[int | None, str]:
    """Give the first step at which the sides had other data, and in what; on other numbers of ranks by index only."""
    for k, (ours, theirs) in enumerate(zip(reference.steps, target.steps, strict=False)):
        split = len(ours.losses) != len(theirs.losses)
        if split and sorted(ours.indices) == sorted(theirs.indices):
            continue
        if not split and (ours.indices, ours.inputs) == (theirs.indices, theirs.inputs):
            continue
        return k, f"the data were not the same from step {k}: {_said(reference, target, k)}"
    return None, ""


def _said(reference: Curve, target: Curve, step: int) -> str:
    ours, theirs = reference.steps[step].indices, target.steps[step].indices
    if ours == theirs:
        return f"samples {some(ours)} with other inputs"
    batches = [Counter(tuple(sorted(each.indices)) for each in curve.steps) for curve in (reference, target)]
    what = "the same batches in another order" if batches[0] == batches[1] else "other samples"
    if sorted(ours) == sorted(theirs):
        what = "the same samples in another order"
    return f"{what}, {some(ours)} in the reference, {some(theirs)} in the target"


def some(indices: Sequence[int]) -> str:
    """Give the first four of some dataset indices as text."""
    return ", ".join(map(str, indices[:4])) + (", ..." if len(indices) > 4 else "")


def _first_not_finite(curve: Curve) -> int | None:
    return next((k for k, step in enumerate(curve.steps) if not math.isfinite(step.loss)), None)

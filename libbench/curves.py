"""The losses of a training, step by step, and one curve of several ranks' curves."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from libbench.findings import Verdict

LOSS = "loss"
"""The path of the loss in what a training step gives."""


@dataclass(frozen=True)
class Loss:
    """What one rank's part of a step has lost, as a sum and a count, so that ranks can be put together.

    Attributes:
        total: the sum over what is counted.
        count: how much that is, in samples, tokens or whatever the loss is a mean over.
        samples: dataset indices in the rank's batch.
        dtype: of the loss, as `float32`.
    """

    total: float
    count: float
    samples: int
    dtype: str

    @property
    def mean(self) -> float:
        """The sum over the count; NaN where nothing was counted."""
        return self.total / self.count if self.count else math.nan


@dataclass(frozen=True)
class Step:
    """One step of a training.

    Attributes:
        number: from 0, over all epochs.
        epoch: from 0.
        indices: the dataset index of each sample, of all ranks.
        inputs: fingerprint of the inputs, of all ranks in their order.
        losses: one for each rank, at least one.
    """

    number: int
    epoch: int
    indices: tuple[int, ...]
    inputs: str
    losses: tuple[Loss, ...]

    @property
    def loss(self) -> float:
        """The mean over all ranks: the sum of their sums over the sum of their counts; NaN for no count."""
        count = total(each.count for each in self.losses)
        return total(each.total for each in self.losses) / count if count else math.nan


@dataclass(frozen=True)
class Curve:
    """The steps of a training, in their order, as far as it came."""

    steps: tuple[Step, ...]

    @property
    def ranks(self) -> int:
        """How many ranks a step has at most; 0 without a step."""
        return max((len(step.losses) for step in self.steps), default=0)

    @property
    def dtype(self) -> str:
        """The dtype of the first loss; empty without a step."""
        return self.steps[0].losses[0].dtype if self.steps else ""


@dataclass(frozen=True, kw_only=True)
class CurveReport:
    """What was found in the loss curves of two trainings.

    Attributes:
        verdict: "unjudged" where the data were not the same, and nothing differed before.
        reasons: why it is not the same, other data first.
        causes: what is known to make losses part in this way; empty where the figures do not tell.
        judged: steps that were judged: those that both sides have, up to the first one with other data.
        diverges: the first step, from 0, that is out of tolerance; None for none.
        other_data: the first step at which the sides had other data; None for none.
        drift: relative difference of every step that was judged; NaN where only one side is finite.
        growth: what the drift is multiplied by from step to step; None for fewer than three steps with a drift.
        not_finite: for each side, the first step whose loss is NaN or infinite; None for none.
        rtol, atol: the tolerance of step 0; every further step is allowed as much again.
    """

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    judged: int = 0
    diverges: int | None = None
    other_data: int | None = None
    drift: tuple[float, ...] = ()
    growth: float | None = None
    not_finite: tuple[int | None, int | None] = (None, None)
    rtol: float = 0.0
    atol: float = 0.0


def merge_ranks(steps: Sequence[Step]) -> Step:
    """Give the one step of a training on several ranks: the number and epoch of the first, and the losses of all.

    Nothing is divided here: every rank's sums and counts are kept, and `Step.loss` divides once.

    Args:
        steps: one for each rank, in the order of the ranks; at least one.
    """
    inputs = hashlib.sha256("".join(step.inputs for step in steps).encode()).hexdigest()
    return replace(
        steps[0],
        indices=tuple(index for step in steps for index in step.indices),
        inputs=inputs if len(steps) > 1 else steps[0].inputs,
        losses=tuple(loss for step in steps for loss in step.losses),
    )


def total(values: Iterable[float]) -> float:
    """Give a sum that does not depend on the order of the values; NaN or infinite where one of them is."""
    known = list(values)
    return math.fsum(known) if all(map(math.isfinite, known)) else sum(known)

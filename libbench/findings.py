"""What comparing found: records made of plain values only, so that they can be written as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from libbench.drawn import LeafDistribution

Verdict = Literal["same", "different", "unjudged"]
Vacuous = Literal["", "empty", "nan", "constant", "alias", "small"]
Number = int | float | str


@dataclass(frozen=True, kw_only=True)
class Extreme:
    """The largest difference of a kind, and where it stands.

    Attributes:
        value: the difference; an int for integers, however large.
        at: the position, `()` for a lone number. Its first entry is a dataset index where the leaf's dimension 0 is
            the batch.
        reference: the reference's value there; text for a complex number.
        target: the target's value there.
    """

    value: int | float
    at: tuple[int, ...]
    reference: Number
    target: Number


@dataclass(frozen=True, kw_only=True)
class LeafReport:
    """What was found at one path, over all batches.

    Pairs are (reference, target); None stands for a side that has no such thing. Statistics cover the places where
    both sides are finite; they are None where they have no meaning (no such place, not a number, not compared).

    Attributes:
        path: as `logits` or `past.0.keys`; `output` for a lone value.
        verdict: "unjudged" when the values could not be looked at.
        reasons: why it is not the same, one sentence each.
        value_reasons: those of them that speak of its values, not of its kind, dtype or shape.
        notes: what is worth knowing but changes no verdict.
        kind: the reference's kind of leaf (`tensor`, `number`, `string`, ...), or the target's where that is missing.
        dtypes: names as `float32`, or class names of what has no dtype.
        shapes: of the first batch.
        elements: how many values were compared.
        mismatches: how many of them disagree.
        not_finite: at how many of these a side is NaN or infinite.
        max_abs: the largest absolute difference.
        max_rel: the largest absolute difference over the reference's absolute value; 0/0 is 0, x/0 is infinite.
        mean_abs: the mean absolute difference.
        rmse: the root of the mean squared difference.
        cosine: the cosine of the angle between both sides; None when one of them is zero.
        snr_db: reference power over difference power, in dB; infinite without a difference.
        ulp_max: the largest distance in units of the last place of the coarser dtype.
        ulp_p50: the median distance, from a sample of the elements.
        ulp_p99: the 99th percentile, from the same sample.
        ulp_counts: how many elements of that sample have a distance of 0, of 1, of 2 to 3, of 4 to 7 and so on, each
            class reaching up to the next power of two; up to the last class that has one.
        first_mismatch: position of the first mismatch in the order of the batches.
        nans: how many NaNs.
        infs: how many infinities.
        level: the smallest tolerance level that passes; -inf when all agree exactly, inf when none passes.
        grid: for float16, bfloat16, float32 and float64, the smallest level of -10 to 5 that passes; None for a dtype
            where none does. A level's pair is rounded to three significant digits.
        top1: the share of rows in which one element is the largest on both sides; None for what has no shape of
            scores (two or three dimensions, the last of at least 2).
        top5: how much of the five largest of a row both sides share, from a sample of the rows.
        ranked_rows: how many rows `top1` speaks of.
        rtol: the relative tolerance used; None for what is compared exactly by its nature.
        atol: the absolute tolerance used.
        noise: the largest absolute difference here between two runs of the reference; None where it is not known.
        vacuous: why it proves nothing that both sides agree: there is no value ("empty"), all of the reference is NaN
            ("nan") or one value ("constant"), it is an input or a weight as it was ("alias"), or zeros would pass at
            the tolerance used ("small"); empty where it does prove something, or where they do not agree.
        draws: what its distribution says, which then gives the verdict in place of its values: the reference draws it
            at random, and the target other numbers; None for what is judged by its values.
    """

    path: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    value_reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    kind: str = "tensor"
    dtypes: tuple[str | None, str | None] = (None, None)
    shapes: tuple[tuple[int, ...] | None, tuple[int, ...] | None] = (None, None)
    elements: int = 0
    mismatches: int = 0
    not_finite: int = 0
    max_abs: Extreme | None = None
    max_rel: Extreme | None = None
    mean_abs: float | None = None
    rmse: float | None = None
    cosine: float | None = None
    snr_db: float | None = None
    ulp_max: int | None = None
    ulp_p50: float | None = None
    ulp_p99: float | None = None
    ulp_counts: tuple[int, ...] = ()
    first_mismatch: tuple[int, ...] | None = None
    nans: tuple[int, int] = (0, 0)
    infs: tuple[int, int] = (0, 0)
    level: float | None = None
    grid: Mapping[str, int | None] | None = None
    top1: float | None = None
    top5: float | None = None
    ranked_rows: int = 0
    rtol: float | None = None
    atol: float | None = None
    noise: float | None = None
    vacuous: Vacuous = ""
    draws: LeafDistribution | None = None

    @property
    def form_reasons(self) -> tuple[str, ...]:
        """The reasons that do not speak of its values."""
        return tuple(reason for reason in self.reasons if reason not in self.value_reasons)


@dataclass(frozen=True, kw_only=True)
class OutputsReport:
    """What was found in all outputs of both sides.

    Attributes:
        verdict: "different" for any difference; else "unjudged" when nothing was compared or a leaf could not be
            looked at; else "same", which speaks of the compared batches only.
        reasons: differences of structure, each with its path.
        notes: what changes no verdict, as another order of keys.
        leaves: one report per path (and pair of dtypes), the worst first.
        batches: how many were compared.
        samples: how many dataset indices they had, repeated ones counted each time.
        elements: how many values were compared.
        skipped: batches that were not compared, by reason.
    """

    verdict: Verdict
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    leaves: tuple[LeafReport, ...] = ()
    batches: int = 0
    samples: int = 0
    elements: int = 0
    skipped: tuple[tuple[str, int], ...] = ()

    @property
    def vacuous(self) -> bool:
        """Whether all that was compared agrees and none of it proves anything."""
        return self.verdict == "same" and all(leaf.vacuous for leaf in self.leaves)


@dataclass(frozen=True, kw_only=True)
class LeafNoise:
    """How far two runs of one side on one batch lay apart at one path.

    Attributes:
        path: as in `LeafReport`.
        max_abs: the largest absolute difference; infinite where they differ in more than finite values.
        rmse: the root of the mean squared difference; None where it has no meaning.
        level: the smallest tolerance level that passes, as in `LeafReport`.
        dtype: as in `LeafReport`, of the first of the two.
    """

    path: str
    max_abs: float
    rmse: float | None = None
    level: float | None = None
    dtype: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rerun:
    """A side's first call against another one on the same batch, which it had every right to make.

    Attributes:
        setting: what was other about it: "again" for nothing at all, "2 threads instead of 1".
        verdict: by the default tolerance of the dtypes; "unjudged" where it was not made.
        exact: whether all that can be compared agreed in every bit, but for the sign of a zero.
        leaves: by path, how far they lay apart.
        note: what differs, or why it was not made; empty when there is nothing to say.
    """

    setting: str
    verdict: Verdict
    exact: bool = False
    leaves: tuple[LeafNoise, ...] = ()
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Outlier:
    """The element at which the target is farther from the truth than the reference is by the most.

    Attributes:
        at: the position, as in `Extreme`.
        truth, reference, target: what each has there; one part of it for a complex number.
    """

    at: tuple[int, ...]
    truth: float
    reference: float
    target: float


@dataclass(frozen=True, kw_only=True)
class LeafTruth:
    """How far both sides are from the truth at one path, over all batches.

    Pairs are (reference, target). Errors are absolute differences from the truth, at the places where all three are
    finite; real and imaginary parts count as elements of their own.

    Attributes:
        path: as in `LeafReport`.
        verdict: "unjudged" where there is no truth to judge by.
        reasons: why it is not the same, one sentence each.
        elements: how many values were judged.
        rmse: the root of the mean squared error of each side.
        max_abs: the largest error of each side.
        floor: what one rounding of the reference's dtype makes of these two: errors below it are no errors.
        rmse_ratio: the target's RMSE over the reference's, each at least the floor; 1 where both are below it.
        max_ratio: the same for the largest errors.
        allowed: the largest ratios that pass, of the RMSE and of the largest error.
        closer: at how many elements each side is the closer one.
        lost: at how many places each side alone is not finite where the truth is, or finite where it is not.
        outlier: None where the target is nowhere farther.
    """

    path: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    elements: int = 0
    rmse: tuple[float, float] | None = None
    max_abs: tuple[float, float] | None = None
    floor: tuple[float, float] | None = None
    rmse_ratio: float | None = None
    max_ratio: float | None = None
    allowed: tuple[float, float] | None = None
    closer: tuple[int, int] = (0, 0)
    lost: tuple[int, int] = (0, 0)
    outlier: Outlier | None = None


@dataclass(frozen=True, kw_only=True)
class TruthReport:
    """Both sides judged by a third, more precise one.

    Attributes:
        dtype: in which the truth was computed.
        verdict: "different" where the target is worse than the reference; "unjudged" where there is no truth, or none
            for one of the leaves; "same" where the target is as close to it as the reference, or closer.
        reasons: why there is no truth.
        leaves: the floating outputs, the worst first.
        batches: how many were judged.
        skipped: batches that were not, by reason.
        lifted: casts inside the model to a narrower dtype, which the truth does not make, by place.
    """

    dtype: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    leaves: tuple[LeafTruth, ...] = ()
    batches: int = 0
    skipped: tuple[tuple[str, int], ...] = ()
    lifted: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class MetricReport:
    """What was found for one metric.

    Attributes:
        name: the metric's name.
        reference: its value; None when this side has no such metric.
        target: likewise.
        difference: target minus reference; None when it is no number.
        allowed: the largest absolute difference that passes.
        verdict: never "unjudged": a metric of one side only is a difference.
        note: why it differs, or what is worth knowing; empty when there is nothing to say.
    """

    name: str
    reference: float | None
    target: float | None
    difference: float | None
    allowed: float
    verdict: Verdict
    note: str = ""


def level_text(level: float | None) -> str:
    """Give a tolerance level; "exact" for one that allows nothing, "never" for one that is not there."""
    if level is None or math.isnan(level):
        return "-"
    return f"{level:.2f}" if math.isfinite(level) else "exact" if level < 0 else "never"

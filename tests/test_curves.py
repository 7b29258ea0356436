"""Loss curves: ranks put together, two curves aligned, and why they part."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libbench.curves import Curve, Loss, Step, merge_ranks
from libbench.drift import Allowance, compare_curves, growth, relative
from libbench.records import decode, encode

CLOSE = Allowance(rtol=1.3e-6, atol=1e-5)


def curve(losses, *, counts=(4,), dtype="float32", samples=None, inputs="same"):
    """Give a curve on one rank, or on several where a loss is a tuple of their means."""
    steps = []
    for k, loss in enumerate(losses):
        means = loss if isinstance(loss, tuple) else (loss,) * len(counts)
        ranks = tuple(
            Loss(mean * count, count, (samples or counts)[rank], dtype)
            for rank, (mean, count) in enumerate(zip(means, counts, strict=True))
        )
        first = 10 * k
        steps.append(Step(k, k // 3, tuple(range(first, first + sum(samples or counts))), f"{inputs} {k}", ranks))
    return Curve(tuple(steps))


def with_step(made, k, **changes):
    steps = list(made.steps)
    steps[k] = replace(steps[k], **changes)
    return Curve(tuple(steps))


def test_a_curve_is_the_same_as_itself_and_does_not_drift():
    made = curve([2.0, 1.5, 1.0])

    report = compare_curves(made, made, CLOSE)

    assert (report.verdict, report.judged, report.diverges, report.growth) == ("same", 3, None, None)
    assert report.drift == (0.0, 0.0, 0.0)


def test_every_step_may_add_one_tolerance_to_what_the_steps_before_have_left():
    reference = [1.0] * 50
    linear = [1.0 + 1.1e-5 * (k + 1) for k in range(50)]
    faster = [1.0 + 1e-6 * 1.5**k for k in range(50)]

    assert compare_curves(curve(reference), curve(linear), CLOSE).verdict == "same"
    assert compare_curves(curve(reference), curve([1.0 + 1.2e-5] * 50), CLOSE).diverges == 0
    report = compare_curves(curve(reference), curve(faster), CLOSE)
    assert (report.verdict, report.growth) == ("different", pytest.approx(1.5))
    first = next(k for k in range(50) if 1e-6 * 1.5**k > (k + 1) * 1.13e-5)
    assert report.diverges == first
    assert f"diverges from step {first}" in report.reasons[0]


def test_a_loss_that_becomes_nan_on_one_side_is_named_with_its_step():
    report = compare_curves(curve([2.0, 1.5, 1.0, 0.5]), curve([2.0, 1.5, math.nan, math.nan]), CLOSE)

    assert (report.verdict, report.diverges, report.not_finite) == ("different", 2, (None, 2))
    assert report.reasons[0] == "the target's loss is NaN from step 2 on"
    assert math.isnan(report.drift[2])


def test_two_losses_that_become_nan_together_agree_unless_nan_is_refused():
    made = curve([2.0, math.nan])

    assert compare_curves(made, made, CLOSE).verdict == "same"
    assert compare_curves(made, made, replace(CLOSE, nan="refuse")).diverges == 1
    assert compare_curves(curve([math.inf]), curve([math.inf]), CLOSE).verdict == "same"
    assert compare_curves(curve([math.inf]), curve([-math.inf]), CLOSE).verdict == "different"


def test_steps_on_other_data_are_said_so_and_are_not_judged():
    reference, target = curve([2.0, 1.5, 1.0, 0.5]), curve([2.0, 1.5, 7.0, 8.0])
    target = with_step(target, 2, inputs="other")

    report = compare_curves(reference, target, CLOSE)

    assert (report.verdict, report.judged, report.other_data, report.diverges) == ("unjudged", 2, 2, None)
    assert report.reasons == ("the data were not the same from step 2: samples 20, 21, 22, 23 with other inputs",)


def test_a_difference_before_the_data_part_is_still_a_difference():
    target = with_step(curve([2.0, 1.6, 7.0]), 2, indices=(9,))

    report = compare_curves(curve([2.0, 1.5, 1.0]), target, CLOSE)

    assert (report.verdict, report.diverges, report.other_data) == ("different", 1, 2)
    assert report.reasons[0].startswith("the data were not the same from step 2: other samples")


def test_the_same_batches_in_another_order_are_called_that():
    steps = curve([2.0, 1.5, 1.0]).steps
    swapped = Curve((steps[0], replace(steps[2], number=1), replace(steps[1], number=2)))

    (reason,) = compare_curves(Curve(steps), swapped, CLOSE).reasons

    assert "from step 1: the same batches in another order" in reason


def test_a_longer_curve_is_a_difference():
    report = compare_curves(curve([2.0, 1.5]), curve([2.0, 1.5, 1.0]), CLOSE)

    assert (report.verdict, report.reasons) == ("different", ("2 steps in the reference, 3 in the target",))


def test_nothing_to_judge_is_no_pass():
    assert compare_curves(Curve(()), Curve(()), CLOSE).verdict == "unjudged"


def merged_curve(curves):
    return Curve(tuple(merge_ranks(steps) for steps in zip(*(each.steps for each in curves), strict=True)))


@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.integers(1, 9)), min_size=1, max_size=6))
def test_ranks_together_lose_what_one_process_with_all_their_samples_loses(parts):
    ranks = [curve([mean], counts=(count,)) for mean, count in parts]

    merged = merged_curve(ranks)

    count = sum(count for _, count in parts)
    whole = math.fsum(mean * count for mean, count in parts) / count
    assert merged.steps[0].loss == whole
    assert merged_curve(ranks[::-1]).steps[0].loss == whole
    assert (merged.ranks, len(merged.steps[0].indices)) == (len(parts), count)


def test_one_rank_stays_what_it_was():
    made = curve([2.0, 1.5])

    assert merged_curve([made]) == made


def test_one_process_and_two_ranks_on_the_same_samples_have_the_same_data_in_any_order():
    one = curve([2.0, 1.5], counts=(4,))
    two = merged_curve([curve([2.0, 1.5], counts=(2,)), curve([2.0, 1.5], counts=(2,))])
    two = Curve(tuple(replace(step, indices=one.steps[k].indices[::-1]) for k, step in enumerate(two.steps)))

    assert compare_curves(one, two, CLOSE).verdict == "same"
    other = with_step(two, 1, indices=(10, 11, 12, 99))
    assert compare_curves(one, other, CLOSE).other_data == 1


@pytest.mark.parametrize(
    ("factor", "meaning"),
    [
        (2.0, "every loss of the target is 2 times the reference's: 2 is the world size, so that it is a sum"),
        (0.5, "every loss of the target is 0.5 times the reference's: 2 is the world size, so that it is a mean"),
        (8.0, "8 is the number of samples in a step, so that it is a sum where the reference's is a mean"),
        (1.7, "every loss of the target is 1.7 times the reference's"),
    ],
)
def test_a_constant_ratio_is_named_and_what_the_number_stands_for(factor, meaning):
    losses = [2.0, 1.5, 1.0]
    target = curve([loss * factor for loss in losses], counts=(4, 4))

    report = compare_curves(curve(losses, counts=(8,)), target, CLOSE)

    assert (report.verdict, report.diverges) == ("different", 0)
    assert len(report.causes) == 1
    assert meaning in report.causes[0]


def test_a_sum_that_also_trains_is_seen_at_step_0_where_nothing_was_updated_yet():
    report = compare_curves(curve([2.0, 1.5], counts=(8,)), curve([4.0, 2.5], counts=(4, 4)), CLOSE)

    assert report.causes[0].startswith("before any update, the loss of the target is 2 times the reference's: 2 is the")


def test_a_mean_of_means_is_named_whichever_side_has_it():
    right, means = curve([(1.0, 3.0), (0.5, 2.0)], counts=(6, 2)), [2.0, 1.25]

    target = compare_curves(right, curve([(x, x) for x in means], counts=(6, 2)), CLOSE)
    reference = compare_curves(curve(means, counts=(8,)), right, CLOSE)

    assert target.causes == ("the target's loss is the mean of the reference's per-rank means, a mean of means",)
    assert reference.causes == ("the reference's loss is the mean of the target's per-rank means, a mean of means",)


def test_ranks_that_count_one_each_give_a_mean_of_means():
    one, ranks = curve([1.5, 0.9], counts=(8,)), curve([(1.0, 3.0), (0.5, 2.1)], counts=(1, 1), samples=(6, 2))

    (cause,) = compare_curves(one, ranks, CLOSE).causes

    assert cause.startswith("the target's loss is a mean of means: weighed by the ranks' samples (6, 2)")


def test_losses_that_part_after_the_first_uneven_step_point_to_gradients_averaged_without_counts():
    uneven = [Loss(3.0, 2, 2, "float32"), Loss(1.5, 1, 1, "float32")]
    target = with_step(curve([2.0, 1.5, 1.2], counts=(4, 4)), 1, losses=tuple(uneven))
    reference = with_step(curve([2.0, 1.5, 1.0], counts=(8,)), 1, indices=target.steps[1].indices)

    report = compare_curves(reference, target, CLOSE)

    assert report.diverges == 2
    assert (
        "the losses part after step 1, the first in which the target's ranks count unevenly (2, 1)" in report.causes[0]
    )


def test_losses_that_part_with_the_first_update_leave_gradient_optimizer_and_learning_rate():
    report = compare_curves(curve([2.0, 1.5, 1.0]), curve([2.0, 1.4, 0.8]), CLOSE)

    assert report.causes == ("the losses part with the first update: another gradient, optimizer or learning rate",)


@pytest.mark.parametrize(
    ("reference", "target", "drift"),
    [(2.0, 2.5, 0.25), (0.0, 0.0, 0.0), (0.0, 1.0, math.inf), (math.nan, math.nan, 0.0), (-1.0, 1.0, 2.0)],
)
def test_drift_is_relative_to_the_reference(reference, target, drift):
    assert relative(reference, target) == drift


def test_growth_takes_three_steps():
    assert growth([1e-7, 0.0, 2e-7]) is None
    assert growth([1e-7, 2e-7, 4e-7, 0.0]) == pytest.approx(2.0)


def test_a_curve_comes_back_from_json_as_it_was():
    made = curve([2.0, math.inf, (1.0)], counts=(3, 5))
    report = compare_curves(made, curve([2.0, math.nan, 1.0], counts=(3, 5)), CLOSE)

    assert decode(Curve, encode(made)) == made
    assert encode(decode(type(report), encode(report))) == encode(report)

"""What becomes of several ranks' records."""

from dataclasses import fields, replace

from libbench.curves import Loss
from libbench.measured import Measurement, Timing
from libbench.merging import RULES, merged, merged_measurement, merged_step
from libbench.result import Evaluation, KernelFacts, Output, Preparation

PREPARED = Preparation(
    seconds={"first": 1.0},
    compiler="eager",
    facts=None,
    cold=None,
    parameters=3,
    samples=10,
    batches=5,
    repeats="same",
    mutated=(),
    resident=100,
)
TIMED = Measurement(clocks=({"wall": Timing((1.0,))},), inner=(1,), warmup=(1,), seconds=1.0, kept=("same", "same"))


def test_every_field_has_a_rule():
    assert {kind: set(rules) for kind, rules in RULES.items()} == {
        kind: {each.name for each in fields(kind)} for kind in (Preparation, Evaluation)
    }


def test_the_slowest_and_the_largest_rank_counts_and_the_odd_one_is_named():
    odd = replace(PREPARED, seconds={"first": 2.0, "second": 1.0}, repeats="differ", mutated=("x",), resident=None)

    found = merged([PREPARED, odd])

    assert found.seconds == {"first": 2.0, "second": 1.0}
    assert found.repeats == "rank 1: differ"
    assert (found.mutated, found.resident, found.parameters) == (("x",), 100, 3)


def test_a_kernel_has_run_as_often_as_on_all_ranks_together():
    one, two = (replace(PREPARED, kernels=KernelFacts("own", calls)) for calls in ({"a": 2, "b": 0}, {"a": 3, "b": 1}))

    assert merged([one, two]).kernels == KernelFacts("own", {"a": 5, "b": 1})


def test_memory_is_the_largest_of_any_rank_and_samples_without_a_record_are_added():
    parts = [
        Evaluation({"top1": 0.5}, {"host": 5}, missing=1),
        Evaluation(None, {"host": 7}, missing=2, changed=("w",)),
    ]

    assert merged(parts) == Evaluation({"top1": 0.5}, {"host": 7}, missing=3, changed=("w",))


def test_the_rank_whose_timed_outputs_strayed_is_named():
    other = replace(TIMED, clocks=(), kept=("same", "output: 1 of 3"))

    assert merged_measurement([TIMED, other]).kept == ("same", "rank 1: output: 1 of 3")
    assert merged_measurement([TIMED, TIMED]) == TIMED


def test_a_step_has_the_samples_of_all_ranks_in_the_order_of_the_data_and_the_losses_rank_by_rank():
    losses = [Loss(3.0, 2, 2, "float32"), Loss(1.0, 1, 1, "float32")]
    dealt = [Output(4, 1, (0, 2), "a", 8, losses=losses[:1]), Output(4, 1, (1,), "b", 8, losses=losses[1:])]
    by_batch = [Output(4, 1, (0, 1), "a", 8, losses=losses[:1]), Output(4, 1, (2,), "b", 8, losses=losses[1:])]

    turns, batches = merged_step(dealt, by_turns=True), merged_step(by_batch, by_turns=False)

    assert turns.indices == batches.indices == (0, 1, 2)
    assert merged_step(dealt, by_turns=False).indices == (0, 2, 1)
    assert (turns.number, turns.epoch, turns.losses) == (4, 1, tuple(losses))
    assert turns.inputs not in ("a", "b")
    assert merged_step(dealt[:1], by_turns=False) == replace(dealt[0], losses=tuple(losses[:1]))

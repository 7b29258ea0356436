"""What becomes of several ranks' records."""

from dataclasses import fields, replace

from libbench.measured import Measurement, Timing
from libbench.merging import RULES, merged, merged_measurement
from libbench.result import Evaluation, Preparation

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

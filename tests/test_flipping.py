"""What counts as the verdict that a target has flipped."""

import pytest
from report_records import comparison, different_leaf, failed, outputs, side, speedup

from libbench.locate.flipping import FailureFlip, OutputsFlip, SpeedFlip, flip_of


def timed(*interval, **more):
    return comparison(speedups=(speedup(*interval, **more),))


@pytest.mark.parametrize(
    ("interval", "outcome"),
    [
        ((1.60, 1.55, 1.65, "faster"), "flips"),
        # Half of 1.6x, as a logarithm, is 1.26x.
        ((1.30, 1.27, 1.33, "faster"), "flips"),
        ((1.30, 1.24, 1.33, "faster"), "unresolved"),
        ((1.10, 1.05, 1.15, "faster"), "holds"),
        ((1.00, 0.99, 1.01, "level"), "holds"),
        ((1.02, 0.98, 1.06, "inconclusive"), "holds"),
        ((1.20, 0.90, 1.60, "inconclusive"), "unresolved"),
        ((0.60, 0.55, 0.65, "slower"), "holds"),
        ((1.60, None, None, "inconclusive"), "unresolved"),
    ],
)
def test_a_set_is_what_makes_it_faster_with_its_whole_interval_and_half_of_the_speedup(interval, outcome):
    flip = flip_of(timed(1.60, 1.55, 1.65, "faster"), "speed")

    assert flip.outcome(timed(*interval)) == outcome


def test_a_machine_that_cannot_be_trusted_tells_nothing():
    noted = timed(1.02, 0.98, 1.06, "inconclusive", note="the reference against a copy of itself came out at 1.200x")

    assert SpeedFlip(speedup(1.6, 1.5, 1.7)).outcome(noted) == "unresolved"


def test_a_speed_is_flipped_only_by_what_is_faster_or_slower():
    assert flip_of(timed(0.5, 0.45, 0.55, "slower"), "speed").of == "speed"
    assert flip_of(timed(1.0, 0.99, 1.01, "level"), "speed") is None
    assert flip_of(timed(1.3, 0.9, 1.8, "inconclusive"), "speed") is None


def test_of_a_target_that_fails_it_is_the_failure_that_is_asked_for():
    flip = flip_of(failed(message="ValueError: 12 rows (while building model)"), "speed")

    assert flip.of == "failure"
    assert flip.outcome(failed(message="ValueError: 34 rows (while building data)")) == "flips"
    assert flip.outcome(failed(message="ValueError: 34 columns")) == "unresolved"
    assert flip.outcome(failed("evaluate", message="ValueError: 12 rows")) == "unresolved"
    assert flip.outcome(comparison()) == "holds"
    assert flip_of(failed(kind="unavailable"), "outputs") is None


def test_a_side_that_fails_or_a_reference_that_is_stochastic_is_no_difference_of_outputs():
    differs = comparison(outputs=outputs(different_leaf()))

    assert flip_of(differs, "outputs") == OutputsFlip()
    assert flip_of(comparison(), "outputs") is None
    assert [OutputsFlip().outcome(each) for each in (differs, comparison(), failed())] == [
        "flips", "holds", "unresolved",
    ]  # fmt: skip
    broken = side(failure=failed().target.failure)
    assert OutputsFlip().outcome(comparison(reference=broken, outputs=outputs(different_leaf()))) == "unresolved"
    assert FailureFlip(failed().target.failure).outcome(comparison(reference=broken)) == "unresolved"

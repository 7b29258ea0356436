"""What differs between two sides besides their configs."""

import re

import pytest
from report_records import comparison, different_leaf, leaf, outputs, side, speedup

from libbench.comparability import comparability, speed_differs
from libbench.report.text import headline, render, render_many
from libbench.result import Unlike


def found(reference, target, **more):
    sides = [side(environment={"cores": 2, "load": 0.1, **each}) for each in (reference, target)]
    made = comparison(reference=sides[0], target=sides[1], **more)
    return {each.name: (each.reference, each.target) for each in comparability(made, iter(()))}


@pytest.mark.parametrize("name", ["machine", "processor", "device", "threads", "world size", "torch"])
def test_each_of_these_is_said_when_it_differs(name):
    assert found({name: 1}, {name: 2}) == {name: ("1", "2")}
    assert found({name: 1}, {name: 1}) == {}


def test_what_one_side_does_not_tell_is_not_known_and_a_lone_process_is_a_world_of_one():
    assert found({"processor": "A"}, {}) == {"processor": ("A", "not known")}
    assert found({"world size": 1}, {}) == {}
    assert found({"world size": 4}, {}) == {"world size": ("4", "1")}


def test_a_machine_that_was_busy_for_one_side_only_is_said():
    assert found({"load": 5.2}, {}) == {"load": ("5.2 on 2 cores", "0.1 on 2 cores")}
    assert found({"load": 5.2}, {"load": 4.0}) == {}


def test_dtypes_and_shapes_of_the_leaves_are_listed_once_each():
    leaves = [
        leaf("a", dtypes=("float32", "float16")), leaf("b", dtypes=("float32", "bfloat16")), leaf("c"),
        different_leaf("d", shapes=((2, 3), (2, 4))), leaf("e", dtypes=("int64", None), shapes=((1,), None)),
    ]  # fmt: skip

    assert found({}, {}, outputs=outputs(*leaves)) == {
        "dtype": ("float32", "float16, bfloat16"),
        "shape": ("(2, 3)", "(2, 4)"),
    }


def test_a_side_that_never_told_where_it_ran_is_not_called_unlike():
    made = comparison(reference=side(environment={}), target=side())

    assert comparability(made, iter(())) == ()


def test_only_what_tells_times_apart_forbids_a_verdict():
    unlike = [Unlike(name, "1", "2") for name in ("torch", "load", "threads", "batch size", "inputs", "dtype")]

    assert speed_differs(unlike) == "threads, batch size, inputs, dtype"
    assert speed_differs(unlike[:2]) == ""


def test_what_differs_stands_before_the_ratio_in_the_first_line_and_in_the_report():
    unlike = (Unlike("batch size", "8", "4"), Unlike("threads", "1", "2"))
    made = comparison(comparability=unlike)

    assert " · not alike: threads · 1.83x FASTER" in headline(comparison(comparability=unlike[1:]))
    text = render(made)
    assert re.search(r"batch size +8 +4\n", text).start() < text.index("wall per call")
    assert "not alike" not in headline(comparison(comparability=unlike, speedups=()))


@pytest.mark.parametrize("name", ["batch size", "inputs", "dtype", "shape", "world size"])
def test_no_speedup_is_claimed_of_sides_that_do_other_work(name):
    made = comparison(1.2, comparability=(Unlike(name, "8", "4"), Unlike("threads", "1", "2")))
    known = name if name == "inputs" else f"{name} 8 against 4"
    many = render_many([made, comparison()])

    assert headline(made).endswith(
        f" · NO SPEEDUP between unlike sides: {known} · CANNOT BE JUDGED: whether it is at least 1.2x as fast"
    )
    assert "FASTER" not in headline(made)
    assert re.search(rf"wall per call +412 us +225 us +1.83x \[1.79, 1.88\] not alike: {name}\n", render(made))
    assert "pays off" not in render(made)
    assert made.exit_code == 2
    assert f"1.83x [1.79, 1.88] not alike: {name}" in many
    assert many.count("faster") == 1


def test_an_unlike_side_leaves_a_demanded_speedup_unjudged_only_where_it_was_timed_apart():
    unlike = (Unlike("threads", "1", "2"),)
    apart = comparison(1.2, comparability=unlike, speedups=(speedup(3.0, 2.9, 3.1, pairs=()),))
    paired = comparison(1.2, comparability=unlike, speedups=(speedup(3.0, 2.9, 3.1),))

    assert (apart.exit_code, paired.exit_code) == (2, 0)


@pytest.mark.parametrize(("wanted", "code"), [(1.5, 0), (2.5, 2), (3.5, 2), (5.0, 1)])
def test_a_speedup_measured_at_another_time_is_held_to_a_demand_with_room_for_what_has_changed(wanted, code):
    assert comparison(wanted, speedups=(speedup(3.0, 2.9, 3.1, pairs=()),)).exit_code == code

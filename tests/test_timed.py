"""A side while it is timed, and the clocks that time it."""

import pytest

from libbench.diff import Plan, diff
from libbench.report.text import headline
from libbench.settings import Timer

ODD_CLOCKS = """
from libbench.devices.cpu import Cpu
class Odd(Cpu):
    def __init__(self, gives):
        super().__init__()
        self.gives = gives
        self.count = 0
    def time(self, call):
        self.count += 1
        right = super().time(call)
        return {
            "zero": {**right, "wall": 0.0},
            "negative": {**right, "wall": -1.5},
            "nan": {**right, "wall": float("nan")},
            "none": {**right, "wall": None},
            "no wall": {"ticks": 1.0},
            "other": {**right, "cpu": -0.5},
            "one less": right if self.count < 25 else {"wall": right["wall"]},
            "nothing": None,
        }[self.gives]
device = L(Odd)(gives="zero")
"""


@pytest.mark.parametrize(
    ("gives", "words"),
    [
        ("zero", "the clock 'wall' shows 0.0 seconds: it stands still, or is too coarse"),
        ("negative", "the clock 'wall' shows -1.5 seconds"),
        ("nan", "the clock 'wall' shows nan seconds"),
        ("none", "the clock 'wall' shows None seconds"),
        ("no wall", "there is no clock 'wall', only 'ticks'"),
        ("other", "the clock 'cpu' shows -0.5 seconds"),
        ("one less", "the clocks were wall, cpu, and are wall now"),
        ("nothing", "wanted seconds by clock, got None"),
    ],
)
def test_a_clock_that_shows_no_times_is_the_devices_fault_and_leaves_the_outputs_compared(config, gives, words):
    lines = f"{ODD_CLOCKS}device.gives = {gives!r}\nrunner = L('libbench.runners.local.Local')()\n"

    comparison = diff(config("a", lines), config("b", lines), Plan(timer=Timer(pairs=8, warmup=1)))

    (note,) = comparison.notes
    assert (comparison.exit_code, comparison.target.failure, comparison.speedups) == (0, None, ())
    assert note.startswith("speed not measured: ")
    assert f"the device Odd is at fault, whose time() times the call: {words}" in note
    assert headline(comparison) == "SAME OUTPUTS · speed not measured"


def test_a_clock_of_one_side_is_named_from_another_process_and_no_ground_for_a_speedup(config):
    clocks = config("b", ODD_CLOCKS)

    comparison = diff(config("a"), clocks, Plan(timer=Timer(pairs=8, warmup=1), min_speedup=1.0))

    assert any("the device Odd is at fault" in note for note in comparison.notes)
    assert (comparison.reference.failure, comparison.target.failure) == (None, None)
    assert comparison.exit_code == 2

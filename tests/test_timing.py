"""Two sides that cannot share a process take turns."""

import time

import pytest

from libbench.measured import Measurement, Timing
from libbench.settings import Timer
from libbench.timing import ROUND, _rounds


class Slow:
    """A session whose calls take no time, and whose rounds do."""

    def __init__(self):
        self.asked = []

    def measure(self, timer):
        self.asked.append(timer.pairs)
        time.sleep(0.02)
        return Measurement(({"wall": Timing((1e-6,) * timer.pairs)},), (1,), (1,), 1e-6 * timer.pairs)


@pytest.mark.parametrize(
    ("timer", "wanted"),
    [
        (Timer(pairs=70), [ROUND, 2 * ROUND, 4 * ROUND]),
        (Timer(pairs=45), [ROUND, 2 * ROUND, 15]),
        (Timer(budget=0.001), [ROUND]),
    ],
)
def test_rounds_grow_while_most_of_their_time_is_not_in_calls_and_that_time_is_counted(timer, wanted):
    sessions = Slow(), Slow()

    _rounds(sessions, timer)

    assert [session.asked for session in sessions] == [wanted, wanted]

"""What is said about timed rounds that cannot be trusted as they are."""

import threading
import time
from dataclasses import replace

from report_records import comparison, measurement, side

from libbench.occupied import Others
from libbench.remarks import timing_remarks

GOOD = replace(measurement(), null=measurement().clocks[0]["wall"] and (measurement().clocks[0]["wall"],) * 2)


def remarks(*measurements, **environment):
    reference = replace(side(), environment={"threads": 1, "cores": 2, **environment})
    return list(timing_remarks(comparison(reference=reference, measurements=measurements)))


def test_quiet_rounds_need_no_word():
    assert remarks(replace(GOOD, others=0.9), replace(GOOD, others=None)) == []


def test_busy_cores_are_told_when_they_are_not_to_spare():
    assert remarks(replace(GOOD, others=1.7)) == [
        "the machine was busy: others kept 1.7 of 2 cores busy while it was timed"
    ]
    assert remarks(replace(GOOD, others=1.7), cores=8) == []
    assert remarks(replace(GOOD, others=1.0), cores=8, threads=8)


def test_interrupted_pairs_are_told_when_they_are_many():
    (text,) = remarks(replace(GOOD, redrawn=5, interrupted=1))

    assert "5 pairs were measured again for the 3 that count, and 1 of these" in text


def test_threads_that_make_a_side_slower_are_told():
    (text,) = remarks(replace(GOOD, one_thread=(2.05e-4, 2.2e-4)), threads=4, cores=8)

    assert text == "4 threads make the reference slower: with one it is 2.00x as fast"


def test_compilation_while_timed_is_told():
    assert remarks(replace(GOOD, compiled=(0, 2)), replace(GOOD, compiled=(0, 1))) == [
        "the target was compiled again while it was timed: 3 graphs"
    ]


def test_a_side_that_answers_from_memory_is_named():
    quick = [replace(GOOD, unmet=(1.1, ratio)) for ratio in (18.0, 20.0, float("nan"), 1.0)]

    (text,) = remarks(*quick)

    assert text.startswith("the target seems to answer from memory: it takes 18.0x as long for values that it has not")
    assert remarks(replace(GOOD, unmet=(1.4, float("nan")))) == []


def test_a_single_batch_is_told_with_what_to_do():
    lone = replace(side(), preparation=replace(side().preparation, batches=1))

    (text,) = timing_remarks(comparison(reference=lone, measurements=(GOOD,)))

    assert text.endswith("give the data more samples, or a smaller batch size, for 8 batches or more")


def test_a_missing_null_arm_is_told_where_there_could_have_been_one():
    assert remarks(replace(GOOD, null=()))
    assert remarks(replace(GOOD, null=(), together=False)) == []


def test_own_work_is_no_work_of_others():
    with Others() as others:
        end = time.perf_counter() + 0.5
        threads = [threading.Thread(target=lambda: sum(range(10**6)) and None) for _ in range(3)]
        while time.perf_counter() < end:
            pass
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert others.cores is None or 0 <= others.cores <= 64

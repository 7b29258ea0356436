"""A list of pairs, one row each: what a row is known by, and how rows are run, one after another or several at once."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from typing import Any

from libbench.diff import diff_all
from libbench.errors import LibbenchError
from libbench.job import Job
from libbench.plan import Plan, settings_of
from libbench.result import Check, Comparison, Result
from libbench.rowfile import GraphSampleRecord
from libbench.saved import AnySide
from libbench.timing import Watch, runner_of

BROKEN = "comparison"
"""The check of a row that could not be run to its end, for no fault of either side."""


@dataclass(frozen=True)
class Row:
    """One pair of a list.

    Attributes:
        name: what tells it from the other rows.
        sample: the graph sample that is the model of both sides; None where they have models of their own.
    """

    reference: AnySide
    target: AnySide
    name: str
    sample: GraphSampleRecord | None = None


def key_of(row: Row, plan: Plan) -> str:
    """Give what a row is known by, as 16 hexadecimal digits: both configs, but for limits, and what is asked of them.

    The code that a config names is not part of it; what the files of a graph sample hold is.
    """
    question: dict[str, Any] = {
        "sides": [_known_by(row.reference), _known_by(row.target)],
        "outputs": [plan.rtol, plan.atol, plan.truth, plan.seeds],
        "speed": plan.speed and [plan.budget, plan.processes, plan.min_speedup],
    }
    if row.sample is not None:
        question["sample"] = row.sample.files
    return sha256(json.dumps(question).encode()).hexdigest()[:16]


def _known_by(side: AnySide) -> list[Any]:
    if not isinstance(side, Job):
        return [str(side.folder.resolve()), side.record().digest]
    return [side.known_by()]


def is_broken(comparison: Comparison) -> bool:
    """Tell whether a row could not be run to its end, so that it is worth trying again."""
    return any(check.name == BROKEN for check in comparison.checks)


def is_settled(comparison: Comparison) -> bool:
    """Tell whether both sides ran to their end."""
    return not (is_broken(comparison) or comparison.reference.failure or comparison.target.failure)


def check_rows(rows: Sequence[Row], plan: Plan, jobs: int) -> None:
    """Find whatever can be wrong with a list before anything runs.

    Raises:
        LibbenchError: a pair cannot be compared, a runner cannot be built, or several jobs at a time would disturb one
            another's timing.
    """
    for row in rows:
        try:
            settings_of(row.reference, row.target, plan)
        except LibbenchError as error:
            raise LibbenchError(f"row {row.name!r}: {error}") from error
        for side in (row.reference, row.target):
            if not isinstance(side, Job):
                continue
            runner = runner_of(side)
            if jobs > 1 and plan.speed and not getattr(runner, "one_at_a_time", False):
                raise LibbenchError(
                    f"{jobs} jobs at a time would disturb one another's timing on {type(runner).__name__}, which "
                    f"{side.name} names; leave the timing out (--no-speed), or name a runner that gives each a place "
                    f"of its own (libbench.runners.ray.Ray)"
                )


def run_rows(
    rows: Sequence[Row], plan: Plan, *, watch: Watch = lambda name, event: None, jobs: int = 1
) -> Generator[tuple[int, Comparison]]:
    """Compare every pair; give the position of each and its comparison as it is done.

    A row that breaks takes no other with it: its comparison says what happened, in a check named "comparison".

    Args:
        rows: as `check_rows` has found them to be right.
        plan: what is asked of each; it cannot keep outputs.
        jobs: how many at a time. With one, neighbours of one reference share its run; with more, each row has its own.
            When the caller goes away, those that are on their way are given up with the process.
    """
    if plan.save is not None:
        raise ValueError("a list keeps no outputs; plan.save must be None")
    if jobs == 1:
        return _one_by_one(rows, plan, watch)
    return _at_a_time(rows, plan, watch, jobs)


def _one_by_one(rows: Sequence[Row], plan: Plan, watch: Watch) -> Generator[tuple[int, Comparison]]:
    for _, group in groupby(enumerate(rows), lambda each: id(each[1].reference)):
        left, alone = list(group), False
        while left:
            together = left[:1] if alone else list(left)
            alone = False
            try:
                with closing(_neighbours([row for _, row in together], plan, watch)) as comparisons:
                    for comparison in comparisons:
                        yield left.pop(0)[0], comparison
            except Exception as error:
                # Whose fault it is shows when the next row is run by itself.
                alone = len(together) > 1
                if not alone:
                    number, row = left.pop(0)
                    yield number, broken_row(row, error)


def _neighbours(rows: Sequence[Row], plan: Plan, watch: Watch) -> Generator[Comparison]:
    """Compare rows of one reference, which is run once; end early with a reference that was killed."""
    with closing(diff_all(rows[0].reference, [row.target for row in rows], plan, watch=watch)) as comparisons:
        for comparison in comparisons:
            yield comparison
            failure = comparison.reference.failure
            if failure is not None and failure.kind == "signal":
                return  # from outside, perhaps: for the next row it has a process of its own


def _at_a_time(rows: Sequence[Row], plan: Plan, watch: Watch, jobs: int) -> Generator[tuple[int, Comparison]]:
    waiting: queue.SimpleQueue[tuple[int, Row]] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, Comparison]] = queue.SimpleQueue()
    for each in enumerate(rows):
        waiting.put(each)
    gone = threading.Event()

    def work() -> None:
        while not gone.is_set():
            try:
                number, row = waiting.get_nowait()
            except queue.Empty:
                return
            done.put((number, next(_one_by_one([row], plan, watch))[1]))

    # They are daemons, since one that waits for a model cannot be told to stop; its child ends with this process.
    for _ in range(min(jobs, len(rows))):
        threading.Thread(target=work, daemon=True).start()
    try:
        for _ in rows:
            yield done.get()
    finally:
        gone.set()


def broken_row(row: Row, error: Exception) -> Comparison:
    """Give the comparison of a row that could not be run to its end."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    sides = Result(row.reference.record()), Result(row.target.record())
    return Comparison(*sides, checks=(Check(BROKEN, "unjudged", text),), complete=True, began=time.time())

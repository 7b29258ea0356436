"""Workloads whose calls are steps, each from where the last one has left the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

from libbench.errors import LibbenchError
from libbench.interfaces import Batch, Generating, Stepping


def steps_of(workload: Any) -> int | None:
    """Give how many steps an evaluation has; None where it has one call for each batch."""
    return workload.steps if isinstance(workload, Stepping) else None


def evaluation(data: Callable[[], Iterator[Batch]], workload: Any) -> Iterator[Batch]:
    """Give the batches of an evaluation: the data once, or as often as the workload's steps take.

    Args:
        data: gives the batches of one epoch, each time that it is called.

    Raises:
        LibbenchError: an epoch after the first gave no batch.
    """
    steps = steps_of(workload)
    if steps is None:
        yield from data()
        return
    done = 0
    for epoch in count():
        before = done
        for batch in data():
            yield replace(batch, epoch=epoch)
            done += 1
            if done == steps:
                return
        if done == before:
            raise LibbenchError(f"data gave no batch in epoch {epoch}, after {done} of {steps} steps")


def told_of(workload: Any) -> dict[str, Any]:
    """Give what a workload tells of its last call, as fields of an `Output`."""
    told: dict[str, Any] = {}
    if isinstance(workload, Stepping):
        told["losses"] = (workload.loss(),)
    if isinstance(workload, Generating):
        told["generated"] = workload.generated()
    return told


@contextmanager
def named_step(workload: Any, number: int, batch: Batch) -> Iterator[None]:
    """Add to an exception which step it was."""
    try:
        yield
    except Exception as error:
        if isinstance(workload, Stepping):
            error.add_note(f"in step {number}, batch {batch.number} of epoch {batch.epoch}")
        raise

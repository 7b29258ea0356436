"""The parts of a side, built and looked at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from libbench.errors import LibbenchError
from libbench.interfaces import Batch, Compiler, Device, Evaluator, Workload
from libbench.job import SIDE_PARTS, Job

_ROLES = {
    "data": ("__iter__",),
    "workload": ("setup", "mode", "step"),
    "compiler": ("compile",),
    "device": ("put", "synchronize", "time", "seed", "reset_peak", "memory", "peak_memory", "describe"),
    "evaluator": ("process", "evaluate", "compare"),
}


@dataclass
class Parts:
    """What a side is made of."""

    model: Any
    data: Iterable[Batch]
    workload: Workload
    compiler: Compiler
    device: Device
    evaluator: Evaluator | None


def build_parts(job: Job) -> Parts:
    """Instantiate what a worker builds of a job.

    Raises:
        LibbenchError: a part is missing, or has not the methods of its role.
    """
    built = job.build(*SIDE_PARTS)
    if built["data"] is None:
        raise LibbenchError(f"{job.name} assigns no 'data'")
    for name, methods in _ROLES.items():
        lacking = [f"{method}()" for method in methods if not hasattr(built[name], method)]
        if lacking and not (built[name] is None and name == "evaluator"):
            raise LibbenchError(f"{name} must have {', '.join(lacking)}, got {built[name]!r}")
    return Parts(**built)

"""The parts of a side, built and looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from libbench.errors import LibbenchError
from libbench.interfaces import Batch, Compiler, Device, Evaluator, OpLib, Workload
from libbench.job import SIDE_PARTS, Job
from libbench.truth import Float64

_ROLES = {
    "data": ("__iter__",),
    "workload": ("setup", "mode", "step"),
    "compiler": ("compile",),
    "op_lib": ("active", "facts"),
    "device": ("put", "synchronize", "time", "seed", "reset_peak", "memory", "peak_memory", "describe"),
    "evaluator": ("process", "evaluate", "compare"),
}
_OPTIONAL = ("op_lib", "evaluator")


@dataclass
class Parts:
    """What a side is made of."""

    model: Any
    data: Iterable[Batch]
    workload: Workload
    compiler: Compiler
    op_lib: OpLib | None
    device: Device
    evaluator: Evaluator | None
    memory_before: Mapping[str, int]


def build_parts(job: Job) -> Parts:
    """Instantiate what a worker builds of a job.

    Raises:
        LibbenchError: a part is missing, or has not the methods of its role.
    """
    parts = [part for part in SIDE_PARTS if not (job.truth and part in ("compiler", *_OPTIONAL))]
    building = job.building(*parts)
    built = dict([next(building)])
    _check_role("device", built["device"])
    before = built["device"].memory()
    built.update(building)
    if job.truth:
        built.update(compiler=Float64(), **dict.fromkeys(_OPTIONAL))
    if built["data"] is None:
        built["data"] = getattr(built["model"], "own_batches", None)
    if built["data"] is None:
        raise LibbenchError(f"{job.name} assigns no 'data'")
    for name, part in built.items():
        if name in _ROLES and not (name in _OPTIONAL and part is None):
            _check_role(name, part)
    return Parts(**built, memory_before=before)


def _check_role(name: str, part: Any) -> None:
    lacking = [f"{method}()" for method in _ROLES[name] if not hasattr(part, method)]
    if lacking:
        raise LibbenchError(f"{name} must have {', '.join(lacking)}, got a {type(part).__qualname__}")

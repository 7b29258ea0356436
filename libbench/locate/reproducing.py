"""A folder that shows again what was found: a script, the tensors that it needs, and both configs cut down."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from libbench.config import to_text
from libbench.errors import ConfigError, LibbenchError
from libbench.job import Job
from libbench.locate.capture import Runnable
from libbench.locate.graph import Graph, Link, Op, replaced
from libbench.locate.lockstep import Lockstep
from libbench.locate.modules import in_dtypes
from libbench.locate.recording import held_by
from libbench.located import ModuleRow, OpRow
from libbench.result import SIDES
from libbench.tree import tensors

SCRIPT = "reproduce.py"
TENSORS = "tensors.safetensors"
_HEAD = '''"""{what}

Run it with a Python that has libbench. Exit code: 1 the two still differ, 0 they do not.
"""

import sys
from pathlib import Path

import torch

from libbench.locate.shown import {names}

FOLDER = Path(__file__).resolve().parent
t = tensors_in(FOLDER / "{tensors}")
'''
_OPERATOR = """
with torch.inference_mode():
    reference = {reference}
    target = {target}
sys.exit(shown(reference, target{leaf}))
"""
_MODULE = """

def called(side, args, kwargs):
    module = module_in(FOLDER / f"{{side}}.yaml", "{path}", t, side).train({training})
    with torch.inference_mode(){autocast}:
        return module(*args, **kwargs)


reference = called("reference", {reference})
target = called("target", {target})
sys.exit(shown(reference, target))
"""


class NotWritten(LibbenchError):
    """What was found cannot be written as a script."""


def write_operator(
    folder: Path, row: OpRow, graphs: tuple[Graph, Graph], pairs: Mapping[int, int], given: Any, jobs: tuple[Job, Job]
) -> None:
    """Write an operator with the inputs that both sides' are judged by.

    Raises:
        NotWritten: an argument is no plain value.
    """
    pass_ = Lockstep(graphs, pairs, given, keep=row.position)
    pass_.run()
    kept = pass_.kept
    if kept is None:
        raise NotWritten(f"{row.operator} has not run on the reference's inputs")
    tensors_ = _Tensors()
    target = _call(graphs[1].ops[row.position], kept.fed, tensors_, "target")
    if kept.wanted is not None:
        reference = tensors_.name("reference", kept.wanted)
    elif row.additional:
        raise NotWritten("the reference has nothing in its place")
    else:
        reference = _call(graphs[0].ops[pairs[row.position]], kept.judged, tensors_, "reference")
    place = f" in {row.module}" if row.module else ""
    what = f"{row.operator}{place} of the target does not give what the reference has there."
    if row.additional:
        what = f"{row.operator}{place}, which the target alone has, changes what goes on."
    body = _OPERATOR.format(reference=reference, target=target, leaf=f", leaf={kept.leaf}" if kept.leaf else "")
    _write(folder, what, "shown, tensors_in", body, tensors_, jobs)


def write_module(folder: Path, row: ModuleRow, sides: tuple[Runnable, Runnable], jobs: tuple[Job, Job]) -> None:
    """Write a call of a module with the reference's inputs, and what both sides' modules hold.

    Args:
        sides: that call, of both.

    Raises:
        NotWritten: an input is neither a tensor nor a plain value.
    """
    args, kwargs = sides[0].inputs()
    dtypes = [tensor.dtype for _, tensor in tensors(sides[1].inputs())]
    held = _Tensors()
    written = []
    for side, runnable in zip(SIDES, sides, strict=True):
        fed = in_dtypes((args, kwargs), dtypes) if side == "target" else (args, kwargs)
        written.append(", ".join(_written(part, lambda tensor, side=side: held.name(side, tensor)) for part in fed))
        for name, tensor in held_by(runnable.model).items():
            held.add(f"{side} holds {name}", tensor)
    what = f"{row.path or 'the model'}, a {row.kind[1]}, does not give what the reference's gives for the same inputs."
    body = _MODULE.format(
        path=row.path, training=sides[1].model.training, reference=written[0], target=written[1],
        autocast=_autocast(sides),
    )  # fmt: skip
    _write(folder, what, "module_in, shown, tensors_in", body, held, jobs)


def _autocast(sides: tuple[Runnable, Runnable]) -> str:
    """Give how a side's autocast is entered in the script; nothing where there is none."""
    both = [side.autocast for side in sides if side.autocast is not None]
    on = next((each for each in both if each.enabled), None)
    if on is None:
        return ""
    names = [side for side, each in zip(SIDES, both, strict=True) if each.enabled]
    return f', torch.autocast("{on.kind}", dtype={on.dtype}, enabled=side in {names!r})'


@dataclass
class _Tensors:
    """Tensors by the name that they have in the script."""

    held: dict[str, torch.Tensor] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def name(self, side: str, tensor: torch.Tensor) -> str:
        """Take a tensor and give the text that stands for it."""
        number = self.counts[side] = self.counts.get(side, -1) + 1
        self.add(f"{side} {number}", tensor)
        return f't["{side} {number}"]'

    def add(self, name: str, tensor: torch.Tensor) -> None:
        # Each has memory of its own in the file; those that share it would be refused.
        self.held[name] = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)


def _call(op: Op, values: Mapping[Any, Any], held: _Tensors, side: str) -> str:
    names: dict[Any, str] = {}

    def name(tensor: Any) -> str:
        if id(tensor) not in names:
            names[id(tensor)] = held.name(side, tensor)
        return names[id(tensor)]

    args, kwargs = (replaced(part, Link, lambda link: values[link]) for part in (op.args, op.kwargs))
    given = [_written(each, name) for each in args]
    given += [f"{key}={_written(each, name)}" for key, each in kwargs.items()]
    if not isinstance(op.function, torch._ops.OpOverload):
        raise NotWritten(f"{op.name} is no operator of torch")
    return f"torch.ops.{op.function}({', '.join(given)})"


def _written(value: Any, name: Any) -> str:
    """Give a value as Python source, with a name in place of every tensor."""
    if isinstance(value, torch.Tensor):
        return str(name(value))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_written(each, name)}" for key, each in value.items()) + "}"
    if type(value) in (list, tuple):
        inner = ", ".join(_written(each, name) for each in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, torch.device):
        return f'torch.device("{value}")'
    if isinstance(value, bool | int | float | str | torch.dtype | torch.memory_format | torch.layout | None):
        return repr(value)
    raise NotWritten(f"a {type(value).__qualname__} cannot be written as source")


def _write(folder: Path, what: str, names: str, body: str, held: _Tensors, jobs: tuple[Job, Job]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_file(held.held, folder / TENSORS)
    for side, job in zip(SIDES, jobs, strict=True):
        (folder / f"{side}.yaml").write_text(_cut_down(job), encoding="utf-8")
    (folder / SCRIPT).write_text(_HEAD.format(what=what, names=names, tensors=TENSORS) + body, encoding="utf-8")


def _cut_down(job: Job) -> str:
    """Give what of a config makes the model: the model and the seed."""
    try:
        return to_text({"model": job.config.model, "seed": job.seed})
    except ConfigError as error:
        raise NotWritten(f"the config of {job.name} cannot be saved: {error}") from error

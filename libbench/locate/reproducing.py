"""A folder that shows again what was found: a script, the tensors that it needs, and both configs cut down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from libbench.job import Job
from libbench.locate.capture import Runnable
from libbench.locate.graph import Graph, Link, Made, Op, replaced
from libbench.locate.lockstep import Lockstep
from libbench.locate.modules import in_dtypes
from libbench.locate.recording import held_by
from libbench.locate.scripts import NotWritten, Source, Tensors, write, written
from libbench.locate.segments import Piece
from libbench.located import ModuleRow, OpRow
from libbench.result import SIDES
from libbench.tree import tensors

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
_SEGMENT = """

class Segment(torch.nn.Module):
    def __init__(self):
        super().__init__(){held}

    def forward(self{inputs}):{lines}
        return [{outputs}]


def inputs():
    return [{given}]


with torch.inference_mode():
    reference = Segment().train({training})(*inputs())
    target = compiled_in(FOLDER / "{side}.yaml", Segment().train({training}), inputs())(*inputs())
sys.exit(shown(reference, target))
"""


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
    tensors_ = Tensors()
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
    write(folder, what, "shown, tensors_in", body, tensors_, jobs)


def write_module(folder: Path, row: ModuleRow, sides: tuple[Runnable, Runnable], jobs: tuple[Job, Job]) -> None:
    """Write a call of a module with the reference's inputs, and what both sides' modules hold.

    Args:
        sides: that call, of both.

    Raises:
        NotWritten: an input is neither a tensor nor a plain value.
    """
    args, kwargs = sides[0].inputs()
    dtypes = [tensor.dtype for _, tensor in tensors(sides[1].inputs())]
    held = Tensors()
    arguments = []
    for side, runnable in zip(SIDES, sides, strict=True):
        fed = in_dtypes((args, kwargs), dtypes) if side == "target" else (args, kwargs)
        arguments.append(", ".join(written(part, partial(held.name, side)) for part in fed))
        for name, tensor in held_by(runnable.model).items():
            held.add(f"{side} holds {name}", tensor)
    what = f"{row.path or 'the model'}, a {row.kind[1]}, does not give what the reference's gives for the same inputs."
    body = _MODULE.format(
        path=row.path, training=sides[1].model.training, reference=arguments[0], target=arguments[1],
        autocast=_autocast(sides),
    )  # fmt: skip
    write(folder, what, "module_in, shown, tensors_in", body, held, jobs)


def _autocast(sides: tuple[Runnable, Runnable]) -> str:
    """Give how a side's autocast is entered in the script; nothing where there is none."""
    both = [side.autocast for side in sides if side.autocast is not None]
    on = next((each for each in both if each.enabled), None)
    if on is None:
        return ""
    names = [side for side, each in zip(SIDES, both, strict=True) if each.enabled]
    return f', torch.autocast("{on.kind}", dtype={on.dtype}, enabled=side in {names!r})'


def _call(op: Op, values: Mapping[Any, Any], held: Tensors, side: str) -> str:
    names: dict[Any, str] = {}

    def name(tensor: Any) -> str:
        if id(tensor) not in names:
            names[id(tensor)] = held.name(side, tensor)
        return names[id(tensor)]

    args, kwargs = (replaced(part, Link, lambda link: values[link]) for part in (op.args, op.kwargs))
    return _source(op, args, kwargs, name)


def _source(op: Op, args: Any, kwargs: Any, name: Callable[[Any], str]) -> str:
    """Give the call of an operator as Python source."""
    given = [written(each, name) for each in args]
    given += [f"{key}={written(each, name)}" for key, each in kwargs.items()]
    if not isinstance(op.function, torch._ops.OpOverload):
        raise NotWritten(f"{op.name} is no operator of torch")
    return f"torch.ops.{op.function}({', '.join(given)})"


def write_segment(folder: Path, piece: Piece, side: str, jobs: tuple[Job, Job]) -> None:
    """Write operators that a side's compiler is given by themselves, with what they take.

    Args:
        piece: with the values of its inputs.
        side: whose compiler it is.

    Raises:
        NotWritten: an argument is no plain value.
    """
    segment = piece.segment
    held, names, lines = Tensors(), dict[Link, Source](), list[str]()
    for number, link in enumerate(segment.inputs):
        names[link] = Source(f"input_{number}")
    for number, link in enumerate(segment.held):
        names[link] = Source(f"self.held_{number}")
        lines.append(f"self.register_buffer({f'held_{number}'!r}, {held.name('held', segment.graph.held[link.name])})")
    holds, lines = lines, []
    for position, op in enumerate(segment.ops, segment.start):
        args, kwargs = (replaced(part, Link, names.__getitem__) for part in (op.args, op.kwargs))
        lines.append(f"made_{position} = {_source(op, args, kwargs, lambda tensor: held.name('constant', tensor))}")
        for leaf in range(len(op.shapes)):
            names[Made(position, leaf)] = Source(f"made_{position}" + ("" if op.gives_one else f"[{leaf}]"))
    body = _SEGMENT.format(
        inputs="".join(f", {names[link]}" for link in segment.inputs),
        given=", ".join(
            written(value, lambda tensor: held.name("input", tensor) + ".clone()") for value in piece.inputs
        ),
        held="".join(f"\n        {line}" for line in holds),
        lines="".join(f"\n        {line}" for line in lines),
        outputs=", ".join(names[link] for link in segment.outputs),
        training=segment.training,
        side=side,
    )
    first, last = (op.said(op.module) for op in (segment.ops[0], segment.ops[-1]))
    what = first if len(segment.ops) == 1 else f"{first} to {last}"
    what = f"What the {side}'s compiler makes of {what.replace(chr(92), '/')} does not give what it was made of."
    write(folder, what, "compiled_in, shown, tensors_in", body, held, jobs, "compiler")

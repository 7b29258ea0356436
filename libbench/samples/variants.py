"""Other dtypes and sizes of a model's inputs, for samples of one model that differ in nothing else."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any

import torch

from libbench.errors import LibbenchError, did_you_mean
from libbench.interfaces import Batch
from libbench.tree import map_tensors


@dataclass(frozen=True)
class Variant:
    """What is changed about a model and its first batch before it is traced.

    Attributes:
        dtype: what every floating tensor is cast to, as "bfloat16"; None to cast nothing.
        shapes: of inputs, by the name of the argument.
        batch: how many samples the batch has; None for as many as it had.
    """

    dtype: str | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    batch: int | None = None

    def __post_init__(self) -> None:
        if self.dtype is not None:
            found = getattr(torch, self.dtype, None)
            if not isinstance(found, torch.dtype) or not found.is_floating_point:
                raise ValueError(f"wanted a floating dtype of torch, as bfloat16, got {self.dtype!r}")
        for name, sizes in {**self.shapes, "batch": (1 if self.batch is None else self.batch,)}.items():
            if any(size < 1 for size in sizes):
                raise ValueError(f"{name}: sizes must be at least 1, got {'x'.join(map(str, sizes))}")

    @property
    def label(self) -> str:
        """The name of its folder; empty where nothing is changed."""
        sized = [f"{name}_{'x'.join(map(str, sizes))}" for name, sizes in self.shapes.items()]
        return "-".join(filter(None, [self.dtype, *sized, f"batch_{self.batch}" if self.batch is not None else None]))

    def plain(self) -> Mapping[str, Any]:
        """Give what `Variant.of` makes it from again: text, numbers and lists."""
        return asdict(self)

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Variant:
        """Make it of what `plain` gave."""
        return cls(**{**plain, "shapes": {name: tuple(sizes) for name, sizes in plain["shapes"].items()}})

    def apply(self, model: Any, batch: Batch) -> Any:
        """Cast the model in place; give the inputs of the batch, cast and with other sizes.

        A size that grows repeats what is there, one that shrinks leaves the rest out, so that every index stays right.

        Raises:
            LibbenchError: the model is no module, no input has such a name or rank, or none has a row a sample.
        """
        inputs = self._shaped(model, batch.inputs)
        if self.batch is not None:
            inputs = _rows(inputs, len(batch.indices), self.batch)
        if self.dtype is None:
            return inputs
        if not isinstance(model, torch.nn.Module):
            raise LibbenchError(f"only a module can be cast to {self.dtype}, got {model!r}")
        dtype: torch.dtype = getattr(torch, self.dtype)

        def cast(tensor: torch.Tensor) -> torch.Tensor:
            return tensor.to(dtype) if tensor.is_floating_point() else tensor

        model._apply(cast)  # type: ignore[no-untyped-call]
        return map_tensors(cast, inputs)

    def _shaped(self, model: Any, inputs: Any) -> Any:
        if not self.shapes:
            return inputs
        named = _named(model, inputs)
        for name, sizes in self.shapes.items():
            value = named.get(name)
            if not isinstance(value, torch.Tensor):
                hint = did_you_mean(name, named)
                raise LibbenchError(f"no input {name!r} is a tensor{hint}; there are {', '.join(named)}")
            if len(sizes) != value.dim():
                wanted = "x".join(map(str, sizes))
                raise LibbenchError(f"{name} has the shape {tuple(value.shape)}, which cannot become {wanted}")
            named[name] = _sized(value, sizes)
        if isinstance(inputs, Mapping):
            return named
        return tuple(named.values()) if isinstance(inputs, tuple | list) else next(iter(named.values()))


def variants(
    dtypes: Sequence[str], shapes: Mapping[str, Sequence[tuple[int, ...]]], batches: Sequence[int]
) -> list[Variant]:
    """Give every combination of dtypes, shapes and batch sizes; the shapes of several inputs change in step.

    Raises:
        ValueError: inputs have different numbers of shapes, or something cannot be.
    """
    counts = {name: len(each) for name, each in shapes.items()}
    if len(set(counts.values())) > 1:
        raise ValueError(f"the shapes of several inputs change in step, so each needs as many, got {counts}")
    steps = [dict(zip(shapes, each, strict=True)) for each in zip(*shapes.values(), strict=True)] or [{}]
    casts: Sequence[str | None] = dtypes or [None]
    rows: Sequence[int | None] = batches or [None]
    return [Variant(*each) for each in product(casts, steps, rows)]


def parse_shapes(text: str) -> tuple[str, list[tuple[int, ...]]]:
    """Read an input's name and its shapes, as in "x=1x3x32x32,4x3x32x32".

    Raises:
        ValueError: it is not written so.
    """
    if not re.fullmatch(r"\w+=\d+(x\d+)*(,\d+(x\d+)*)*", text):
        raise ValueError(f"wanted NAME=SIZExSIZE..., as x=1x3x32x32,4x3x32x32, got {text!r}")
    name, _, shapes = text.partition("=")
    return name, [tuple(map(int, each.split("x"))) for each in shapes.split(",")]


def _named(model: Any, inputs: Any) -> dict[str, Any]:
    """Give the inputs by the names of the arguments that they are for."""
    if isinstance(inputs, Mapping):
        return dict(inputs)
    several = list(inputs) if isinstance(inputs, tuple | list) else [inputs]
    call: Callable[..., Any] = model.forward if isinstance(model, torch.nn.Module) else model
    known = inspect.signature(call).parameters.values()
    names = [each.name for each in known if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    names += [str(number) for number in range(len(names), len(several))]
    return dict(zip(names, several, strict=False))


def _sized(tensor: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    for at, size in enumerate(sizes):
        if size != tensor.shape[at]:
            if not tensor.shape[at]:
                raise LibbenchError(f"a tensor of shape {tuple(tensor.shape)} has nothing to repeat")
            tensor = tensor.index_select(at, torch.arange(size, device=tensor.device) % tensor.shape[at])
    return tensor


def _rows(inputs: Any, before: int, after: int) -> Any:
    changed = 0

    def sized(tensor: torch.Tensor) -> torch.Tensor:
        nonlocal changed
        if not tensor.dim() or tensor.shape[0] != before:
            return tensor
        changed += 1
        return _sized(tensor, (after, *tensor.shape[1:]))

    inputs = map_tensors(sized, inputs)
    if not changed:
        raise LibbenchError(f"no input has a row for each of the batch's samples, {before}")
    return inputs

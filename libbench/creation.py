"""Which operators make tensors or draw at random, and from which line of the model."""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any, cast

import numpy as np
import torch
from torch.jit._trace import TracerWarning
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode

from libbench.codelines import own_place
from libbench.tree import tensors

MOST = 5
"""Places that are named, at most."""


class Drawn(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes every operator that draws at random while this is switched on, as `aten.rand at model.py:12`.

    Attributes:
        places: each once, in their order.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.places: dict[str, None] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Otherwise the first operator loads all of `torch._dynamo`, which takes seconds.
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.Tag.nondeterministic_seeded in func.tags:
            self.places.setdefault(f"{str(func).rpartition('.')[0]}{_at(own_place(sys._getframe(1)))}")
        return func(*args, **(kwargs or {}))


class OffDevice(TorchFunctionMode):
    """Notes what makes a tensor on another device than those of the model, or takes one there.

    Args:
        devices: those on which the model and its inputs are.

    Attributes:
        places: each once, as `torch.ones on cpu at model.py:12`, in their order.
    """

    def __init__(self, devices: Collection[torch.device]) -> None:
        super().__init__()
        self.places: dict[str, None] = {}
        self._devices = devices

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        outputs = func(*args, **(kwargs or {}))
        found = _devices(outputs) - set(self._devices)
        if found and not _devices((args, kwargs)) & found:
            name = resolve_name(func) or getattr(func, "__name__", "something")
            self.places.setdefault(f"{name} on {', '.join(map(str, found))}{_at(own_place(sys._getframe(1)))}")
        return outputs


def off_device(call: Callable[[], Any], model: Any, inputs: Any) -> tuple[str, ...]:
    """Name what a model makes on another device than its weights and inputs are on.

    Args:
        call: calls the model once, uncompiled; what it raises ends it, and is nobody's business here.
        model: its parameters and buffers say which devices are right, and so do the inputs.
    """
    given = [tensor for _, tensor in tensors(inputs)]
    if isinstance(model, torch.nn.Module):
        given += [*model.parameters(), *model.buffers()]
    watched = OffDevice({tensor.device for tensor in given})
    if given:
        try:
            with watched, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call()
        except Exception:  # it is called to see what comes before that
            pass
    return _few(watched.places)


@contextmanager
def told_of_python(baked: list[str], again: Callable[[], Any]) -> Iterator[None]:
    """Take down where a model draws Python's and NumPy's own random numbers while it is traced: none is in a graph.

    Args:
        baked: what is found is added: `random.random at model.py:12`; NumPy's draws have no place.
        again: calls the model once more, to look whence it draws, if it does.
    """
    python, numpy = random.getstate(), _numpy_state()
    yield
    if (random.getstate(), _numpy_state()) != (python, numpy):
        baked += _drawn_by_python(again)


def _drawn_by_python(call: Callable[[], Any]) -> list[str]:
    places: dict[str, None] = {}
    source = random.random.__self__  # type: ignore[attr-defined]

    def look(frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and getattr(called, "__self__", None) is source:
            places.setdefault(f"random.{called.__name__}{_at(own_place(frame))}")

    profiler, numpy = sys.getprofile(), _numpy_state()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(profiler)
    if _numpy_state() != numpy:
        places.setdefault("numpy.random")
    return list(places)


def _numpy_state() -> tuple[Any, ...]:
    name, values, *rest = cast("tuple[Any, ...]", np.random.get_state())
    return name, values.tobytes(), *rest


@contextmanager
def told_of_numbers(baked: list[str]) -> Iterator[None]:
    """Take down where tracing turns tensors into numbers and branches of Python, which stay as they are then.

    Args:
        baked: what is found is added: `Tensor to a Python number at model.py:12`.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", TracerWarning)
        yield
    found: dict[str, None] = {}
    for each in caught:
        if issubclass(each.category, TracerWarning):
            found.setdefault(f"{_told(str(each.message))}{_at((each.filename, each.lineno))}")
    baked += _few(found)


def _told(message: str) -> str:
    """Give the first words of a warning of the tracer: what became of a tensor."""
    first = message.partition(" might cause")[0].partition(". ")[0]
    if "registered as constants" in first:
        return f"{first.partition(' ')[0]} as a constant"
    return first.removeprefix("Converting ").removeprefix("a ").strip()


def _few(places: Collection[str]) -> tuple[str, ...]:
    listed, more = list(places)[:MOST], len(places) - MOST
    return (*listed, *([f"and {more:,} more"] if more > 0 else []))


def _devices(tree: Any) -> set[torch.device]:
    return {tensor.device for _, tensor in tensors(tree)}


def _at(line: tuple[str, int] | None) -> str:
    return f" at {Path(line[0]).name}:{line[1]}" if line is not None else ""


def uncompiled() -> AbstractContextManager[None]:
    """Let what torch has compiled in place run as it is written; without `torch.compile` there is nothing to do."""
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    stance: AbstractContextManager[None] = torch.compiler.set_stance("force_eager")
    return stance

"""A float64 copy of a side: the same weights and inputs, one cast up, for both sides to be judged by."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from libbench.errors import LibbenchError
from libbench.interfaces import Batch, Compiled
from libbench.methods import method_of
from libbench.result import CompileFacts
from libbench.tree import map_tensors

DTYPE = "float64"

_WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex32: torch.complex128,
    torch.complex64: torch.complex128,
}
_TO_NARROW = (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16)
_CASTS: dict[Any, Any] = dict.fromkeys(_TO_NARROW, torch.Tensor.double)
_BITS = (torch.Tensor.view, torch.Tensor.view_as, torch.frombuffer)
"""Here a dtype says how bits are read, not how exact a value is."""
_TORCH = str(Path(torch.__file__).parent)


class Float64:
    """The compiler of the truth: casts the model and its inputs up, and runs them as they are.

    What the model itself asks to be narrower, as `x.float()` or `dtype=torch.float32`, is float64 too; the places are
    told as fallbacks. What is narrowed in spite of that is an error, because it would be no truth.
    """

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Cast the model, which is this side's own, and give a call that casts its inputs."""
        if isinstance(model, torch.nn.Module):
            lazy = [name for name, p in model.named_parameters() if torch.nn.parameter.is_lazy(p)]
            if lazy:
                raise LibbenchError(f"{lazy[0]} is made in the first call, where float64 would draw other numbers")
            model._apply(wider)  # type: ignore[no-untyped-call]
        call = method_of(model, method)
        lifted: dict[str, None] = {}

        def run(*args: Any, **kwargs: Any) -> Any:
            with _default_dtype(), _named(model), _Lifting(lifted), _Watching():  # type: ignore[no-untyped-call]
                return call(*map_tensors(wider, args), **map_tensors(wider, kwargs))

        version = f"{DTYPE} copy, eager, torch {torch.__version__}"
        return Compiled(run, version, lambda: CompileFacts(fallbacks=tuple(lifted)))


def wider(tensor: torch.Tensor) -> torch.Tensor:
    """Give a floating tensor as float64, a complex one as complex128, any other as it is."""
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.to(torch.float64) if tensor.is_floating_point() else tensor


class _Lifting(TorchFunctionMode):
    """Puts float64 in place of every narrower dtype that a call asks for."""

    def __init__(self, lifted: dict[str, None]) -> None:
        super().__init__()
        self._lifted = lifted

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _BITS:
            return func(*args, **kwargs)
        if func in _CASTS or any(_narrow(value) for value in (*args, *kwargs.values())):
            self._lifted[_place(traceback.walk_stack(sys._getframe()))] = None
            args = [_WIDE[value] if _narrow(value) else value for value in args]
            kwargs = {key: _WIDE[value] if _narrow(value) else value for key, value in kwargs.items()}
        return _CASTS.get(func, func)(*args, **kwargs)


class _Watching(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Raises where an operator makes something narrower of float64."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = (args, *(kwargs or {}).values())
        # Many that can draw do not: attention and dropout by a chance of 0, rrelu outside training.
        may_draw = torch.Tag.nondeterministic_seeded in func.tags
        before = _random_states(given) if may_draw else []
        out = func(*args, **(kwargs or {}))
        drew = may_draw and not all(map(torch.equal, before, _random_states(given)))
        if drew and any(t.is_floating_point() for t in _flat((out, given))):
            raise TypeError(f"{func} draws random numbers, and {DTYPE} draws others than the model's own dtype")
        narrow = next((tensor.dtype for tensor in _flat(out) if tensor.dtype in _WIDE), None)
        if narrow and any(tensor.dtype in _WIDE.values() for tensor in _flat(given)):
            raise TypeError(f"{func} makes {str(narrow).removeprefix('torch.')} of {DTYPE}")
        return out


def _random_states(given: tuple[Any, ...]) -> list[torch.Tensor]:
    """Give the states of the generators that a call may draw from: torch's own, and one that it is given."""
    gpus = torch.cuda.default_generators if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call]
    positional, *named = given
    brought = [each for each in (*positional, *named) if isinstance(each, torch.Generator)]
    return [generator.get_state() for generator in (torch.default_generator, *gpus, *brought)]


def _narrow(value: Any) -> bool:
    return isinstance(value, torch.dtype) and value in _WIDE


def _flat(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _flat(each)


@contextmanager
def _default_dtype() -> Iterator[None]:
    """Make float64 what a tensor is whose dtype is not said."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def _named(model: Any) -> Iterator[None]:
    """Add to an exception the module and the line at which the float64 copy came to its end."""
    try:
        yield
    except Exception as error:
        steps = list(traceback.walk_tb(error.__traceback__))[::-1]
        names = {id(m): n for n, m in model.named_modules()} if isinstance(model, torch.nn.Module) else {}
        inside = next((s for frame, _ in steps if id(s := frame.f_locals.get("self")) in names), None)
        if inside is not None:
            error.add_note(f"in {names[id(inside)] or 'the model itself'}, a {type(inside).__qualname__}")
        error.add_note(_place(steps))
        raise


def _place(steps: Iterable[tuple[FrameType, int]]) -> str:
    """Give the innermost line of the model's own, or of torch where it has none; `steps` go from the inside out."""
    first = None
    for frame, line in steps:
        file = frame.f_code.co_filename
        if file == __file__:
            if first is None or frame.f_code.co_name != "run":
                continue
            break
        first = first or (file, line)
        if not file.startswith(_TORCH):
            first = file, line
            break
    return f"at {Path(first[0]).name}:{first[1]}: {linecache.getline(*first).strip()}" if first else ""

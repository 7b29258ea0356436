"""A side's call on one batch, to be made again, with its compiler or without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

from libbench.interfaces import Batch
from libbench.locate.capture import Runnable
from libbench.methods import method_of
from libbench.side import Side
from libbench.tree import own_copy


def runnable(side: Side, batch: Batch, plain: bool) -> Runnable:
    """Give what a side's workload calls on a batch.

    Args:
        plain: whether it is called as it is without the side's compiler.
    """
    workload, model = side.parts.workload, side.parts.model
    taken: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def take(*args: Any, **kwargs: Any) -> Any:
        taken.append((args, kwargs))
        raise _Taken

    with suppress(_Taken):
        workload.step(take, side.fresh(batch))
    call = _uncompiled(model, method_of(model, workload.method)) if plain else side.compiled.call

    def run(*args: Any, **kwargs: Any) -> Any:
        with side.kernels():
            return call(*args, **kwargs)

    return Runnable(model, run, lambda: own_copy(taken[0]), kernels=side.kernels)


class _Taken(Exception):
    """What a workload calls has been called; the rest of its step is not wanted."""


def _uncompiled(model: Any, method: Callable[..., Any]) -> Callable[..., Any]:
    """Give a method that runs as it is written where its model was compiled in place."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with _taken_out(model):
            return method(*args, **kwargs)

    return call if _compiled_in_place(model) else method


def _compiled_in_place(model: Any) -> list[torch.nn.Module]:
    modules = model.modules() if isinstance(model, torch.nn.Module) else ()
    return [module for module in modules if module._compiled_call_impl is not None]


@contextmanager
def _taken_out(model: Any) -> Iterator[None]:
    kept = [(module, module._compiled_call_impl) for module in _compiled_in_place(model)]
    for module, _ in kept:
        module._compiled_call_impl = None
    try:
        yield
    finally:
        for module, compiled in kept:
            module._compiled_call_impl = compiled

"""A side's call on one batch, to be made again, with its compiler or without."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import Any

from libbench.creation import uncompiled
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
    call = method_of(model, workload.method) if plain else side.compiled.call

    def run(*args: Any, **kwargs: Any) -> Any:
        # The method of a model that was compiled in place would be compiled, too.
        with side.kernels(), uncompiled() if plain else nullcontext():
            return call(*args, **kwargs)

    return Runnable(model, run, lambda: own_copy(taken[0]), kernels=side.kernels)


class _Taken(Exception):
    """What a workload calls has been called; the rest of its step is not wanted."""

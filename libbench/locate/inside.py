"""One call of a module, taken out of the call of the model that it is made in."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from libbench.errors import LibbenchError
from libbench.locate.autocasting import Autocast
from libbench.locate.capture import Runnable
from libbench.locate.modules import state_put_back
from libbench.locate.watching import Call, watched
from libbench.tree import own_copy


def inside(sides: tuple[Runnable, Runnable], key: tuple[str, int]) -> tuple[Runnable, Runnable]:
    """Give what stands for a call of both models at one of their modules' calls, each with its own inputs.

    Args:
        key: path of the module, and which of its calls.

    Raises:
        LibbenchError: a side makes no such call.
    """
    return _taken(sides[0], key), _taken(sides[1], key)


def _taken(side: Runnable, key: tuple[str, int]) -> Runnable:
    found: list[tuple[Call, Any, Autocast]] = []

    def take(call: Call) -> None:
        if call.key == key:
            found.append((call, own_copy((call.args, call.kwargs)), Autocast.now()))

    args, kwargs = side.inputs()
    with watched(side.model, take), state_put_back(side.model):
        side.call(*args, **kwargs)
    if not found:
        raise LibbenchError(f"{key[0]} has no call {key[1]}")
    call, inputs, state = found[0]

    def run(*args: Any, **kwargs: Any) -> Any:
        # An exported graph has a place for autocast even where it is off.
        with side.kernels(), state.entered() if state.enabled else nullcontext():
            return call.module(*args, **kwargs)

    return Runnable(call.module, run, lambda: own_copy(inputs), state, side.kernels)

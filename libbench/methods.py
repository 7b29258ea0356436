"""Finding the method of a model that a workload names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from libbench.errors import LibbenchError, did_you_mean


def method_of(model: Any, method: str) -> Callable[..., Any]:
    """Give what is called: for "forward" the model itself, so that its hooks run and any callable will do.

    Raises:
        LibbenchError: the model has no such method.
    """
    call = model if method == "forward" else getattr(model, method, None)
    if not callable(call):
        hint = did_you_mean(method, [name for name in dir(model) if not name.startswith("_")])
        raise LibbenchError(f"{type(model).__qualname__} has no method {method!r}{hint}")
    return cast(Callable[..., Any], call)

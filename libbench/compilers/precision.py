"""Another floating dtype, with nothing compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from libbench.interfaces import Batch, Compiled
from libbench.methods import method_of
from libbench.tree import map_tensors, tensors


class Precision:
    """Runs the model in another floating dtype. Its outputs are left in the dtype in which they come.

    Args:
        dtype: a floating dtype, such as `torch.bfloat16`.
        autocast: False casts the weights and the floating inputs; True leaves both and lets torch choose, operator
            by operator, under `torch.autocast`.
    """

    def __init__(self, dtype: torch.dtype, autocast: bool = False) -> None:
        if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
            raise ValueError(f"dtype must be a floating torch dtype, got {dtype!r}")
        self.dtype = dtype
        self.autocast = autocast

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Cast the model, which is this side's own, and give a call that casts its inputs."""
        call = method_of(model, method)
        if self.autocast:
            kind = next((t.device.type for _, t in tensors(example.inputs)), "cpu")
            wrapped = _under_autocast(call, kind, self.dtype)
        else:
            if isinstance(model, torch.nn.Module):
                model.to(self.dtype)
            wrapped = _with_cast_inputs(call, self.dtype)
        name = str(self.dtype).removeprefix("torch.") + (" autocast" if self.autocast else "")
        return Compiled(wrapped, f"{name}, torch {torch.__version__}")


def _under_autocast(call: Callable[..., Any], kind: str, dtype: torch.dtype) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        with torch.autocast(kind, dtype=dtype):
            return call(*args, **kwargs)

    return run


def _with_cast_inputs(call: Callable[..., Any], dtype: torch.dtype) -> Callable[..., Any]:
    def cast(tensor: torch.Tensor) -> torch.Tensor:
        return tensor.to(dtype) if tensor.is_floating_point() else tensor

    def run(*args: Any, **kwargs: Any) -> Any:
        return call(*map_tensors(cast, args), **map_tensors(cast, kwargs))

    return run

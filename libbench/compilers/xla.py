"""XLA, by way of torch_xla's lazy tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from libbench.errors import UnavailableError, UnsupportedError
from libbench.interfaces import Batch, Compiled
from libbench.methods import method_of
from libbench.optional import need
from libbench.result import CompileFacts
from libbench.tree import map_tensors, tensors


class Xla:
    """Runs the workload's method on a device of XLA, which compiles what a call has recorded; inputs are taken there.

    Outputs are brought back to where the inputs were. What XLA cannot run, torch runs on the CPU; it is named as a
    fallback.
    """

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Take the model to XLA's device; compilation happens in the calls.

        Raises:
            MissingPackageError: torch_xla is not installed.
            UnavailableError: torch_xla finds no device.
            UnsupportedError: the model is no module.
        """
        xla = need("torch_xla", extra=None, purpose="running a model by XLA")
        metrics = need("torch_xla.debug.metrics", extra=None, purpose="running a model by XLA")
        if not isinstance(model, torch.nn.Module):
            raise UnsupportedError(f"only a torch.nn.Module can be taken to XLA, got a {type(model).__qualname__}")
        try:
            device = xla.device()
        except RuntimeError as error:
            raise UnavailableError(f"torch_xla finds no device: {error}") from error
        model.to(device)
        home = next((tensor.device for _, tensor in tensors(example.inputs)), torch.device("cpu"))
        call = _there_and_back(xla, method_of(model, method), device, home)
        metrics.clear_all()
        return Compiled(call, f"torch_xla {xla.__version__}, torch {torch.__version__}", lambda: _facts(metrics))


def _there_and_back(xla: Any, call: Callable[..., Any], device: torch.device, home: torch.device) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = map_tensors(lambda tensor: tensor.to(device), (args, kwargs))
        outputs = call(*args, **kwargs)
        xla.sync()
        return map_tensors(lambda tensor: tensor.to(home), outputs)

    return run


def _facts(metrics: Any) -> CompileFacts:
    compiled, ran = (metrics.metric_data(name) for name in ("CompileTime", "ExecuteTime"))
    return CompileFacts(
        graphs=compiled[0] if compiled else 0,
        # Each of its counters with such a name is an operator that was run on the CPU.
        fallbacks=tuple(name for name in metrics.counter_names() if name.startswith("aten::")),
        calls=ran[0] if ran else 0,
    )

"""The graph that `torch.export` records, run operator by operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from libbench.flat import Flat
from libbench.interfaces import Batch, Compiled
from libbench.traced import Built, Traced, exported, sizes_of


class TorchExport:
    """Runs the graph that `torch.export` records of the workload's method.

    Args:
        dynamic: False records a graph for each shape of the inputs, True lets sizes vary from the first graph on, None
            from the second.
    """

    def __init__(self, dynamic: bool | None = None) -> None:
        self.dynamic = dynamic

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Export the method for the example.

        Raises:
            UnsupportedError: the method cannot be exported.
        """
        traced = Traced("torch.export", model, method, _build, dynamic=self.dynamic, stateful=True)
        return traced.compiled(example, f"torch.export, torch {torch.__version__}")


def _build(flat: Flat, examples: Sequence[torch.Tensor], dynamic: bool) -> Built:
    program = exported(flat, examples, dynamic)
    call = program.module()
    return Built(lambda tensors: call(*tensors), sizes_of(program))

"""TensorRT, by way of Torch-TensorRT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from libbench.errors import UnavailableError
from libbench.flat import Flat
from libbench.interfaces import Batch, Compiled
from libbench.optional import need
from libbench.traced import Built, Traced, converted, exported, sizes_of


class TensorRT:
    """Exports the workload's method and compiles that by TensorRT, which needs an NVIDIA GPU.

    Operators that TensorRT does not take are run by torch, and named as fallbacks.

    Args:
        dynamic: False compiles for each shape of the inputs, True lets sizes vary from the first graph on, None from
            the second.
        settings: handed to `torch_tensorrt.dynamo.compile`, as `min_block_size=1`.
    """

    def __init__(self, dynamic: bool | None = None, **settings: Any) -> None:
        self.dynamic = dynamic
        self.settings = settings

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Compile the method for the example.

        Raises:
            MissingPackageError: Torch-TensorRT is not installed.
            UnavailableError: there is no NVIDIA GPU.
            UnsupportedError: the method cannot be exported or compiled.
        """
        tensorrt = need("torch_tensorrt", extra=None, purpose="compiling a model by TensorRT")
        if not torch.cuda.is_available():
            raise UnavailableError("TensorRT needs an NVIDIA GPU, and torch sees none here")

        def build(flat: Flat, examples: Sequence[torch.Tensor], dynamic: bool) -> Built:
            program = exported(flat, examples, dynamic)
            module = converted(
                program, lambda program: tensorrt.dynamo.compile(program, inputs=list(examples), **self.settings)
            )
            return Built(lambda tensors: module(*tensors), sizes_of(program), fallbacks=_left_to_torch(module))

        traced = Traced("TensorRT", model, method, build, dynamic=self.dynamic)
        return traced.compiled(example, f"Torch-TensorRT {tensorrt.__version__}, torch {torch.__version__}")


def _left_to_torch(module: torch.fx.GraphModule) -> tuple[str, ...]:
    """Name the operators outside the engines: those of the graph itself, and of parts that are graphs still."""
    graphs = [each for each in module.modules() if isinstance(each, torch.fx.GraphModule)]
    nodes = [node for graph in graphs for node in graph.graph.nodes if node.op == "call_function"]
    return tuple(dict.fromkeys(str(node.target) for node in nodes if isinstance(node.target, torch._ops.OpOverload)))

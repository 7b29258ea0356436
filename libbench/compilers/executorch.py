"""ExecuTorch, with what XNNPACK takes of a graph handed to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from libbench.flat import Flat
from libbench.interfaces import Batch, Compiled
from libbench.optional import need
from libbench.traced import Built, Run, Traced, converted, exported, quiet

_OWN = ("alloc", "getitem", "Total")
"""Rows of ExecuTorch's table that are no operators."""


class ExecuTorch:
    """Exports the workload's method, lowers that to an ExecuTorch program, and runs it, for each shape anew.

    Operators that XNNPACK does not take are run by ExecuTorch's own portable kernels, and named as fallbacks.
    """

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Compile the method for the example.

        Raises:
            MissingPackageError: ExecuTorch is not installed.
            UnsupportedError: the method cannot be exported or lowered.
        """
        purpose = "compiling a model by ExecuTorch"
        with quiet():
            exir = need("executorch.exir", extra="executorch", purpose=purpose)
            name = "executorch.backends.xnnpack.partition.xnnpack_partitioner"
            xnnpack = need(name, extra="executorch", purpose=purpose)
            devtools = need("executorch.devtools.backend_debug", extra="executorch", purpose=purpose)
            runtime = need("executorch.runtime", extra="executorch", purpose=purpose)
            version = need("executorch.version", extra="executorch", purpose=purpose)

        def convert(program: torch.export.ExportedProgram) -> tuple[Any, bytes]:
            lowered = exir.to_edge_transform_and_lower(program, partitioner=[xnnpack.XnnpackPartitioner()])
            return lowered, lowered.to_executorch().buffer

        def build(flat: Flat, examples: Sequence[torch.Tensor], dynamic: bool) -> Built:
            lowered, program = converted(exported(flat, examples, dynamic), convert)
            info = devtools.get_delegation_info(lowered.exported_program().graph_module)
            return Built(_run(runtime, program), fallbacks=_fallbacks(info), artefact_bytes=len(program))

        traced = Traced("ExecuTorch", model, method, build, dynamic=False)
        return traced.compiled(example, f"ExecuTorch {version.__version__} XNNPACK, torch {torch.__version__}")


def _run(runtime: Any, program: bytes) -> Run:
    loaded = runtime.Runtime.get().load_program(program)
    # A method keeps neither its program alive nor the bytes of that.
    held = program, loaded, loaded.load_method("forward")

    def run(tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        found = held[-1].execute([tensor.contiguous() for tensor in tensors])
        # Outputs lie where the program plans its memory, which the next call overwrites.
        return [each.clone() for each in found]

    return run


def _fallbacks(info: Any) -> tuple[str, ...]:
    table = info.get_operator_delegation_dataframe()
    rows = zip(table["op_type"], table["occurrences_in_non_delegated_graphs"], strict=True)
    return tuple(name for name, count in rows if count and name not in _OWN)

"""Apache TVM, without tuning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from libbench.flat import Flat
from libbench.interfaces import Batch, Compiled
from libbench.optional import need
from libbench.traced import Built, Run, Traced, converted, exported, quiet

_ALIGNMENT = 64
"""Bytes; TVM reads no tensor that begins elsewhere."""


class Tvm:
    """Exports the workload's method, compiles that by TVM, and runs it, for each shape anew.

    Nothing is tuned, so that large models are slow.

    Args:
        target: as TVM names it, such as "llvm".
    """

    def __init__(self, target: str = "llvm") -> None:
        self.target = target

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Compile the method for the example.

        Raises:
            MissingPackageError: TVM is not installed.
            UnsupportedError: the method cannot be exported or compiled.
        """
        with quiet():
            tvm = need("tvm", extra="tvm", purpose="compiling a model by TVM")
            frontend = need("tvm.relax.frontend.torch", extra="tvm", purpose="compiling a model by TVM")

        def convert(program: torch.export.ExportedProgram) -> Any:
            module = frontend.from_exported_program(program)
            return tvm.compile(module, target=tvm.target.Target(self.target))

        def build(flat: Flat, examples: Sequence[torch.Tensor], dynamic: bool) -> Built:
            executable = converted(exported(flat, examples, dynamic), convert)
            return Built(_run(tvm, executable), artefact_bytes=_size(executable))

        traced = Traced("TVM", model, method, build, dynamic=False)
        return traced.compiled(example, f"TVM {tvm.__version__} {self.target}, torch {torch.__version__}")


def _run(tvm: Any, executable: Any) -> Run:
    tvm.get_global_func("runtime.config_threadpool")(1, torch.get_num_threads())
    machine = tvm.relax.VirtualMachine(executable, tvm.cpu())
    call = machine["main"]

    def run(tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        found = call(*[tvm.runtime.from_dlpack(_aligned(tensor)) for tensor in tensors])
        return [torch.utils.dlpack.from_dlpack(each) for each in found]

    return run


def _aligned(tensor: torch.Tensor) -> torch.Tensor:
    plain = tensor.detach().contiguous()
    return plain.clone() if plain.data_ptr() % _ALIGNMENT else plain


def _size(executable: Any) -> int:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.so"
        executable.export_library(str(file))
        return file.stat().st_size

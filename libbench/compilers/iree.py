"""IREE: compiled by MLIR to machine code of the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from libbench.flat import Flat
from libbench.interfaces import Batch, Compiled
from libbench.optional import need
from libbench.traced import Built, Run, Traced, converted, exported

_ERRORS = Path("/proc/self/fd/2")


class Iree:
    """Exports the workload's method, compiles that by IREE for this machine's CPU, and runs it, for each shape anew.

    With one thread it runs in the caller's, else in as many as torch has. bfloat16 tensors, which NumPy does not have,
    cross its border as float32, which is exact.
    """

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Compile the method for the example.

        Raises:
            MissingPackageError: one of IREE's packages is not installed.
            UnsupportedError: the method cannot be exported or compiled.
        """
        aot = need("iree.turbine.aot", extra="iree", purpose="compiling a model by IREE")
        decompositions = need("iree.turbine.aot.decompositions", extra="iree", purpose="compiling a model by IREE")
        compiler = need("iree.compiler.version", extra="iree", purpose="compiling a model by IREE")
        runtime = need("iree.runtime", extra="iree", purpose="running a model by IREE")

        def convert(program: torch.export.ExportedProgram) -> bytes:
            # Its importer takes no operators that work in place, and fewer than torch exports.
            operators = torch.export.default_decompositions()
            operators.update(decompositions.current_aot_decompositions())  # type: ignore[no-untyped-call]
            output = aot.export(program.run_decompositions(operators))
            # By itself it makes float32 of float64.
            output.session.set_flags("--iree-llvmcpu-target-cpu=host", "--iree-input-demote-f64-to-f32=false")
            begin = _written()
            try:
                return bytes(output.compile(save_to=None, target_backends="llvm-cpu").map_memory())
            except RuntimeError as error:
                raise RuntimeError(_diagnosis(begin) or str(error)) from None

        def build(flat: Flat, examples: Sequence[torch.Tensor], dynamic: bool) -> Built:
            code = converted(exported(flat, examples, dynamic), convert)
            return Built(_run(runtime, code), artefact_bytes=len(code))

        carry = {torch.bfloat16: torch.float32}
        traced = Traced("IREE", model, method, build, dynamic=False, carry=carry)
        return traced.compiled(example, f"IREE {compiler.VERSION} llvm-cpu, torch {torch.__version__}")


def _written() -> int:
    """Give how much standard error holds; 0 where it is no file."""
    return _ERRORS.stat().st_size if _ERRORS.is_file() else 0


def _diagnosis(begin: int) -> str:
    """Give the errors that IREE has written to standard error since, the only place where it says what is wrong."""
    if not _ERRORS.is_file():
        return ""
    with _ERRORS.open("rb") as file:
        file.seek(begin)
        lines = file.read().decode(errors="replace").splitlines()
    return "\n".join(line.partition("error: ")[2] for line in lines if "error: " in line)


def _run(runtime: Any, code: bytes) -> Run:
    threads = torch.get_num_threads()
    if threads > 1:
        runtime.flags.parse_flags(f"--task_topology_max_group_count={threads}")
    context = runtime.SystemContext(config=runtime.Config("local-sync" if threads == 1 else "local-task"))
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
    call = context.modules.module.main

    def run(tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        found = call(*[tensor.detach().cpu().numpy() for tensor in tensors])
        results = found if isinstance(found, list | tuple) else [found]
        return [torch.from_numpy(each.to_host()) for each in results]

    return run

"""AOTInductor: exported, compiled to a package of machine code, and loaded from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from libbench.flat import Flat
from libbench.inductor import Rng, check_rng, is_cold, require_cxx, with_rng
from libbench.interfaces import Batch, Compiled
from libbench.traced import Built, Traced, converted, exported, quiet, sizes_of


class AOTInductor:
    """Exports the workload's method, compiles it ahead of time to a package, and runs what is loaded from that.

    Args:
        options: settings of inductor, such as `{"max_autotune": True}`.
        dynamic: False compiles for each shape of the inputs, True lets sizes vary from the first graph on, None from
            the second.
        rng: as for `TorchCompile`.
    """

    def __init__(
        self, options: Mapping[str, Any] | None = None, dynamic: bool | None = None, rng: Rng = "native"
    ) -> None:
        check_rng(rng)
        self.rng = rng
        self.options = options
        self.dynamic = dynamic

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Compile the method for the example.

        Raises:
            UnavailableError: there is no C++ compiler, which this needs on a CPU.
            UnsupportedError: the method cannot be exported or compiled.
        """
        require_cxx()
        cold = is_cold()
        traced = Traced("AOTInductor", model, method, self._build, dynamic=self.dynamic)
        return traced.compiled(example, f"AOTInductor, torch {torch.__version__}", cold)

    def _build(self, flat: Flat, examples: Sequence[torch.Tensor], dynamic: bool) -> Built:
        program = exported(flat, examples, dynamic)
        options = with_rng(self.options, self.rng)
        with TemporaryDirectory() as folder, quiet():
            path = str(Path(folder) / "model.pt2")
            file = converted(
                program,
                lambda program: torch._inductor.aoti_compile_and_package(
                    program, package_path=path, inductor_configs=options
                ),
            )
            size = Path(file).stat().st_size
            loaded = torch._inductor.aoti_load_package(file)
        return Built(lambda tensors: loaded(*tensors), sizes_of(program), artefact_bytes=size)

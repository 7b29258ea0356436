"""`torch.compile`, with any of its backends."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from libbench.errors import UnavailableError
from libbench.interfaces import Batch, Compiled
from libbench.methods import method_of
from libbench.result import CompileFacts

_MACHINE_CODE = (".so", ".cubin", ".hsaco")


class TorchCompile:
    """Compiles the workload's method by `torch.compile`; the arguments are torch's own.

    Compilation happens in the first call. For inductor the facts of a cold cache hold only when
    `TORCHINDUCTOR_CACHE_DIR` names this side's own folder, as a session sets it.

    Args:
        backend: name of a backend, or a callable.
        mode: such as "default", "reduce-overhead", "max-autotune"; not together with `options`.
        options: settings of the backend, such as `{"freezing": True}`.
        dynamic: True, False, or None to let torch find out.
        fullgraph: True makes a graph break an error.
    """

    def __init__(
        self,
        backend: str | Callable[..., Any] = "inductor",
        mode: str | None = None,
        options: Mapping[str, Any] | None = None,
        dynamic: bool | None = None,
        fullgraph: bool = False,
    ) -> None:
        if mode is not None and options is not None:
            raise ValueError(f"mode and options cannot both be given, got {mode!r} and {options!r}")
        self.backend = backend
        self.mode = mode
        self.options = options
        self.dynamic = dynamic
        self.fullgraph = fullgraph

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Give the optimised method; nothing is traced before its first call.

        Raises:
            UnavailableError: inductor is asked for on a CPU without a C++ compiler.
        """
        inductor = self.backend == "inductor"
        if inductor and not torch.cuda.is_available():
            _require_cxx()
        call = torch.compile(
            method_of(model, method),
            backend=self.backend,
            mode=self.mode,
            options=dict(self.options) if self.options is not None else None,
            dynamic=self.dynamic,
            fullgraph=self.fullgraph,
        )
        name = self.backend if isinstance(self.backend, str) else getattr(self.backend, "__name__", "callable")
        return Compiled(
            call,
            version=f"torch.compile {name}, torch {torch.__version__}",
            facts=_facts(),
            cold=_cold() if inductor else None,
            # Otherwise a later side with the same code is served from here, and seems not to have been compiled.
            release=torch.compiler.reset,
        )


def _facts() -> Callable[[], CompileFacts]:
    """Count from here what dynamo counts for the whole process."""
    from torch._dynamo import convert_frame
    from torch._dynamo.utils import counters

    def count() -> tuple[int, int, int]:
        compiled = getattr(convert_frame, "FRAME_COMPILE_COUNTER", {})  # by frame, since torch 2.0
        again = sum(times - 1 for times in compiled.values())
        return counters["stats"]["unique_graphs"], sum(counters["graph_break"].values()), again

    before, folder = count(), _cache()
    known = _library_bytes(folder)
    last = CompileFacts(0, 0, 0)

    def facts() -> CompileFacts:
        nonlocal last
        graphs, breaks, recompiles = (now - then for now, then in zip(count(), before, strict=True))
        # The folder is looked into only when something was compiled: this is asked between timed calls, too.
        size = last.artefact_bytes if graphs == last.graphs else (_library_bytes(folder) - known) or None
        last = CompileFacts(graphs=graphs, breaks=breaks, recompiles=recompiles, artefact_bytes=size)
        return last

    return facts


def _cache() -> Path | None:
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    return None if folder is None else Path(folder)


def _library_bytes(folder: Path | None) -> int:
    """Give the size of the machine code in a cache folder; 0 where there is none."""
    if folder is None or not folder.is_dir():
        return 0
    return sum(file.stat().st_size for file in folder.rglob("*") if file.suffix in _MACHINE_CODE)


def _cold() -> bool | None:
    folder = _cache()
    return None if folder is None else not folder.is_dir() or not any(folder.iterdir())


def _require_cxx() -> None:
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler as error:
        raise UnavailableError("inductor needs a C++ compiler such as g++, and none is on the PATH") from error

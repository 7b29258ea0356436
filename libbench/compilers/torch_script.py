"""TorchScript: a traced or a scripted model."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import Any, Literal, get_args

import torch

from libbench.creation import told_of_numbers
from libbench.errors import UnsupportedError
from libbench.flat import Flat
from libbench.interfaces import Batch, Compiled
from libbench.result import CompileFacts
from libbench.traced import Built, Counted, Traced, explained, quiet

How = Literal["trace", "script"]


class TorchScript:
    """Runs the workload's method as TorchScript, which torch no longer develops.

    Args:
        how: "trace" records what a call does, once for each shape of the inputs; "script" translates the source.
        frozen: whether weights become constants and the graph is optimised for inference; the model must be in eval
            mode.
    """

    def __init__(self, how: How = "trace", frozen: bool = False) -> None:
        if how not in get_args(How):
            raise ValueError(f"how must be 'trace' or 'script', got {how!r}")
        self.how = how
        self.frozen = frozen

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Trace the method for the example, or script it.

        Raises:
            UnsupportedError: the method cannot be traced or scripted.
        """
        version = f"TorchScript {self.how}, torch {torch.__version__}"
        if self.how == "trace":
            traced = Traced("torch.jit.trace", model, method, self._trace, dynamic=False, stateful=not self.frozen)
            return traced.compiled(example, version)
        return self._scripted(model, method, version)

    def _trace(self, flat: Flat, examples: Sequence[torch.Tensor], dynamic: bool) -> Built:
        baked: list[str] = []
        with quiet():
            with told_of_numbers(baked):
                # Its own check calls the model again, which a model that draws at random does not stand.
                script = torch.jit.trace(flat, tuple(examples), check_trace=False)  # type: ignore[no-untyped-call]
            script = self._frozen(script)
            return Built(lambda tensors: script(*tensors), artefact_bytes=_size(script), baked=tuple(baked))

    def _scripted(self, model: Any, method: str, version: str) -> Compiled:
        with quiet(), explained("torch.jit.script"):
            script = self._frozen(torch.jit.script(model), [] if method == "forward" else [method])
            call = script if method == "forward" else getattr(script, method, None)
            size = _size(script)
        if call is None:
            raise UnsupportedError(
                f"torch.jit.script compiles forward, and {method!r} only if marked by torch.jit.export"
            )
        counted = Counted(call)
        return Compiled(counted, version, lambda: CompileFacts(graphs=1, artefact_bytes=size, calls=counted.calls))

    def _frozen(self, script: Any, methods: Sequence[str] = ()) -> Any:
        if not self.frozen:
            return script
        return torch.jit.freeze(script, preserved_attrs=list(methods))


def _size(script: Any) -> int:
    buffer = BytesIO()
    torch.jit.save(script, buffer)
    return buffer.getbuffer().nbytes

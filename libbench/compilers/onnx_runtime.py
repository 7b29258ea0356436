"""ONNX Runtime, by way of an ONNX file that torch exports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args

import torch

from libbench.errors import UnavailableError, UnsupportedError, did_you_mean
from libbench.flat import Flat
from libbench.interfaces import Batch, Compiled
from libbench.optional import need
from libbench.traced import Built, Run, Traced, converted, exported, sizes_of

Level = Literal["disabled", "basic", "extended", "all"]
_LEVELS = {"disabled": "ORT_DISABLE_ALL", "basic": "ORT_ENABLE_BASIC", "extended": "ORT_ENABLE_EXTENDED"}


class OnnxRuntime:
    """Exports the workload's method to ONNX and runs that; inputs are bound by the names of the method's parameters.

    A session has as many threads as torch. bfloat16 tensors, which NumPy does not have, cross its border as float32,
    which is exact.

    Args:
        providers: what runs the graph, the preferred one first, as ONNX Runtime names them.
        opset: version of the ONNX operators; None: what torch exports by itself.
        level: how far ONNX Runtime optimises the graph: "disabled", "basic", "extended" or "all".
        dynamic: False exports for each shape of the inputs, True lets sizes vary from the first graph on, None from
            the second.
    """

    def __init__(
        self,
        providers: Sequence[str] = ("CPUExecutionProvider",),
        opset: int | None = None,
        level: Level = "all",
        dynamic: bool | None = None,
    ) -> None:
        if level not in get_args(Level):
            raise ValueError(f"level must be one of {', '.join(get_args(Level))}, got {level!r}")
        if isinstance(providers, str) or not providers:
            raise ValueError(f"providers must be a list of at least one name, got {providers!r}")
        self.providers = tuple(providers)
        self.opset = opset
        self.level = level
        self.dynamic = dynamic

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Export the method for the example, and open a session.

        Raises:
            MissingPackageError: onnxruntime, onnx or onnxscript is not installed.
            UnavailableError: the installed ONNX Runtime has not one of the providers.
            UnsupportedError: the method cannot be exported, or does what ONNX cannot express.
        """
        for package in ("onnx", "onnxscript"):
            need(package, extra="onnx", purpose="exporting a model to ONNX")
        runtime = need("onnxruntime", extra="onnx", purpose="running a model by ONNX Runtime")
        _require(self.providers, runtime.get_available_providers())
        carry = {torch.bfloat16: torch.float32}
        traced = Traced("ONNX", model, method, self._build, dynamic=self.dynamic, carry=carry)
        by = ", ".join(name.removesuffix("ExecutionProvider") for name in self.providers)
        return traced.compiled(example, f"ONNX Runtime {runtime.__version__} {by}, torch {torch.__version__}")

    def milder(self) -> Iterator[tuple[str, OnnxRuntime]]:
        """Give this with less optimisation of the graph, step by step."""
        levels = get_args(Level)
        for level in reversed(levels[: levels.index(self.level)]):
            changed = copy(self)
            changed.level = level
            yield f"compiler.level={level}", changed

    def _build(self, flat: Flat, examples: Sequence[torch.Tensor], dynamic: bool) -> Built:
        program = exported(flat, examples, dynamic)
        results = [f"output_{i}" for i in range(len(flat.results))]
        onnx, session, size = converted(program, partial(self._converted, names=flat.names, results=results))
        note = f"opset {onnx.model.opset_imports['']}"
        return Built(_run(session, flat.names, results), sizes_of(program), artefact_bytes=size, notes=(note,))

    def _converted(
        self, program: torch.export.ExportedProgram, names: Sequence[str], results: Sequence[str]
    ) -> tuple[Any, Any, int]:
        """Give a program in ONNX, a session that runs that, and its bytes."""
        with TemporaryDirectory() as folder:
            file = Path(folder) / "model.onnx"
            onnx = torch.onnx.export(
                program,
                input_names=names,
                output_names=results,
                opset_version=self.opset,
                dynamo=True,
                verbose=False,
            )
            if onnx is None:
                raise UnsupportedError("torch gave no ONNX program")
            onnx.save(file)
            return onnx, self._session(file), sum(each.stat().st_size for each in Path(folder).iterdir())

    def _session(self, file: Path) -> Any:
        runtime = need("onnxruntime", extra="onnx", purpose="running a model by ONNX Runtime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.graph_optimization_level = getattr(
            runtime.GraphOptimizationLevel, _LEVELS.get(self.level, "ORT_ENABLE_ALL")
        )
        # Its threads would go on spinning after a call, into the other side's.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        return runtime.InferenceSession(str(file), options, providers=list(self.providers))


def _require(wanted: Sequence[str], there: Sequence[str]) -> None:
    for name in wanted:
        if name not in there:
            hint = did_you_mean(name, there)
            raise UnavailableError(f"ONNX Runtime has no provider {name!r} here, only {', '.join(there)}{hint}")


def _run(session: Any, names: Sequence[str], results: Sequence[str]) -> Run:
    # The export drops inputs that the model does not use.
    used = {each.name for each in session.get_inputs()}
    places = [(name, place) for place, name in enumerate(names) if name in used]

    def run(tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        feeds = {name: tensors[place].detach().cpu().numpy() for name, place in places}
        return [torch.from_numpy(array) for array in session.run(results, feeds)]

    return run

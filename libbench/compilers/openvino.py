"""OpenVINO."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from types import ModuleType
from typing import Any, Literal, get_args

import torch

from libbench.errors import UnavailableError
from libbench.flat import Flat
from libbench.interfaces import Batch, Compiled
from libbench.optional import need
from libbench.traced import Built, Run, Traced, converted, exported, sizes_of

Precision = Literal["f32", "f16", "bf16"]


class OpenVino:
    """Converts the workload's method and runs that; it has as many threads as torch.

    Without a `precision`, OpenVINO chooses one by the machine: on some CPUs it computes a float32 model in bfloat16, in
    which results have some three digits. The precision that operators were run in is told with the facts. int64 is
    computed in 32 bits. bfloat16 tensors, which NumPy does not have, cross its border as float32, which is exact.

    Args:
        precision: "f32", "f16" or "bf16", in which floating operators may compute; None leaves it to OpenVINO.
        target: the device, as OpenVINO names it.
        dynamic: False converts for each shape of the inputs, True lets sizes vary from the first graph on, None from
            the second.
    """

    def __init__(self, precision: Precision | None = None, target: str = "CPU", dynamic: bool | None = None) -> None:
        if precision is not None and precision not in get_args(Precision):
            raise ValueError(f"precision must be one of {', '.join(get_args(Precision))} or None, got {precision!r}")
        self.precision = precision
        self.target = target
        self.dynamic = dynamic

    def compile(self, model: Any, example: Batch, method: str) -> Compiled:
        """Convert the method for the example, and compile that.

        Raises:
            MissingPackageError: openvino is not installed.
            UnavailableError: OpenVINO has no such device here.
            UnsupportedError: the method cannot be exported or converted.
        """
        openvino = _openvino()
        core = openvino.Core()
        if self.target not in core.available_devices:
            there = ", ".join(core.available_devices)
            raise UnavailableError(f"OpenVINO has no device {self.target!r} here, only {there}")

        def convert(program: torch.export.ExportedProgram) -> tuple[Any, Any]:
            found = openvino.convert_model(program)
            return found.get_ops(), core.compile_model(found, self.target, self._settings())

        def build(flat: Flat, examples: Sequence[torch.Tensor], dynamic: bool) -> Built:
            program = exported(flat, examples, dynamic)
            operators, compiled = converted(program, convert)
            size = sum(node.data.nbytes for node in operators if node.get_type_name() == "Constant")
            return Built(_run(compiled), sizes_of(program), artefact_bytes=size, notes=(_precisions(compiled),))

        carry = {torch.bfloat16: torch.float32}
        traced = Traced("OpenVINO", model, method, build, dynamic=self.dynamic, carry=carry)
        hint = core.get_property(self.target, "INFERENCE_PRECISION_HINT").to_string()
        precision = self.precision or f"{hint} by its own choice"
        version = f"OpenVINO {openvino.__version__.partition('-')[0]} {self.target}, precision {precision}"
        return traced.compiled(example, f"{version}, torch {torch.__version__}")

    def milder(self) -> Iterator[tuple[str, OpenVino]]:
        """Give this with operators that compute in float32."""
        if self.precision != "f32":
            changed = copy(self)
            changed.precision = "f32"
            yield "compiler.precision=f32", changed

    def _settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = {"INFERENCE_NUM_THREADS": torch.get_num_threads(), "NUM_STREAMS": 1}
        return settings if self.precision is None else {**settings, "INFERENCE_PRECISION_HINT": self.precision}


def _run(compiled: Any) -> Run:
    request = compiled.create_infer_request()
    outputs = range(len(compiled.outputs))

    def run(tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        # Outputs are copied: the next call overwrites the request's own.
        found = request.infer([tensor.detach().cpu().numpy() for tensor in tensors], share_inputs=True)
        return [torch.from_numpy(found[place]) for place in outputs]

    return run


def _precisions(compiled: Any) -> str:
    """Say in which precision how many of its operators are run."""
    found: Counter[str] = Counter()
    for node in compiled.get_runtime_model().get_ops():
        info = node.get_rt_info()
        if "runtimePrecision" in info and info["layerType"].astype(str) not in ("Input", "Output", "Const", "Reorder"):
            found[info["runtimePrecision"].astype(str)] += 1
    return "operators run in " + ", ".join(f"{name}: {count}" for name, count in found.most_common())


def _openvino() -> ModuleType:
    with _no_telemetry():
        return need("openvino", extra="openvino", purpose="running a model by OpenVINO")


@contextmanager
def _no_telemetry() -> Iterator[None]:
    """Keep OpenVINO from sending word of its use to its makers, as it does by default when it is imported."""
    name = "openvino_telemetry"
    known = name in sys.modules
    if not known:
        sys.modules[name] = None  # type: ignore[assignment]  # its import fails, and OpenVINO does without
    try:
        yield
    finally:
        if not known:
            del sys.modules[name]

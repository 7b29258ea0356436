"""Compilers by the names that GraphNet has for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from libbench.config import Call
from libbench.errors import ConfigError, did_you_mean
from libbench.graphnet.keys import NOTHING, Args, json_object


@dataclass(frozen=True)
class Known:
    """What stands behind a name: a class, and settings that go with the name."""

    target: str
    settings: Mapping[str, Any] = field(default_factory=dict)


_HERE = "libbench.compilers"
_TORCH = f"{_HERE}.torch_compile.TorchCompile"
COMPILERS: Mapping[str, Known] = {
    "nope": Known(f"{_HERE}.eager.Eager"),
    "eager": Known(f"{_HERE}.eager.Eager"),
    "inductor": Known(_TORCH, {"backend": "inductor"}),
    "aot_eager": Known(_TORCH, {"backend": "aot_eager"}),
    "tensorrt": Known(f"{_HERE}.tensorrt.TensorRT"),
    "tvm": Known(f"{_HERE}.tvm.Tvm"),
    "xla": Known(f"{_HERE}.xla.Xla"),
    "iree": Known(f"{_HERE}.iree.Iree"),
    "openvino": Known(f"{_HERE}.openvino.OpenVino"),
    "onnx_runtime": Known(f"{_HERE}.onnx_runtime.OnnxRuntime"),
    "aot_inductor": Known(f"{_HERE}.aot_inductor.AOTInductor"),
    "torch_export": Known(f"{_HERE}.torch_export.TorchExport"),
    "torch_script": Known(f"{_HERE}.torch_script.TorchScript"),
    "fx": Known(f"{_HERE}.fx.Fx"),
}
"""Those of GraphNet, and the others that there are here. A package that one needs is asked for when it is used."""
ABSENT: Mapping[str, str] = {
    "bladedisc": "BladeDISC",
    "blade_disc": "BladeDISC",
    "flagtree": "FlagTree",
    "magi_compiler": "MagiCompiler",
    "pass_mgr": "passes over the graph, from folders of its own",
    "unstable_to_stable": "a check of the operators that a graph may call",
    "range_decomposer_validator": "a check of GraphNet's own decomposition of samples",
    "graph_variable_renamer_validator": "a check of GraphNet's own renaming of samples",
}
"""Names of GraphNet that nothing here stands for, and what it has there."""


def compiler_of(args: Args, name: str) -> Call:
    """Give the call that makes a config's compiler.

    Args:
        name: what errors call the config.

    Raises:
        ConfigError: there is no such compiler.
    """
    settings = _settings(args, name)
    if "." in args.compiler:
        return Call(args.compiler, [], settings)
    known = COMPILERS.get(args.compiler.lower())
    if known is None:
        raise ConfigError(f"compiler of {name}: {_missing(args.compiler)}")
    twice = sorted(known.settings.keys() & settings.keys())
    if twice:
        raise ConfigError(f"backend_config.{twice[0]} of {name} is what the compiler {args.compiler!r} says already")
    return Call(known.target, [], {**known.settings, **settings})


def _missing(compiler: str) -> str:
    there = f"there are {', '.join(COMPILERS)}, and your own by dotted path, as 'mine.compilers.Exported'"
    what = ABSENT.get(compiler.lower())
    if what is not None:
        return f"{compiler!r} is not available here ({what}); {there}"
    return f"there is no {compiler!r}{did_you_mean(compiler, COMPILERS)}; {there}"


def _settings(args: Args, name: str) -> dict[str, Any]:
    given = args.backend_config
    if isinstance(given, str):
        return json_object(given, f"backend_config of {name}") if given.strip() not in NOTHING else {}
    return dict(given or {})

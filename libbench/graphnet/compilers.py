"""Compilers by the names that GraphNet has for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from libbench.config import Call
from libbench.errors import ConfigError, did_you_mean
from libbench.graphnet.keys import Args, json_object


@dataclass(frozen=True)
class Known:
    """What stands behind a name: a class, and settings that go with the name."""

    target: str
    settings: Mapping[str, Any] = field(default_factory=dict)


_TORCH = "libbench.compilers.torch_compile.TorchCompile"
COMPILERS: Mapping[str, Known] = {
    "nope": Known("libbench.compilers.eager.Eager"),
    "eager": Known("libbench.compilers.eager.Eager"),
    "inductor": Known(_TORCH, {"backend": "inductor"}),
    "aot_eager": Known(_TORCH, {"backend": "aot_eager"}),
}
ABSENT: Mapping[str, str] = {
    "tvm": "TVM",
    "xla": "PyTorch/XLA",
    "tensorrt": "TensorRT",
    "bladedisc": "BladeDISC",
    "blade_disc": "BladeDISC",
    "flagtree": "FlagTree",
    "magi_compiler": "MagiCompiler",
    "pass_mgr": "passes over the graph, from folders of its own",
    "unstable_to_stable": "a check of the operators that a graph may call; torch's own capture alone is 'aot_eager'",
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
        return json_object(given, f"backend_config of {name}") if given.strip() not in ("", "None", "null") else {}
    return dict(given or {})

"""The keys of a GraphNet config: what there is, what it means, and how a command line gives it."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from libbench.errors import ConfigError, did_you_mean
from libbench.records import decode

NOTHING = ("", "None", "null")
"""What stands for a config without any key."""
STRATEGY = (
    "runner_type", "machine", "port", "resources", "num_gpus", "timeout", "memory", "threads", "processes",
)  # fmt: skip
"""The keys that say where a side runs; in a config of two namespaces they stand in `strategy`, the others in
`execution`."""


def _key(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True, kw_only=True)
class Args:
    """A config with all of its keys; `meanings` says what each one is."""

    model_path: str | None = _key(None, "graph sample, or folder with some; `--model-path` wins")
    output_path: str | None = _key(None, "where `eval_backend_perf` keeps what it finds; `--output-path` wins")
    seed: int = _key(123, "seed of weights and inputs, and of whatever a graph draws; the same for both sides")
    compiler: str = _key("inductor", "its name, or the dotted path of a compiler of your own")
    device: str = _key("cuda", "`cpu`, `cuda`, or `cuda:1` for a certain one")
    op_lib: str | None = _key(None, "`flaggems`, or the dotted path of a library of kernels of your own")
    warmup: int = _key(3, "calls before the timed ones, or as many as a quarter of `budget` has room for")
    trials: int = _key(5, "timed calls of each side in a process, at least 1; more where `budget` has room for them")
    log_prompt: str = _key("graph-net-bench-log", "what every line of the log begins with")
    model_path_prefix: str | None = _key(None, "what the paths of `--model-path-list` are relative to")
    backend_config: Mapping[str, Any] | str | None = _key(None, "settings of the compiler; also base64 of their JSON")
    inputs: Literal["drawn", "graphnet"] = _key("drawn", "`graphnet` draws the very numbers that GraphNet draws")
    weights: Literal["bound", "arguments"] = _key("bound", "`arguments` passes weights with every call, as GraphNet")
    budget: float = _key(0.5, "seconds that the timing may take; up to three times as many for the `trials`")
    runner_type: Literal["local", "process", "remote", "ray"] = _key(
        "process", "where a side runs: `process`, a child of this machine; `local`, here; `remote`, a Ray cluster"
    )
    machine: str | None = _key(None, "with `remote`: the host of a Ray cluster's head")
    port: int | None = _key(None, "with `remote`: its port")
    resources: Mapping[str, float] | None = _key(None, 'with `remote`: what the node must have, as `{"A": 1}`')
    num_gpus: float | None = _key(None, "with `remote`: GPUs of a side")
    timeout: float = _key(600.0, "seconds that a stage of a side may take; `--timeout` wins")
    memory: int | None = _key(None, "bytes that a side's process may take; `--memory` wins")
    threads: int | None = _key(None, "threads of torch; by default all usable cores but one")
    processes: int = _key(1, "fresh processes that the timing is repeated in; 5 give a verdict to rely on")

    def __post_init__(self) -> None:
        for name, least in (("seed", 0), ("warmup", 0), ("trials", 1), ("processes", 1), ("threads", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"{name} must be at least {least}, got {value!r}")
        if not self.budget > 0:
            raise ValueError(f"budget must be above 0 seconds, got {self.budget!r}")
        if not self.log_prompt.strip() or len(self.log_prompt.splitlines()) > 1:
            raise ValueError(f"log_prompt must be one line that says something, got {self.log_prompt!r}")
        for name in ("machine", "port", "resources", "num_gpus"):
            if getattr(self, name) is not None and self.runner_type not in ("remote", "ray"):
                raise ValueError(f"{name} wants the runner_type 'remote', got {self.runner_type!r}")
        if self.runner_type == "remote" and None in (self.machine, self.port):
            raise ValueError("the runner_type 'remote' wants a machine and a port: those of a Ray cluster's head")
        if self.runner_type == "local" and self.memory is not None:
            raise ValueError("memory is a limit of a process, and the runner_type 'local' has none of its own")


def meanings() -> dict[str, tuple[Any, str]]:
    """Give the default and the meaning of every key."""
    return {each.name: (each.default, each.metadata["meaning"]) for each in fields(Args)}


def check_and_complete_args(given: Mapping[str, Any], name: str) -> Args:
    """Check every key of a config, and give those that it lacks their defaults.

    Args:
        given: the keys, flat; or in two namespaces, `execution` and `strategy`.
        name: what errors call the config.

    Raises:
        ConfigError: a key is unknown, stands in the wrong namespace, or its value is not what it can be.
    """
    flat = _flat(given, name)
    known = meanings()
    for key in flat:
        if key not in known:
            raise ConfigError(f"{name} has no key {key!r}{did_you_mean(key, known)}; there are {', '.join(known)}")
    try:
        args: Args = decode(Args, flat, "")
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name}: {error}") from None
    return args


def _flat(given: Mapping[str, Any], name: str) -> dict[str, Any]:
    spaces = [space for space in ("execution", "strategy") if space in given]
    if not spaces:
        return dict(given)
    flat: dict[str, Any] = {}
    for space, value in given.items():
        if space not in spaces:
            raise ConfigError(f"{name} has namespaces, and {space!r} belongs into one: {' or '.join(spaces)}")
        if not isinstance(value, Mapping):
            raise ConfigError(f"{space} of {name} must be a dict, got {value!r}")
        for key in value:
            if key in meanings() and (key in STRATEGY) != (space == "strategy"):
                other = "strategy" if key in STRATEGY else "execution"
                raise ConfigError(f"{space}.{key} of {name} belongs to {other}")
        flat.update(value)
    return flat


def read_config(text: str | None, name: str) -> dict[str, Any]:
    """Read what a flag gives: base64 of JSON, plain JSON, or a file with one of these; nothing is no key at all.

    Args:
        name: what errors call it.

    Raises:
        ConfigError: it is none of these, or no JSON object.
    """
    if text is None or text.strip() in NOTHING:
        return {}
    if _is_file(text):
        name = f"{name} in {text}"
        try:
            text = Path(text).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ConfigError(f"{name} cannot be read: {error}") from None
    return json_object(text, name)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # no name can be so long
        return False


def json_object(text: str, name: str) -> dict[str, Any]:
    """Read a JSON object, plain or as base64.

    Raises:
        ConfigError: it is neither.
    """
    plain = text.strip() if text.lstrip()[:1] in "{[" else _decoded(text)
    short = text if len(text) <= 60 else f"{text[:57]}..."
    if plain is None:
        raise ConfigError(f"{name} must be a JSON object, base64 of one, or a file with one, got {short!r}")
    try:
        found = json.loads(plain)
    except ValueError as error:
        raise ConfigError(f"{name} is no JSON: {error}, got {plain[:60]!r}") from None
    if not isinstance(found, dict):
        raise ConfigError(f"{name} must be a JSON object, got {plain[:60]!r}")
    return found


def _decoded(text: str) -> str | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None

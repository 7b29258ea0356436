"""Configs in two namespaces: `execution`, what a side is, and `strategy`, where it is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig

from libbench.config import Call, freeze, thaw
from libbench.errors import ConfigError, did_you_mean

RUNNERS: Mapping[str, str] = {
    "local": "libbench.runners.local.Local",
    "process": "libbench.runners.process.Process",
    "distributed": "libbench.runners.distributed.Distributed",
    "ray": "libbench.runners.ray.Ray",
    "remote": "libbench.runners.ray.Ray",
}
"""What runs a side, by `strategy.runner_type`."""


def one_namespace(config: DictConfig, name: str) -> DictConfig:
    """Give the parts of a config that assigns `execution` and `strategy` in place of `model`; any other as it is.

    What stands in `execution` become the parts, and `strategy` becomes the runner: `runner_type` says which, `machine`
    and `port` of one that is remote are its address, and all else are its settings. None of them reaches another part.

    Args:
        name: what errors call it.

    Raises:
        ConfigError: a namespace is no mapping, names a runner where none belongs, or one that is not known.
    """
    if "execution" not in config or config.get("model") is not None:
        return config
    tree = dict(freeze(config))
    execution, strategy = tree.pop("execution"), tree.pop("strategy", {})
    for space, value in (("execution", execution), ("strategy", strategy)):
        if not isinstance(value, Mapping):
            raise ConfigError(f"{space} of {name} must be a dict, got {type(value).__name__}")
    twice = sorted({"runner", *tree} & execution.keys())
    if twice:
        where = "to strategy" if twice[0] == "runner" else "into one namespace"
        raise ConfigError(f"execution.{twice[0]} of {name} belongs {where}")
    parts: DictConfig = thaw({**tree, **execution, **({"runner": _runner(strategy, name)} if strategy else {})})
    return parts


def _runner(strategy: Mapping[str, Any], name: str) -> Call:
    settings = dict(strategy)
    kind = settings.pop("runner_type", "process")
    target = RUNNERS.get(kind)
    if target is None:
        known = ", ".join(RUNNERS)
        raise ConfigError(
            f"strategy.runner_type of {name} must be one of {known}, got {kind!r}{did_you_mean(str(kind), RUNNERS)}"
        )
    if kind in ("ray", "remote") and "machine" in settings:
        if "port" not in settings:
            raise ConfigError(f"strategy of {name} has a machine and no port")
        settings["address"] = f"{settings.pop('machine')}:{settings.pop('port')}"
    return Call(target, [], settings)

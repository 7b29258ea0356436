"""From GraphNet configs and flags to graph samples, and to the jobs that run them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from libbench.cli.graphs import samples_at
from libbench.config import Call
from libbench.errors import ConfigError, LibbenchError
from libbench.graphnet.compilers import compiler_of
from libbench.graphnet.keys import Args
from libbench.graphnet.op_libs import op_lib_of
from libbench.job import Job
from libbench.sampled import GRAPH_SAMPLE

_CUDA = re.compile(r"cuda(?::(\d+))?")


def samples_of(arguments: argparse.Namespace, args: Args) -> Mapping[str, Path]:
    """Give the folder of each sample that the flags or the config name, by its path from where all of them lie.

    Raises:
        LibbenchError: none is named, or there is none.
    """
    folder = arguments.model_path or (None if arguments.model_path_list else _path(args.model_path))
    if folder is None and arguments.model_path_list is None:
        raise LibbenchError("nothing to run: give --model-path, or --model-path-list")
    if folder is not None and arguments.model_path_list is not None:
        raise LibbenchError("give --model-path or --model-path-list, not both")
    return samples_at(folder, arguments.model_path_list, _path(args.model_path_prefix))


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def job_of(args: Args, sample: Path, name: str) -> Job:
    """Give the job that runs a config on a graph sample.

    Args:
        name: what errors and reports call it.

    Raises:
        ConfigError: the config asks for what there is not.
    """
    model = {"path": str(sample.resolve()), "inputs": args.inputs, "weights": args.weights, "batches": 1}
    execution = {
        "model": Call(GRAPH_SAMPLE, [], model),
        "compiler": compiler_of(args, name),
        "op_lib": op_lib_of(args, name),
        "device": _device(args, name),
        "timer": _timer(args),
        "seed": args.seed,
    }
    return Job.of({"execution": execution, "strategy": _strategy(args)}, name)


def _device(args: Args, name: str) -> Call:
    if args.device == "cpu":
        return Call("libbench.devices.cpu.Cpu", [], {})
    cuda = _CUDA.fullmatch(args.device)
    if cuda is None:
        raise ConfigError(f"device of {name} must be 'cpu', 'cuda' or 'cuda:0', got {args.device!r}")
    return Call("libbench.devices.cuda.Cuda", [], {"index": int(cuda[1])} if cuda[1] else {})


def _timer(args: Args) -> Call:
    settings = {"least": args.trials, "warmup": args.warmup, "budget": args.budget}
    return Call("libbench.settings.Timer", [], settings)


def _strategy(args: Args) -> dict[str, Any]:
    strategy: dict[str, Any] = {"runner_type": args.runner_type, "threads": args.threads}
    if args.runner_type != "local":
        strategy |= {"timeout": args.timeout, "memory": args.memory, "processes": args.processes}
    for key in ("machine", "port", "resources", "num_gpus"):
        if getattr(args, key) is not None:
            strategy[key] = getattr(args, key)
    return strategy

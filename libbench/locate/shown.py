"""What a script that shows a finding again is made of."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from libbench.config import instantiate, load_saved
from libbench.interfaces import Batch
from libbench.locate.deviation import errors_of, level_of, rounding_of, worst
from libbench.locate.graph import leaves
from libbench.tree import snapshot

HOLDS = "holds"


def tensors_in(file: Path) -> dict[str, torch.Tensor]:
    """Give the tensors of a file by name."""
    return load_file(file)


def module_in(config: Path, path: str, held: dict[str, torch.Tensor], side: str) -> torch.nn.Module:
    """Build a model from a config that is cut down to it, and give one of its modules with what it held.

    Args:
        path: of the module; empty for the model itself.
        held: tensors by name, those of the module as `reference holds weight`.
        side: whose they are.
    """
    built = load_saved(config)
    torch.manual_seed(built["seed"])
    module: torch.nn.Module = instantiate(built["model"]).get_submodule(path)
    for inner, each in module.named_modules(remove_duplicate=False):
        for table in (each._parameters, each._buffers):
            for name in table:
                value = held.get(f"{side} {HOLDS} {inner}.{name}" if inner else f"{side} {HOLDS} {name}")
                if value is not None:
                    table[name] = torch.nn.Parameter(value, False) if table is each._parameters else value
    return module


def compiled_in(config: Path, segment: torch.nn.Module, inputs: Sequence[Any]) -> Callable[..., Any]:
    """Compile a module by the compiler of a config that is cut down to it; give what is called in its place."""
    built = load_saved(config)
    torch.manual_seed(built["seed"])
    call: Callable[..., Any] = (
        instantiate(built["compiler"]).compile(segment, Batch((), tuple(inputs), 0), "forward").call
    )
    return call


def shown(reference: Any, target: Any, leaf: int = 0) -> int:
    """Print how far two outputs lie apart; give 1 where that is more than one rounding of the reference's, else 0.

    Args:
        leaf: of several outputs of an operator, the first that counts.
    """
    one, two = (snapshot(leaves(each)[leaf:] or each) for each in (reference, target))
    error = worst(list(errors_of(one.leaves, two.leaves).values()))
    rounding = max((rounding_of(tensor.dtype) for tensor in one.leaves.values()), default=0.0)
    level = level_of(list(one.leaves.values()), list(two.leaves.values())) if error else None
    differs = error > rounding
    said = "no level" if level is None else f"level {level:.2f}"
    sys.stdout.write(f"{'DIFFERENT' if differs else 'SAME'}: relative error {error:.3g}, {said}\n")
    return int(differs)

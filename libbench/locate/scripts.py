"""What a folder that shows a finding again is made of: a script, the tensors that it needs, both configs cut down."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from libbench.config import to_text
from libbench.errors import ConfigError, LibbenchError
from libbench.job import Job
from libbench.result import SIDES

SCRIPT = "reproduce.py"
TENSORS = "tensors.safetensors"
_HEAD = '''"""{what}

Run it with a Python that has libbench. Exit code: 1 the two still differ, 0 they do not.
"""

import sys
from pathlib import Path

import torch

from libbench.locate.shown import {names}

FOLDER = Path(__file__).resolve().parent
t = tensors_in(FOLDER / "{tensors}")
'''


class NotWritten(LibbenchError):
    """What was found cannot be written as a script."""


class Source(str):
    """Text that stands in a script as it is."""


@dataclass
class Tensors:
    """Tensors by the name that they have in the script."""

    held: dict[str, torch.Tensor] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def name(self, side: str, tensor: torch.Tensor) -> str:
        """Take a tensor and give the text that stands for it."""
        number = self.counts[side] = self.counts.get(side, -1) + 1
        self.add(f"{side} {number}", tensor)
        return f't["{side} {number}"]'

    def add(self, name: str, tensor: torch.Tensor) -> None:
        """Take a tensor by a name of its own."""
        # Each has memory of its own in the file; those that share it would be refused.
        self.held[name] = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)


def written(value: Any, name: Callable[[torch.Tensor], str]) -> str:
    """Give a value as Python source, with a name in place of every tensor."""
    if isinstance(value, Source):
        return value
    if isinstance(value, torch.Tensor):
        return str(name(value))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {written(each, name)}" for key, each in value.items()) + "}"
    if type(value) in (list, tuple):
        inner = ", ".join(written(each, name) for each in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' if len(value) == 1 else ''})"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, torch.device):
        return f'torch.device("{value}")'
    if isinstance(value, bool | int | float | str | torch.dtype | torch.memory_format | torch.layout | None):
        return repr(value)
    raise NotWritten(f"a {type(value).__qualname__} cannot be written as source")


def write(
    folder: Path, what: str, names: str, body: str, held: Tensors, jobs: tuple[Job, Job], part: str = "model"
) -> None:
    """Write the folder.

    Args:
        what: is wrong, as a sentence.
        names: that the script imports from `libbench.locate.shown`.
        part: of the configs that is kept, beside the seed.

    Raises:
        NotWritten: a config cannot be saved.
    """
    folder.mkdir(parents=True, exist_ok=True)
    save_file(held.held, folder / TENSORS)
    for side, job in zip(SIDES, jobs, strict=True):
        (folder / f"{side}.yaml").write_text(_cut_down(job, part), encoding="utf-8")
    (folder / SCRIPT).write_text(_HEAD.format(what=what, names=names, tensors=TENSORS) + body, encoding="utf-8")


def _cut_down(job: Job, part: str) -> str:
    """Give what of a config is asked for: one part and the seed."""
    try:
        return to_text({part: getattr(job.config, part), "seed": job.seed})
    except ConfigError as error:
        raise NotWritten(f"the config of {job.name} cannot be saved: {error}") from error

"""How many planted faults are found where they are, and what locating costs beside one forward.

In each of four networks, each of seven faults is planted at 20 random places (with `PLACES=5` in the environment at 5)
and has to be found at its operator; a network in bfloat16 throughout has to have no single culprit.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from config_bench.table import Row, finish
from torch import nn

from libbench.devices.cpu import Cpu
from libbench.locate.capture import Runnable
from libbench.locate.modules import ByModule
from libbench.locate.operators import ByOperator
from libbench.tree import own_copy

sys.path.insert(0, str(Path(__file__).parents[1]))
from planted import FAULTS, NETS, found_right, net, plant

PLACES = int(os.environ.get("PLACES", "20"))
PASS_BAR = 5.0
"""Forwards that the pass over the operators may take, besides finding them."""


def main() -> None:
    """Measure and print."""
    rows: list[Row] = []
    torch.set_num_threads(1)
    with torch.inference_mode():
        for name in NETS:
            rows += _found(name)
        rows += _costs()
    finish("locate", rows, [f"torch {torch.__version__}"])


def _found(name: str) -> list[Row]:
    model, inputs = net(name)
    low, _ = net(name)
    low.bfloat16()
    cast = tuple(each.bfloat16() if each.is_floating_point() else each for each in inputs)
    verdict = ByOperator((_runnable(model, inputs), _runnable(low, cast)), how="record").report().verdict
    wrong = float(verdict != "no single culprit")
    rows = [Row(f"{name}, all in bfloat16", verdict, "no single culprit", wrong, 0.0, " wrong")]
    for fault in FAULTS:
        missed = 0
        for place in range(PLACES):
            target, planted = plant(model, inputs, fault, random.Random(place))
            search = ByOperator((_runnable(model, inputs), _runnable(target, inputs)), how="record")
            missed += not found_right(planted, search.report().culprit)
        rows.append(
            Row(f"{name}, {fault}", f"{PLACES - missed} found", f"{PLACES} planted", float(missed), 0.0, " missed")
        )
        print(rows[-1].what, rows[-1].ours, flush=True)
    return rows


class _Large(nn.Module):
    """A transformer whose forward takes long enough to be a measure."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(384, 6, 1536, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def _costs() -> list[Row]:
    """Measure what each step takes, in forwards and in the memory of one."""
    torch.manual_seed(0)
    model, other, x = _Large().train(), _Large().train(), torch.randn(8, 128, 384)
    other.load_state_dict(model.state_dict())
    other.layers.layers[3].linear1.weight.mul_(1.01)
    sides = _runnable(model, (x,)), _runnable(other, (x,))
    forward, memory = _measured(lambda: model(x))
    seconds = statistics.median([forward, *(_measured(lambda: model(x))[0] for _ in range(4))])
    rows = []
    search: list[ByOperator] = []
    with tempfile.TemporaryDirectory() as folder:
        steps: dict[str, tuple[Callable[[], Any], float | None]] = {
            "by module": (lambda: ByModule(sides, Path(folder), 2**30).report(), None),
            "finding the operators, recorded": (lambda: search.append(ByOperator(sides, how="record")), None),
            "one pass over the operators": (lambda: search[0].report(), PASS_BAR),
            "finding the operators, exported": (lambda: ByOperator(sides, how="export"), None),
        }
        for name, (step, bar) in steps.items():
            took, used = _measured(step)
            rows.append(Row(f"{name}: time", f"{took:.2f} s", f"forward {seconds:.2f} s", took / seconds, bar))
            rows.append(Row(f"{name}: memory", _mega(used), f"forward {_mega(memory)}", used / max(memory, 1)))
            print(rows[-2].what, rows[-2].ours, rows[-2].other, flush=True)
    return rows


def _measured(step: Callable[[], Any]) -> tuple[float, int]:
    """Give the seconds of a step, and the bytes of its peak above what was there before."""
    device = Cpu()
    device.reset_peak()
    before = next(iter(device.memory().values()))
    begin = time.perf_counter()
    step()
    took = time.perf_counter() - begin
    return took, max(0, next(iter(device.peak_memory().values())) - before)


def _runnable(model: nn.Module, inputs: tuple[Any, ...]) -> Runnable:
    return Runnable(model, model, lambda: (own_copy(inputs), {}))


def _mega(size: int) -> str:
    return f"{size / 1e6:.0f} MB"


if __name__ == "__main__":
    main()

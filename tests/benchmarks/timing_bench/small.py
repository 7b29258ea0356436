"""Ten small models, each as it may be found in a paper's first table, with the seconds of its calls added up."""

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from libbench.config import LazyCall as L
from libbench.data import RandomInputs
from libbench.devices.cpu import Cpu
from libbench.interfaces import Batch
from libbench.workloads.inference import Inference

FOLDER = "LIBBENCH_BENCH_CALLS"
"""The variable that names the folder where the seconds in calls are written, a file for each side."""


class Spent:
    """The seconds that a side has spent in calls, by two clocks: every load of this file has sums of its own."""

    wall = cpu = 0.0
    in_trial = False


class Counted(Inference):
    """Inference that adds up the seconds of its calls, those of trials left out, and leaves the sums in a file."""

    def step(self, call: Callable[..., Any], batch: Batch) -> Any:
        if Spent.in_trial:
            return super().step(call, batch)
        wall, cpu = time.perf_counter(), time.process_time()
        outputs = super().step(call, batch)
        Spent.wall += time.perf_counter() - wall
        Spent.cpu += time.process_time() - cpu
        return outputs

    @contextmanager
    def setup(self, model: Any) -> Iterator[None]:
        with super().setup(model):
            yield
        found = {"pid": os.getpid(), "wall": Spent.wall, "cpu": Spent.cpu, "process": time.process_time()}
        Path(os.environ[FOLDER], uuid.uuid4().hex).write_text(json.dumps(found))


class Clocked(Cpu):
    """The CPU that adds up its trials: what their calls return is given back within them."""

    def time(self, call: Callable[[], Any]) -> Mapping[str, float]:
        Spent.in_trial = True
        try:
            clocks = super().time(call)
        finally:
            Spent.in_trial = False
        Spent.wall += clocks["wall"]
        Spent.cpu += clocks["cpu"]
        return clocks


class First(nn.Module):
    """Gives the first of what a module gives."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first: torch.Tensor = self.module(x)[0]
        return first


class Attention(nn.Module):
    """Self-attention."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        outputs: torch.Tensor = self.attention(x, x, x)[0]
        return outputs


def made(name: str) -> nn.Module:
    """Give the model of a name."""
    return MODELS[name][0]()


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(256, 256), (256,)),
    "mlp": (lambda: nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256)), (256,)),
    "norm": (lambda: nn.Sequential(nn.LayerNorm(256), nn.Linear(256, 256), nn.ReLU()), (256,)),
    "conv": (lambda: nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3)), (3, 32, 32)),
    "batchnorm": (lambda: nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU()), (3, 32, 32)),
    "depthwise": (lambda: nn.Sequential(nn.Conv2d(16, 16, 3, groups=16), nn.Conv2d(16, 32, 1)), (16, 32, 32)),
    "lstm": (lambda: First(nn.LSTM(64, 64, batch_first=True)), (16, 64)),
    "gru": (lambda: First(nn.GRU(64, 64, batch_first=True)), (16, 64)),
    "attention": (Attention, (32, 64)),
    "encoder": (lambda: nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), (32, 64)),
}

name = "linear"
model = L(made)(name="${name}")
data = L(RandomInputs)(shapes=(256,), samples=64, batch_size=8)
workload = L(Counted)()
device = L(Clocked)()

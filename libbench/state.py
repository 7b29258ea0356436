"""What a model keeps from call to call, and what code that is run beside it must leave as it was."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from libbench.environment import usable_cores
from libbench.tree import fingerprint


class Kept:
    """The parameters and buffers of a module as they are now, to be put back.

    Args:
        model: every tensor of it is copied once.
        parameters: False leaves these out, which calls do not change by themselves.
    """

    def __init__(self, model: torch.nn.Module, *, parameters: bool = True) -> None:
        self._tensors: list[tuple[dict[str, Any], str, torch.Tensor, torch.Tensor]] = [
            (table, name, tensor, tensor.detach().clone())
            for module in model.modules()
            for table in ((module._parameters, module._buffers) if parameters else (module._buffers,))
            for name, tensor in table.items()
            if tensor is not None
        ]

    def put_back(self) -> None:
        """Give the model the very tensors that it had, with the values that they had, and no gradients."""
        with torch.no_grad():
            for table, name, tensor, values in self._tensors:
                table[name] = tensor
                tensor.copy_(values)
                tensor.grad = None


def state_of(model: Any) -> Mapping[str, str]:
    """Give the fingerprint of every parameter and buffer by name; nothing for a model that is no module.

    What a model keeps in other attributes is not seen.
    """
    if not isinstance(model, torch.nn.Module):
        return {}
    held = dict((*model.named_parameters(), *model.named_buffers()))
    # Hashing a large tensor leaves Python to other threads.
    with ThreadPoolExecutor(usable_cores()) as threads:
        return dict(zip(held, threads.map(fingerprint, held.values()), strict=True))


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """Give the names of what came, went or was changed between two states."""
    return tuple(name for name in {**before, **after} if before.get(name) != after.get(name))


@contextmanager
def random_state_put_back() -> Iterator[None]:
    """Put back the state of all random numbers: Python's, NumPy's, torch's, and those of GPUs in use."""
    gpus = _gpu_states()
    python, numpy, cpu = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        torch.set_rng_state(cpu)
        if gpus:
            torch.cuda.set_rng_state_all(gpus)


@contextmanager
def modes_put_back(model: Any) -> Iterator[None]:
    """Put back the train or eval mode of a model, submodule by submodule; nothing for a model that is no module."""
    before = [(m, m.training) for m in model.modules()] if isinstance(model, torch.nn.Module) else []
    try:
        yield
    finally:
        for module, training in before:
            module.training = training


def seed_at(seed: int, number: int) -> int:
    """Give the seed of a call that has its own: of batch 0 it is the seed itself."""
    return (seed + number * 1_000_003) % 2**63


def random_mark() -> str:
    """Give a mark of the state of all random numbers that `random_state_put_back` knows: another one after a draw."""
    numpy: Any = np.random.get_state()
    digest = hashlib.sha256(repr((random.getstate(), numpy[2:])).encode())
    digest.update(numpy[1].data)
    for state in (torch.get_rng_state(), *_gpu_states()):
        digest.update(state.numpy().data)
    return digest.hexdigest()


def _gpu_states() -> list[torch.Tensor]:
    return torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]

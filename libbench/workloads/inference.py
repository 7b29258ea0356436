"""Inference: one call of one method, without gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal

import torch

from libbench.interfaces import Batch, feed
from libbench.state import modes_put_back


class Inference:
    """Calls a method of the model under inference mode.

    Args:
        method: the method to call, such as "forward", "generate" or "encode".
        mode: "eval" (what inference means for a module) or "train", in which the model is held; the mode that
            it was built in is put back.
    """

    def __init__(self, method: str = "forward", mode: Literal["eval", "train"] = "eval") -> None:
        if mode not in ("eval", "train"):
            raise ValueError(f"mode must be 'eval' or 'train', got {mode!r}")
        self.method = method
        self._training = mode == "train"

    @contextmanager
    def setup(self, model: Any) -> Iterator[None]:
        """Hold the model in this mode, submodule by submodule, and put each back."""
        with modes_put_back(model):
            if isinstance(model, torch.nn.Module):
                model.train(self._training)
            yield

    def mode(self) -> AbstractContextManager[None]:
        """Give torch's inference mode."""
        return torch.inference_mode()

    def step(self, call: Callable[..., Any], batch: Batch) -> Any:
        """Give what the call returns for the batch's inputs."""
        return feed(call, batch.inputs)

"""Generation: a call is the model's own loop over tokens."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch

from libbench.interfaces import Batch, feed
from libbench.tokens import Generated


class Generate:
    """Lets the model generate, in eval mode and under inference mode; the outputs are what it returns, as its tokens.

    When each token comes is noted by a streamer, where the method takes one and keeps one sequence for each sample (as
    Hugging Face's does without beams), else by counting the calls of the model itself, one for each token. Where
    there is neither, as for a method that calls `forward` by its name, only the whole call is timed.

    Args:
        max_new_tokens: handed to the method, at least 1; None leaves it out.
        method: the method that generates.
        options: handed to the method with every batch, as `do_sample=False` or `num_beams=4`.
    """

    def __init__(self, max_new_tokens: int | None = None, method: str = "generate", **options: Any) -> None:
        if max_new_tokens is not None:
            if type(max_new_tokens) is not int:
                raise TypeError(f"max_new_tokens must be an int or None, got {max_new_tokens!r}")
            if max_new_tokens < 1:
                raise ValueError(f"max_new_tokens must be at least 1, got {max_new_tokens}")
            options["max_new_tokens"] = max_new_tokens
        self.method = method
        self.options = options
        self._streams = False
        self._clock = _Clock()
        self._sequences = 0

    @contextmanager
    def setup(self, model: Any) -> Iterator[None]:
        """Hold the model in eval mode, submodule by submodule, and note when its tokens come; put both back."""
        if not isinstance(model, torch.nn.Module):
            yield
            return
        before = {module: module.training for module in model.modules()}
        model.eval()
        self._streams = "streamer" not in self.options and self._takes_streamer(model)
        hook = None if self._streams else model.register_forward_hook(self._clock.called)
        try:
            yield
        finally:
            if hook is not None:
                hook.remove()
            for module, training in before.items():
                module.training = training

    def mode(self) -> AbstractContextManager[None]:
        """Give torch's inference mode."""
        return torch.inference_mode()

    def step(self, call: Callable[..., Any], batch: Batch) -> Any:
        """Give what the method returns for the batch's inputs."""
        # A streamer's first tokens are the prompt.
        self._clock.start(skip=1 if self._streams else 0)
        streamer = {"streamer": self._clock} if self._streams else {}
        outputs = feed(partial(call, **self.options, **streamer), batch.inputs)
        tokens = token_ids(outputs)
        self._sequences = len(batch.indices) if tokens is None else len(tokens)
        return outputs

    def generated(self) -> Generated | None:
        """Give how fast the tokens of the last call came; None where that was not seen."""
        return self._clock.generated(self._sequences)

    def _takes_streamer(self, model: Any) -> bool:
        method = getattr(model, self.method, None)
        if method is None or "streamer" not in inspect.signature(method).parameters:
            return False
        beams = self.options.get("num_beams") or getattr(getattr(model, "generation_config", None), "num_beams", None)
        return (beams or 1) == 1


def token_ids(outputs: Any) -> torch.Tensor | None:
    """Give the token ids in what a method returned, `(sequences, length)`; None where there are none."""
    found = getattr(outputs, "sequences", outputs)
    return found if isinstance(found, torch.Tensor) and found.ndim == 2 else None


class _Clock:
    """Notes when tokens come. It is a streamer, too: `put` gets the prompt, then the tokens one by one."""

    def __init__(self) -> None:
        self.start(skip=0)

    def start(self, *, skip: int) -> None:
        self._skip = skip
        self._times: list[float] = []
        self._begin = time.perf_counter()

    def put(self, value: Any) -> None:
        if self._skip:
            self._skip -= 1
            return
        self._times.append(time.perf_counter())

    def end(self) -> None:
        pass

    def called(self, module: torch.nn.Module, inputs: Any, outputs: Any) -> None:
        self._times.append(time.perf_counter())

    def generated(self, sequences: int) -> Generated | None:
        if not self._times:
            return None
        count = len(self._times)
        later = (self._times[-1] - self._times[0]) / (count - 1) if count > 1 else None
        return Generated(count, sequences, self._times[0] - self._begin, later)

"""Generation: a call is the model's own loop over tokens."""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import torch

from libbench.interfaces import Batch, feed
from libbench.state import modes_put_back
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
        self._model: torch.nn.Module | None = None
        self._clock: _Clock | None = None
        self._sequences = 0

    @contextmanager
    def setup(self, model: Any) -> Iterator[None]:
        """Hold the model in eval mode, submodule by submodule, and note when its tokens come; put both back."""
        if not isinstance(model, torch.nn.Module):
            yield
            return
        with modes_put_back(model):
            self._model = model.eval()
            try:
                yield
            finally:
                if self._clock is not None:
                    self._clock.remove()
                self._model = self._clock = None

    def mode(self) -> AbstractContextManager[None]:
        """Give torch's inference mode."""
        return torch.inference_mode()

    def step(self, call: Callable[..., Any], batch: Batch) -> Any:
        """Give what the method returns for the batch's inputs."""
        # A streamer's first tokens are the prompt.
        if self._clock is None and self._model is not None:
            # Not in `setup`: a compiler that must not look into the clock has been at work only now.
            self._clock = _Clock(None if self._takes_streamer(self._model) else self._model)
        streamer = {}
        if self._clock is not None:
            self._clock.start()
            streamer = self._clock.streamer
        outputs = feed(partial(call, **self.options, **streamer), batch.inputs)
        tokens = token_ids(outputs)
        self._sequences = len(batch.indices) if tokens is None else len(tokens)
        return outputs

    def generated(self) -> Generated | None:
        """Give how fast the tokens of the last call came; None where that was not seen."""
        return None if self._clock is None else self._clock.generated(self._sequences)

    def _takes_streamer(self, model: Any) -> bool:
        method = getattr(model, self.method, None)
        if method is None or "streamer" in self.options or "streamer" not in inspect.signature(method).parameters:
            return False
        beams = self.options.get("num_beams") or getattr(getattr(model, "generation_config", None), "num_beams", None)
        return (beams or 1) == 1


def token_ids(outputs: Any) -> torch.Tensor | None:
    """Give the token ids in what a method returned, `(sequences, length)`; None where there are none."""
    found = getattr(outputs, "sequences", outputs)
    return found if isinstance(found, torch.Tensor) and found.ndim == 2 else None


class _Clock:
    """Notes when tokens come, as a streamer, whose `put` gets the prompt and then token by token, or by a hook.

    Args:
        model: whose calls are counted by a hook, one for each token; None: it is handed over as a streamer.
    """

    def __init__(self, model: torch.nn.Module | None) -> None:
        self._hook = None if model is None else model.register_forward_hook(_unseen(self._called))
        self.streamer = {"streamer": self} if model is None else {}
        self.put = _unseen(self._put)
        self.end = _unseen(self._end)

    def start(self) -> None:
        """Begin a call."""
        self._prompts = 1 if self.streamer else 0
        self._times: list[float] = []
        self._begin = time.perf_counter()

    def remove(self) -> None:
        """Leave the model as it was."""
        if self._hook is not None:
            self._hook.remove()

    def generated(self, sequences: int) -> Generated | None:
        """Give how fast the tokens came; None where none was seen."""
        if not self._times:
            return None
        count = len(self._times)
        later = (self._times[-1] - self._times[0]) / (count - 1) if count > 1 else None
        return Generated(count, sequences, self._times[0] - self._begin, later)

    def _put(self, value: Any) -> None:
        if self._prompts:
            self._prompts -= 1
            return
        self._times.append(time.perf_counter())

    def _end(self) -> None:
        pass

    def _called(self, module: torch.nn.Module, inputs: Any, outputs: Any) -> None:
        self._times.append(time.perf_counter())


def _unseen(call: Callable[..., None]) -> Callable[..., None]:
    """Keep torch's compiler, where it is in use, from compiling this anew for every token."""
    if "torch._dynamo" not in sys.modules:
        return call
    hidden: Callable[..., None] = torch.compiler.disable(call)  # type: ignore[no-untyped-call]
    return hidden

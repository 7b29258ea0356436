"""Training: a call is a step, forward, backward and update."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from fnmatch import fnmatchcase
from typing import Any

import torch

from libbench.curves import LOSS, Loss
from libbench.errors import did_you_mean
from libbench.interfaces import Batch, feed
from libbench.state import Kept, modes_put_back

Globs = str | Sequence[str]


class Training:
    """Trains the model for some steps, and gives `{"loss": ...}` of each.

    A step sets the gradients to None, calls the model in train mode, takes the loss, goes backward and lets the
    optimizer update the parameters. The data are gone through as often as the steps need. Afterwards parameters and
    buffers are put back, from a copy that takes as much memory as they do; gradients, optimizer and random numbers
    begin anew.

    Args:
        loss: called with what the model returned and the batch; gives a scalar tensor, taken to be the mean over the
            batch's samples, or `(sum, count)`, whose quotient is what is trained.
        optimizer: called with the parameters that require a gradient, for an optimizer; in a config
            `L(torch.optim.SGD).partial(lr=0.1)`.
        steps: at least 1.
        gradients: globs of parameter names, whose gradients are given by name, too; None for one without.
        parameters: likewise the parameters as the step leaves them.
        method: the method that is called forward.
    """

    def __init__(
        self,
        loss: Callable[[Any, Batch], Any],
        optimizer: Any,
        steps: int,
        gradients: Globs = (),
        parameters: Globs = (),
        method: str = "forward",
    ) -> None:
        if not callable(loss):
            raise TypeError(f"loss must be a callable that takes outputs and batch, got {loss!r}")
        if isinstance(optimizer, torch.optim.Optimizer) or not callable(optimizer):
            wanted = "a callable that takes the parameters, as L(torch.optim.SGD).partial(lr=0.1)"
            raise TypeError(f"optimizer must be {wanted}, got {optimizer!r}")
        if type(steps) is not int:
            raise TypeError(f"steps must be an int, got {steps!r}")
        if steps < 1:
            raise ValueError(f"steps must be at least 1, got {steps}")
        self.method = method
        self.steps = steps
        self._loss = loss
        self._make = optimizer
        self._globs = {
            "gradients": _listed("gradients", gradients),
            "parameters": _listed("parameters", parameters),
        }
        self._model: torch.nn.Module | None = None
        self._kept: Kept | None = None
        self._optimizer: Any = None
        self._last: tuple[torch.Tensor, Any, int] | None = None

    @contextmanager
    def setup(self, model: Any) -> Iterator[None]:
        """Hold the model in train mode, submodule by submodule; put back the modes and what was trained."""
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"what is trained must be a torch.nn.Module, got {model!r}")
        with modes_put_back(model):
            self._model = model.train()
            try:
                yield
            finally:
                if self._kept is not None:
                    self._kept.put_back()
                self._model = self._kept = self._optimizer = None

    def mode(self) -> AbstractContextManager[None]:
        """Switch gradients on."""
        return torch.enable_grad()

    def restart(self) -> None:
        """Put back what the first call of this found in the model, with an optimizer that has seen no step."""
        model = self._held()
        if self._kept is None:
            # Not before the compiler has had its way with the model, which may give it another dtype.
            self._kept = Kept(model)
        else:
            self._kept.put_back()
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        if not trained:
            raise ValueError(f"{type(model).__qualname__} has no parameter that requires a gradient")
        self._optimizer = self._make(trained)

    def step(self, call: Callable[..., Any], batch: Batch) -> Mapping[str, Any]:
        """Do one step; give `loss`, the detached mean, and `gradients` and `parameters` where they are asked for.

        These are no copies: the next step changes them.

        Raises:
            TypeError: the loss is neither a scalar tensor nor `(sum, count)`.
            ValueError: it has no gradient, or no parameter got one.
        """
        if self._optimizer is None:
            raise RuntimeError("restart() must come before the first step")
        model, optimizer = self._held(), self._optimizer
        optimizer.zero_grad(set_to_none=True)
        mean, count = _mean(self._loss(feed(call, batch.inputs), batch))
        if not mean.requires_grad:
            raise ValueError("the loss has no gradient: it does not depend on what is trained, or was detached")
        mean.backward()  # type: ignore[no-untyped-call]
        if not any(p.grad is not None for group in optimizer.param_groups for p in group["params"]):
            raise ValueError("no parameter got a gradient: what was called has other parameters than the model's own")
        optimizer.step()
        self._last = mean.detach(), count, len(batch.indices)
        outputs: dict[str, Any] = {LOSS: mean.detach()}
        for name, globs in self._globs.items():
            if globs:
                chosen = _chosen(model, globs, name)
                outputs[name] = {k: p.grad if name == "gradients" else p.detach() for k, p in chosen.items()}
        return outputs

    def loss(self) -> Loss:
        """Give the loss of the last step."""
        if self._last is None:
            raise RuntimeError("there was no step whose loss could be given")
        mean, count, samples = self._last
        count = float(samples if count is None else count)
        return Loss(float(mean) * count, count, samples, str(mean.dtype).removeprefix("torch."))

    def _held(self) -> torch.nn.Module:
        if self._model is None:
            raise RuntimeError("the model must be held by setup() before it is trained")
        return self._model


class IndexedLoss:
    """A loss whose targets the model never sees: they are found by the dataset index.

    Args:
        function: called with what the model returned and the targets, one for each index of the batch, as a tensor on
            the device of the outputs; gives a scalar, such as `torch.nn.functional.cross_entropy`.
        targets: read at dataset indices; numbers, or tensors of one shape.
    """

    def __init__(self, function: Callable[[Any, torch.Tensor], Any], targets: Sequence[Any]) -> None:
        if not callable(function):
            raise TypeError(f"function must be callable, got {function!r}")
        self.function = function
        self.targets = targets

    def __call__(self, outputs: Any, batch: Batch) -> Any:
        """Give the function's value.

        Raises:
            IndexError: there is no target for an index of the batch.
        """
        found = [torch.as_tensor(self.targets[index]) for index in batch.indices]
        wanted = torch.stack(found)
        return self.function(outputs, wanted.to(outputs.device) if isinstance(outputs, torch.Tensor) else wanted)


def own_loss(outputs: Any, batch: Batch) -> Any:
    """Give the loss that the model itself has computed: `outputs["loss"]`, `outputs.loss`, or a scalar output.

    Raises:
        TypeError: there is none.
    """
    if isinstance(outputs, torch.Tensor):
        return outputs
    found = outputs.get("loss") if isinstance(outputs, Mapping) else getattr(outputs, "loss", None)
    if found is None:
        raise TypeError(f"the model returned no loss: {type(outputs).__qualname__} without 'loss'")
    return found


def _mean(loss: Any) -> tuple[torch.Tensor, Any]:
    """Give the scalar that is trained, and the count that came with it."""
    total, count = loss if isinstance(loss, tuple) and len(loss) == 2 else (loss, None)
    if not isinstance(total, torch.Tensor) or total.ndim:
        what = f"a tensor of shape {tuple(total.shape)}" if isinstance(total, torch.Tensor) else repr(total)
        raise TypeError(f"loss must give a scalar tensor, or (sum, count), got {what}")
    if isinstance(count, torch.Tensor):
        count = count.detach()
    return (total if count is None else total / count), count


def _chosen(model: torch.nn.Module, globs: Sequence[str], what: str) -> dict[str, torch.nn.Parameter]:
    named = dict(model.named_parameters())
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in named):
            raise ValueError(f"{what} names {glob!r}, and the model has no such parameter{did_you_mean(glob, named)}")
    return {name: p for name, p in named.items() if any(fnmatchcase(name, glob) for glob in globs)}


def _listed(name: str, globs: Globs) -> tuple[str, ...]:
    listed = (globs,) if isinstance(globs, str) else globs
    if not isinstance(listed, Sequence) or not all(isinstance(glob, str) for glob in listed):
        raise TypeError(f"{name} must be a glob of parameter names, or a list of them, got {globs!r}")
    return tuple(listed)

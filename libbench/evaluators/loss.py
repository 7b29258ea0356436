"""The losses that a model returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any

import torch

from libbench.interfaces import Batch, Evaluator
from libbench.pick import parts, pick, tensor_of


class Loss(Evaluator):
    """The mean of each loss that the model returns: a metric by the loss's own name, or `loss` where there is one.

    A record has sum and count of each loss. A loss of shape `(samples,)` is one for each sample. One number is the mean
    over the batch, and stands for each of its samples; it is exact for any batch size, but not where a batch was
    padded with samples that another has, too.

    Args:
        outputs: keys, attributes or positions of the losses in what the model returns. None takes all tensors that are
            named `loss` or end in it, such as `lm_loss`; or the outputs themselves, where they are a tensor.
        counts: key, attribute or position of how much a loss is the mean of, such as tokens: a number for the batch or
            one for each sample. None: one for each sample.
        perplexity: True adds exp(loss) of each, `NAME.perplexity`; or `perplexity` where there is one loss.
    """

    def __init__(
        self,
        outputs: Sequence[str | int] | None = None,
        counts: str | int | None = None,
        perplexity: bool = False,
    ) -> None:
        if isinstance(outputs, str) or (outputs is not None and not outputs):
            raise ValueError(f"outputs must list the losses, as ['loss'], got {outputs!r}")
        self.outputs = outputs
        self.counts = counts
        self.perplexity = perplexity

    def process(self, batch: Batch, outputs: Any) -> Mapping[int, Mapping[str, tuple[float, float]]]:
        """Give (sum, count) of each loss for each sample.

        Raises:
            LookupError: a loss cannot be found in the outputs.
            ValueError: it has neither one number nor one for each sample.
        """
        size = len(batch.indices)
        counts = [1.0] * size if self.counts is None else _each("counts", pick(outputs, self.counts), size, share=True)
        losses = {name: _each(name, loss, size) for name, loss in self._losses(outputs).items()}
        return {
            index: {name: (values[row] * counts[row], counts[row]) for name, values in losses.items()}
            for row, index in enumerate(batch.indices)
        }

    def _losses(self, outputs: Any) -> dict[str, Any]:
        if self.outputs is not None:
            return {str(name): pick(outputs, name) for name in self.outputs}
        found = {name: part for name, part in parts(outputs).items() if str(name).endswith("loss")}
        return {str(name): loss for name, loss in found.items()} or {"loss": tensor_of(outputs)}

    def evaluate(self, records: Mapping[int, Mapping[str, tuple[float, float]]]) -> dict[str, float]:
        """Give the losses, each divided once.

        Raises:
            ValueError: there are no records, or a loss is the mean of nothing.
        """
        if not records:
            raise ValueError("no samples, so no loss")
        metrics = {}
        names = dict.fromkeys(name for record in records.values() for name in record)
        for name in names:
            own = [record[name] for record in records.values() if name in record]
            count = fsum(each[1] for each in own)
            if not count:
                raise ValueError(f"{name} is the mean of nothing: its counts are 0")
            metrics[name] = fsum(each[0] for each in own) / count
            if self.perplexity:
                loss = torch.tensor(metrics[name], dtype=torch.float64)
                # Unlike Python's own, this one gives infinity.
                metrics["perplexity" if len(names) == 1 else f"{name}.perplexity"] = float(loss.exp())
        return metrics


def _each(name: str, value: Any, size: int, *, share: bool = False) -> list[float]:
    """Give a number for each sample: one that stands for all is given to each, or shared among them."""
    tensor = torch.as_tensor(value).detach().to("cpu", torch.float64)
    if tensor.numel() == 1:
        return [float(tensor) / (size if share else 1)] * size
    if tensor.shape == (size,):
        return [float(each) for each in tensor]
    raise ValueError(f"{name} must be one number, or one for each of {size} samples, got shape {tuple(tensor.shape)}")

"""Metrics of the package torchmetrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from libbench.interfaces import Batch, Evaluator
from libbench.pick import pick, tensor_of


class Torchmetrics(Evaluator):
    """Any metric of torchmetrics, or a collection of them, from records: metrics by the names of their classes.

    A record is a sample's row of the outputs, or its text. The metric is updated sample by sample, in index order, when
    the last batch has come, so that neither batch size nor ranks change a bit of it. A metric of several values has
    one by the key, or by the position, of each, `MulticlassRecall.0`. Installed by the extra `metrics`.

    Args:
        metric: as `L(MulticlassF1Score)(num_classes=10)`; it is reset, and nobody else should use it.
        targets: the true value of each sample, read at its dataset index; None for a metric of predictions alone.
        output: key, attribute or position of the predictions in what the model returns, as for `Accuracy`. A list of
            texts is found by its key, or is the outputs themselves.
    """

    def __init__(self, metric: Any, targets: Sequence[Any] | None = None, output: str | int | None = None) -> None:
        lacking = [name for name in ("reset", "update", "compute") if not hasattr(metric, name)]
        if lacking:
            raise TypeError(f"metric must be one of torchmetrics, with {', '.join(lacking)}(), got {metric!r}")
        self.metric = metric
        self.targets = targets
        self.output = output

    def process(self, batch: Batch, outputs: Any) -> Mapping[int, Any]:
        """Give each sample's row of the predictions.

        Raises:
            LookupError: the predictions cannot be found in the outputs.
            ValueError: there is not one row for each sample.
        """
        found = outputs if self.output is None else pick(outputs, self.output)
        rows: Sequence[Any]
        if isinstance(found, list | tuple) and all(isinstance(text, str) for text in found):
            rows = found
        else:
            # Rows of their own, so that a record does not hold its whole batch.
            rows = [row.cpu().clone() for row in tensor_of(outputs, self.output)]
        if len(rows) != len(batch.indices):
            raise ValueError(f"predictions must have a row for each of {len(batch.indices)} samples, got {len(rows)}")
        return dict(zip(batch.indices, rows, strict=True))

    def evaluate(self, records: Mapping[int, Any]) -> dict[str, float]:
        """Give what the metric says of all samples.

        Raises:
            ValueError: there are no records, or a sample has no target.
        """
        if not records:
            raise ValueError("no samples, so no metric")
        self.metric.reset()
        for index, record in records.items():
            self.metric.update(_one(record), *([] if self.targets is None else [_one(self._target(index))]))
        found = self.metric.compute()
        return dict(_flat(found, "" if isinstance(found, Mapping) else type(self.metric).__name__))

    def _target(self, index: int) -> Any:
        try:
            return self.targets[index] if self.targets is not None else None
        except IndexError:
            raise ValueError(f"sample {index} has no target; there are {len(self.targets or ())} targets") from None


def _one(value: Any) -> Any:
    """Give a batch of one."""
    return [value] if isinstance(value, str | list) else torch.as_tensor(value)[None]


def _flat(value: Any, name: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(each, f"{name}.{key}" if name else str(key))
    elif isinstance(value, torch.Tensor) and value.ndim:
        for position, each in enumerate(value):
            yield from _flat(each, f"{name}.{position}")
    else:
        yield name, float(value)

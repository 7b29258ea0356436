"""How far predicted numbers are from the true ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, inf
from typing import Any, ClassVar

import numpy as np
import torch

from libbench.interfaces import Batch, Evaluator
from libbench.pick import tensor_of

Array = np.ndarray[Any, np.dtype[np.float64]]
Record = Mapping[str, float]


class Regression(Evaluator):
    """Mean squared error, mean absolute error and R2, over all numbers of all targets: `mse`, `mae`, `r2`.

    Sums are over float64 values, each sample by itself, and added exactly, so that another batch size changes none of
    them. `r2` is left out where all targets are equal, as it has no meaning there; it is
    `1 - sum((target - output)**2) / sum((target - mean of the targets)**2)`.

    Args:
        targets: number or array of each sample, read at its dataset index.
        output: key, attribute or position of the predictions, of shape `(samples, *shape of a target)`, in what the
            model returns. None takes the outputs themselves, or the only tensor in them, or the one named `logits`.
            A target that is one number goes with a prediction of any shape that holds one number.
    """

    tolerances: ClassVar[Mapping[str, float]] = {"r2": 0.002}

    def __init__(self, targets: Sequence[Any], output: str | int | None = None) -> None:
        self.targets = targets
        self.output = output

    def process(self, batch: Batch, outputs: Any) -> Mapping[int, Record]:
        """Give sums for each sample: of squared and absolute errors, and what the target's spread takes.

        Raises:
            LookupError: the predictions cannot be found in the outputs.
            ValueError: they have another shape than the targets; the message names both.
        """
        rows = tensor_of(outputs, self.output).to("cpu", torch.float64).numpy()
        if rows.ndim == 0 or len(rows) != len(batch.indices):
            raise ValueError(
                f"predictions must have one row for each of {len(batch.indices)} indices, got shape {rows.shape}"
            )
        return {index: self._record(index, row) for index, row in zip(batch.indices, rows, strict=True)}

    def _record(self, index: int, row: Array) -> Record:
        try:
            target = np.asarray(self.targets[index], dtype=np.float64)
        except IndexError:
            raise ValueError(f"sample {index} has no target; there are {len(self.targets)} targets") from None
        if row.shape != target.shape and not row.size == target.size == 1:
            raise ValueError(f"the prediction for sample {index} has shape {row.shape}, its target {target.shape}")
        error = (row.reshape(-1) - target.reshape(-1)).tolist()
        true = target.reshape(-1).tolist()
        mean = fsum(true) / len(true) if true else 0.0
        return {
            "count": len(error),
            "squared": fsum(value * value for value in error),
            "absolute": fsum(map(abs, error)),
            "target": fsum(true),
            "spread": fsum((value - mean) * (value - mean) for value in true),
            "least": min(true, default=inf),
            "most": max(true, default=-inf),
        }

    def evaluate(self, records: Mapping[int, Record]) -> dict[str, float]:
        """Give `mse`, `mae` and `r2`; NaN where a prediction holds one.

        Raises:
            ValueError: there are no records, or no numbers in them.
        """
        kept = list(records.values())
        count = sum(record["count"] for record in kept)
        if not count:
            raise ValueError("no numbers, so no error of them")
        squared = fsum(record["squared"] for record in kept)
        metrics = {"mse": squared / count, "mae": fsum(record["absolute"] for record in kept) / count}
        # Rounding gives equal targets a spread, too, so they are known by their bounds.
        if min(record["least"] for record in kept) == max(record["most"] for record in kept):
            return metrics
        return metrics | {"r2": 1 - squared / _spread(kept, count)}


def _spread(records: Sequence[Record], count: float) -> float:
    """Add up the spread within samples and between them: a difference of two large sums would lose all digits."""
    mean = fsum(record["target"] for record in records) / count
    filled = [record for record in records if record["count"]]
    between = [record["count"] * (record["target"] / record["count"] - mean) ** 2 for record in filled]
    return fsum(record["spread"] for record in filled) + fsum(between)

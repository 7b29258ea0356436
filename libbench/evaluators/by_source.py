"""An evaluator for each of several loaders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from libbench.composed import Composed
from libbench.errors import did_you_mean
from libbench.evaluation import process
from libbench.interfaces import Batch, Evaluator


class BySource(Composed):
    """Evaluates each loader of `libbench.several.Several` by itself: metrics `val.top1`, `test.top1`.

    An evaluator gets the batches of the loader of its name as that loader gave them: indices are those of its own
    dataset, and the first batch has number 0. A record holds the name, the index in that dataset and the record.

    Args:
        evaluators: one for each loader, by the loader's name, as `BySource(val=Accuracy(...), test=Accuracy(...))`.
    """

    def __init__(self, **evaluators: Evaluator) -> None:
        super().__init__(evaluators)

    def process(self, batch: Batch, outputs: Any) -> Mapping[int, Mapping[str, Any]]:
        """Give the records of the evaluator that the batch belongs to.

        Raises:
            LookupError: there is none of that name, or data are not `Several`.
        """
        name, own = batch.source, batch.own
        if own is None or name not in self.evaluators:
            what = f"comes from {name!r}{did_you_mean(name, self.evaluators)}" if name else "has no source"
            raise LookupError(f"wanted a batch of {', '.join(self.evaluators)}, as Several gives it; this one {what}")
        records = process(self.evaluators[name], own, outputs, name)
        there = dict(zip(own.indices, batch.indices, strict=True))
        return {there[index]: {"source": name, "index": index, "record": record} for index, record in records.items()}

    def records_of(self, name: str, records: Mapping[int, Mapping[str, Any]]) -> dict[int, Any]:
        """Give the records of one source by the indices of its own dataset."""
        return {record["index"]: record["record"] for record in records.values() if record["source"] == name}

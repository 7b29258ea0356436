"""Several evaluators over the same outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from libbench.composed import Composed
from libbench.evaluation import process, shallow
from libbench.interfaces import Batch, Evaluator


class Together(Composed):
    """Runs several evaluators; their metrics are called `name.metric`, as `accuracy.top1`.

    The first gets what the model returned itself, each further one a copy of the built-in containers in it, so that
    none misses a key that another takes out. Tensors are shared. A record holds the records of all by name.

    Args:
        evaluators: each by its name, at least one, as `Together(accuracy=Accuracy(...), loss=Loss())`.
    """

    def __init__(self, **evaluators: Evaluator) -> None:
        super().__init__(evaluators)

    def process(self, batch: Batch, outputs: Any) -> Mapping[int, Mapping[str, Any]]:
        """Give the records of all evaluators for each sample; of those that gave one."""
        views = [outputs, *(shallow(outputs) for _ in range(len(self.evaluators) - 1))]
        found: dict[int, dict[str, Any]] = {}
        for (name, evaluator), view in zip(self.evaluators.items(), views, strict=True):
            for index, record in process(evaluator, batch, view, name).items():
                found.setdefault(index, {})[name] = record
        return found

    def records_of(self, name: str, records: Mapping[int, Mapping[str, Any]]) -> dict[int, Any]:
        """Give the records that an evaluator has made."""
        return {index: record[name] for index, record in records.items() if name in record}

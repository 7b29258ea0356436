"""Which chunks are found to be speech, and which of them are."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch

from libbench.interfaces import Batch, Evaluator


class Detection(Evaluator):
    """Precision, recall, their harmonic mean `f1`, and `accuracy`, over the chunks of all recordings.

    A record is a bool tensor: for each chunk of a recording, whether it was found to be speech. A share of nothing, as
    the precision where no speech was found, is 0.

    Args:
        spoken: of each recording, read at its dataset index, which chunks are speech.
        threshold: the probability from which a chunk is found to be speech.
    """

    tolerances: ClassVar[Mapping[str, float]] = {"*": 0.002}

    def __init__(self, spoken: Sequence[torch.Tensor], threshold: float = 0.5) -> None:
        self.spoken = spoken
        self.threshold = threshold

    def process(self, batch: Batch, outputs: Any) -> Mapping[int, torch.Tensor]:
        return dict(zip(batch.indices, outputs["speech"].cpu() >= self.threshold, strict=True))

    def evaluate(self, records: Mapping[int, torch.Tensor]) -> Mapping[str, float]:
        found = torch.cat(list(records.values()))
        spoken = torch.cat([self.spoken[index] for index in records])
        both = int((found & spoken).sum())
        return {
            "precision": _share(both, int(found.sum())),
            "recall": _share(both, int(spoken.sum())),
            "f1": _share(2 * both, int(found.sum()) + int(spoken.sum())),
            "accuracy": _share(int((found == spoken).sum()), len(found)),
        }

    def compare_records(self, reference: Mapping[int, Any], target: Mapping[int, Any]) -> Iterator[str]:
        """Count the chunks on which the two sides do not agree."""
        chunks = sum(len(record) for record in reference.values())
        apart = sum(int((reference[index] != target[index]).sum()) for index in reference)
        if apart:
            yield f"{apart:,} of {chunks:,} chunks are speech for one side only"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0

"""How often the right class is among the first few."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar

import torch

from libbench.interfaces import Batch, Evaluator
from libbench.pick import tensor_of


class Accuracy(Evaluator):
    """Share of samples whose label is among the `k` classes of the highest scores: metrics `top1`, `top5`, ...

    Among equal scores the lower class comes first. A sample with a NaN among its scores counts as wrong. A record is
    the number of classes that come before the label, or None for a sample with NaN.

    Args:
        labels: class of each sample, read at its dataset index.
        topk: the values of `k`, each at least 1.
        output: key, attribute or position of the scores, of shape `(samples, classes)`, in what the model returns.
            None takes the outputs themselves, or the only tensor in them, or the one named `logits`.
    """

    tolerances: ClassVar[Mapping[str, float]] = {"top*": 0.002}

    def __init__(self, labels: Sequence[int], topk: Sequence[int] = (1,), output: str | int | None = None) -> None:
        self.labels = labels
        self.topk = tuple(topk)
        self.output = output
        if not self.topk or len(set(self.topk)) != len(self.topk):
            raise ValueError(f"topk must hold different values of k, at least one, got {topk!r}")
        for k in self.topk:
            if type(k) is not int or k < 1:
                raise ValueError(f"topk must hold whole numbers of at least 1, got {k!r}")

    def process(self, batch: Batch, outputs: Any) -> Mapping[int, int | None]:
        """Give the label's place among the classes, from 0, for each sample.

        Raises:
            LookupError: the scores cannot be found in the outputs.
            ValueError: they have another shape than `(samples, classes)`, or a label is no class.
        """
        scores = tensor_of(outputs, self.output)
        if scores.ndim != 2 or len(scores) != len(batch.indices):
            raise ValueError(
                f"scores must have shape ({len(batch.indices)}, classes) for {len(batch.indices)} indices, "
                f"got {tuple(scores.shape)}"
            )
        classes = scores.shape[1]
        if max(self.topk) > classes:
            raise ValueError(f"top{max(self.topk)} needs at least {max(self.topk)} classes, got {classes}")
        labels = [_label(self.labels, index, classes) for index in batch.indices]
        column = torch.tensor(labels, device=scores.device)[:, None]
        own = scores.gather(1, column)
        lower = torch.arange(classes, device=scores.device) < column
        before = ((scores > own) | ((scores == own) & lower)).sum(dim=1).tolist()
        broken = scores.isnan().any(dim=1).tolist()
        return {index: None if nan else place for index, place, nan in zip(batch.indices, before, broken, strict=True)}

    def evaluate(self, records: Mapping[int, int | None]) -> dict[str, float]:
        """Give the share of right samples for each `k`, from 0 to 1.

        Raises:
            ValueError: there are no records.
        """
        if not records:
            raise ValueError("no samples, so no accuracy")
        places = list(records.values())
        return {f"top{k}": sum(_right(place, k) for place in places) / len(places) for k in self.topk}

    def compare_records(self, reference: Mapping[int, int | None], target: Mapping[int, int | None]) -> Iterator[str]:
        """Count the samples that only one side has right; say how likely so uneven a count is by chance alone.

        It is McNemar's test for paired samples in its exact form, which is a two-sided sign test of the samples that
        differ ("Note on the sampling error of the difference between correlated proportions", Psychometrika 12, 1947).
        """
        for k in self.topk:
            right = {i: (_right(reference[i], k), _right(target[i], k)) for i in reference}
            lost = sum(pair == (True, False) for pair in right.values())
            won = sum(pair == (False, True) for pair in right.values())
            if lost or won:
                p = sign_test(lost, won)
                yield f"top{k}: right in the reference only {lost:,}, in the target only {won:,}; by chance p = {p:.2g}"


def sign_test(first: int, second: int) -> float:
    """Give how likely a fair coin falls as unevenly as this or more so, to either side: from 0 to 1.

    Args:
        first, second: how often it fell to each side; at least 0. Without a throw it is 1.
    """
    throws, ways, total = first + second, 1, 0
    for number in range(min(first, second) + 1):
        total += ways  # the ways in which `number` of the throws fall to one side
        ways = ways * (throws - number) // (number + 1)
    return min(1.0, float(Fraction(2 * total, 2**throws)))


def _right(place: int | None, k: int) -> bool:
    return place is not None and place < k


def _label(labels: Sequence[int], index: int, classes: int) -> int:
    try:
        label = int(labels[index])
    except IndexError:
        raise ValueError(f"sample {index} has no label; there are {len(labels)} labels") from None
    if not 0 <= label < classes:
        raise ValueError(f"the label of sample {index} must be below {classes}, the number of classes, got {label}")
    return label

"""How well a query finds the documents that belong to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum, log2
from typing import Any, ClassVar

import torch

from libbench.interfaces import Batch, Evaluator
from libbench.pick import pick, tensor_of

Places = list[tuple[int, float]]
"""Of each relevant document its place, from 1, and its gain."""


class Retrieval(Evaluator):
    """Recall, mean reciprocal rank and nDCG of finding documents by cosine of embeddings: `recall@1`, `mrr`, `ndcg@10`.

    `recall@k` is the share of a query's relevant documents that are among the k nearest, `mrr` is 1 / place of its
    first relevant one, and `ndcg@k` is DCG over that of the best order, where DCG is the sum of
    gain / log2(1 + place) over the k nearest (Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR
    techniques", 2002). All are means over the queries. A document that is as near as a relevant one comes before it,
    and so does NaN.

    A record is the embedding of a sample, of length 1, in float64. The corpus is given in one of two ways: as samples
    of the same dataset, which the model embeds, too; or as embeddings that are there already, by `corpus`.

    Args:
        relevant: by dataset index of a query, the documents that belong to it: a list of them, or a dict with the gain
            of each, above 0.
        corpus: embeddings of shape `(documents, width)`, whose rows `relevant` speaks of. None: the documents are all
            samples that are no query, and `relevant` speaks of dataset indices.
        output: key, attribute or position of the embeddings in what the model returns, as for `Accuracy`: of shape
            `(samples, width)`, or `(samples, tokens, width)`, of which the mean over the tokens is taken.
        mask: key, attribute or position, in the batch's inputs, of what is 0 at tokens that are no part of that mean.
        recall, ndcg: the values of k; an empty list leaves the metric out.
    """

    tolerances: ClassVar[Mapping[str, float]] = {"recall@*": 0.005, "mrr": 0.005, "ndcg@*": 0.005}

    def __init__(
        self,
        relevant: Mapping[int, Sequence[int] | Mapping[int, float]],
        corpus: Any = None,
        output: str | int | None = None,
        mask: str | int | None = None,
        recall: Sequence[int] = (1,),
        ndcg: Sequence[int] = (10,),
    ) -> None:
        self.gains = {
            query: dict(found) if isinstance(found, Mapping) else dict.fromkeys(found, 1.0)
            for query, found in relevant.items()
        }
        for query, gains in self.gains.items():
            if not gains or not all(gain > 0 for gain in gains.values()):
                raise ValueError(f"query {query} must have relevant documents, with gains above 0, got {gains!r}")
        for name, ks in (("recall", recall), ("ndcg", ndcg)):
            if any(type(k) is not int or k < 1 for k in ks):
                raise ValueError(f"{name} must hold whole numbers of at least 1, got {ks!r}")
        self.corpus = None if corpus is None else _unit(torch.as_tensor(corpus))
        self.output = output
        self.mask = mask
        self.recall = tuple(recall)
        self.ndcg = tuple(ndcg)

    def process(self, batch: Batch, outputs: Any) -> Mapping[int, torch.Tensor]:
        """Give the embedding of each sample.

        Raises:
            LookupError: the embeddings, or the mask, cannot be found.
            ValueError: they have another shape.
        """
        found = tensor_of(outputs, self.output)
        size = len(batch.indices)
        if found.ndim not in (2, 3) or len(found) != size:
            raise ValueError(f"embeddings must have shape ({size}, width) or ({size}, tokens, width), got {_of(found)}")
        if found.ndim == 3:
            mask = torch.ones(found.shape[:2]) if self.mask is None else pick(batch.inputs, self.mask)
            if mask.shape != found.shape[:2]:
                raise ValueError(f"hidden states must have shape {(*_of(mask), 'width')}, got {_of(found)}")
            # Each sample by itself, so that no other batch size changes a bit.
            rows = [_mean(row, own) for row, own in zip(found, mask, strict=True)]
        else:
            rows = list(found)
        return {index: _unit(row) for index, row in zip(batch.indices, rows, strict=True)}

    def evaluate(self, records: Mapping[int, torch.Tensor]) -> dict[str, float]:
        """Give the means over all queries that have a record.

        Raises:
            ValueError: there is no query, or no record of a relevant document.
        """
        names = [index for index in records if index not in self.gains] if self.corpus is None else None
        documents = self.corpus
        if documents is None:
            documents = torch.stack([records[index] for index in names or ()]) if names else torch.empty(0, 0)
        rows = {name: row for row, name in enumerate(names if names is not None else range(len(documents)))}
        queries = [index for index in records if index in self.gains]
        if not queries:
            raise ValueError("no queries, so nothing to find")
        found = [self._places(query, records[query], documents, rows) for query in queries]
        metrics = {f"recall@{k}": _mean_of([_recall(places, k) for places in found]) for k in self.recall}
        metrics["mrr"] = _mean_of([1 / min(place for place, _ in places) for places in found])
        return metrics | {f"ndcg@{k}": _mean_of([_ndcg(places, k) for places in found]) for k in self.ndcg}

    def _places(self, query: int, embedding: torch.Tensor, documents: torch.Tensor, rows: Mapping[int, int]) -> Places:
        gains = self.gains[query]
        lacking = [document for document in gains if document not in rows]
        if lacking:
            raise ValueError(f"document {lacking[0]}, which belongs to query {query}, has no record")
        nearness = documents @ embedding
        own = sorted((rows[document] for document in gains), key=lambda row: -_or(nearness[row], -2))
        others = torch.ones(len(documents), dtype=torch.bool)
        others[own] = False
        gain_of = {rows[document]: gain for document, gain in gains.items()}
        # "Not farther", so that NaN, and a model that says the same of all, find nothing.
        before = [int((others & ~(nearness < nearness[row])).sum()) for row in own]
        return [(1 + number + count, gain_of[row]) for number, (row, count) in enumerate(zip(own, before, strict=True))]


def _recall(places: Places, k: int) -> float:
    return sum(place <= k for place, _ in places) / len(places)


def _ndcg(places: Places, k: int) -> float:
    best = enumerate(sorted((gain for _, gain in places), reverse=True), start=1)
    return _dcg(places, k) / _dcg(list(best), k)


def _dcg(places: Sequence[tuple[int, float]], k: int) -> float:
    return fsum(gain / log2(1 + place) for place, gain in places if place <= k)


def _mean_of(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def _or(value: torch.Tensor, otherwise: float) -> float:
    return otherwise if value.isnan() else float(value)


def _mean(tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    weights = mask.to("cpu", torch.float64)[:, None]
    return (tokens.to("cpu", torch.float64) * weights).sum(dim=0) / weights.sum()


def _unit(embedding: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.normalize(embedding.detach().to("cpu", torch.float64), dim=-1)


def _of(tensor: torch.Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape)

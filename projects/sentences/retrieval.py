"""How well a sentence finds its partner among all partners."""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any, ClassVar

import torch

from libbench.interfaces import Batch, Evaluator
from libbench.pick import tensor_of


class Retrieval(Evaluator):
    """Metrics `recall@1` and `mrr` of finding sentence 2 i + 1 by sentence 2 i, by cosine of their embeddings.

    `recall@1` is the share of queries whose partner is nearest; `mrr` is the mean of 1 / place of the partner, from
    1. Another sentence that is as near as the partner comes before it. A record is the embedding, of length 1: the mean
    of the output's rows at `batch.inputs["attention_mask"]`.

    Args:
        output: key, attribute or position of the hidden states `(batch, tokens, width)` in what the model returns.
    """

    tolerances: ClassVar[Mapping[str, float]] = {"recall@1": 0.005, "mrr": 0.005}

    def __init__(self, output: str | int = "last_hidden_state") -> None:
        self.output = output

    def process(self, batch: Batch, outputs: Any) -> dict[int, list[float]]:
        """Give the embedding of each sentence."""
        hidden = tensor_of(outputs, self.output).to("cpu", torch.float64)
        mask = batch.inputs["attention_mask"].to("cpu", torch.float64)[..., None]
        if hidden.shape[:2] != mask.shape[:2]:
            raise ValueError(f"hidden states must have shape {(*mask.shape[:2], 'width')}, got {tuple(hidden.shape)}")
        means = (hidden * mask).sum(dim=1) / mask.sum(dim=1)
        embeddings = torch.nn.functional.normalize(means, dim=1).tolist()
        return dict(zip(batch.indices, embeddings, strict=True))

    def evaluate(self, records: Mapping[int, Sequence[float]]) -> dict[str, float]:
        """Give both metrics over all queries.

        Raises:
            ValueError: there are no records, or a sentence is without its partner.
        """
        alone = [index for index in records if index ^ 1 not in records]
        if alone or not records:
            raise ValueError(f"sentence {alone[0]} has no partner" if alone else "no sentences, so nothing to find")
        queries = torch.tensor([records[index] for index in records if index % 2 == 0], dtype=torch.float64)
        partners = torch.tensor([records[index + 1] for index in records if index % 2 == 0], dtype=torch.float64)
        nearness = queries @ partners.T
        # "Not farther", so that NaN and a model which says the same of all sentences find nothing.
        places = (~(nearness < nearness.diag()[:, None])).sum(dim=1).tolist()
        return {
            "recall@1": sum(place == 1 for place in places) / len(places),
            "mrr": fsum(1 / place for place in places) / len(places),
        }

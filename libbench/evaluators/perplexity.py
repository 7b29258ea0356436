"""How well a language model foresees the next token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any, ClassVar

import torch

from libbench.interfaces import Batch, Evaluator
from libbench.pick import tensor_of


class Perplexity(Evaluator):
    """Mean negative log-likelihood of the true tokens, in nats, and e to that power: `loss`, `perplexity`.

    A record has the sum over the sample's tokens and their count; what a token is worth is computed in float64.

    Args:
        tokens: the tokens of each sample, read at its dataset index, as many as there are positions.
        output: key, attribute or position of the scores, of shape `(samples, positions, vocabulary)`, in what the
            model returns, as for `Accuracy`.
        shift: True where the scores at a position foretell the next token, as a causal model's do; False where they
            are about the token at that position.
        ignore: the token that is not counted, such as padding.
    """

    tolerances: ClassVar[Mapping[str, float]] = {"loss": 1e-3}

    def __init__(
        self, tokens: Sequence[Any], output: str | int | None = None, shift: bool = True, ignore: int = -100
    ) -> None:
        self.tokens = tokens
        self.output = output
        self.shift = shift
        self.ignore = ignore

    def process(self, batch: Batch, outputs: Any) -> Mapping[int, tuple[float, int]]:
        """Give (sum, count) for each sample.

        Raises:
            LookupError: the scores cannot be found in the outputs.
            ValueError: they have another shape, or a token is beyond the vocabulary.
        """
        scores = tensor_of(outputs, self.output)
        if scores.ndim != 3 or len(scores) != len(batch.indices):
            raise ValueError(
                f"scores must have shape ({len(batch.indices)}, positions, vocabulary) for {len(batch.indices)} "
                f"indices, got {tuple(scores.shape)}"
            )
        return {index: self._record(index, rows) for index, rows in zip(batch.indices, scores, strict=True)}

    def _record(self, index: int, scores: torch.Tensor) -> tuple[float, int]:
        try:
            tokens = torch.as_tensor(self.tokens[index]).to("cpu", torch.int64)
        except IndexError:
            raise ValueError(f"sample {index} has no tokens; there are {len(self.tokens)} samples") from None
        if tokens.shape != scores.shape[:1]:
            raise ValueError(f"sample {index} has {tuple(tokens.shape)} tokens and {scores.shape[0]} positions")
        if self.shift:
            tokens, scores = tokens[1:], scores[:-1]
        counted = tokens != self.ignore
        tokens = tokens[counted]
        if len(tokens) and not 0 <= int(tokens.min()) <= int(tokens.max()) < scores.shape[1]:
            raise ValueError(f"tokens of sample {index} must be below {scores.shape[1]}, got {int(tokens.max())}")
        likely = scores.to("cpu", torch.float64)[counted].log_softmax(dim=1).gather(1, tokens[:, None])
        return -fsum(likely[:, 0].tolist()), len(tokens)

    def evaluate(self, records: Mapping[int, tuple[float, int]]) -> dict[str, float]:
        """Give both metrics; an infinite perplexity where it is beyond all floats.

        Raises:
            ValueError: there are no records, or no tokens in them.
        """
        count = sum(record[1] for record in records.values())
        if not count:
            raise ValueError("no tokens, so no perplexity")
        loss = fsum(record[0] for record in records.values()) / count
        # Unlike Python's own, this one gives infinity.
        return {"loss": loss, "perplexity": float(torch.tensor(loss, dtype=torch.float64).exp())}

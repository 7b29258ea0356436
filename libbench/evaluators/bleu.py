"""How much of its words a text shares with the true one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from libbench.interfaces import Batch, Evaluator
from libbench.optional import need
from libbench.pick import pick


class Bleu(Evaluator):
    """BLEU of all texts together, from 0 to 100, by sacrebleu: metric `bleu`. A record is the text of a sample.

    It is the corpus score of Papineni et al. (2002) as "A Call for Clarity in Reporting BLEU Scores" (Post, 2018)
    fixes it, so counts are added up over all samples and divided once. It needs the extra `text`.

    Args:
        references: the true text of each sample, or several of them, read at its dataset index.
        output: key, attribute or position of the texts in what the model returns: a list with one for each sample, or
            a text where there is one sample. None takes the outputs themselves.
        decode: makes such a list of what the model gives instead, such as token ids.
        tokenize: how sacrebleu splits a text into words: "13a", "intl", "zh", "char", ...
        lowercase: True takes no heed of capitals.
    """

    tolerances: ClassVar[Mapping[str, float]] = {"bleu": 0.1}

    def __init__(
        self,
        references: Sequence[str | Sequence[str]],
        output: str | int | None = None,
        decode: Callable[[Any], Sequence[str]] | None = None,
        tokenize: str = "13a",
        lowercase: bool = False,
    ) -> None:
        self.references = references
        self.output = output
        self.decode = decode
        self._bleu = need("sacrebleu.metrics", extra="text", purpose="the evaluator Bleu").BLEU(
            tokenize=tokenize, lowercase=lowercase
        )

    def process(self, batch: Batch, outputs: Any) -> Mapping[int, str]:
        """Give the text of each sample.

        Raises:
            LookupError: the texts cannot be found in the outputs.
            ValueError, TypeError: there is not one for each sample.
        """
        found = outputs if self.output is None else pick(outputs, self.output)
        found = found if self.decode is None else self.decode(found)
        texts = [found] if isinstance(found, str) else list(found)
        if len(texts) != len(batch.indices):
            raise ValueError(f"there must be a text for each of {len(batch.indices)} samples, got {len(texts)}")
        for text in texts:
            if not isinstance(text, str):
                kind = type(text).__qualname__
                raise TypeError(f"a text is wanted for each sample, got a {kind}; decode=... may make one of it")
        return dict(zip(batch.indices, texts, strict=True))

    def evaluate(self, records: Mapping[int, str]) -> dict[str, float]:
        """Give the score of all texts.

        Raises:
            ValueError: there are no records, or a sample has no reference.
        """
        if not records:
            raise ValueError("no texts, so no BLEU")
        true = [self._references(index) for index in records]
        # One stream for each first, second, ... reference, with None where a sample has no such.
        streams = [[each[i] if i < len(each) else None for each in true] for i in range(max(map(len, true)))]
        return {"bleu": float(self._bleu.corpus_score(list(records.values()), streams).score)}

    def _references(self, index: int) -> list[str]:
        try:
            found = self.references[index]
        except IndexError:
            raise ValueError(f"sample {index} has no reference; there are {len(self.references)}") from None
        listed = [found] if isinstance(found, str) else list(found)
        if not listed:
            raise ValueError(f"sample {index} has an empty list of references")
        return listed

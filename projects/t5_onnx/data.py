"""Random prompts for a T5, alone, with tokens to follow, and with the cache of a decoder."""

from typing import Any

import torch

SPECIAL = 2
"""Tokens below this one, which fill up and end, stand in no prompt."""


class Prompts:
    """Prompts of random tokens. What one holds depends on the seed and its index alone.

    An item is a dict of int64 tensors: `input_ids` and `attention_mask` of shape `(length,)`, with 0 in both after the
    prompt's end, and, where there are any, the `decoder_input_ids` of shape `(forced,)`, which begin with 0.

    Args:
        length: of the longest prompts; the shortest have half of it.
        forced: how many tokens the decoder is given; 0: none.
    """

    def __init__(
        self, length: int = 16, samples: int = 16, vocabulary: int = 256, forced: int = 0, seed: int = 0
    ) -> None:
        self.length, self.samples, self.vocabulary, self.forced, self.seed = length, samples, vocabulary, forced, seed

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        drawn = _drawing(self.seed, index)
        size = int(torch.randint(-(-self.length // 2), self.length + 1, (), generator=drawn))
        mask = (torch.arange(self.length) < size).long()
        tokens = torch.randint(SPECIAL, self.vocabulary, (self.length + self.forced,), generator=drawn)
        item = {"input_ids": tokens[: self.length] * mask, "attention_mask": mask}
        if self.forced:
            item["decoder_input_ids"] = torch.cat([torch.zeros(1, dtype=torch.int64), tokens[self.length + 1 :]])
        return item


class Steps:
    """What a step of the decoder takes: a token, a prompt that is encoded, and the cache, drawn at random.

    Args:
        length: of the prompts.
        past: tokens in the cache.
        layers, heads, width: of the model.
    """

    def __init__(
        self,
        layers: int,
        heads: int,
        width: int,
        length: int = 16,
        past: int = 5,
        samples: int = 16,
        vocabulary: int = 256,
        seed: int = 0,
    ) -> None:
        self.layers, self.heads, self.width = layers, heads, width
        self.prompts = Prompts(length, samples, vocabulary, forced=2, seed=seed)
        self.past, self.seed = past, seed

    def __len__(self) -> int:
        return len(self.prompts)

    def __getitem__(self, index: int) -> dict[str, Any]:
        prompt, drawn = self.prompts[index], _drawing(self.seed, index, stream=1)

        def cache(tokens: int) -> dict[str, torch.Tensor]:
            shape = self.heads, tokens, self.width // self.heads
            names = [f"{name}_{i}" for i in range(self.layers) for name in ("key", "value")]
            return {name: torch.randn(shape, generator=drawn) for name in names}

        return {
            "token": prompt["decoder_input_ids"][1:],
            "attention_mask": prompt["attention_mask"],
            "hidden": torch.randn(self.prompts.length, self.width, generator=drawn),
            "cross": cache(self.prompts.length),
            "past": cache(self.past),
        }


def _drawing(seed: int, index: int, stream: int = 0) -> torch.Generator:
    """Give what draws the numbers of one item."""
    return torch.Generator().manual_seed(((2 * seed + stream) << 32) + index)


def forced_tokens(dataset: Prompts) -> list[torch.Tensor]:
    """Give the tokens that the decoder is given, sample by sample."""
    return [dataset[index]["decoder_input_ids"] for index in range(len(dataset))]

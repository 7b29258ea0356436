"""scikit-learn's handwritten digits: 1797 pictures of 8 x 8 pixels, a fixed fifth of them held out."""

from typing import Any

import numpy as np
import torch

from libbench.optional import need

HELD_OUT = 360
SPLIT_SEED = 0


class Digits:
    """Pictures with their digits. An item is `{"image": float32 (1, 8, 8) from 0 to 1, "label": int}`.

    Args:
        held_out: True for the 360 pictures that training never sees, False for the other 1437.

    Attributes:
        labels: the digit of every picture, in order.
    """

    def __init__(self, held_out: bool) -> None:
        digits = need("sklearn.datasets", extra="digits", purpose="projects/digits").load_digits()
        order = np.random.RandomState(SPLIT_SEED).permutation(len(digits.target))
        chosen = order[:HELD_OUT] if held_out else order[HELD_OUT:]
        self.images = torch.tensor(digits.images[chosen] / 16, dtype=torch.float32)[:, None]
        self.labels = digits.target[chosen].tolist()

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"image": self.images[index], "label": self.labels[index]}


def labels_of(dataset: Digits) -> list[int]:
    """Give the digit of every picture, in order."""
    return dataset.labels

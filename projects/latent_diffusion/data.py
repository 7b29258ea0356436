"""What is to be drawn, and what was drawn for it."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from libbench.optional import need

from .model import PURPOSE, WORDS

SIZE = 32
DRAWN = "drawn.png"


class Prompts:
    """The ten digits in white, then in black, for each of which there are words and a seed.

    An item has `words`, int64 of shape `(2,)`, and `seeds`, an int64 number.

    Args:
        count: how many of the twenty, from the first.
    """

    def __init__(self, count: int = 20) -> None:
        if not 1 <= count <= 20:
            raise ValueError(f"count must be from 1 to 20, got {count}")
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        if not 0 <= index < self.count:
            raise IndexError(index)
        colour, digit = divmod(index, 10)
        words = [digit, WORDS.index(("white", "black")[colour])]
        return {"words": torch.tensor(words), "seeds": torch.tensor(index)}


def drawn() -> torch.Tensor:
    """Give what `eager.py` draws, rounded to 8 bits: `(20, 1, 32, 32)` from 0 to 1."""
    with _pillow().open(Path(__file__).with_name(DRAWN)) as sheet:
        pixels = torch.from_numpy(np.array(sheet))
    rows = pixels.unflatten(0, (-1, SIZE)).unflatten(2, (-1, SIZE)).movedim(2, 1)
    return rows.reshape(-1, 1, SIZE, SIZE) / 255


def keep(pictures: torch.Tensor, file: Path) -> None:
    """Write pictures as one, ten in a row.

    Args:
        pictures: `(10 x rows, 1, 32, 32)` from 0 to 1.
    """
    rows = pictures.reshape(-1, 10, SIZE, SIZE).movedim(2, 1).reshape(-1, 10 * SIZE)
    _pillow().fromarray((rows * 255).round().to(torch.uint8).numpy()).save(file, optimize=True)


def _pillow() -> Any:
    return need("PIL.Image", extra="diffusion", purpose=PURPOSE)

"""Two tensors of one shape, piece by piece, so that no memory grows with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

CHUNK = 65536
_CUT = 32  # so many pieces are cut at once, which is quicker than one after another


@dataclass(frozen=True)
class Place:
    """How a flat position in one batch of a leaf is said.

    Attributes:
        shape: the leaf's shape in this batch.
        indices: the dataset index of every entry of dimension 0; None when that dimension is not the batch.
    """

    shape: tuple[int, ...]
    indices: Sequence[int] | None = None

    def at(self, flat: int) -> tuple[int, ...]:
        """Give the position of a flat index, with the dataset index first where there is one."""
        place = []
        for size in reversed(self.shape):
            flat, index = divmod(flat, size)
            place.append(index)
        place.reverse()
        if self.indices is not None:
            place[0] = int(self.indices[place[0]])
        return tuple(place)


Pieces = Iterator[tuple[int, torch.Tensor, torch.Tensor]]


def pieces(reference: torch.Tensor, target: torch.Tensor, size: int = CHUNK) -> Pieces:
    """Give flat, contiguous pieces of both tensors with the index at which they begin, in the order of indices.

    Args:
        reference: strided, of any layout in memory; what is not contiguous is copied piece by piece.
        target: of the same shape.
        size: the most elements of a piece.
    """
    if reference.is_contiguous() and target.is_contiguous():
        flat = reference.reshape(-1), target.reshape(-1)
        for start in range(0, reference.numel(), _CUT * size):
            some = [torch.split(side[start : start + _CUT * size], size) for side in flat]
            for r, t in zip(*some, strict=True):
                yield start, r, t
                start += size
    elif reference.numel():
        yield from _slices(reference, target, size, 0)


def _slices(reference: torch.Tensor, target: torch.Tensor, size: int, start: int) -> Pieces:
    if reference.numel() <= size:
        yield start, reference.reshape(-1), target.reshape(-1)
        return
    inner = reference.numel() // len(reference)
    step = max(1, size // inner)
    for row in range(0, len(reference), step):
        rows = slice(row, row + step)
        if inner > size:
            yield from _slices(reference[row], target[row], size, start + row * inner)
        else:
            yield start + row * inner, reference[rows].reshape(-1), target[rows].reshape(-1)

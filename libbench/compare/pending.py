"""Small outputs of many batches, put together so that one pass serves them all."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import torch

from libbench.compare.chunks import Place

SMALL = 256
"""Up to so many values a leaf of one batch may wait."""
_MOST = 1024
_MOST_BATCHES = 64


@dataclass(frozen=True)
class JoinedPlace(Place):
    """How a position in the values of several batches, one behind the other, is said.

    Attributes:
        places: one for each batch.
        starts: at which position each of them begins.
    """

    places: tuple[Place, ...] = ()
    starts: tuple[int, ...] = ()

    def at(self, flat: int) -> tuple[int, ...]:
        """Give the position in the batch that a flat index lies in."""
        which = bisect_right(self.starts, flat) - 1
        return self.places[which].at(flat - self.starts[which])


class Pending:
    """Values that wait; what is added is copied.

    Args:
        parts: 2 when real and imaginary parts alternate, else 1.
    """

    def __init__(self, parts: int) -> None:
        self._parts = parts
        self._held: list[tuple[torch.Tensor, torch.Tensor, Place]] = []
        self._size = 0

    def add(self, reference: torch.Tensor, target: torch.Tensor, place: Place) -> bool:
        """Take a leaf of one batch; tell whether there are now so many that they should be taken."""
        self._held.append((reference.clone(), target.clone(), place))
        self._size += reference.numel()
        return self._size > _MOST or len(self._held) >= _MOST_BATCHES

    def take(self) -> tuple[torch.Tensor, torch.Tensor, Place] | None:
        """Give both sides, flat, and how positions are said, and forget them; None when nothing waits."""
        if not self._held:
            return None
        held, self._held, self._size = self._held, [], 0
        if len(held) == 1:
            reference, target, place = held[0]
            return reference.reshape(-1), target.reshape(-1), place
        starts = [0]
        for reference, _, _ in held:
            starts.append(starts[-1] + reference.numel() // self._parts)
        references, targets = (torch.cat([side.reshape(-1) for side in sides]) for sides in _sides(held))
        return references, targets, JoinedPlace((), None, tuple(place for _, _, place in held), tuple(starts))


def _sides(held: list[tuple[torch.Tensor, torch.Tensor, Place]]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    return [reference for reference, _, _ in held], [target for _, target, _ in held]

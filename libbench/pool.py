"""Inputs that timed calls go round in, with other values in every round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from libbench.interfaces import Batch
from libbench.tree import same_form, tensors

SIZE = 8
"""Inputs in a pool, so that an answer kept from the last call is not the right one."""


class Pool:
    """Batches on the device.

    Every round moves the values on by one batch, into the very tensors that are there: a model that knows its last
    inputs by their identity or their address answers wrongly, instead of quickly.

    Args:
        batches: full batches, at least one, as the data gave them.
        fresh: gives a batch with inputs of its own on the device.
    """

    def __init__(self, batches: Sequence[Batch], fresh: Callable[[Batch], Batch]) -> None:
        self._batches = list(batches)
        self._fresh = fresh
        self._turn = 0
        self._live = [fresh(batch) for batch in self._batches]
        # Found out once: a turn stands between two rounds, and must not take as long as one.
        self._alike = all(same_form(batches[0].inputs, batch.inputs) for batch in batches)
        self._values = [[tensor for _, tensor in tensors(batch.inputs)] for batch in self._batches]
        self._places = [[tensor for _, tensor in tensors(batch.inputs)] for batch in self._live]

    def refresh(self, turn: int) -> None:
        """Give every place of the pool the values that it has in a turn, from 0."""
        if turn == self._turn:
            return
        self._turn = turn
        for place, live in enumerate(self._live):
            batch = self.original(place)
            self._live[place] = replace(batch, inputs=live.inputs) if self._alike else self._fresh(batch)
            if self._alike:
                self._move(self._values[(place + turn) % len(self._values)], self._places[place])

    @staticmethod
    def _move(values: Sequence[torch.Tensor], places: Sequence[torch.Tensor]) -> None:
        with torch.no_grad():
            for value, place in zip(values, places, strict=True):
                place.copy_(value)

    def at(self, position: int) -> Batch:
        """Give the batch on the device at a position, which may be any number from 0."""
        return self._live[position % len(self._live)]

    def original(self, position: int) -> Batch:
        """Give, as the data gave it, the batch whose values stand at a position now."""
        return self._batches[(position + self._turn) % len(self._batches)]

"""Inputs that timed calls go round in, with other values in every round."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import torch

from libbench.interfaces import Batch
from libbench.tree import map_tensors, same_form, tensors

SIZE = 8
"""Inputs in a pool, so that an answer kept from the last call is not the right one."""
_GROUPS = 4
"""In each turn one place in so many is given other values: copying them all would take as long as a round."""
_WALK = 1009
"""Calls after which the order of the inputs begins again."""


class Pool:
    """Batches on the device.

    Every turn moves the values of some places on by one batch, into the very tensors that are there: a model that
    knows its last inputs by their identity or their address answers wrongly, instead of quickly.

    Args:
        batches: full batches, at least one, as the data gave them.
        fresh: gives a batch with inputs of its own on the device.

    Attributes:
        alike: whether the batches differ in the values of their tensors only.
    """

    def __init__(self, batches: Sequence[Batch], fresh: Callable[[Batch], Batch]) -> None:
        self._batches = list(batches)
        self._fresh = fresh
        self._held = list(range(len(batches)))  # by place, the number of the batch whose values it has
        self._order = _walk(len(batches))
        self._live = [fresh(batch) for batch in self._batches]
        # Found out once: a turn stands between two rounds, and must not take as long as one.
        self._values = [[tensor for _, tensor in tensors(batch.inputs)] for batch in self._batches]
        self.alike = all(same_form(batches[0].inputs, batch.inputs) for batch in batches)
        plain = self.alike and not any(_nested(batch.inputs) for batch in batches)
        self._movable = plain and len({_movable(values) for values in self._values} - {None}) == 1
        self._places = [[tensor for _, tensor in tensors(batch.inputs)] for batch in self._live]

    def refresh(self, turn: int) -> None:
        """Give every place of the pool the values that it has in a turn, from 0."""
        for place, live in enumerate(self._live):
            number = (place + (turn + _GROUPS - 1 - place % _GROUPS) // _GROUPS) % len(self._batches)
            if number == self._held[place]:
                continue
            self._held[place] = number
            batch = self._batches[number]
            self._live[place] = replace(batch, inputs=live.inputs) if self._movable else self._fresh(batch)
            if self._movable:
                self._move(self._values[number], self._places[place])

    @staticmethod
    def _move(values: Sequence[torch.Tensor], places: Sequence[torch.Tensor]) -> None:
        with torch.no_grad():
            for value, place in zip(values, places, strict=True):
                place.copy_(value)

    @property
    def size(self) -> int:
        """How many batches there are."""
        return len(self._batches)

    def batch(self, number: int) -> Batch:
        """Give a batch by its number, from 0, as the data gave it."""
        return self._batches[number]

    def at(self, position: int) -> Batch:
        """Give the batch on the device at a position in the order of calls, which may be any number from 0."""
        return self._live[self._order[position % _WALK]]

    def number(self, position: int) -> int:
        """Give the number, from 0, of the batch whose values stand at a position now."""
        return self._held[self._order[position % _WALK]]


def _nested(inputs: Any) -> bool:
    """Tell whether a tensor of rows of several lengths is among the inputs, into which no other values are copied."""
    found: list[bool] = []

    def look(tensor: torch.Tensor) -> torch.Tensor:
        found.append(tensor.is_nested)
        return tensor

    map_tensors(look, inputs)
    return any(found)


def _movable(values: Sequence[torch.Tensor]) -> tuple[int, ...] | None:
    """Say which of the tensors are one and the same; None where other values cannot simply be copied into them."""
    if any(value.layout is not torch.strided for value in values):
        return None
    known = [id(value) for value in values]
    return tuple(known.index(each) for each in known)


@cache
def _walk(places: int) -> Sequence[int]:
    """Give places in an order that looks random, never one twice in a row where there are two.

    Going round in a circle would make every stretch of calls see each place as often: pairs would be more alike than
    their interval assumes. It is the same order for every side.
    """
    rng, place, order = random.Random(0), 0, []
    for _ in range(_WALK):
        order.append(place)
        place = (place + (rng.randrange(1, places) if places > 1 else 0)) % places
    return order

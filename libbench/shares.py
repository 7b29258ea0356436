"""What of the data each rank runs: the same for all, whole batches by turns, or a part of every batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from typing import Any

from libbench.errors import LibbenchError
from libbench.interfaces import Batch


@dataclass(frozen=True)
class Everything:
    """Every batch: for a single process, for ranks that share one model, and for data that split themselves."""

    rank: int = 0
    world: int = 1

    def of(self, data: Iterable[Any]) -> Iterable[Any]:
        """Give the data as this rank goes through them."""
        return data

    def turns(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Give what this rank runs, one batch in each turn; all ranks have as many turns."""
        return batches

    def full(self, batches: Iterator[Batch], most: int) -> list[Batch]:
        """Give the full batches among the first ones, from one to so many, for timing; all ranks have as many."""
        first = next(batches)
        others = takewhile(lambda batch: len(batch.indices) >= len(first.indices), batches)
        return [first, *islice(others, most - 1)]


class Batches(Everything):
    """Batch i goes to rank i modulo their number.

    In the last turn a rank that has none left repeats its last one, or the first of all: a collective in the model
    wants every rank. All samples of such a batch are padding.
    """

    def turns(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Give every batch that is this rank's."""
        spare, count = None, 0
        for count, batch in enumerate(batches, start=1):
            mine = (count - 1) % self.world == self.rank
            if mine or spare is None:
                spare = batch
            if mine:
                yield batch
        if spare is not None and 0 < count % self.world <= self.rank:
            yield replace(spare, number=count, padding=len(spare.indices))

    def full(self, batches: Iterator[Batch], most: int) -> list[Batch]:
        """Give this rank's full batches; where it has fewer than another, it begins again."""
        known = super().full(batches, most * self.world)
        turns = -(-len(known) // self.world)
        return [known[(turn * self.world + self.rank) % len(known)] for turn in range(turns)]


class Samples(Everything):
    """Of every batch, the samples that stand at this rank's place and at every so many after it.

    The loader makes them into a batch. A rank that would have one sample less than another gets the batch's first one
    on top, as padding.
    """

    def of(self, data: Iterable[Any]) -> Iterable[Any]:
        """Give what the data make of this rank's part.

        Raises:
            LibbenchError: they have no `part(rank, world)`.
        """
        part: Callable[[int, int], Iterable[Any]] | None = getattr(data, "part", None)
        if part is None:
            kind = type(data).__qualname__
            raise LibbenchError(
                f"split='samples' needs data with part(rank, world), as libbench.data.IndexedLoader has it, "
                f"got a {kind}; split='batches' takes any data"
            )
        return part(self.rank, self.world)


SPLITS: Mapping[str, type[Everything]] = {"batches": Batches, "samples": Samples, "same": Everything, "own": Everything}
"""How the data are split, by the name that `Distributed` has for it."""


def part_of(indices: range | tuple[int, ...], rank: int, world: int) -> tuple[tuple[int, ...], int]:
    """Give a rank's part of a batch, of the same length on every rank, and how many of its last samples are padding."""
    part, length = tuple(indices[rank::world]), -(-len(indices) // world)
    padding = length - len(part)
    return part + tuple(indices[:padding]), padding

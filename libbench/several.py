"""One part `data` of several loaders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from libbench.data import DataError
from libbench.errors import LibbenchError
from libbench.interfaces import Batch


class Several:
    """The batches of several loaders, one loader after the other, whose samples are told apart.

    A batch has the loader's name as `source` and is, as that loader gave it, its `own`. Dataset indices go on from
    loader to loader: sample 0 of the second one has the index that is the number of samples of the first.
    `libbench.evaluators.by_source.BySource` has an evaluator for each.

    Args:
        loaders: each by its name, as `Several(val=IndexedLoader(...), test=IndexedLoader(...))`; at least one, and
            each with a `dataset` that has `len()`.

    Raises:
        TypeError, ValueError: an argument is wrong.
        DataError: while iterating, a loader gave an index that its dataset has not.

    Attributes:
        first: by name, the index of the loader's sample 0.
    """

    def __init__(self, **loaders: Any) -> None:
        if not loaders:
            raise ValueError("Several must have a loader, as Several(val=IndexedLoader(...))")
        self.loaders = loaders
        self.first: dict[str, int] = {}
        self._samples = 0
        for name, loader in loaders.items():
            if not hasattr(getattr(loader, "dataset", None), "__len__"):
                raise TypeError(f"{name} must be a loader with a dataset that has len(), got {loader!r}")
            self.first[name] = self._samples
            self._samples += len(loader.dataset)

    def part(self, rank: int, world: int, *, pad: bool = True) -> Several:
        """Give one rank's part of each batch of every loader, as the loaders' own `part(rank, world)` makes it.

        Raises:
            LibbenchError: a loader has no such method.
        """
        for name, loader in self.loaders.items():
            if not hasattr(loader, "part"):
                raise LibbenchError(f"{name} has no part(rank, world), got a {type(loader).__qualname__}")
        return Several(**{name: loader.part(rank, world, pad=pad) for name, loader in self.loaders.items()})

    def __len__(self) -> int:
        """Give the number of batches."""
        return sum(len(loader) for loader in self.loaders.values())

    def __iter__(self) -> Iterator[Batch]:
        # All are begun now, so that they agree about the epoch when a pass is left before its end.
        return self._batches({name: iter(loader) for name, loader in self.loaders.items()})

    def _batches(self, begun: Mapping[str, Iterator[Batch]]) -> Iterator[Batch]:
        number = 0
        for name, source in begun.items():
            size = len(self.loaders[name].dataset)
            for batch in source:
                beyond = [index for index in batch.indices if not 0 <= index < size]
                if beyond:
                    raise DataError(f"{name} gave index {beyond[0]}; its dataset has {size} samples")
                indices = tuple(self.first[name] + index for index in batch.indices)
                yield replace(batch, indices=indices, number=number, source=name, own=batch)
                number += 1

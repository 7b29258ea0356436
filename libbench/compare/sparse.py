"""Two sparse tensors, as pairs of values at the places that either of them stores, piece by piece.

The stored entries of a tensor are in an order, and their keys say at which place of it each of them stands. Both sides
are read along their keys at the same time, as two sorted lists are merged, so that no memory grows with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from libbench.compare.chunks import CHUNK, Place

Pairs = Iterator[tuple[torch.Tensor, torch.Tensor, Place]]

_BY_COLUMN = (torch.sparse_csc, torch.sparse_bsc)
_ENTRIES = CHUNK // 4  # whose keys, of 8 bytes, are sorted where they differ
_BLOCKED = (torch.sparse_bsr, torch.sparse_bsc)


@dataclass(frozen=True)
class Grid:
    """What a key counts.

    Attributes:
        sizes: of the dimensions that keys count through, the last one fastest.
        turned: whether the column comes first.
        block: the sizes of a block of dense values that an entry stands for, in the first dimensions of its values.
    """

    sizes: tuple[int, ...]
    turned: bool = False
    block: tuple[int, ...] = ()

    def at(self, key: int, inner: tuple[int, ...]) -> list[int]:
        """Give the position of a value in the whole tensor from the key and the position in the entry."""
        outer = list(Place(self.sizes).at(key))
        if self.turned:
            outer.reverse()
        count = len(self.block)
        for axis in range(count):
            outer[axis] = outer[axis] * self.block[axis] + inner[axis]
        return [*outer, *inner[count:]]


@dataclass(frozen=True)
class SparsePlace(Place):
    """How a position among stored entries is said; `shape` is that of one entry.

    Attributes:
        key: gives the key of an entry.
        grid: what keys count.
    """

    key: Callable[[int], torch.Tensor | int] = int
    grid: Grid = Grid(())

    def at(self, flat: int) -> tuple[int, ...]:
        """Give the position in the whole tensor."""
        entry, rest = divmod(flat, math.prod(self.shape))
        place = self.grid.at(int(self.key(entry)), Place(self.shape).at(rest))
        if self.indices is not None and place:
            place[0] = int(self.indices[place[0]])
        return tuple(place)


class Coo:
    """The entries of a coalesced tensor of coordinates."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.values = tensor.values().detach()
        self.grid = Grid(tuple(tensor.shape[: tensor.sparse_dim()]))
        self.places = (tensor.indices(),)

    def keys(self, start: int, stop: int) -> torch.Tensor:
        """Give the keys of some entries."""
        keys = torch.zeros(max(0, min(stop, len(self.values)) - start), dtype=torch.int64)
        for size, index in zip(self.grid.sizes, self.places[0], strict=True):
            keys.mul_(size).add_(index[start:stop])
        return keys


class Compressed:
    """The entries of a tensor whose rows or columns are compressed, as in CSR, CSC, BSR and BSC."""

    def __init__(self, tensor: torch.Tensor) -> None:
        turned = tensor.layout in _BY_COLUMN
        self.values = tensor.values().detach()  # torch asks a view of a compressed tensor for strides
        block = tuple(self.values.shape[1:3]) if tensor.layout in _BLOCKED else ()
        rows, columns = (size // step for size, step in zip(tensor.shape, block or (1, 1), strict=False))
        self.grid = Grid((columns, rows) if turned else (rows, columns), turned, block)
        ends = tensor.ccol_indices() if turned else tensor.crow_indices()
        self.places = ends[1:], tensor.row_indices() if turned else tensor.col_indices()

    def keys(self, start: int, stop: int) -> torch.Tensor:
        """Give the keys of some entries."""
        ends, inner = self.places[0], self.places[1][start:stop].to(torch.int64)
        entries = torch.arange(start, start + len(inner), dtype=ends.dtype)
        return torch.searchsorted(ends, entries, right=True).mul_(self.grid.sizes[1]).add_(inner)


Entries = Coo | Compressed


def pairs(reference: torch.Tensor, target: torch.Tensor, indices: Sequence[int] | None) -> Pairs:
    """Give the values of both sides, and how their positions are said, at the places that either side stores.

    A place not stored is 0. The memory is that of one piece, but that of a tensor whose entries are in no order, are
    not coalesced, or come in batches or blocks of other sizes.

    Args:
        reference: of any sparse layout.
        target: of the same shape and layout.
        indices: the dataset index of every entry of dimension 0; None when that dimension is not the batch.
    """
    sides = tuple(_entries(side) for side in (reference, target))
    if 0 in reference.shape or 0 in (len(side.grid.sizes) for side in sides):
        yield reference.to_dense(), target.to_dense(), Place(tuple(reference.shape), indices)
        return
    if sides[0].grid != sides[1].grid:
        sides = tuple(Coo(_as_coo(side)) for side in (reference, target))
    if _alike(*sides):
        shape, first = tuple(sides[0].values.shape[1:]), sides[0]
        place = SparsePlace(shape, indices, lambda entry: first.keys(entry, entry + 1), first.grid)
        yield sides[0].values, sides[1].values, place
        return
    if not all(map(_ordered, sides)):
        sides = tuple(Coo(_sorted(_as_coo(side))) for side in (reference, target))
    yield from _merge(sides[0], sides[1], indices)


def _merge(reference: Entries, target: Entries, indices: Sequence[int] | None) -> Pairs:
    sides, at = (reference, target), [0, 0]
    shape = tuple(reference.values.shape[1:])
    step = max(1, _ENTRIES // math.prod(shape))
    while any(start < len(side.values) for start, side in zip(at, sides, strict=True)):
        keys = [side.keys(start, start + step) for start, side in zip(at, sides, strict=True)]
        rest = [side.values[start:] for start, side in zip(at, sides, strict=True)]
        keys = _reached(keys, [step < len(some) for some in rest])
        stored = torch.unique(torch.cat(keys))
        values = [_filled(some, of, stored) for some, of in zip(rest, keys, strict=True)]
        yield values[0], values[1], SparsePlace(shape, indices, stored.__getitem__, reference.grid)
        at = [start + len(some) for start, some in zip(at, keys, strict=True)]


def _reached(keys: list[torch.Tensor], more: list[bool]) -> list[torch.Tensor]:
    """Leave out the keys behind which the other side may have more keys, not read yet, that come before them."""
    last = [some[-1] for some, unread in zip(keys, more, strict=True) if unread]
    if not last:
        return keys
    return [some[: int(torch.searchsorted(some, min(last), right=True))] for some in keys]


def _filled(values: torch.Tensor, keys: torch.Tensor, stored: torch.Tensor) -> torch.Tensor:
    """Give a value for every stored key: the first of these values in turn at the given keys, elsewhere 0."""
    filled = values.new_zeros((len(stored), *values.shape[1:]))
    filled[torch.searchsorted(stored, keys)] = values[: len(keys)]
    return filled


def _entries(tensor: torch.Tensor) -> Entries:
    if tensor.layout is not torch.sparse_coo:
        ends = tensor.ccol_indices() if tensor.layout in _BY_COLUMN else tensor.crow_indices()
        if ends.dim() == 1:
            return Compressed(tensor)
    return Coo(_as_coo(tensor))


def _alike(reference: Entries, target: Entries) -> bool:
    """Tell whether both store the same places, in one order."""
    places = zip(reference.places, target.places, strict=True)
    return reference.grid == target.grid and all(r.dtype == t.dtype and torch.equal(r, t) for r, t in places)


def _ordered(side: Entries) -> bool:
    """Tell whether every key is above the one before it."""
    for start in range(0, len(side.values), CHUNK):
        keys = side.keys(start, start + CHUNK + 1)
        if not bool((keys[1:] > keys[:-1]).all()):
            return False
    return True


def _as_coo(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.layout is not torch.sparse_coo:
        try:
            tensor = tensor.to_sparse(layout=torch.sparse_coo)
        except RuntimeError:  # blocked layouts know only the way through a dense tensor
            tensor = tensor.to_dense().to_sparse()
    return tensor.coalesce()


def _sorted(tensor: torch.Tensor) -> torch.Tensor:
    """Give a tensor that says to be coalesced, and may not be, with its entries in order."""
    return torch.sparse_coo_tensor(tensor.indices(), tensor.values(), tensor.shape, check_invariants=False).coalesce()

"""Loaders: batches that know which sample of the dataset each of their rows is."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import torch

from libbench.errors import LibbenchError
from libbench.interfaces import Batch
from libbench.pick import pick
from libbench.shares import part_of

Picker = str | int | Sequence[str | int] | Callable[[Any], Any] | None


class DataError(LibbenchError):
    """A dataset gave no sample, or samples that do not go into one batch."""


class IndexedLoader:
    """Batches of a dataset in its own order. Every pass gives the same, and counts one epoch more.

    Args:
        dataset: anything with `len()` and `dataset[i]` for i from 0.
        batch_size: samples in a batch, at least 1; the last batch may have fewer.
        inputs: what the model gets of an item: a key, a position or an attribute; a list of them, which gives a dict
            for names and a tuple for positions; a callable that takes the item. None gives the whole item.
        collate: makes one batch of a list of picked items; None is `stack`.

    Raises:
        TypeError, ValueError: an argument is wrong.
        DataError: while iterating, `dataset[i]` or `inputs` failed; the message names the index.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        inputs: Picker = None,
        collate: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
            raise TypeError(f"dataset must have len() and dataset[i], got a {type(dataset).__name__}")
        if collate is not None and not callable(collate):
            raise TypeError(f"collate must be callable or None, got {collate!r}")
        self.dataset = dataset
        self.batch_size = _at_least("batch_size", batch_size, 1)
        self._pick = _picker(inputs)
        self._collate = collate or stack
        self._epochs = 0
        self._place = 0, 1

    def part(self, rank: int, world: int) -> IndexedLoader:
        """Give a loader of one rank's part of each batch: its samples `rank`, `rank + world`, and so on.

        All ranks get batches of the same length; where there are not enough samples, the batch's first one is added,
        as padding.
        """
        part = copy.copy(self)
        part._place, part._epochs = (rank, world), 0
        return part

    def __len__(self) -> int:
        """Give the number of batches."""
        return -(-len(self.dataset) // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        epoch, self._epochs = self._epochs, self._epochs + 1
        return self._batches(epoch)

    def _batches(self, epoch: int) -> Iterator[Batch]:
        size = len(self.dataset)
        for number, start in enumerate(range(0, size, self.batch_size)):
            indices, padding = part_of(range(start, min(start + self.batch_size, size)), *self._place)
            items = [self._item(index) for index in indices]
            try:
                inputs = self._collate(items)
            except Exception as error:
                raise DataError(f"samples {indices[0]} to {indices[-1]} make no batch: {_said(error)}") from error
            yield Batch(indices=indices, inputs=inputs, number=number, epoch=epoch, padding=padding)

    def _item(self, index: int) -> Any:
        step = f"dataset[{index}]"
        try:
            item = self.dataset[index]
            step = f"inputs of dataset[{index}]"
            return self._pick(item)
        except Exception as error:
            raise DataError(f"{step} failed: {_said(error)}") from error


class RandomInputs(IndexedLoader):
    """Batches of random tensors. What a sample holds depends on `seed` and its index, never on the batch size.

    Args:
        shapes: shape of one sample, without the batch: `(3, 8, 8)`, or `()` for a number. A list of shapes gives a
            tuple of tensors, a dict of shapes a dict.
        samples: how many samples there are, at least 1.
        batch_size: samples in a batch, at least 1; the last batch may have fewer.
        dtype: of all tensors. Floating and complex ones are drawn from the normal distribution, bool by a fair coin.
        seed: at least 0.
        low: the smallest value; integers need it, floating dtypes are then drawn evenly from `low` to `high`.
        high: the value above the largest; given exactly when `low` is.
    """

    def __init__(
        self,
        shapes: Any,
        samples: int,
        batch_size: int,
        dtype: torch.dtype = torch.float32,
        seed: int = 0,
        low: float | None = None,
        high: float | None = None,
    ) -> None:
        if not isinstance(dtype, torch.dtype):
            raise TypeError(f"dtype must be a torch dtype, got {dtype!r}")
        _check_range(dtype, low, high)
        dataset = _Random(_checked_shapes(shapes), _at_least("samples", samples, 1), dtype, seed, low, high)
        _at_least("seed", seed, 0)
        super().__init__(dataset, batch_size)


class _Random:
    """The samples of `RandomInputs`."""

    def __init__(
        self, shapes: Any, samples: int, dtype: torch.dtype, seed: int, low: float | None, high: float | None
    ) -> None:
        self.shapes, self.samples, self.dtype, self.seed, self.low, self.high = shapes, samples, dtype, seed, low, high

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> Any:
        if isinstance(self.shapes, dict):
            return {name: self._draw(name, shape, index) for name, shape in self.shapes.items()}
        if isinstance(self.shapes, list):
            return tuple(self._draw(position, shape, index) for position, shape in enumerate(self.shapes))
        return self._draw(0, self.shapes, index)

    def _draw(self, name: str | int, shape: tuple[int, ...], index: int) -> torch.Tensor:
        # A digest, because neighbouring seeds must not give the same values and Python's hash differs by process.
        digest = sha256(repr((self.seed, name, index)).encode()).digest()
        generator = np.random.default_rng(int.from_bytes(digest))
        values: Any
        if self.dtype is torch.bool:
            values = generator.integers(0, 2, shape)
        elif self.low is not None and self.high is not None:
            if self.dtype.is_floating_point:
                values = generator.uniform(self.low, self.high, shape)
            else:
                values = generator.integers(int(self.low), int(self.high), shape)
        else:
            values = generator.standard_normal(shape)
            if self.dtype.is_complex:
                values = values + 1j * generator.standard_normal(shape)
        return torch.as_tensor(values, device="cpu").to(self.dtype)


def stack(items: list[Any]) -> Any:
    """Make one batch of a list of items of the same kind.

    Tensors, numpy arrays and numbers become one tensor with the batch first (Python's floats in torch's default
    dtype); dicts, tuples, named tuples and lists are kept, with a batch at each place. Text and everything else stays
    a list, as does what is not all of one kind.

    Raises:
        ValueError: shapes, keys or lengths differ; the message names them.
    """
    first = items[0]
    if _all(items, torch.Tensor):
        _one("shapes", [tuple(item.shape) for item in items])
        return torch.stack(items)
    if _all(items, np.ndarray | np.generic) and first.dtype.kind in "biufc":
        _one("shapes", [item.shape for item in items])
        return torch.from_numpy(np.stack(items))
    if _all(items, bool | int | float | complex):
        return torch.tensor(items, device="cpu")
    if _all(items, Mapping):
        _one("keys", [sorted(map(str, item)) for item in items])
        return {key: stack([item[key] for item in items]) for key in first}
    if _all(items, tuple | list):
        _one("lengths", [len(item) for item in items])
        columns = [stack(list(column)) for column in zip(*items, strict=True)]
        if hasattr(first, "_fields"):
            return type(first)(*columns)
        return columns if isinstance(first, list) else tuple(columns)
    return items


def _all(items: list[Any], kind: Any) -> bool:
    return all(isinstance(item, kind) for item in items)


def _one(what: str, values: list[Any]) -> None:
    other = next((value for value in values if value != values[0]), None)
    if other is not None:
        raise ValueError(f"{what} differ: {values[0]} and {other}")


def _picker(inputs: Picker) -> Callable[[Any], Any]:
    if inputs is None:
        return lambda item: item
    if callable(inputs):
        return inputs
    if isinstance(inputs, str | int):
        return lambda item: pick(item, inputs)
    names = list(inputs) if isinstance(inputs, Sequence) else []
    if names and all(isinstance(name, str) for name in names):
        return lambda item: {name: pick(item, name) for name in names}
    if names and all(isinstance(name, int) for name in names):
        return lambda item: tuple(pick(item, name) for name in names)
    raise TypeError(
        f"inputs must be a name, a position, a list of names or of positions, or a callable, got {inputs!r}"
    )


def _checked_shapes(shapes: Any) -> Any:
    """Give a tuple for one shape, a list or dict of tuples for several."""
    if isinstance(shapes, Mapping) and shapes:
        return {name: _shape(shape) for name, shape in shapes.items()}
    if isinstance(shapes, list | tuple) and shapes and not all(isinstance(size, int) for size in shapes):
        return [_shape(shape) for shape in shapes]
    return _shape(shapes)


def _shape(shape: Any) -> tuple[int, ...]:
    good = isinstance(shape, list | tuple) and all(type(size) is int and size >= 0 for size in shape)
    if not good:
        raise ValueError(f"a shape must be a tuple of sizes of at least 0, as (3, 8, 8), got {shape!r}")
    return tuple(shape)


def _check_range(dtype: torch.dtype, low: float | None, high: float | None) -> None:
    if (low is None) != (high is None):
        raise ValueError(f"low and high go together, got {low!r} and {high!r}")
    if dtype.is_floating_point and low is None:
        return
    if dtype is torch.bool or dtype.is_complex:
        if low is not None:
            raise ValueError(f"{dtype} has no low and high, got {low!r} and {high!r}")
        return
    if low is None or high is None:
        raise ValueError(f"{dtype} needs low and high, as low=0, high=100")
    if not low < high:
        raise ValueError(f"low must be below high, got {low!r} and {high!r}")
    if not dtype.is_floating_point:
        least, most = torch.iinfo(dtype).min, min(torch.iinfo(dtype).max, torch.iinfo(torch.int64).max)
        if int(low) != low or int(high) != high or low < least or high > most + 1:
            raise ValueError(f"{dtype} is drawn from whole numbers {least} to {most}, got {low!r} and {high!r}")


def _at_least(name: str, value: Any, least: int) -> int:
    if type(value) is not int:
        raise TypeError(f"{name} must be an int, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return value


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"

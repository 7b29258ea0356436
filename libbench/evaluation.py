"""Evaluators at work: what they are given, what they must leave alone, and how their records come together."""

from __future__ import annotations

import operator
import zlib
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

from libbench.errors import LibbenchError
from libbench.interfaces import Batch, Evaluator
from libbench.state import random_state_put_back
from libbench.tree import fingerprint, tensors


class Collected:
    """Records by dataset index, as they come from batches and from ranks; the first one of a sample is kept.

    Attributes:
        disputed: the indices that came again with a record that is not equal to the first one.
    """

    def __init__(self) -> None:
        self._records: dict[int, Any] = {}
        self.disputed: set[int] = set()

    def add(self, records: Mapping[int, Any]) -> None:
        """Take in the records of a batch or of a rank."""
        for index, record in records.items():
            if index not in self._records:
                self._records[index] = record
            elif fingerprint(record) != fingerprint(self._records[index]):
                self.disputed.add(index)

    @property
    def records(self) -> dict[int, Any]:
        """All of them in index order."""
        return dict(sorted(self._records.items()))


def merge_records(parts: Sequence[Mapping[int, Any]]) -> dict[int, Any]:
    """Give the union by dataset index of the records of several ranks, in index order.

    Of a sample that several ranks have had, as padded sampling makes it, the record of the first is kept;
    `Collected` tells which of them were not equal.
    """
    collected = Collected()
    for part in parts:
        collected.add(part)
    return collected.records


def process(evaluator: Evaluator, batch: Batch, outputs: Any, name: str = "") -> dict[int, Any]:
    """Give the evaluator's records of a batch; random numbers go on as if it had drawn none.

    Args:
        outputs: handed over as they are.
        name: what the evaluator is called beside others.

    Raises:
        LibbenchError: it changed a tensor of the outputs in place, or gave a record for a sample of another batch.
        Exception: whatever it raises, with a note that names it, the batch and the indices.
    """
    called = _called(evaluator, name)
    with noted(f"{called}.process, batch {batch.number}, indices {brief(batch.indices)}"), random_state_put_back():
        before = _marks(outputs)
        given = evaluator.process(batch, outputs)
        if not isinstance(given, Mapping):
            raise TypeError(f"wanted a dict of one record for each dataset index, got {_short(given)}")
        records = {operator.index(index): record for index, record in given.items()}
        for path, tensor, mark in before:
            if _mark(tensor) != mark:
                raise LibbenchError(f"{called} changed the tensor at {path} in place; others read it, so copy it first")
        strange = records.keys() - set(batch.indices)
        if strange:
            raise LibbenchError(f"{called} gave records for indices that are not in the batch: {brief(strange)}")
    return records


def evaluate(evaluator: Evaluator, records: Mapping[int, Any], name: str = "") -> dict[str, float]:
    """Give the evaluator's metrics by name; random numbers go on as if it had drawn none.

    Args:
        records: they are given to it in index order.
        name: what the evaluator is called beside others.
    """
    with noted(f"{_called(evaluator, name)}.evaluate, {len(records)} records"), random_state_put_back():
        found = evaluator.evaluate(dict(sorted(records.items())))
        if not isinstance(found, Mapping):
            raise TypeError(f"wanted a dict of a number for each metric, got {_short(found)}")
        return {str(metric): _number(str(metric), value) for metric, value in found.items()}


def allowed_by(evaluator: Evaluator) -> dict[str, float]:
    """Give, by glob of metric name, the difference that an evaluator allows, as it is kept with its metrics."""
    return {str(glob): float(allowed) for glob, allowed in getattr(evaluator, "tolerances", {}).items()}


def shallow(outputs: Any) -> Any:
    """Give the outputs with new containers, as far as these are built-in ones; all else in them is shared.

    An evaluator that takes a key out of its copy, at any depth, leaves those of others whole.
    """
    kind = type(outputs)
    if kind in (dict, OrderedDict):
        return kind((key, shallow(value)) for key, value in outputs.items())
    if kind is defaultdict:
        return defaultdict(outputs.default_factory, ((key, shallow(value)) for key, value in outputs.items()))
    if kind in (list, tuple):
        return kind(shallow(value) for value in outputs)
    return set(outputs) if kind is set else outputs


def give_folder(evaluator: Evaluator, folder: Path) -> None:
    """Make a folder and tell the evaluator that it may write there."""
    folder.mkdir(parents=True, exist_ok=True)
    # A frozen dataclass is told, too.
    object.__setattr__(evaluator, "folder", folder)


def drop_empty(folder: Path) -> None:
    """Remove a folder with those in it that nobody has written to."""
    for place in sorted((each for each in folder.rglob("*") if each.is_dir()), reverse=True):
        with suppress(OSError):
            place.rmdir()
    with suppress(OSError):
        folder.rmdir()


def brief(indices: Iterable[int]) -> str:
    """Give some indices as text, the first five of many."""
    listed = sorted(indices)
    return ", ".join(map(str, listed[:5])) + (f", ... ({len(listed)})" if len(listed) > 5 else "")


@contextmanager
def noted(what: str) -> Iterator[None]:
    """Add to an exception what was being done."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in {what}")
        raise


def _number(metric: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"metric {metric!r} must be a number, got {_short(value)}") from error


def _short(value: Any) -> str:
    """Give a value as text that fits in a message."""
    return repr(value) if isinstance(value, str | None) and len(str(value)) <= 60 else f"a {type(value).__qualname__}"


def _called(evaluator: Evaluator, name: str) -> str:
    kind = type(evaluator).__qualname__
    return f"{name}, a {kind}" if name else kind


def _marks(outputs: Any) -> list[tuple[str, torch.Tensor, int | str]]:
    return [(path, tensor, _mark(tensor)) for path, tensor in tensors(outputs)]


def _mark(tensor: torch.Tensor) -> int | str:
    """Give what is another after a change in place; tensors of inference mode do not count their changes."""
    if not tensor.is_inference():
        return tensor._version
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
        return fingerprint(tensor)
    # Faster than a fingerprint; nobody means to deceive it.
    values: Any = tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return zlib.crc32(values)

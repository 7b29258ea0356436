"""Records of an evaluator on disk, exactly as they were; nothing is pickled."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from libbench.errors import LibbenchError
from libbench.tree import Snapshot, load_snapshot, save_snapshot

_FLOATS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def save_records(records: Mapping[int, Any], folder: Path) -> None:
    """Write records into a folder, which is made.

    Args:
        records: by dataset index: None, numbers (numpy's, too), strings, bytes, tensors, arrays, and dicts with text
            or ints for keys, lists and tuples of such things.

    Raises:
        LibbenchError: a record holds something else.
    """
    tensors: dict[str, torch.Tensor] = {}
    written = []
    for index, record in records.items():
        try:
            written.append([index, _to_json(record, tensors)])
        except TypeError as error:
            raise LibbenchError(f"the record of index {index} cannot be handed to another rank: {error}") from error
    folder.mkdir(parents=True, exist_ok=True)
    save_snapshot(Snapshot({"records": written}, tensors), folder, 0)


def load_records(folder: Path) -> dict[int, Any]:
    """Give what `save_records` has written into a folder: equal values of the same types."""
    taken = load_snapshot(folder, 0)
    return {index: _from_json(value, taken.leaves) for index, value in taken.structure["records"]}


def _to_json(value: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """Give a value as JSON: what JSON has as it is, and all else as `[kind, ...]`."""
    if value is None or type(value) in (str, bool, int):
        return value
    if type(value) is float:
        return value if value - value == 0 else ["float", str(value)]
    if type(value) in (list, tuple):
        return [type(value).__name__, [_to_json(each, tensors) for each in value]]
    if type(value) is dict and all(type(key) in (str, int) for key in value):
        return ["dict", [[key, _to_json(each, tensors)] for key, each in value.items()]]
    if type(value) is complex:
        return ["complex", [_to_json(value.real, tensors), _to_json(value.imag, tensors)]]
    if type(value) is bytes:
        return ["bytes", value.hex()]
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "biufc":
        return [
            "scalar" if isinstance(value, np.generic) else "array",
            _keep(torch.from_numpy(np.array(value)), tensors),
        ]
    if isinstance(value, torch.Tensor) and value.layout is torch.strided:
        return ["tensor", _keep(value.detach().cpu(), tensors)]
    raise TypeError(f"a {type(value).__qualname__} is none of numbers, strings, tensors, dicts, lists and tuples")


def _keep(tensor: torch.Tensor, tensors: dict[str, torch.Tensor]) -> str:
    name = str(len(tensors))
    tensors[name] = tensor.clone(memory_format=torch.contiguous_format)
    return name


def _from_json(written: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    if not isinstance(written, list):
        return written
    kind, value = written
    match kind:
        case "float":
            return _FLOATS[value]
        case "complex":
            return complex(*(_from_json(each, tensors) for each in value))
        case "bytes":
            return bytes.fromhex(value)
        case "dict":
            return {key: _from_json(each, tensors) for key, each in value}
        case "scalar":
            return tensors[value].numpy()[()]
        case "array":
            return tensors[value].numpy()
        case "tensor":
            return tensors[value]
    items = [_from_json(each, tensors) for each in value]
    return tuple(items) if kind == "tuple" else items

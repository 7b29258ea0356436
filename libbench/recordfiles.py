"""Records of an evaluator on disk: numbers and text in `records.jsonl`, tensors as safetensors; nothing is pickled."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch

from libbench.errors import LibbenchError
from libbench.evaluation import merge_records
from libbench.tree import load_snapshot, save_snapshot, snapshot
from libbench.tree.leaves import LeafError, from_array, kept

LINES = "records.jsonl"
TENSORS = "records"


class RecordWriter:
    """Writes records into a folder as they come.

    Args:
        folder: exists; records that are there already are replaced.
    """

    def __init__(self, folder: Path) -> None:
        self._tensors = folder / TENSORS
        self._file: TextIO = (folder / LINES).open("w", encoding="ascii")
        self._lines = 0

    def add(self, records: Mapping[int, Any]) -> None:
        """Write the records of a batch.

        Raises:
            TypeError: one holds what is none of numbers, text, bytes, None, tensors, arrays and containers of them.
        """
        held: dict[str, torch.Tensor] = {}
        forms = []
        for index, record in records.items():
            try:
                forms.append([index, _form(record, held)])
            except (TypeError, LeafError) as error:
                raise TypeError(f"the record of sample {index} cannot be kept: {error}") from error
        if held:
            self._tensors.mkdir(exist_ok=True)
            save_snapshot(snapshot(held, copy=False), self._tensors, self._lines)
        line = {"tensors": self._lines if held else None, "records": forms}
        self._file.write(json.dumps(line, allow_nan=False) + "\n")
        self._file.flush()
        self._lines += 1

    def close(self) -> None:
        """Close the file. May be called twice."""
        self._file.close()


def load_records(folder: Path) -> dict[int, Any]:
    """Give the records in a folder by dataset index, in its order; of a sample that came twice, the first.

    Tensors stay in their files, mapped into memory, until they are looked at; those that lay on another device are on
    the CPU. A last line that was cut off by an interruption is left out.

    Raises:
        LibbenchError: there are none, or a file is damaged.
    """
    if not (folder / LINES).is_file():
        raise LibbenchError(f"{folder} has no {LINES}: the side was run without an evaluator")
    return merge_records(list(_lines(folder)))


def _lines(folder: Path) -> Iterator[dict[int, Any]]:
    number = 0
    try:
        lines = (folder / LINES).read_text(encoding="ascii").splitlines(keepends=True)
        for text in lines:
            if not text.endswith("\n"):
                return
            number += 1
            line = json.loads(text)
            place = line["tensors"]
            held = load_snapshot(folder / TENSORS, place).leaves if place is not None else {}
            yield {index: _value(form, held) for index, form in line["records"]}
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise LibbenchError(f"{folder / LINES} cannot be read, line {number}: {error}") from error


def _form(value: Any, held: dict[str, torch.Tensor]) -> Any:
    """Give the JSON form of a value, whose tensors go among those held."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"float": str(float(value))}
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, complex):
        return {"complex": [_form(value.real, held), _form(value.imag, held)]}
    if isinstance(value, torch.Tensor):
        return {"tensor": _hold(kept(value, copy=False), held)}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        kind = "array" if isinstance(value, np.ndarray) else "scalar"
        return {kind: _hold(from_array(np.array(value)), held)}
    if type(value) is list:
        return [_form(item, held) for item in value]
    if type(value) is tuple:
        return {"tuple": [_form(item, held) for item in value]}
    if isinstance(value, Mapping):
        return {"dict": [[_form(key, held), _form(item, held)] for key, item in value.items()]}
    raise TypeError(
        f"a {type(value).__qualname__} is in it; wanted are numbers, text, bytes, None, tensors, arrays, and lists, "
        f"tuples and dicts of them"
    )


def _hold(tensor: torch.Tensor, held: dict[str, torch.Tensor]) -> str:
    name = str(len(held))
    held[name] = tensor
    return name


def _value(form: Any, held: Mapping[str, torch.Tensor]) -> Any:
    """Give the value that `_form` wrote."""
    if isinstance(form, list):
        return [_value(item, held) for item in form]
    if not isinstance(form, dict):
        return form
    ((kind, content),) = form.items()
    match kind:
        case "float":
            return float(content)
        case "bytes":
            return bytes.fromhex(content)
        case "complex":
            return complex(*(_value(part, held) for part in content))
        case "tensor":
            return held[content]
        case "array":
            return held[content].numpy()
        case "scalar":
            return held[content].numpy()[()]
        case "tuple":
            return tuple(_value(item, held) for item in content)
        case "dict":
            return {_value(key, held): _value(item, held) for key, item in content}
    raise ValueError(f"{kind!r} is no kind of value")

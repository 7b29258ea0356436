"""Snapshots on disk: `NNNNN.json` for structure, `NNNNN.safetensors` for values; nothing is pickled."""

from __future__ import annotations

import json
import os
import reprlib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from libbench.errors import UnavailableError
from libbench.tree.checking import check_forms, check_structure
from libbench.tree.leaves import SPARSE_COMPRESSED, as_bytes, parts
from libbench.tree.snapshot import Snapshot

_FORMAT = 1
_NATIVE = {
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
}


class SnapshotError(UnavailableError):
    """A saved snapshot is missing or damaged, or cannot be written: a fault of the disk, not of a side."""


def save_snapshot(snapshot: Snapshot, folder: str | os.PathLike[str], number: int) -> None:
    """Write a snapshot as `NNNNN.json` and `NNNNN.safetensors`, so that no reader ever sees half of it.

    Args:
        snapshot: any; its leaves may share memory.
        folder: exists.
        number: the number of the batch, at least 0; what is there under it is replaced.

    Raises:
        SnapshotError: a file cannot be written; the text names it.
    """
    pieces: dict[str, torch.Tensor] = {}
    memories: set[int] = set()
    forms = {path: _pack(path, leaf, pieces, memories) for path, leaf in snapshot.leaves.items()}
    text = json.dumps({"format": _FORMAT, "structure": snapshot.structure, "leaves": forms}, allow_nan=False)
    target = _target(folder, number)
    # The JSON comes last: where it stands, the tensors stand too.
    _replace(target.with_suffix(".safetensors"), lambda path: save_file(pieces, path))
    _replace(target.with_suffix(".json"), lambda path: path.write_text(text, encoding="ascii") and None)


def load_snapshot(folder: str | os.PathLike[str], number: int) -> Snapshot:
    """Read a snapshot; the values stay in the file, mapped into memory, until they are looked at.

    Raises:
        SnapshotError: a file is missing or damaged; the text names it.
    """
    path = _target(folder, number).with_suffix(".json")
    try:
        content = json.loads(path.read_text(encoding="ascii"))
        structure, forms = _content(content)
        path = path.with_suffix(".safetensors")
        with safe_open(path, framework="pt") as file:
            leaves = {name: _unpack(form, file) for name, form in forms.items()}
        path = path.with_suffix(".json")
        check_structure(structure, leaves)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        what = f"it has no {error}" if isinstance(error, KeyError) else error
        raise SnapshotError(f"{path} cannot be read as a saved snapshot: {what}") from error
    return Snapshot(structure, leaves)


def _content(content: Any) -> tuple[Any, Mapping[str, Any]]:
    if not isinstance(content, dict):
        raise ValueError(f"an object is wanted, got a {type(content).__name__}")
    if content["format"] != _FORMAT:
        raise ValueError(f"format {_FORMAT} is wanted, got {reprlib.repr(content['format'])}")
    check_forms(content["leaves"])
    return content["structure"], content["leaves"]


def remove_snapshot(folder: str | os.PathLike[str], number: int) -> None:
    """Remove a snapshot's files; those that are not there are no error."""
    for suffix in (".json", ".safetensors"):
        _target(folder, number).with_suffix(suffix).unlink(missing_ok=True)


def move_snapshot(source: str | os.PathLike[str], number: int, folder: str | os.PathLike[str], as_number: int) -> None:
    """Move a snapshot's files to another folder of the same disk, under another number.

    Raises:
        SnapshotError: a file is missing or cannot be moved; the text names it.
    """
    for suffix in (".safetensors", ".json"):
        path = _target(source, number).with_suffix(suffix)
        try:
            path.replace(_target(folder, as_number).with_suffix(suffix))
        except OSError as error:
            raise SnapshotError(f"{path} cannot be moved to {folder}: {error}") from error


def _target(folder: str | os.PathLike[str], number: int) -> Path:
    return Path(folder) / f"{number:05d}"


def _replace(path: Path, write: Any) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(temporary)
        temporary.replace(path)
    except (OSError, SafetensorError) as error:
        raise SnapshotError(f"{path} cannot be written: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _pack(path: str, leaf: torch.Tensor, pieces: dict[str, torch.Tensor], memories: set[int]) -> dict[str, Any]:
    """Put the parts of a leaf among the pieces of the file and give what is needed to put it together again.

    `memories` are those of the pieces so far; the file format refuses two pieces that share one.
    """
    form: dict[str, Any] = {"dtype": _name(leaf.dtype), "shape": list(leaf.shape), "parts": {}}
    form["layout"] = "meta" if leaf.is_meta else _name(leaf.layout)
    if leaf.is_quantized:
        form["scheme"] = _name(leaf.qscheme())
        if "channel" in form["scheme"]:
            form["axis"] = leaf.q_per_channel_axis()
        else:
            form.update(scale=leaf.q_scale(), zero_point=leaf.q_zero_point())
    for part, values in parts(leaf).items():
        key = path if part == "values" else f"{path}#{part}"
        while key in pieces:
            key += "'"
        form["parts"][part] = {"key": key, "dtype": _name(values.dtype), "shape": list(values.shape)}
        held = _storable(values)
        memory = held.untyped_storage().data_ptr()
        pieces[key] = held.clone() if memory in memories else held
        memories.add(memory)
    return form


def _storable(values: torch.Tensor) -> torch.Tensor:
    """Give the values in a form that every version of the file format has: as they are, as pairs, or as bytes."""
    if values.is_complex():
        return torch.view_as_real(values).contiguous()
    return values.contiguous() if values.dtype in _NATIVE else as_bytes(values)


def _unpack(form: Mapping[str, Any], file: Any) -> torch.Tensor:
    dtype, shape = getattr(torch, form["dtype"]), form["shape"]
    if form["layout"] == "meta":
        return torch.empty(shape, dtype=dtype, device="meta")
    held = {part: _restored(spec, file.get_tensor(spec["key"])) for part, spec in form["parts"].items()}
    with warnings.catch_warnings():  # torch warns that sparse and quantised tensors may change; they are given ones
        warnings.simplefilter("ignore")
        if "scheme" in form:
            return _quantised(form, held)
        layout = getattr(torch, form["layout"])
        if layout is torch.sparse_coo:
            return torch.sparse_coo_tensor(
                held["indices"], held["values"], shape, check_invariants=True, is_coalesced=True
            )
        if layout in SPARSE_COMPRESSED:
            outer, inner = (held[name] for name in SPARSE_COMPRESSED[layout])
            return torch.sparse_compressed_tensor(
                outer, inner, held["values"], shape, layout=layout, check_invariants=True
            )
    return held["values"]


def _restored(spec: Mapping[str, Any], stored: torch.Tensor) -> torch.Tensor:
    dtype, shape = getattr(torch, spec["dtype"]), spec["shape"]
    if dtype.is_complex:
        with warnings.catch_warnings():  # torch warns that half-precision complex numbers are new
            warnings.simplefilter("ignore")
            values = torch.view_as_complex(stored)
    elif dtype in _NATIVE:
        values = stored
    else:  # a view of wider elements must begin at a multiple of their size
        values = (stored if dtype.itemsize == 1 else stored.clone()).view(dtype).reshape(shape)
    if values.dtype != dtype or list(values.shape) != shape:
        raise ValueError(f"{spec['key']} is {values.dtype} {list(values.shape)}, wanted {dtype} {shape}")
    return values


def _quantised(form: Mapping[str, Any], held: Mapping[str, torch.Tensor]) -> torch.Tensor:
    dtype, values = getattr(torch, form["dtype"]), held["values"]
    if "channel" not in form["scheme"]:
        return torch._make_per_tensor_quantized_tensor(values, form["scale"], form["zero_point"])
    made = torch._make_per_channel_quantized_tensor(values, held["scales"], held["zero_points"], form["axis"])
    if made.dtype != dtype:
        raise ValueError(f"{made.dtype} came back, wanted {dtype}")
    return made


def _name(value: Any) -> str:
    return str(value).removeprefix("torch.")

"""Plain files of tensors, read so that they can be compared: .safetensors, .npz, .npy and .pt with weights only.

Arrays become tensors, so that a file of either kind compares with one of the other. Values stay in the file until they
are looked at: mapped into memory, or, in a .npz, read leaf by leaf.
"""

from __future__ import annotations

import pickle
import re
import warnings
import weakref
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from numpy.lib import format as npy_format
from safetensors import SafetensorError, safe_open

from libbench.compare import OutputComparison
from libbench.errors import LibbenchError, did_you_mean
from libbench.filekinds import found_in
from libbench.findings import OutputsReport
from libbench.settings import Tolerance
from libbench.tree import Snapshot, join, snapshot
from libbench.tree.leaves import LeafError, from_array

_NUMBERS = "biufc"
"""Kinds of array that become tensors; text, times and records stay what they are."""
_DAMAGED = (OSError, ValueError, EOFError, LookupError, RuntimeError, zipfile.BadZipFile, SafetensorError)


def compare_files(reference: str | Path, target: str | Path, tolerance: Tolerance | None = None) -> OutputsReport:
    """Compare two files of tensors, which may be of two kinds, as one batch of outputs.

    Raises:
        LibbenchError: as for `read_plain`.
    """
    comparison = OutputComparison(tolerance)
    comparison.add(read_plain(reference), read_plain(target))
    return comparison.report()


def read_plain(path: str | Path) -> Snapshot:
    """Read a file of tensors; nothing in it is executed.

    Raises:
        LibbenchError: it is missing or damaged, is of another kind, or holds what only unpickling could read.
    """
    file = Path(path)
    read = _READERS.get(file.suffix.lower())
    if not file.is_file():
        raise LibbenchError(f"{path} {_no_file(file)}")
    if read is None:
        raise LibbenchError(f"wanted a file that ends in {', '.join(_READERS)}, got {str(path)!r}")
    with _readable(file):
        return read(file)


def _no_file(file: Path) -> str:
    if file.is_dir():
        return "is a folder, not a file of tensors"
    if file.exists():
        return "is no regular file"
    if file.is_symlink():
        return f"is a link to {file.readlink()}, which is not there"
    near = [each.name for each in file.parent.iterdir()] if file.parent.is_dir() else []
    return f"is not there{did_you_mean(file.name, near)}"


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    """Turn what is raised while reading a file into an error that names it and says what it is instead."""
    try:
        yield
    except (*_DAMAGED, pickle.UnpicklingError) as error:
        text = " ".join(str(error).split())
        unsafe = re.search(r"[Uu]nsupported (?:global: GLOBAL|class) (\S+)", text)
        kind, wanted = found_in(file), file.suffix.lower().replace(".pth", ".pt")
        if unsafe is not None:
            what = f"it holds more than weights, {unsafe[1]}, {_UNPICKLED}"
        elif kind != wanted:
            what = f"it is a {kind} file by its content" if kind in _READERS else f"it is {kind}"
        elif "allow_pickle" in text:
            what = f"it holds objects, {_UNPICKLED}"
        else:
            what = f"it is damaged or cut off ({text[:100] or type(error).__name__})"
        raise LibbenchError(f"{file} cannot be read as a {wanted} file: {what}") from error


_UNPICKLED = "which only unpickling could read, and that may run anything"


def _safetensors(file: Path) -> Snapshot:
    with safe_open(file, framework="pt") as held:
        # Each tensor is a view of the mapped file.
        return snapshot({name: held.get_tensor(name) for name in held.keys()}, copy=False)  # noqa: SIM118


def _npy(file: Path) -> Snapshot:
    with file.open("rb") as start:
        head = _head(start)
    # Mapped so that changes stay in this process: of what may not be written no tensor can be made without a copy.
    mode: Any = "c" if head is not None and 0 not in head[1] else None
    return snapshot(_as_tensor(np.load(file, mmap_mode=mode, allow_pickle=False)), copy=False)


def _npz(file: Path) -> Snapshot:
    with ExitStack() as life:
        held = life.enter_context(_archive(file))
        heads = {name: _member_head(held, name) for name in held.files}
        # What is no plain array has to be read; one snapshot of all of it keeps their paths apart.
        others = snapshot({name: held[name] for name, head in heads.items() if head is None})
        nodes = dict(zip((n for n, head in heads.items() if head is None), others.structure["items"], strict=True))
        members: dict[str, str] = {}
        for name, head in heads.items():
            if head is None:
                continue
            path = join("", name)
            while path in others.leaves or path in members:
                path += "'"
            members[path] = name
            node = {"kind": "tensor", "class": "torch.Tensor", "dtype": head[0], "shape": list(head[1])}
            nodes[name] = [name, node | {"layout": "strided", "path": path}]
        structure = {"kind": "dict", "class": "dict", "items": [nodes[name] for name in heads]}
        leaves = _Members(file, held, members, others.leaves)
        # Left open: a directory of thousands of members is read again with every opening.
        weakref.finalize(leaves, life.pop_all().close)
        return Snapshot(structure, leaves)


@contextmanager
def _archive(file: Path) -> Iterator[Any]:
    # Opened here, since numpy leaves a damaged file open.
    with file.open("rb") as stream:
        held = np.load(stream, allow_pickle=False)
        if not isinstance(held, np.lib.npyio.NpzFile):
            raise ValueError("it is a single array, as in a .npy file")
        with held:
            yield held


class _Members(Mapping[str, torch.Tensor]):
    """The arrays of a .npz, each read when it is asked for and not kept."""

    def __init__(self, file: Path, held: Any, members: Mapping[str, str], others: Mapping[str, torch.Tensor]) -> None:
        self._file = file
        self._held = held
        self._members = members
        self._others = others

    def __getitem__(self, path: str) -> torch.Tensor:
        if path not in self._members:
            return self._others[path]
        with _readable(self._file):
            return from_array(self._held[self._members[path]])

    def __iter__(self) -> Iterator[str]:
        return iter((*self._members, *self._others))

    def __len__(self) -> int:
        return len(self._members) + len(self._others)


def _pt(file: Path) -> Snapshot:
    with warnings.catch_warnings():
        # What torch has to say of old and of compiled files is said by the error.
        warnings.simplefilter("ignore")
        # Only the newer, zipped form can be mapped.
        held = torch.load(file, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(file))
    return snapshot(held, copy=False)


def _member_head(held: Any, name: str) -> tuple[str, tuple[int, ...]] | None:
    member = name if name in held.zip.namelist() else f"{name}.npy"
    with held.zip.open(member) as start:
        return _head(start)


def _head(start: IO[bytes]) -> tuple[str, tuple[int, ...]] | None:
    """Give the dtype, as torch names it, and the shape of an array in numpy's format; None for no plain numbers."""
    version = npy_format.read_magic(start)
    if version not in ((1, 0), (2, 0)):  # later ones are for the names of fields
        return None
    read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
    shape, _, dtype = read(start)
    if dtype.kind not in _NUMBERS:
        return None
    empty = _as_tensor(np.empty(0, dtype))
    return (str(empty.dtype).removeprefix("torch."), shape) if isinstance(empty, torch.Tensor) else None


def _as_tensor(array: Any) -> Any:
    if array.dtype.kind not in _NUMBERS:
        return array
    try:
        return from_array(array)
    except LeafError:  # what no tensor can hold
        return array


_READERS: Mapping[str, Callable[[Path], Snapshot]] = {
    ".safetensors": _safetensors,
    ".npz": _npz,
    ".npy": _npy,
    ".pt": _pt,
    ".pth": _pt,
}

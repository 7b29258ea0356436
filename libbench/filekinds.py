"""What a file is by its content, whatever its name says."""

from __future__ import annotations

import zipfile
from pathlib import Path

_START = 4096
_SAFETENSORS_HEAD = 8
"""Bytes that say how long the JSON after them is."""


def found_in(file: Path) -> str:
    """Give ".npy", ".npz", ".pt" or ".safetensors" for a file that begins as one of these, else what it is in words."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        start = stream.read(_START)
    if not start:
        return "empty"
    if start.startswith(b"\x93NUMPY"):
        return ".npy"
    if start.startswith(b"PK"):
        return _archive(file)
    if start[0] == 0x80 and len(start) > 1 and start[1] in range(2, 6):
        return "a pickle, which only unpickling could read, and that may run anything"
    length = int.from_bytes(start[:_SAFETENSORS_HEAD], "little")
    if start[_SAFETENSORS_HEAD : _SAFETENSORS_HEAD + 1] == b"{" and length < 2**40:
        return ".safetensors"
    return "text" if _is_text(start, whole=size <= _START) else "of no known kind"


def _archive(file: Path) -> str:
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return "a zip archive that is damaged or cut off"
    if any(name.endswith("/data.pkl") for name in names):
        return ".pt"
    if names and all(name.endswith(".npy") for name in names):
        return ".npz"
    return f"a zip archive of {len(names):,} other files" if names else "an empty zip archive"


def _is_text(start: bytes, *, whole: bool) -> bool:
    try:
        text = start.decode("utf-8") if whole else start[:-4].decode("utf-8", errors="ignore")
    except UnicodeDecodeError:
        return False
    return all(char.isprintable() or char.isspace() for char in text)

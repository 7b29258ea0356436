"""What a row of a list says of its graph sample."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from libbench.rowfile import GraphSampleRecord
from libbench.samples.errors import SampleError
from libbench.samples.reading import CODE, HASH, INFO, INPUTS, WEIGHTS, read_info


def record_of(folder: Path, path: str, seed: int) -> GraphSampleRecord:
    """Give the record of a sample. One that is damaged has a record, too: what is wrong with it is for its run to say.

    Args:
        folder: where it lies.
        path: what a list calls it.
        seed: of its weights and inputs.
    """
    info = _info(folder)
    return GraphSampleRecord(
        path=path,
        name=_text(info, "model_name") or folder.resolve().name,
        source=_text(info, "source"),
        tag=_text(info, "heuristic_tag"),
        hash=_bytes(folder / HASH).decode(errors="replace").strip(),
        files=_digest(folder),
        seed=seed,
    )


def _info(folder: Path) -> Mapping[str, Any]:
    try:
        return read_info(folder / INFO)
    except SampleError:
        return {}


def _text(info: Mapping[str, Any], key: str) -> str | None:
    value = info.get(key)
    return value if isinstance(value, str) and value else None


def _digest(folder: Path) -> str:
    held = sha256()
    for name in (CODE, WEIGHTS, INPUTS):
        content = _bytes(folder / name)
        held.update(f"{name} {len(content)} ".encode() + content)
    return held.hexdigest()


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""

"""What inductor needs and leaves on this machine: a C++ compiler, and a folder of compiled code."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import torch

from libbench.errors import UnavailableError

_told: set[Path] = set()
_MACHINE_CODE = (".so", ".cubin", ".hsaco")


def require_cxx() -> None:
    """Make sure that there is a C++ compiler where inductor needs one.

    Raises:
        UnavailableError: there is none, and no GPU to do without.
    """
    if torch.cuda.is_available():
        return
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler as error:
        raise UnavailableError("inductor needs a C++ compiler such as g++, and none is on the PATH") from error


def is_cold() -> bool | None:
    """Tell whether the folder of compiled code is empty; None where `TORCHINDUCTOR_CACHE_DIR` names none."""
    folder = _cache()
    return None if folder is None else not folder.is_dir() or not any(folder.iterdir())


def new_code() -> Callable[[], int | None]:
    """Give a function that tells how many bytes of machine code came into the folder since; None where none did.

    What another such function has told of is not told again, so that their sum is right where several compile in turn.
    """
    folder = _cache()
    known, own = _libraries(folder), dict[Path, int]()

    def count() -> int | None:
        own.update({f: size for f, size in _libraries(folder).items() if f not in known and f not in _told})
        _told.update(own)
        return sum(own.values()) or None

    return count


def _cache() -> Path | None:
    folder = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    return None if folder is None else Path(folder)


def _libraries(folder: Path | None) -> dict[Path, int]:
    if folder is None or not folder.is_dir():
        return {}
    return {file: file.stat().st_size for file in folder.rglob("*") if file.suffix in _MACHINE_CODE}

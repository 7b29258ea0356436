"""What inductor needs and leaves on this machine: a C++ compiler, and a folder of compiled code."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import torch

from libbench.errors import UnavailableError

Rng = Literal["native", "same"]
"""Where inductor's code takes random numbers from: a generator of its own, or that of eager torch."""
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
        # It remembers what it has found in this process.
        there = shutil.which(get_cpp_compiler()) is not None
    except InvalidCxxCompiler:
        there = False
    if not there:
        raise UnavailableError("inductor needs a C++ compiler such as g++, and none is on the PATH")


def check_rng(rng: str) -> None:
    """Check the name of a policy for random numbers.

    Raises:
        ValueError: there is no such policy.
    """
    if rng not in get_args(Rng):
        raise ValueError(f"rng must be 'native' or 'same', got {rng!r}")


def with_rng(options: Mapping[str, Any] | None, rng: Rng) -> dict[str, Any] | None:
    """Give inductor's settings by which it draws as the policy says; the user's own win."""
    if rng == "native":
        return None if options is None else dict(options)
    return {"fallback_random": True, **(options or {})}


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

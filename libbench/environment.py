"""What a side ran on: machine, software, load."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil
import torch

import libbench

_PACKAGES = ("numpy", "triton", "onnxruntime", "openvino", "transformers")


def usable_cores() -> int:
    """Give the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def describe(file: str | None) -> Mapping[str, Any]:
    """Describe this machine and its software now.

    Args:
        file: a config; the state of the git checkout that it lies in is added.

    Returns:
        JSON values. `load` is the number of runnable processes over the last minute.
    """
    return {
        "machine": platform.platform(),
        "cores": usable_cores(),
        "memory bytes": psutil.virtual_memory().total,
        "threads": torch.get_num_threads(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "libbench": libbench.__version__,
        "torch": torch.__version__,
        "packages": _versions(),
        "c++": _first_line(["c++", "--version"]),
        "git": _git(Path(file).parent) if file else None,
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _git(folder: Path) -> str | None:
    """Give the commit, with "dirty" when tracked files differ from it; None outside a checkout."""
    commit = _first_line(["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"])
    if commit is None:
        return None
    changed = _first_line(["git", "-C", str(folder), "status", "--porcelain", "--untracked-files=no"])
    return f"{commit} dirty" if changed else commit


def _first_line(command: list[str]) -> str | None:
    program = shutil.which(command[0])
    if program is None:
        return None
    try:
        done = subprocess.run([program, *command[1:]], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return next(iter(done.stdout.splitlines()), None)

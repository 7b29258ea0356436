"""The line of the model's own code at which something is called."""

from __future__ import annotations

import inspect
import linecache
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import Any

import torch

_TORCH = str(Path(torch.__file__).parent)
_HERE = str(Path(__file__).parent)
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


def current_line() -> str:
    """Give the innermost line that is running and is neither torch's nor this package's, as `file:line: code`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _foreign(frame.f_code.co_filename):
            return _written(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return ""


def line_in(trace: str) -> str:
    """Give the same of a stack trace as text, whose innermost frame stands last; empty where there is none."""
    found = [(match["file"], int(match["line"])) for match in _FRAME.finditer(trace)]
    own = [(file, line) for file, line in found if not _foreign(file)]
    return _written(*own[-1]) if own else ""


def place_of(module: Any) -> str:
    """Give `file:line` of a module's `forward`, or of its class; empty for what has no Python source."""
    for thing in (getattr(type(module), "forward", None), type(module)):
        try:
            file = inspect.getsourcefile(thing)  # type: ignore[arg-type]
            return f"{file}:{inspect.getsourcelines(thing)[1]}"  # type: ignore[arg-type]
        except (TypeError, OSError):
            continue
    return ""


def _foreign(file: str) -> bool:
    return file.startswith((_TORCH, _HERE, "<"))


def _written(file: str, line: int) -> str:
    return f"{file}:{line}: {linecache.getline(file, line).strip()}"


def files_of(sources: Iterable[str]) -> list[str]:
    """Give the files of sources as `current_line` gives them, each once."""
    return list(dict.fromkeys(source.split(":")[0] for source in sources if source))

"""The line of the model's own code at which something is called."""

from __future__ import annotations

import inspect
import linecache
import random
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch

_TORCH = str(Path(torch.__file__).parent)
_TOOLS = (*(str(Path(_TORCH).with_name(name)) for name in ("numpy", "sympy")), random.__file__)
"""What models and torch call to reckon with."""
_NN = str(Path(_TORCH, "nn"))
_HERE = str(Path(__file__).parent)
_FLAT = str(Path(_HERE, "flat.py"))
_SEARCH = str(Path(_HERE, "locate"))
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


def current_line() -> str:
    """Give the innermost line that is running and is the model's own, as `file:line: code`.

    Where no line is, as of a module of torch that is called by itself, it is torch's own.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_SEARCH):
        frame = frame.f_back
    found: list[tuple[str, int]] = []
    # Further out than the search itself is who has asked for it.
    while frame is not None and not frame.f_code.co_filename.startswith(_SEARCH):
        found.append((frame.f_code.co_filename, frame.f_lineno))
        if not _foreign(found[-1][0]):
            break
        frame = frame.f_back
    return _innermost(found)


def own_place(frame: FrameType | None) -> tuple[str, int] | None:
    """Give file and line of the innermost frame, from one outwards, that is the model's own; None without one."""
    while frame is not None and _foreign(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def line_in(trace: str) -> str:
    """Give the same of a stack trace as text, whose innermost frame stands last; empty where there is none."""
    found = [(match["file"], int(match["line"])) for match in _FRAME.finditer(trace)]
    return _innermost(found[::-1])


def line_in_stack(stack: Sequence[traceback.FrameSummary]) -> str:
    """Give the same of a stack, whose innermost frame stands last; empty where there is none."""
    return _innermost([(frame.filename, frame.lineno or 0) for frame in reversed(stack)])


def line_at(file: str, line: int) -> str:
    """Give the same of a place; empty where it is not the model's own."""
    return "" if _foreign(file) else _written(file, line)


def line_of(error: BaseException) -> str:
    """Give the same of the place where an error came up, in code that libbench has called; empty where that is not."""
    stack = getattr(error, "real_stack", None)
    if stack:  # torch has followed the code without running it
        return line_in_stack(stack)
    found: list[tuple[str, int]] = []
    model = False
    for frame, line in traceback.walk_tb(error.__traceback__):
        file = frame.f_code.co_filename
        # Further out than the last of libbench is who has asked for it; what that calls itself is no model, but for
        # what it calls in the place of torch.
        found = [] if file.startswith(_HERE) else [(file, line), *found]
        model = file == _FLAT or file.startswith(_TORCH) or (model and bool(found))
        if not model:
            found = []
    return _innermost(found) or line_in(str(error))


def place_of(module: Any) -> str:
    """Give `file:line` of a module's `forward`, or of its class; empty for what has no Python source."""
    for thing in (getattr(type(module), "forward", None), type(module)):
        try:
            file = inspect.getsourcefile(thing)  # type: ignore[arg-type]
            return f"{file}:{inspect.getsourcelines(thing)[1]}"  # type: ignore[arg-type]
        except (TypeError, OSError):
            continue
    return ""


def _innermost(found: Sequence[tuple[str, int]]) -> str:
    """Give the first line that is the model's own, or torch's where there is none; the innermost stands first."""
    own = [each for each in found if not _foreign(each[0])] or [each for each in found if each[0].startswith(_NN)]
    return _written(*own[0]) if own else ""


def _foreign(file: str) -> bool:
    return file.startswith((_TORCH, _HERE, *_TOOLS, "<"))


def _written(file: str, line: int) -> str:
    return f"{file}:{line}: {linecache.getline(file, line).strip()}"

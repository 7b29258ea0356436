"""What result files hold, and what reports call them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

_LISTS = ("comparisons", "results")


def documents_in(document: Any) -> list[Any]:
    """Give the documents of a JSON file: those of a list, as several targets or a sweep have left it, or the one."""
    for name in _LISTS:
        if isinstance(document, dict) and isinstance(document.get(name), list):
            found: list[Any] = document[name]
            return found
    return [document]


def names_of(files: Sequence[Path]) -> list[str]:
    """Give each file's stem, or all that was given where two have one stem."""
    stems = [file.stem for file in files]
    return [stem if stems.count(stem) == 1 else str(file) for stem, file in zip(stems, files, strict=True)]

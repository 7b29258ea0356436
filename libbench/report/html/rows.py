"""Rows of a list as a page shows them, and what came of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass
class Row:
    pass

def overview_of(rows: Sequence[Row]) -> Any: ...

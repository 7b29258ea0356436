"""Records of an evaluator, put together from several ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def merge_records(parts: Sequence[Mapping[int, Any]]) -> dict[int, Any]:
    """Give the union of records, in index order; of an index that several parts have, the first one's counts."""
    union: dict[int, Any] = {}
    for part in reversed(parts):
        union.update(part)
    return dict(sorted(union.items()))

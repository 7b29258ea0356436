"""Outputs that are needed once more: in memory, and on disk where there are too many."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

from libbench.tree import Snapshot, load_snapshot, remove_snapshot, save_snapshot


class Spill:
    """Snapshots by key, each of which is taken out once.

    Args:
        folder: where those go that there is no room for.
        limit: bytes that are kept in memory.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder = folder
        self._limit = limit
        self._size = 0
        self._near: dict[Hashable, Snapshot] = {}
        self._far: dict[Hashable, int] = {}
        self._count = 0

    def put(self, key: Hashable, taken: Snapshot) -> None:
        """Keep a snapshot."""
        if self._size + taken.nbytes <= self._limit:
            self._near[key] = taken
            self._size += taken.nbytes
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        save_snapshot(taken, self._folder, self._count)
        self._far[key], self._count = self._count, self._count + 1

    def take(self, key: Hashable) -> Snapshot | None:
        """Give a snapshot and forget it; None where there is none."""
        if key in self._near:
            taken = self._near.pop(key)
            self._size -= taken.nbytes
            return taken
        if key not in self._far:
            return None
        number = self._far.pop(key)
        taken = load_snapshot(self._folder, number)
        remove_snapshot(self._folder, number)
        return taken

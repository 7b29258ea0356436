"""The reference's outputs, kept on disk until the target's have come."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from libbench.result import Output
from libbench.tree import Snapshot, load_snapshot, remove_snapshot

Key = tuple[int, tuple[int, ...]]


class Snapshots:
    """Outputs of one side by what they are outputs of.

    Args:
        folder: where the session leaves them; made when it is not there.
        limit: bytes that are kept; a batch that would pass it is forgotten, but known to have been.

    Attributes:
        samples: how often each dataset index was run, in batches that are not kept too.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._limit = limit
        self._size = 0
        self._kept: dict[Key, list[Output | None]] = {}
        self.samples: Counter[int] = Counter()

    def add(self, output: Output) -> None:
        """Take note of a batch whose snapshot lies in the folder."""
        self.samples.update(output.indices)
        fits = self._size + output.nbytes <= self._limit
        self._kept.setdefault((output.epoch, output.indices), []).append(output if fits else None)
        if fits:
            self._size += output.nbytes
        else:
            remove_snapshot(self.folder, output.number)

    def find(self, output: Output, occurrence: int) -> Output | str:
        """Give the batch with the same epoch and indices, or say why there is none.

        Args:
            occurrence: how many such batches the other side has had before.
        """
        found = self._kept.get((output.epoch, output.indices), [])
        if occurrence < len(found):
            return found[occurrence] or f"the reference's outputs beyond {self._limit:,} bytes were not kept"
        return "the reference has no batch of the same samples (another data.batch_size or order)"

    def load(self, output: Output) -> Snapshot:
        """Read what was kept of a batch."""
        return load_snapshot(self.folder, output.number)

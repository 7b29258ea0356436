"""The reference's outputs, kept on disk until the target's have come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path

from libbench.result import Output
from libbench.tree import Snapshot, load_snapshot, remove_snapshot

Key = tuple[int, tuple[int, ...]]


class Snapshots:
    """Outputs of one side by what they are outputs of.

    Args:
        folder: where the session leaves them; made when it is not there.
        limit: bytes that are kept; a batch that would pass it is forgotten, but known to have been.
        lacking: for a side that was saved, the numbers of the batches that were forgotten then. None: it runs now.

    Attributes:
        samples: how often each dataset index was run, in batches that are not kept too.
        largest: samples in the largest batch.
    """

    def __init__(self, folder: Path, limit: int, lacking: Collection[int] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._limit = limit
        self._lacking = lacking
        self._size = 0
        self._kept: dict[Key, list[Output | None]] = {}
        self.samples: Counter[int] = Counter()
        self.largest = 0

    def add(self, output: Output) -> bool:
        """Take note of a batch whose snapshot lies in the folder; tell whether it is kept."""
        self.samples.update(output.own)
        self.largest = max(self.largest, len(output.indices))
        kept = self._keeps(output)
        self._kept.setdefault((output.epoch, output.indices), []).append(output if kept else None)
        return kept

    def _keeps(self, output: Output) -> bool:
        if self._lacking is not None:
            return output.number not in self._lacking
        fits = self._size + output.nbytes <= self._limit
        if fits:
            self._size += output.nbytes
        else:
            remove_snapshot(self.folder, output.number)
        return fits

    def has(self, output: Output) -> bool:
        """Tell whether there was a batch with the same epoch and indices, kept or not."""
        return (output.epoch, output.indices) in self._kept

    def find(self, output: Output, occurrence: int) -> Output | str:
        """Give the batch with the same epoch and indices, or say why there is none.

        Args:
            occurrence: how many such batches the other side has had before.
        """
        found = self._kept.get((output.epoch, output.indices), [])
        if occurrence < len(found):
            return found[occurrence] or not_kept("reference", self._limit)
        return "the reference has no batch of the same samples (another data.batch_size or order)"

    def load(self, output: Output) -> Snapshot:
        """Read what was kept of a batch."""
        return load_snapshot(self.folder, output.number)


def not_kept(side: str, limit: int) -> str:
    """Say why the outputs of a batch are not there any more."""
    return f"the {side}'s outputs beyond {limit:,} bytes were not kept"

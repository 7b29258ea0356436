"""The reference's outputs, kept on disk until the target's have come."""

from __future__ import annotations

from pathlib import Path

from libbench.result import Output
from libbench.tree import Snapshot, load_snapshot, remove_snapshot


class Snapshots:
    """Outputs of one side by what they are outputs of.

    Args:
        folder: where the session leaves them; made when it is not there.
        limit: bytes that are kept; a batch that would pass it is forgotten, but known to have been.

    Attributes:
        samples: the dataset indices of all batches, forgotten ones too.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._limit = limit
        self._size = 0
        self._kept: dict[tuple[int, tuple[int, ...]], Output] = {}
        self._forgotten: set[tuple[int, tuple[int, ...]]] = set()
        self.samples: set[int] = set()

    def add(self, output: Output) -> None:
        """Take note of a batch whose snapshot lies in the folder."""
        key = (output.epoch, output.indices)
        self.samples.update(output.indices)
        if self._size + output.nbytes > self._limit:
            self._forgotten.add(key)
            remove_snapshot(self.folder, output.number)
        else:
            self._size += output.nbytes
            self._kept[key] = output

    def find(self, output: Output) -> Output | str:
        """Give the batch with the same epoch and indices, or say why there is none."""
        key = (output.epoch, output.indices)
        if key in self._forgotten:
            return f"the reference's outputs beyond {self._limit:,} bytes were not kept"
        return self._kept.get(key, "the reference has no batch of the same samples (another data.batch_size or order)")

    def load(self, output: Output) -> Snapshot:
        """Read what was kept of a batch."""
        return load_snapshot(self.folder, output.number)

"""Nested inputs and outputs: walking them, keeping them, writing them and proving two of them equal."""

from libbench.tree.convert import map_tensors, own_copy
from libbench.tree.describe import join
from libbench.tree.files import SnapshotError, load_snapshot, move_snapshot, remove_snapshot, save_snapshot
from libbench.tree.snapshot import Snapshot, fingerprint, form_of, hidden, numbers, same_form, snapshot, tensors

__all__ = [
    "Snapshot",
    "SnapshotError",
    "fingerprint",
    "form_of",
    "hidden",
    "join",
    "load_snapshot",
    "map_tensors",
    "move_snapshot",
    "numbers",
    "own_copy",
    "remove_snapshot",
    "same_form",
    "save_snapshot",
    "snapshot",
    "tensors",
]

"""Comparing the target's outputs with the reference's, batch by batch, as they come."""

from __future__ import annotations

import hashlib
from pathlib import Path

from libbench.compare import OutputComparison
from libbench.findings import OutputsReport
from libbench.result import Output
from libbench.settings import Tolerance
from libbench.snapshots import Snapshots
from libbench.tree import load_snapshot, remove_snapshot


class Matcher:
    """Takes the target's batches one by one.

    Args:
        reference: the reference's outputs.
        folder: where the target's session leaves its snapshots.
        keep: False removes each of them when it has been compared.
    """

    def __init__(self, reference: Snapshots, folder: Path, tolerance: Tolerance, *, keep: bool) -> None:
        self._reference = reference
        self._folder = folder
        self._keep = keep
        self._comparison = OutputComparison(tolerance)
        self._batches = 0
        self._matched = 0
        self._other_inputs = 0
        self._hash = hashlib.sha256()

    def add(self, output: Output) -> None:
        """Compare one batch."""
        self._batches += 1
        other = self._reference.find(output)
        if isinstance(other, str):
            self._comparison.skip(other)
        else:
            self._matched += 1
            self._other_inputs += other.inputs != output.inputs
            self._hash.update(output.inputs.encode())
            ours = load_snapshot(self._folder, output.number)
            self._comparison.add(self._reference.load(other), ours, output.indices)
        if not self._keep:
            remove_snapshot(self._folder, output.number)

    def report(self) -> OutputsReport:
        """Give what was found by now."""
        return self._comparison.report()

    def inputs(self) -> str | None:
        """Give the fingerprint of all inputs, where both sides had the same; None for other inputs or no batch."""
        return self._hash.hexdigest() if self._matched and not self._other_inputs else None

    def notes(self) -> tuple[str, ...]:
        """Say what makes the outputs less comparable than they look."""
        notes = []
        if self._other_inputs:
            notes.append(f"inputs differ in {self._other_inputs} of {self._matched} batches")
        missing = len(self._reference) - self._batches
        if missing > 0:
            notes.append(f"the target ran {missing} batches fewer than the reference")
        return tuple(notes)

"""Comparing the target's outputs with the reference's, batch by batch, as they come."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from libbench.compare import OutputComparison
from libbench.compare.truth import TruthComparison
from libbench.findings import OutputsReport, TruthReport
from libbench.result import Output, Unlike
from libbench.settings import Tolerance
from libbench.snapshots import Key, Snapshots, not_kept
from libbench.tree import Snapshot, load_snapshot, remove_snapshot


class Matcher:
    """Takes the target's batches one by one.

    Args:
        reference: the reference's outputs.
        folder: where the target's session leaves its snapshots.
        keep: False removes each of them when it has been compared.
        lacking: for a target that was saved, the numbers of the batches that were not kept then.
        limit: the bytes beyond which they were not.
        truths: what a float64 copy of the reference returned, to judge both sides by; None where there is none.
    """

    def __init__(
        self,
        reference: Snapshots,
        folder: Path,
        tolerance: Tolerance,
        *,
        keep: bool,
        lacking: Collection[int] = (),
        limit: int = 0,
        truths: Snapshots | None = None,
    ) -> None:
        self._reference = reference
        self._truths = truths
        self._truth = TruthComparison("float64")
        self._folder = folder
        self._keep = keep
        self._lacking = lacking
        self._limit = limit
        self._comparison = OutputComparison(tolerance)
        self._samples: Counter[int] = Counter()
        self._seen: Counter[Key] = Counter()
        self._matched = 0
        self._met = False
        self._other_inputs = 0
        self._hashes = hashlib.sha256(), hashlib.sha256()
        self._largest = 0

    def add(self, output: Output) -> None:
        """Compare one batch."""
        self._samples.update(output.own)
        self._largest = max(self._largest, len(output.indices))
        key = (output.epoch, output.indices)
        other = self._reference.find(output, self._seen[key])
        self._seen[key] += 1
        self._met |= self._reference.has(output)
        if isinstance(other, str):
            self._skip(other)
        elif output.number in self._lacking:
            self._skip(not_kept("target", self._limit))
        else:
            self._matched += 1
            self._other_inputs += other.inputs != output.inputs
            for known, each in zip(self._hashes, (other, output), strict=True):
                known.update(each.inputs.encode())
            sides = self._reference.load(other), load_snapshot(self._folder, output.number)
            self._comparison.add(*sides, output.indices)
            self._judge(other, sides, output, self._seen[key] - 1)
        if not self._keep:
            remove_snapshot(self._folder, output.number)

    def _skip(self, reason: str) -> None:
        self._comparison.skip(reason)
        self._truth.skip(reason)

    def _judge(self, reference: Output, sides: tuple[Snapshot, Snapshot], output: Output, occurrence: int) -> None:
        if self._truths is None:
            return
        truth = self._truths.find(reference, occurrence)
        if isinstance(truth, str):
            self._truth.skip(truth.replace("reference", "float64 copy"))
        elif truth.inputs != reference.inputs:
            self._truth.skip("the float64 copy had other inputs: the data do not repeat themselves")
        elif reference.inputs != output.inputs:
            self._truth.skip("the target had other inputs")
        else:
            self._truth.add(self._truths.load(truth), *sides, output.indices)

    def truth(self) -> TruthReport | None:
        """Give what the truth says by now; None without one."""
        return None if self._truths is None else self._truth.report()

    def report(self) -> OutputsReport:
        """Give what was found by now."""
        return self._comparison.report()

    def final_report(self) -> OutputsReport:
        """Give what was found when both sides have run to their end: a sample of one side only is a difference."""
        report = self.report()
        one_sided = tuple(self._one_sided()) if self._matched else ()
        return replace(report, verdict="different", reasons=report.reasons + one_sided) if one_sided else report

    def inputs(self) -> str | None:
        """Give the fingerprint of all inputs, where both sides had the same; None for other inputs or no batch."""
        return self._hashes[1].hexdigest() if self._matched and not self._other_inputs else None

    def unlike(self) -> Iterator[Unlike]:
        """Say in what the batches of the two sides differ."""
        if self._samples and self._reference.largest != self._largest:
            yield Unlike("batch size", str(self._reference.largest), str(self._largest))
        if self._other_inputs:
            ours, theirs = (f"sha256 {known.hexdigest()[:12]}" for known in self._hashes)
            count = f"other ones in {self._other_inputs} of {self._matched} batches"
            yield Unlike("inputs", ours, f"{theirs}, {count}")

    def notes(self) -> tuple[str, ...]:
        """Say what makes the outputs less comparable than they look."""
        notes = []
        if not self._matched and self._samples and not self._met:
            notes.append("no batch has the same samples on both sides: a speedup is that of unlike batches")
            notes.extend(self._one_sided())
        return tuple(notes)

    def _one_sided(self) -> Iterator[str]:
        both = (
            ("reference", self._reference.samples, self._samples),
            ("target", self._samples, self._reference.samples),
        )
        for name, ours, theirs in both:
            only = ours - theirs
            if only:
                yield f"{only.total()} samples are only in the {name}, the first with index {min(only)}"

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
from libbench.tokens import Rows, TokensComparison, TokensReport
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
        self._tokens = TokensComparison()
        self._samples: Counter[int] = Counter()
        self._seen: Counter[Key] = Counter()
        self._matched = 0
        self._met = False
        self._other_inputs = self._untold = self._other_draws = 0
        self._hashes = hashlib.sha256(), hashlib.sha256()
        self._largest = 0
        self._trains = self._strayed = False
        self._steps_samples = 0

    def add(self, output: Output) -> None:
        """Compare one batch."""
        self._samples.update(output.unpadded)
        self._trains |= bool(output.losses)
        self._largest = max(self._largest, len(output.indices))
        key = (output.epoch, output.indices)
        other = self._reference.find(output, self._seen[key])
        self._seen[key] += 1
        self._met |= self._reference.has(output)
        if isinstance(other, str):
            self._strayed |= not self._reference.has(output)
            self._skip(other)
        elif output.losses and not self._at_one_step(other, output):
            self._skip("the data of the training were not the same up to this step")
        elif output.number in self._lacking:
            self._skip(not_kept("target", self._limit))
        else:
            self._matched += 1
            self._untold += len(other.losses) != len(output.losses)
            self._other_inputs += _other_inputs(other, output)
            self._other_draws += other.drawn != output.drawn
            for known, each in zip(self._hashes, (other, output), strict=True):
                known.update(each.inputs.encode())
            sides = self._reference.load(other), load_snapshot(self._folder, output.number)
            # What a step gives is not by sample, even where a weight has as many rows as the batch.
            self._comparison.add(*sides, None if output.losses else output.indices)
            self._steps_samples += len(output.indices) if output.losses else 0
            self._compare_tokens(other, sides, output)
            self._judge(other, sides, output, self._seen[key] - 1)
        if not self._keep:
            remove_snapshot(self._folder, output.number)

    def _at_one_step(self, reference: Output, target: Output) -> bool:
        """Tell whether two steps come after the same data; one that does not makes all later ones unlike."""
        self._strayed |= reference.number != target.number or _other_inputs(reference, target)
        return not self._strayed

    def _compare_tokens(self, reference: Output, sides: tuple[Snapshot, Snapshot], target: Output) -> None:
        rows = _rows(sides[0]), _rows(sides[1])
        if reference.generated is None or target.generated is None or len(rows[0]) != len(rows[1]):
            return
        told = reference.generated, target.generated
        prompts = [max(0, len(side[0]) - each.tokens) if side else 0 for side, each in zip(rows, told, strict=True)]
        self._tokens.add(rows, (prompts[0], prompts[1]), target.indices)

    def tokens(self) -> TokensReport | None:
        """Give what was found in generated tokens; None where no side generates any."""
        return self._tokens.report()

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
        report, tokens = self._comparison.report(), self._tokens.report()
        report = replace(report, samples=report.samples + self._steps_samples)
        if tokens is None or tokens.first is None:
            return report
        return replace(report, reasons=(*report.reasons, tokens.first.text))

    def final_report(self) -> OutputsReport:
        """Give what was found when both sides have run to their end: a sample of one side only is a difference."""
        report = self.report()
        one_sided = tuple(self._one_sided()) if self._matched else ()
        return replace(report, verdict="different", reasons=report.reasons + one_sided) if one_sided else report

    @property
    def other_draws(self) -> bool:
        """Whether the sides have drawn other random numbers, or another count of them, in any batch."""
        return self._other_draws > 0

    def inputs(self) -> str | None:
        """Give the fingerprint of all inputs, where both sides had the same; None for other inputs, or none.

        It is empty where it cannot be told, since the sides cut the same samples among other numbers of ranks.
        """
        if not self._matched or self._other_inputs or (self._trains and self._strayed):
            return None
        return "" if self._untold else self._hashes[1].hexdigest()

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


def _rows(side: Snapshot) -> Rows:
    """Give the token ids among a side's outputs; none where there are none."""
    tokens = side.leaves.get("sequences", side.leaves.get("output"))
    if tokens is None or tokens.ndim != 2 or tokens.is_floating_point() or tokens.is_complex():
        return ()
    rows: Rows = tokens.tolist()
    return rows


def _other_inputs(reference: Output, target: Output) -> bool:
    """Tell whether two batches of the same samples are known to hold other inputs.

    The fingerprint of a step is that of each rank's part, so that it says nothing where there are more ranks or fewer.
    """
    return reference.inputs != target.inputs and len(reference.losses) == len(target.losses)

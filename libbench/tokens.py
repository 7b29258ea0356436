"""Generated tokens: how fast they came, and where two sides' tokens part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Rows = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Generated:
    """How fast the tokens of one call came.

    Attributes:
        tokens: new tokens of each sequence, those of a sequence that had ended among them.
        sequences: how many were generated side by side.
        first: seconds from the call to the first token.
        later: mean seconds from one token to the next; None where there is one only.
    """

    tokens: int
    sequences: int
    first: float
    later: float | None


@dataclass(frozen=True)
class Parting:
    """Where the tokens of two sides part.

    Attributes:
        sample: the dataset index.
        step: the place among the new tokens, from 0.
        reference, target: the token there; None on a side that has ended.
    """

    sample: int
    step: int
    reference: int | None
    target: int | None

    @property
    def text(self) -> str:
        """Say it in one sentence."""
        tokens = ["no token" if token is None else f"token {token}" for token in (self.reference, self.target)]
        where = f"the tokens of sample {self.sample} part at step {self.step}"
        return f"{where}: {tokens[0]} in the reference, {tokens[1]} in the target"


@dataclass(frozen=True)
class TokensReport:
    """What was found in generated tokens.

    Attributes:
        sequences: how many were compared.
        equal: how many of them are the same, token by token.
        first: where a sequence parts after the fewest tokens; None where none does.
    """

    sequences: int
    equal: int
    first: Parting | None


class TokensComparison:
    """Compares sequences of token ids, batch after batch."""

    def __init__(self) -> None:
        self._samples = self._equal = 0
        self._first: Parting | None = None

    def add(self, rows: tuple[Rows, Rows], prompts: tuple[int, int], indices: Sequence[int]) -> None:
        """Take one batch.

        Args:
            rows: the sequences of the reference and of the target, as many on each side.
            prompts: for each side, the length of what stands before the first generated token in a row.
            indices: the dataset indices; each has one row, or the same number of rows, one after the other.
        """
        each = max(1, len(rows[0]) // max(1, len(indices)))
        for number, (ours, theirs) in enumerate(zip(*rows, strict=True)):
            self._samples += 1
            new = list(ours[prompts[0] :]), list(theirs[prompts[1] :])
            step = _parts(*new)
            if step is None:
                self._equal += 1
            elif self._first is None or step < self._first.step:
                sample = indices[number // each] if number // each < len(indices) else number
                self._first = Parting(sample, step, *(row[step] if step < len(row) else None for row in new))

    def report(self) -> TokensReport | None:
        """Give what was found; None where there was nothing to compare."""
        return TokensReport(self._samples, self._equal, self._first) if self._samples else None


def _parts(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """Give the first place at which two rows differ or one has ended; None where they are the same."""
    differing = (step for step, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b)
    return next(differing, None if len(ours) == len(theirs) else min(len(ours), len(theirs)))

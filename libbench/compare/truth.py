"""Both sides judged by a third one that is more precise: which is closer to it, and by how much?

The measure is that of PyTorch's own benchmarks (`torch._dynamo.utils.same` with `fp64_ref`): the target's root mean
squared error against float64 may be a small multiple of the reference's. The multiples here are those: 2, 3 for half
precision or below 1,000 elements, where the reference's error is itself a matter of chance, and 10 up to 10 elements.
Two things are otherwise. There, a tolerance passes first and is added on top; here, nothing but one rounding of the
reference's dtype is. And a mean hides single elements, so that the largest errors are compared, too: over a normal
distribution, the largest of a million errors is 5 times their RMSE, so that 10 times the reference's largest is no
matter of chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from libbench.compare.chunks import CHUNK, Place, pieces
from libbench.compare.judged import floating, unfit, values_of
from libbench.compare.structure import Pairing
from libbench.findings import LeafTruth, Outlier, TruthReport, Verdict
from libbench.tree import Snapshot

LARGEST = 10.0
"""How many times the reference's largest error the target's may be."""

_HALVES = (torch.float16, torch.bfloat16, torch.complex32)
_RANK = {"different": 0, "unjudged": 1, "same": 2}


def allowed_rmse(elements: int, dtype: torch.dtype) -> float:
    """Give how many times the reference's RMSE the target's may be."""
    if elements <= 10:
        return 10.0
    return 3.0 if elements < 1000 or dtype in _HALVES else 2.0


class TruthComparison:
    """Judges batch after batch and keeps only what the report needs.

    Only floating and complex leaves that all three have in one shape are judged; whatever else differs between
    reference and target is no matter of truth.

    Args:
        dtype: of the truth, as "float64"; a leaf that the truth has in a narrower one is unjudged.
    """

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype
        self._leaves: dict[str, _Leaf] = {}
        self._skipped: dict[str, int] = {}
        self._batches = 0

    def add(self, truth: Snapshot, reference: Snapshot, target: Snapshot, indices: Sequence[int] | None = None) -> None:
        """Judge one batch; `indices` as for `OutputComparison`."""
        truths = {path: node for path, _, node in Pairing(reference.structure, truth.structure).leaves}
        for path, left, right in Pairing(reference.structure, target.structure).leaves:
            if left is None or right is None or not (floating(left) and floating(right)):
                continue
            leaf = self._leaves.setdefault(path, _Leaf(path))
            third = truths.get(path)
            why = unfit(third, left, right, self._dtype)
            if why:
                leaf.unjudged[why] = None
            elif third is not None:
                values = [values_of(n, side) for n, side in ((third, truth), (left, reference), (right, target))]
                leaf.add(values, indices)
        self._batches += 1

    def skip(self, reason: str) -> None:
        """Count a batch that is not judged."""
        self._skipped[reason] = self._skipped.get(reason, 0) + 1

    def report(self) -> TruthReport:
        """Give what was found so far; more batches may follow."""
        leaves = sorted((leaf.report() for leaf in self._leaves.values()), key=_severity)
        verdicts = {leaf.verdict for leaf in leaves}
        verdict: Verdict = "unjudged"
        if "different" in verdicts or verdicts == {"same"}:
            verdict = "different" if "different" in verdicts else "same"
        return TruthReport(
            dtype=self._dtype,
            verdict=verdict,
            reasons=() if leaves or not self._batches else ("there is no floating output to judge",),
            leaves=tuple(leaves),
            batches=self._batches,
            skipped=tuple(self._skipped.items()),
        )


class _Leaf:
    """Everything that is summed about one path."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.unjudged: dict[str, None] = {}
        self._dtype = torch.float64
        self._elements = 0
        self._power = 0.0
        self._size = 0.0
        self._squares = [0.0, 0.0]
        self._largest = [0.0, 0.0]
        self._closer = [0, 0]
        self._lost = [0, 0]
        self._blind = 0  # places where neither side is what the truth is, finite or not
        self._excess = 0.0
        self._outlier: Outlier | None = None

    def add(self, values: Sequence[torch.Tensor], indices: Sequence[int] | None) -> None:
        """Take truth, reference and target of one batch, of one shape."""
        shape = tuple(values[1].shape)
        self._dtype = values[1].dtype
        place = Place(shape, indices if shape and indices is not None and len(indices) == shape[0] else None)
        parts = 2 if self._dtype.is_complex else 1
        # Contiguous, as all that comes from a file is, so that both ways through the pieces are the same.
        flat = [(torch.view_as_real(v) if v.is_complex() else v).contiguous() for v in values]
        both = zip(pieces(flat[0], flat[1], CHUNK), pieces(flat[0], flat[2], CHUNK), strict=True)
        for (start, truth, reference), (_, _, target) in both:
            self._piece(truth.double(), (reference.double(), target.double()), start, (place, parts))

    def _piece(
        self, truth: torch.Tensor, sides: tuple[torch.Tensor, torch.Tensor], start: int, where: tuple[Place, int]
    ) -> None:
        errors = [side - truth for side in sides]
        squares = [float(error.dot(error)) for error in errors]
        self._elements += truth.numel()
        if not all(map(math.isfinite, squares)):  # which one element that is not finite suffices for
            truth, sides = self._finite(truth, sides)
            errors = [side - truth for side in sides]
            squares = [float(error.dot(error)) for error in errors]
        self._power += float(truth.dot(truth))
        self._size = max(self._size, *_absolute(truth.aminmax()))
        for i, error in enumerate(errors):
            self._squares[i] += squares[i]
            self._largest[i] = max(self._largest[i], float(error.abs_().amax()))
        more = errors[1].sub_(errors[0])
        least, most = more.aminmax()
        self._closer[0] += int(torch.count_nonzero(more > 0)) if most > 0 else 0
        self._closer[1] += int(torch.count_nonzero(more < 0)) if least < 0 else 0
        if float(most) > self._excess:
            self._excess, worst = float(most), int(more.argmax())
            place, parts = where
            found = [float(side[worst]) for side in (truth, *sides)]
            self._outlier = Outlier(
                at=place.at((start + worst) // parts), truth=found[0], reference=found[1], target=found[2]
            )

    def _finite(
        self, truth: torch.Tensor, sides: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Count what is not finite somewhere, and give all three with zeros there."""
        finite = truth.isfinite() & sides[0].isfinite() & sides[1].isfinite()
        right = [_agrees(truth, side) for side in sides]
        self._lost[0] += int((right[1] & ~right[0]).sum())
        self._lost[1] += int((right[0] & ~right[1]).sum())
        self._blind += int((~right[0] & ~right[1]).sum())
        self._elements -= int((~finite).sum())
        filled = [each.where(finite, 0.0) for each in (truth, *sides)]
        return filled[0], (filled[1], filled[2])

    def report(self) -> LeafTruth:
        """Give what was found so far."""
        if self.unjudged or not self._elements:
            if not self._elements and self._blind:
                self.unjudged["neither side is finite where the truth is"] = None
            verdict: Verdict = "different" if self._lost[1] else "unjudged" if self.unjudged else "same"
            why = (*self._loss(), *self.unjudged)
            return LeafTruth(path=self.path, verdict=verdict, reasons=why, lost=_pair(self._lost))
        rmse = [math.sqrt(squares / self._elements) for squares in self._squares]
        eps = torch.finfo(self._dtype).eps
        floor = eps * math.sqrt(self._power / self._elements), eps * self._size
        ratios = _ratio(rmse, floor[0]), _ratio(self._largest, floor[1])
        allowed = allowed_rmse(self._elements, self._dtype), LARGEST
        reasons = self._loss()
        if ratios[0] > allowed[0]:
            reasons.append(f"its RMSE against the truth is {ratios[0]:.3g}x the reference's; {allowed[0]:g}x may be")
        if ratios[1] > allowed[1]:
            reasons.append(f"its largest error is {ratios[1]:.3g}x the reference's; {allowed[1]:g}x may be")
        return LeafTruth(
            path=self.path,
            verdict="different" if reasons else "same",
            reasons=tuple(reasons),
            elements=self._elements,
            rmse=(rmse[0], rmse[1]),
            max_abs=(self._largest[0], self._largest[1]),
            floor=floor,
            rmse_ratio=ratios[0],
            max_ratio=ratios[1],
            allowed=allowed,
            closer=_pair(self._closer),
            lost=_pair(self._lost),
            outlier=self._outlier,
        )

    def _loss(self) -> list[str]:
        if not self._lost[1]:
            return []
        return [f"at {self._lost[1]:,} places it is NaN or infinite, or is not, unlike truth and reference"]


def _absolute(ends: Sequence[torch.Tensor]) -> list[float]:
    return [abs(float(end)) for end in ends]


def _agrees(truth: torch.Tensor, side: torch.Tensor) -> torch.Tensor:
    """Tell where a side is finite as the truth is, or the same NaN or infinity."""
    return (truth.isfinite() & side.isfinite()) | (truth == side) | (truth.isnan() & side.isnan())


def _ratio(errors: Sequence[float], floor: float) -> float:
    reference, target = (max(error, floor) for error in errors)
    if not math.isfinite(target):
        return math.inf
    return target / reference if reference > 0 else math.inf if target > 0 else 1.0


def _pair(counts: Sequence[int]) -> tuple[int, int]:
    return counts[0], counts[1]


def _severity(leaf: LeafTruth) -> tuple[float, ...]:
    return _RANK[leaf.verdict], -max(leaf.rmse_ratio or 0.0, (leaf.max_ratio or 0.0) / LARGEST * 2)

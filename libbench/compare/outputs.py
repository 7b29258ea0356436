"""The outputs of two sides, batch after batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

from libbench.compare.buffers import Buffers
from libbench.compare.chunks import CHUNK
from libbench.compare.leaf import LeafComparison
from libbench.compare.rule import Detail
from libbench.compare.structure import Node, Pairing
from libbench.findings import LeafReport, OutputsReport, Verdict
from libbench.settings import Tolerance
from libbench.tree import Snapshot, snapshot

Paired = tuple[LeafComparison, Node | None, Node | None]

_MOST_REASONS = 200
_RANK = {"different": 0, "unjudged": 1, "same": 2}


class OutputComparison:
    """Compares batch after batch and keeps only what the report needs.

    No value makes it raise. Nothing is broadcast, and what is compared is never changed.

    Args:
        tolerance: how closely to judge.
        detail: how much to find out about floating values; what is not asked for is None in the report, and costs
            nothing. "verdict" counts the mismatches, "level" adds t*, "grid" the tolerance grid, "full" all else.

    Raises:
        ValueError: `detail` is none of these.
    """

    def __init__(self, tolerance: Tolerance | None = None, *, detail: Detail = "full") -> None:
        if detail not in get_args(Detail):
            raise ValueError(f"detail must be one of {', '.join(get_args(Detail))}, got {detail!r}")
        self._tolerance = tolerance or Tolerance()
        self._detail: Detail = detail
        self._buffers = Buffers(CHUNK)
        self._leaves: dict[Any, LeafComparison] = {}
        self._reasons: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._skipped: dict[str, int] = {}
        self._known: tuple[Node, Node] | None = None
        self._pairs: Sequence[Paired] = ()
        self._batches = self._samples = 0

    def add(self, reference: Snapshot, target: Snapshot, indices: Sequence[int] | None = None) -> None:
        """Compare one batch.

        Args:
            reference: what the reference returned.
            target: what the target returned for the same inputs.
            indices: the dataset index of every sample. A leaf whose dimension 0 has as many entries is taken to be
                by sample, and positions in it begin with the dataset index.
        """
        for leaf, left, right in self._paired((reference.structure, target.structure)):
            leaf.add(left, right, (_leaf(left, reference), _leaf(right, target)), indices)
        self._batches += 1
        self._samples += len(indices) if indices is not None else 0

    def _paired(self, structures: tuple[Node, Node]) -> Sequence[Paired]:
        """Give what stands side by side; structures mostly stay the same from batch to batch."""
        if structures == self._known:
            return self._pairs
        pairing = Pairing(*structures)
        for told, new in ((self._reasons, pairing.reasons), (self._notes, pairing.notes)):
            for text in new[: max(0, _MOST_REASONS - len(told))]:
                told[text] = None
        pairs = []
        for path, left, right in pairing.leaves:
            if _says_nothing(left, right):
                continue
            key = path, _identity(left), _identity(right)
            leaf = self._leaves.get(key)
            if leaf is None:
                leaf = self._leaves[key] = LeafComparison(
                    path, left, right, self._tolerance, self._buffers, self._detail
                )
            pairs.append((leaf, left, right))
        self._known, self._pairs = structures, pairs
        return pairs

    def skip(self, reason: str) -> None:
        """Count a batch that is not compared."""
        self._skipped[reason] = self._skipped.get(reason, 0) + 1

    def report(self) -> OutputsReport:
        """Give what was found so far; more batches may follow."""
        leaves = sorted((leaf.report() for leaf in self._leaves.values()), key=_severity)
        return OutputsReport(
            verdict=self._verdict(leaves),
            reasons=tuple(self._reasons),
            notes=tuple(self._notes),
            leaves=tuple(leaves),
            batches=self._batches,
            samples=self._samples,
            elements=sum(leaf.elements for leaf in leaves),
            skipped=tuple(self._skipped.items()),
        )

    def _verdict(self, leaves: Sequence[LeafReport]) -> Verdict:
        verdicts = {leaf.verdict for leaf in leaves}
        if self._reasons or "different" in verdicts:
            return "different"
        return "same" if verdicts == {"same"} else "unjudged"


def compare(
    reference: Any, target: Any, tolerance: Tolerance | None = None, *, detail: Detail = "full"
) -> OutputsReport:
    """Compare what two models returned for the same inputs.

    Args:
        reference: any nesting of containers, tensors, arrays, numbers and strings.
        target: likewise.
        tolerance: how closely to judge.
        detail: how much to find out, as `OutputComparison` has it.
    """
    comparison = OutputComparison(tolerance, detail=detail)
    comparison.add(snapshot(reference, copy=False), snapshot(target, copy=False))
    return comparison.report()


def _identity(node: Node | None) -> Any:
    if node is None:
        return None
    return node["kind"], node.get("dtype"), node.get("type"), node.get("layout"), node.get("scheme")


def _leaf(node: Node | None, side: Snapshot) -> Any:
    return side.leaves.get(node["path"]) if node is not None and "path" in node else None


def _says_nothing(*nodes: Node | None) -> bool:
    return all(node is not None and node["kind"] == "device" for node in nodes)


def _severity(leaf: LeafReport) -> tuple[float, ...]:
    share = leaf.mismatches / leaf.elements if leaf.elements else 0.0
    level = leaf.level if leaf.level is not None else math.inf if leaf.verdict == "different" else -math.inf
    size = leaf.max_abs.value if leaf.max_abs is not None else 0.0
    return _RANK[leaf.verdict], -level, -share, -size

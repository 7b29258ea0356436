"""All that is found at one path, batch after batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from libbench.compare.arrays import Statistics, add_pair, statistics_for
from libbench.compare.buffers import Buffers
from libbench.compare.floats import FloatStatistics
from libbench.compare.levels import family
from libbench.compare.rule import Detail
from libbench.compare.scalars import WholeStatistics, as_tensor, whole
from libbench.compare.structure import Node, say
from libbench.findings import LeafReport, Verdict
from libbench.settings import Tolerance

_ARRAYS = ("tensor", "ndarray")
_PLAIN = ("string", "bytes", "constant", "none", "cycle")


class LeafComparison:
    """What both sides have at one path, with one kind and dtype on each side.

    Args:
        path: where the leaf stands.
        reference: its node in the first batch; None when the reference lacks it.
        target: likewise.
        tolerance: how closely to judge.
        buffers: memory for the steps.
        detail: how much is asked.
    """

    def __init__(
        self,
        path: str,
        reference: Node | None,
        target: Node | None,
        tolerance: Tolerance,
        buffers: Buffers,
        detail: Detail,
    ) -> None:
        self.path = path
        self._nodes = reference, target
        self._tolerance = tolerance
        self._buffers = buffers
        self._detail = detail
        self._statistics: Statistics | WholeStatistics | None = None
        self._reasons: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._unjudged: dict[str, None] = {}
        self._plain = self._plain_mismatches = 0
        self._beyond_levels = False

    def add(
        self,
        reference: Node | None,
        target: Node | None,
        leaves: tuple[torch.Tensor | None, torch.Tensor | None],
        indices: Sequence[int] | None,
    ) -> None:
        """Take what both sides have in one batch."""
        if reference is None or target is None:
            self._differ(f"only in the {'target' if reference is None else 'reference'}")
            return
        kinds = reference["kind"], target["kind"]
        if "opaque" in kinds:
            self._opaque(reference, target)
        elif all(kind in _ARRAYS for kind in kinds):
            if kinds[0] != kinds[1]:
                self._differ(_sides("", *kinds))
            self._arrays(reference, target, leaves, indices)
        elif kinds[0] != kinds[1]:
            self._differ(_sides("", say(reference), say(target)))
        elif kinds[0] == "number":
            self._number(reference, target)
        elif kinds[0] in _PLAIN:
            self._exact(reference, target)

    def report(self) -> LeafReport:
        """Give what was found so far."""
        found = self._statistics
        if isinstance(found, FloatStatistics):
            found.settle()
        values = self._value_reasons()
        reasons = [*self._reasons, *values]
        verdict: Verdict = "different" if reasons else "unjudged" if self._unjudged else "same"
        node = self._nodes[0] or self._nodes[1] or {}
        floats = found if isinstance(found, FloatStatistics) else None
        median, late = floats.ulps.quantiles(0.5, 0.99) if floats and floats.ulps else (None, None)
        extremes, sums = (found.bounds.extremes, found.sums) if isinstance(found, FloatStatistics) else (found, found)
        ranking = floats.ranking if floats else None
        return LeafReport(
            path=self.path,
            verdict=verdict,
            reasons=(*reasons, *self._unjudged),
            value_reasons=tuple(values),
            notes=(*self._notes, *self._value_notes()),
            kind=node["kind"],
            dtypes=(_dtype_name(self._nodes[0]), _dtype_name(self._nodes[1])),
            shapes=(_shape(self._nodes[0]), _shape(self._nodes[1])),
            elements=self._plain + (found.elements if found else 0),
            mismatches=self._plain_mismatches + (found.mismatches if found else 0),
            not_finite=floats.odd.disagreeing if floats else 0,
            max_abs=extremes.max_abs if extremes else None,
            max_rel=extremes.max_rel if extremes else None,
            rmse=sums.rmse if sums else None,
            cosine=floats.sums.cosine if floats and floats.sums else None,
            snr_db=floats.sums.snr_db if floats and floats.sums else None,
            ulp_max=floats.ulps.largest if floats and floats.ulps else None,
            ulp_p50=median,
            ulp_p99=late,
            first_mismatch=found.first_mismatch if found else None,
            nans=(floats.odd.nans[0], floats.odd.nans[1]) if floats else (0, 0),
            infs=(floats.odd.infs[0], floats.odd.infs[1]) if floats else (0, 0),
            level=self._level(floats),
            grid=self._grid(floats),
            top1=ranking.top1 if ranking else None,
            top5=ranking.top5 if ranking else None,
            ranked_rows=ranking.rows if ranking else 0,
            rtol=floats.rule.rtol if floats else None,
            atol=floats.rule.atol if floats else None,
        )

    def _differ(self, reason: str) -> None:
        self._reasons[reason] = None
        node = self._nodes[0] or self._nodes[1] or {}
        dtype = _torch_dtype(node)
        self._beyond_levels |= dtype is not None and family(dtype).relative is not None

    def _opaque(self, reference: Node, target: Node) -> None:
        if reference["class"] != target["class"]:
            self._differ(_sides("", say(reference), say(target)))
        for node in (reference, target):
            if node["kind"] == "opaque":
                self._unjudged[f"cannot be compared: {node['reason']}"] = None

    def _arrays(
        self,
        reference: Node,
        target: Node,
        leaves: tuple[torch.Tensor | None, torch.Tensor | None],
        indices: Sequence[int] | None,
    ) -> None:
        for part in ("shape", "layout", "scheme"):
            if reference.get(part) != target.get(part):
                self._differ(_sides(part, reference.get(part), target.get(part)))
        same_form = all(reference.get(part) == target.get(part) for part in ("shape", "layout", "scheme"))
        self._judge_dtypes(reference["dtype"], target["dtype"])
        left, right = leaves
        if not same_form or left is None or right is None:
            return
        if left.is_meta:
            self._unjudged["holds no values: it is on the meta device"] = None
            return
        if self._statistics is None:
            self._statistics = self._statistics_for(left, right)
        if self._statistics is None or isinstance(self._statistics, WholeStatistics):
            return
        try:
            add_pair(self._statistics, left, right, indices)
        except torch.OutOfMemoryError:
            raise
        except (RuntimeError, NotImplementedError, TypeError) as error:  # a dtype or layout that torch only holds
            self._unjudged[f"cannot be compared: {type(error).__name__}: {error}"] = None

    def _statistics_for(self, left: torch.Tensor, right: torch.Tensor) -> Statistics | None:
        return statistics_for(left.dtype, right.dtype, self.path, self._tolerance, self._buffers, self._detail)

    def _judge_dtypes(self, reference: str, target: str) -> None:
        if reference == target:
            return
        floating = all(name.startswith(("float", "bfloat")) for name in (reference, target))
        floating |= all(name.startswith("complex") for name in (reference, target))
        if floating and self._tolerance.dtype == "any":
            self._notes[_sides("dtype", reference, target)] = None
        else:
            self._reasons[_sides("dtype", reference, target)] = None

    def _number(self, reference: Node, target: Node) -> None:
        types = [node["type"] for node in (reference, target)]
        if types[0] != types[1]:
            self._reasons[_sides("type", *types)] = None
        elif reference["class"] != target["class"]:
            self._notes[_sides("class", reference["class"], target["class"])] = None
        if all(kind in ("int", "bool") for kind in types):
            self._statistics = self._statistics or WholeStatistics()
            if isinstance(self._statistics, WholeStatistics):
                self._statistics.add(whole(reference), whole(target))
            return
        left, right = as_tensor(reference), as_tensor(target)
        if left.is_complex() != right.is_complex():
            return
        if self._statistics is None:
            self._statistics = self._statistics_for(left, right)
        if self._statistics is not None and not isinstance(self._statistics, WholeStatistics):
            add_pair(self._statistics, left, right, None)

    def _exact(self, reference: Node, target: Node) -> None:
        self._plain += 1
        part = "to" if reference["kind"] == "cycle" else "value"
        if reference.get(part) != target.get(part):
            self._plain_mismatches += 1
            if self._plain_mismatches == 1:  # one example is enough
                self._differ(_sides("", say(reference), say(target)))

    def _value_reasons(self) -> list[str]:
        found = self._statistics
        if found is None or not found.mismatches:
            return []
        count = f"{found.mismatches:,} of {found.elements:,} values"
        if not isinstance(found, FloatStatistics):
            return [f"{count} differ"]
        reasons = [f"{count} are not within rtol {found.rule.rtol:.3g} and atol {found.rule.atol:.3g}"]
        if found.odd.disagreeing:
            nans, infs = ("{:,} against {:,}".format(*counts) for counts in (found.odd.nans, found.odd.infs))
            reasons.append(f"{found.odd.disagreeing:,} of them are NaN or infinite (NaN: {nans}; infinite: {infs})")
        return reasons

    def _value_notes(self) -> list[str]:
        found = self._statistics
        if found is None or not found.elements:
            return []
        if found.mismatches:
            ranking = found.ranking if isinstance(found, FloatStatistics) else None
            return (
                [f"top-1 agrees in {ranking.agreeing:,} of {ranking.rows:,} rows"] if ranking and ranking.rows else []
            )
        if isinstance(found, FloatStatistics) and found.odd.nans[0]:
            return [f"{found.odd.nans[0]:,} of {found.elements:,} values are NaN on both sides"]
        if _dtype_name(self._nodes[0]) == _dtype_name(self._nodes[1]):
            return []
        if isinstance(found, FloatStatistics):
            equal = not found.differing
        else:
            equal = found.max_abs is None or found.max_abs.value == 0
        return ["the values are equal" if equal else "the values are within tolerance"]

    def _grid(self, floats: FloatStatistics | None) -> dict[str, int | None] | None:
        if floats is None or floats.bounds.grid is None:
            return None
        rows = {str(dtype).removeprefix("torch."): row.level for dtype, row in floats.bounds.grid.items()}
        return dict.fromkeys(rows) if self._beyond_levels else rows

    def _level(self, floats: FloatStatistics | None) -> float | None:
        if self._beyond_levels:
            return float("inf")
        return floats.bounds.level.value if floats and floats.bounds.level else None


def _sides(part: str, reference: Any, target: Any) -> str:
    return f"{part} {reference} in the reference, {target} in the target".lstrip()


def _dtype_name(node: Node | None) -> str | None:
    return None if node is None else str(node.get("dtype", node["class"]))


def _shape(node: Node | None) -> tuple[int, ...] | None:
    if node is None or node["kind"] == "number":
        return None if node is None else ()
    return tuple(node["shape"]) if "shape" in node else None


def _torch_dtype(node: Node) -> torch.dtype | None:
    dtype = getattr(torch, str(node.get("dtype", "")), None)
    return dtype if isinstance(dtype, torch.dtype) else None

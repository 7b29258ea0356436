"""All that is found at one path, batch after batch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from libbench.compare.arrays import Statistics, add_pair, statistics_for
from libbench.compare.buffers import Buffers
from libbench.compare.found import report_fields, vacuous_by_values, value_notes, value_reasons
from libbench.compare.levels import family
from libbench.compare.rule import Detail
from libbench.compare.scalars import WholeStatistics, as_tensor, whole
from libbench.compare.structure import Node, say
from libbench.findings import LeafReport, Vacuous, Verdict
from libbench.settings import Tolerance

_ARRAYS = ("tensor", "ndarray")
_PLAIN = ("string", "bytes", "constant", "none", "cycle")
_SAYS_NOTHING: Mapping[str, Vacuous] = {"constant": "constant", "none": "empty", "cycle": "empty"}


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
        fields = report_fields(found)
        of_values = value_reasons(found)
        reasons = [*self._reasons, *of_values]
        verdict: Verdict = "different" if reasons else "unjudged" if self._unjudged else "same"
        node = self._nodes[0] or self._nodes[1] or {}
        dtypes = _dtype_name(self._nodes[0]), _dtype_name(self._nodes[1])
        fields["elements"] += self._plain
        fields["mismatches"] += self._plain_mismatches
        if self._beyond_levels:
            fields["level"] = float("inf")
            fields["grid"] = fields["grid"] and dict.fromkeys(fields["grid"])
        return LeafReport(
            path=self.path,
            verdict=verdict,
            reasons=(*reasons, *self._unjudged),
            value_reasons=tuple(of_values),
            notes=(*self._notes, *value_notes(found, one_dtype=dtypes[0] == dtypes[1])),
            kind=node["kind"],
            dtypes=dtypes,
            shapes=(_shape(self._nodes[0]), _shape(self._nodes[1])),
            vacuous=self._vacuous(node["kind"]) if verdict == "same" else "",
            **fields,
        )

    def _vacuous(self, kind: str) -> Vacuous:
        if kind in _PLAIN:
            return _SAYS_NOTHING.get(kind, "")
        return vacuous_by_values(self._statistics, several=math.prod(_shape(self._nodes[0]) or ()) > 1)

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

"""What outputs, modules, operators and weights say together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from libbench.findings import OutputsReport
from libbench.locate.deviation import error_of, rounding_of
from libbench.locate.recording import held_by
from libbench.located import LocatedVerdict, ModulesReport, OpsReport

_MOST_WEIGHTS = 20


def differences(report: OutputsReport) -> Iterator[str]:
    """Say what differs in the outputs of a batch, one sentence each."""
    yield from report.reasons
    for leaf in report.leaves:
        yield from (f"{leaf.path}: {reason}" for reason in leaf.reasons)


def verdict_of_both(modules: ModulesReport | None, operators: OpsReport | None) -> tuple[LocatedVerdict, str]:
    """Give what modules and operators say together, and what that stands on."""
    verdicts = [report.verdict for report in (operators, modules) if report is not None]
    if operators is not None and operators.verdict == "located":
        return "located", ""
    if "located" in verdicts:
        return "located", "" if operators is None else "no operator stands out in the module that does"
    if not verdicts or set(verdicts) == {"unjudged"}:
        return "unjudged", "neither modules nor operators of the two sides could be run on the same inputs"
    if set(verdicts) <= {"same", "unjudged"}:
        return "no single culprit", "nothing differs by more than one rounding where it is fed the same: rounding grows"
    return "no single culprit", ""


def weights(reference: Any, target: Any) -> Iterator[str]:
    """Say which parameters and buffers of one name differ by more than one rounding of the coarser dtype."""
    held: list[Mapping[str, torch.Tensor]] = [held_by(reference), held_by(target)]
    found = []
    for name in held[0].keys() & held[1].keys():
        one, two = held[0][name], held[1][name]
        error = error_of(one, two)
        if error > max(rounding_of(one.dtype), rounding_of(two.dtype)):
            shapes = "" if one.shape == two.shape else f", {tuple(one.shape)} in the reference, {tuple(two.shape)} here"
            found.append((error, f"{name} differs: relative error {error:.3g}{shapes}"))
    found.sort(key=lambda each: (-each[0], each[1]))
    yield from (text for _, text in found[:_MOST_WEIGHTS])
    if len(found) > _MOST_WEIGHTS:
        yield f"{len(found) - _MOST_WEIGHTS:,} more differ"
    for ours, theirs, who in ((held[0], held[1], "reference"), (held[1], held[0], "target")):
        alone = [name for name in ours if name not in theirs]
        if alone:
            more = f" and {len(alone) - 3:,} more" if len(alone) > 3 else ""
            yield f"the {who} alone has {', '.join(alone[:3])}{more}"

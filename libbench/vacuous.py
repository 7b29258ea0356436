"""Outputs that agree and prove nothing: a wrong answer would have looked the same."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from libbench.findings import LeafReport, OutputsReport
from libbench.result import Comparison


def marked(report: OutputsReport, aliases: Collection[str], *, by_truth: bool) -> OutputsReport:
    """Mark the leaves that prove nothing for reasons that their values do not show.

    Args:
        report: with what the values show.
        aliases: paths of the outputs that the reference was given.
        by_truth: whether a truth judges floating values: how small they are makes no difference to it.
    """
    return replace(report, leaves=tuple(_marked(leaf, aliases, by_truth) for leaf in report.leaves))


def _marked(leaf: LeafReport, aliases: Collection[str], by_truth: bool) -> LeafReport:
    if leaf.vacuous == "small" and by_truth:
        leaf = replace(leaf, vacuous="")
    if leaf.verdict == "same" and leaf.path in aliases and leaf.vacuous in ("", "small"):
        return replace(leaf, vacuous="alias")
    return leaf


def unproven(comparison: Comparison) -> bool:
    """Tell whether the outputs agree, but prove nothing, which is not taken for an agreement."""
    allowed = comparison.tolerance is not None and comparison.tolerance.vacuous == "allow"
    return comparison.vacuous and not allowed


def refused(comparison: Comparison) -> bool:
    """Tell whether such outputs leave the question open: not where whole numbers are rightly one, as a mask may be."""
    leaves = comparison.outputs.leaves if comparison.outputs is not None else ()
    return unproven(comparison) and not any(leaf.vacuous == "constant" and leaf.rtol is None for leaf in leaves)


def why(leaf: LeafReport) -> str:
    """Say why a leaf proves nothing; empty where it does prove something."""
    value = leaf.max_abs.reference if leaf.max_abs else None
    return {
        "": "",
        "empty": "there is no value",
        "nan": "all of it is NaN",
        "constant": "it is constant"
        if value is None
        else f"every value is {value:.6g}"
        if isinstance(value, float)
        else f"every value is {value}",
        "alias": "it is an input or a weight, as it was",
        "small": f"it is so small that zeros would pass (atol {leaf.atol:.3g})" if leaf.atol is not None else "",
    }[leaf.vacuous]


def reasons(report: OutputsReport, most: int = 3) -> str:
    """Say of the leaves that prove nothing why they do not, each reason with the first leaf that has it."""
    found: dict[str, list[str]] = {}
    for leaf in report.leaves:
        if leaf.vacuous:
            found.setdefault(why(leaf), []).append(leaf.path)
    said = [
        f"{paths[0]}{f' and {len(paths) - 1:,} more' if len(paths) > 1 else ''}: {text}"
        for text, paths in found.items()
    ]
    left = len(said) - most
    more = f"; and {left:,} other reason{'s' if left > 1 else ''}" if left > 0 else ""
    return "; ".join(said[:most]) + more

"""The metrics of both sides, judged by the evaluator of one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from libbench.findings import MetricReport
from libbench.interfaces import Evaluator
from libbench.job import Job
from libbench.judge import judge_metrics
from libbench.recordfiles import load_records
from libbench.result import Result
from libbench.saved import AnySide
from libbench.settings import Tolerance

_SILENT = Evaluator.compare_records


def judged(
    sides: Sequence[AnySide], results: Sequence[Result], folders: Sequence[Path], tolerance: Tolerance
) -> tuple[tuple[MetricReport, ...], tuple[str, ...]]:
    """Let the reference's evaluator judge both sides' metrics; nothing is judged when a side has none.

    That of a saved reference is not built: the target's judges in its place, or what it was known to allow.

    Args:
        sides, results: reference first.
        folders: where their records lie.

    Returns:
        The reports, and what the evaluator has to say about the records.
    """
    ours, theirs = (result.metrics for result in results)
    if ours is None or theirs is None:
        return (), ()
    judge = next((side for side in sides if isinstance(side, Job)), None)
    if judge is None:
        allowed = results[0].evaluation.allowed if results[0].evaluation else {}
        return judge_metrics(ours, theirs, tolerance, allowed), ()
    try:
        evaluator: Evaluator = judge.build("evaluator")["evaluator"]
        reports = tuple(evaluator.compare(ours, theirs, tolerance))
    except Exception as error:
        # It is the user's code; what else was found stands.
        why = f"compare failed: {type(error).__name__}: {error}"
        return tuple(_unjudged(name, ours, theirs, why) for name in {**ours, **theirs}), ()
    return reports, remarks(evaluator, *folders)


def remarks(evaluator: Evaluator, reference: Path, target: Path) -> tuple[str, ...]:
    """Give what the evaluator has to say about the records of the samples that both sides have had.

    Args:
        reference, target: folders with records.
    """
    if getattr(type(evaluator), "compare_records", _SILENT) is _SILENT:
        return ()  # it says nothing, so that nothing need be read
    try:
        ours, theirs = load_records(reference), load_records(target)
        common = [index for index in ours if index in theirs]
        if not common:
            return ()
        return tuple(evaluator.compare_records({i: ours[i] for i in common}, {i: theirs[i] for i in common}))
    except Exception as error:
        return (f"{type(evaluator).__qualname__}.compare_records failed: {type(error).__name__}: {error}",)


def _unjudged(name: str, ours: Mapping[str, float], theirs: Mapping[str, float], why: str) -> MetricReport:
    return MetricReport(
        name=name,
        reference=ours.get(name),
        target=theirs.get(name),
        difference=None,
        allowed=0.0,
        verdict="unjudged",
        note=why,
    )

"""The first line: the same? faster? What was found, and what that is worth."""

from __future__ import annotations

from libbench.findings import OutputsReport
from libbench.report.words import Tone, cut, figure, one_line, plural, ratio
from libbench.result import Check, Comparison, Failure, Result, Speedup

Piece = tuple[str, Tone]
_LONGEST = 180
"""Columns that one finding may take in the headline; all of it stands further down."""


def headline(comparison: Comparison) -> str:
    """Give the verdict on outputs, metrics and speed as one line of plain text."""
    return " · ".join(text for text, _ in pieces(comparison))


def pieces(comparison: Comparison) -> list[Piece]:
    """Give the headline in pieces, the weightiest first, each with its tone."""
    reference, target = comparison.reference.failure, comparison.target.failure
    found = findings(comparison)
    if not comparison.complete:
        return [("INTERRUPTED", "warn"), *_so_far(found), *_speed(comparison)]
    if reference is not None:
        return [_failed("REFERENCE FAILED", reference), *_so_far(found)]
    stochastic = check(comparison, "reference repeats")
    if stochastic is not None:
        why = cut(f"two calls on one batch: {stochastic.found}", _LONGEST)
        return [(f"CANNOT BE JUDGED: the reference is stochastic ({why})", "warn"), *_speed(comparison)]
    if target is not None and target.kind == "unavailable":
        return [_failed("CANNOT BE JUDGED: the target is not available here", target), *_so_far(found)]
    if target is not None:
        return [_failed("TARGET FAILED", target), *_so_far(found), *_speed(comparison)]
    if not found:
        found = [("CANNOT BE JUDGED: no output and no metric was compared", "warn")]
    return [*found, *_speed(comparison), *_demanded(comparison)]


def check(comparison: Comparison, name: str) -> Check | None:
    """Give the check of this name that did not come out "same"; None when it did, or when there is none."""
    return next((c for c in comparison.checks if c.name == name and c.verdict != "same"), None)


def wall(comparison: Comparison) -> Speedup | None:
    """Give the speedup by the wall clock, or by the first clock there is."""
    by_name = {speedup.clock: speedup for speedup in comparison.speedups}
    return by_name.get("wall") or next(iter(comparison.speedups), None)


def findings(comparison: Comparison) -> list[Piece]:
    """Say what was found of outputs and metrics, a difference before an agreement; nothing where nothing was."""
    outputs, metrics = comparison.outputs, comparison.metrics
    found: list[Piece] = []
    if outputs is not None and (outputs.batches or (outputs.skipped and not metrics)):
        found.append(_outputs(outputs, comparison.inputs is not None))
    differ = [metric for metric in metrics if metric.verdict == "different"]
    if differ:
        worst = differ[0]
        values = f"{one_line(worst.name)} {figure(worst.reference, 4)} against {figure(worst.target, 4)}"
        more = f" and {len(differ) - 1} more" if len(differ) > 1 else ""
        found.append((cut(f"DIFFERENT METRICS: {values}{more}", _LONGEST), "bad"))
    elif metrics and not found:
        found.append((f"SAME METRICS ({_not_compared(outputs)})", "good"))
    elif metrics and found[0][1] != "good":
        found.append(("metrics within tolerance", "good"))
    return sorted(found, key=lambda piece: _WEIGHT[piece[1]])


_WEIGHT: dict[Tone, int] = {"bad": 0, "warn": 1, "good": 2, "plain": 3, "dim": 4, "strong": 5}


def why_different(outputs: OutputsReport) -> str:
    """Say in one line what differs most."""
    worst = [leaf for leaf in outputs.leaves if leaf.verdict == "different"]
    if outputs.reasons:
        first, more = outputs.reasons[0], len(outputs.reasons) - 1 + len(worst)
    elif worst:
        first = f"{worst[0].path}: {'; '.join(worst[0].reasons)}"
        more = len(worst) - 1
    else:
        return "see below"
    return cut(first, _LONGEST) + (f" (and {plural(more, 'more')[:-1]})" if more > 1 else " (and 1 more)" if more else "")


def speed_words(speedup: Speedup | None) -> Piece:
    """Say how fast the target is; a ratio never stands without its interval, nor a win inside its own noise."""
    if speedup is None:
        return "speed not measured", "dim"
    value, low, high = ratio(speedup.ratio, speedup.low, speedup.high)
    if speedup.low is None or speedup.high is None:
        why = one_line(speedup.note).removeprefix("no interval: ")
        return f"speed inconclusive ({value}x, no interval{': ' + why if why else ''})", "warn"
    interval = f"95 % interval {low} to {high}"
    if speedup.verdict == "faster":
        return f"{value}x FASTER ({interval})", "good"
    if speedup.verdict == "slower":
        return f"{value}x: SLOWER ({interval})", "bad"
    if speedup.verdict == "level":
        return f"no measurable difference in speed ({interval})", "plain"
    note = f"; {one_line(speedup.note)}" if speedup.note else ""
    return f"speed inconclusive ({value}x, {interval}{note})", "warn"


def not_compiled(result: Result) -> bool:
    """Tell whether a compiler was used that compiled nothing."""
    facts = result.preparation.facts if result.preparation else None
    return facts is not None and facts.graphs == 0


def _failed(what: str, failure: Failure) -> Piece:
    return f"{what} in {failure.stage}: {cut(failure.message, _LONGEST)}", "bad" if "FAILED" in what else "warn"


def _so_far(found: list[Piece]) -> list[Piece]:
    return [(f"before that: {text}", "plain") for text, _ in found[:1]] + found[1:]


def _outputs(outputs: OutputsReport, same_inputs: bool) -> Piece:
    if outputs.verdict == "different":
        return f"DIFFERENT OUTPUTS: {why_different(outputs)}", "bad"
    if outputs.verdict == "unjudged":
        leaf = next((leaf for leaf in outputs.leaves if leaf.verdict == "unjudged"), None)
        why = f"{leaf.path}: {'; '.join(leaf.reasons)}" if leaf else _not_compared(outputs)
        return f"CANNOT BE JUDGED: {cut(why, _LONGEST)}", "warn"
    skipped = sum(count for _, count in outputs.skipped)
    limits = [f"{outputs.batches:,} of {outputs.batches + skipped:,} batches compared"] if skipped else []
    limits += [] if same_inputs else ["inputs differ"]
    return "SAME OUTPUTS" + (f" ({', '.join(limits)})" if limits else ""), "good"


def _not_compared(outputs: OutputsReport | None) -> str:
    reasons = [reason for reason, _ in outputs.skipped] if outputs else []
    why = f": {one_line(reasons[0])}" if reasons else ""
    return cut(f"outputs not compared{why}", _LONGEST)


def _speed(comparison: Comparison) -> list[Piece]:
    found = [speed_words(wall(comparison))]
    if comparison.speedups and not_compiled(comparison.target):
        found.append(("the target was NOT COMPILED", "warn"))
    return found


def _demanded(comparison: Comparison) -> list[Piece]:
    """Say when a speedup that was asked for is not there."""
    demand = check(comparison, "speedup")
    if demand is None:
        return []
    if demand.verdict == "different":
        return [(f"TOO SLOW: wanted {demand.wanted}", "bad")]
    return [(f"CANNOT BE JUDGED: whether it is {demand.wanted} as fast", "warn")]

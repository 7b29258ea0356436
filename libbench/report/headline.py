"""The first line: the same? faster? What was found, and what that is worth."""

from __future__ import annotations

from collections.abc import Sequence

from libbench.comparability import not_compiled, not_swapped, other_work
from libbench.curves import LOSS
from libbench.drawing import drawn_apart
from libbench.findings import LeafReport, LeafTruth, OutputsReport, TruthReport
from libbench.measured import Speedup, SpeedVerdict, by_wall
from libbench.report.words import Tone, apart, cut, figure, listed, one_line, plural, ratio, shorten
from libbench.result import SIDES, Check, Comparison, Failure, Unlike
from libbench.rows import BROKEN
from libbench.truths import but_for_values
from libbench.vacuous import reasons, refused

Piece = tuple[str, Tone]
SPEED_TONES: dict[SpeedVerdict, Tone] = {"faster": "good", "slower": "bad", "level": "plain", "inconclusive": "warn"}
LONGEST = 180
"""Columns that one finding may take in the headline; all of it stands further down."""


def headline(comparison: Comparison) -> str:
    """Give the verdict on outputs, metrics and speed as one line of plain text."""
    return " · ".join(text for text, _ in pieces(comparison))


def pieces(comparison: Comparison) -> list[Piece]:
    """Give the headline in pieces, the weightiest first, each with its tone."""
    if not comparison.complete:
        found = findings(comparison)
        return [("INTERRUPTED", "warn"), *(_so_far(found) or [("before anything was compared", "plain")])]
    worst = worst_first(comparison)[0]
    found = told(worst)
    if comparison.seeds:
        count, seed = len(comparison.seeds) + 1, worst.reference.job.seed
        which = f"{count:,} seeds" if worst.exit_code == 0 else f"at seed {seed}, the worst of {count:,}"
        found[0] = (f"{found[0][0]} ({which})", found[0][1])
    if comparison.reference.failure or comparison.target.failure:
        return found
    return [*found, *_speed(comparison), *_demanded(comparison)]


def worst_first(comparison: Comparison) -> list[Comparison]:
    """Give the comparisons at all seeds, the one with the weightiest finding first."""
    return sorted(comparison.at_each_seed(), key=_badness, reverse=True)


def _badness(comparison: Comparison) -> tuple[float, ...]:
    truth, outputs = comparison.truth, comparison.outputs
    ratio = max((leaf.rmse_ratio or 0.0 for leaf in truth.leaves), default=0.0) if truth else 0.0
    level = max((leaf.level for leaf in outputs.leaves if leaf.level is not None), default=0.0) if outputs else 0.0
    return comparison.exit_code if comparison.complete else 2, ratio, level


def told(comparison: Comparison) -> list[Piece]:
    """Say what came of the outputs and metrics at one seed, or why nothing did."""
    reference, target = comparison.reference.failure, comparison.target.failure
    found = findings(comparison)
    broken = check(comparison, BROKEN)
    if broken is not None:
        return [(f"CANNOT BE JUDGED: {cut(broken.found, LONGEST)}", "warn")]
    if reference is not None:
        return [_failed("REFERENCE FAILED", reference), *_so_far(found)]
    stochastic = check(comparison, "reference repeats")
    if stochastic is not None:
        return [(f"CANNOT BE JUDGED: the reference is stochastic: {cut(stochastic.found, LONGEST)}", "warn")]
    if target is not None and target.kind == "unavailable":
        return [_failed("CANNOT BE JUDGED: the target is not available here", target), *_so_far(found)]
    if target is not None:
        return [_failed("TARGET FAILED", target), *_so_far(found)]
    if not found:
        found = [("CANNOT BE JUDGED: no output and no metric was compared", "warn")]
    return found


def check(comparison: Comparison, name: str) -> Check | None:
    """Give the check of this name that did not come out "same"; None when it did, or when there is none."""
    return next((c for c in comparison.checks if c.name == name and c.verdict != "same"), None)


def wall(comparison: Comparison) -> Speedup | None:
    """Give the speedup by the wall clock, or by the first clock there is."""
    return by_wall(comparison.speedups)


def findings(comparison: Comparison) -> list[Piece]:
    """Say what was found of outputs and metrics, a difference before an agreement; nothing where nothing was."""
    outputs, metrics = comparison.outputs, comparison.metrics
    found: list[Piece] = []
    if outputs is not None and (outputs.batches or (outputs.skipped and not metrics)):
        found += _truth(comparison.truth, outputs, comparison) if comparison.truth else [_outputs(outputs, comparison)]
    found = _with_curve(found, comparison)
    found = [*(_baked(each) for each in (check(comparison, "target baked in"),) if each), *found]
    found += [_timed(name, each) for name in SIDES if (each := check(comparison, f"{name} timed outputs"))]
    found += [_ranks(name, each) for name in SIDES if (each := check(comparison, f"{name} ranks"))]
    chance = drawn_apart(outputs)
    differ = [metric for metric in metrics if metric.verdict == "different" and not chance]
    if differ:
        worst = differ[0]
        values = f"{shorten(worst.name, 40)} {' against '.join(apart(worst.reference, worst.target))}"
        more = f" (and {len(differ) - 1:,} more)" if len(differ) > 1 else ""
        found.append((f"DIFFERENT METRICS: {values}{more}", "bad"))
    elif metrics and not found:
        found.append((f"SAME METRICS ({_not_compared(outputs)})", "good"))
    elif chance and any(metric.verdict == "different" for metric in metrics):
        found.append(("CANNOT BE JUDGED: metrics differ, which may be chance", "warn"))
    elif metrics and found[0][1] != "good":
        found.append(("metrics within tolerance", "good"))
    found.sort(key=lambda piece: _WEIGHT[piece[1]])
    if comparison.curve is not None and comparison.curve.other_data is not None:
        # Losses on other data are those of unlike things: it is said before any verdict on them.
        found.insert(0, (f"NOT THE SAME DATA: {cut(comparison.curve.reasons[0], LONGEST)}", "warn"))
    return found


def _with_curve(found: list[Piece], comparison: Comparison) -> list[Piece]:
    """Put where the losses part in the place of what their values alone would say."""
    failed = check(comparison, "loss curve")
    curve, outputs = comparison.curve, comparison.outputs
    if failed is None or failed.verdict != "different" or curve is None or outputs is None:
        return found
    others = [leaf for leaf in outputs.leaves if leaf.verdict == "different" and leaf.path != LOSS]
    why = "; ".join([*curve.reasons, *curve.causes[:1]])
    piece: Piece = (f"DIFFERENT LOSSES: {cut(why, LONGEST)}", "bad")
    return [piece, *(found if others or outputs.reasons else [])]


def _baked(failed: Check) -> Piece:
    """Say that the target keeps what tracing has fixed."""
    return f"BAKED IN: {cut(failed.found, LONGEST)}", "bad"


def _timed(name: str, failed: Check) -> Piece:
    """Say that a side gave something else while it was timed."""
    return f"OTHER OUTPUTS WHILE TIMED: the {name}'s: {cut(failed.found, LONGEST)}", "bad"


def _ranks(name: str, failed: Check) -> Piece:
    """Say that a rank of a side did not do what it should."""
    return f"ODD RANKS: the {name}'s {cut(failed.found, LONGEST)}", "bad"


_WEIGHT: dict[Tone, int] = {"bad": 0, "warn": 1, "good": 2, "plain": 3, "dim": 4, "strong": 5}


def why_different(outputs: OutputsReport) -> str:
    """Say in one line what differs most."""
    worst = [leaf for leaf in outputs.leaves if leaf.verdict == "different"]
    if outputs.reasons:
        said = tuple(reason.partition(": ")[0] for reason in outputs.reasons)
        first, more = outputs.reasons[0], len(said) - 1 + sum(leaf.path not in said for leaf in worst)
    elif worst:
        first, more = _leaf_words(worst[0]), len(worst) - 1
    else:
        return "see below"
    return cut(first, LONGEST) + (f" (and {more:,} more)" if more else "")


def _leaf_words(leaf: LeafReport) -> str:
    """Say what differs in a leaf in fewer words than its reasons do."""
    (ours, theirs), path = leaf.dtypes, shorten(leaf.path, 40)
    if leaf.draws is not None:
        return f"{path}: {leaf.reasons[0]}"
    # The first reason of value is the count of what disagrees, which is said in fewer words here.
    others = [*leaf.form_reasons, *leaf.value_reasons[1:]]
    words = []
    if ours != theirs and others and str(ours) in others[0] and str(theirs) in others[0]:
        others = others[1:]
        words.append(f"{theirs}, not {ours}")
    if leaf.mismatches:
        # Without a tolerance every difference counts.
        what = "differ" if leaf.rtol is None else "out of tolerance"
        words.append(f"{leaf.mismatches:,} of {plural(leaf.elements, 'value')} {what}")
    return f"{path}: {'; '.join([*words, *others[:1]])}"


def speed_words(speedup: Speedup | None) -> Piece:
    """Say how fast the target is; a ratio never stands without its interval, nor a win inside its own noise."""
    if speedup is None:
        return "speed not measured", "dim"
    value, low, high = ratio(speedup.ratio, speedup.low, speedup.high)
    if speedup.low is None or speedup.high is None:
        why = one_line(speedup.note).removeprefix("no interval: ")
        return f"speed inconclusive ({value}x, no interval{': ' + why if why else ''})", "warn"
    interval, tone = f"95 % interval {low} to {high}", SPEED_TONES[speedup.verdict]
    if speedup.verdict == "faster":
        return f"{value}x FASTER ({interval})", tone
    if speedup.verdict == "slower":
        return f"{value}x: SLOWER ({interval})", tone
    if speedup.verdict == "level":
        return f"no measurable difference in speed ({interval})", tone
    note = f"; {one_line(speedup.note)}" if speedup.note else ""
    return f"speed inconclusive ({value}x, {interval}{note})", tone


def _failed(what: str, failure: Failure) -> Piece:
    return f"{what} in {failure.stage}: {cut(failure.message, LONGEST)}", "bad" if "FAILED" in what else "warn"


def _so_far(found: list[Piece]) -> list[Piece]:
    return [(f"before that: {text}", "plain") for text, _ in found[:1]] + found[1:]


def _outputs(outputs: OutputsReport, comparison: Comparison) -> Piece:
    if outputs.verdict == "different":
        inputs = "" if comparison.inputs is not None or not outputs.batches else " (inputs differ)"
        return f"DIFFERENT OUTPUTS{inputs}: {why_different(outputs)}", "bad"
    if outputs.verdict == "unjudged":
        leaf = next((leaf for leaf in outputs.leaves if leaf.verdict == "unjudged"), None)
        why = f"{leaf.path}: {'; '.join(leaf.reasons)}" if leaf else _not_compared(outputs)
        return f"CANNOT BE JUDGED: {cut(why, LONGEST)}", "warn"
    if refused(comparison):
        return f"CANNOT BE JUDGED: the outputs agree, but prove nothing: {cut(reasons(outputs), LONGEST)}", "warn"
    by = " by distribution" if drawn_apart(outputs) else ""
    return f"SAME OUTPUTS{by}{_limits(outputs, comparison)}", "good"


def _truth(truth: TruthReport, outputs: OutputsReport, comparison: Comparison) -> list[Piece]:
    """Say what the truth makes of the values, after what no truth can judge: structure, dtypes, whole numbers."""
    form = but_for_values(outputs)
    found = [_outputs(form, comparison)] if form.verdict != "same" or refused(comparison) else []
    by = {"same": "the same", "different": "different", "unjudged": "not judged"}[outputs.verdict]
    other = f" (by tolerance: {by})" if truth.verdict != outputs.verdict and form.verdict == "same" else ""
    words = cut(truth_words(truth), LONGEST)
    if truth.verdict == "unjudged":
        return [*found, (f"CANNOT BE JUDGED by {truth.dtype}: {words}{other}", "warn")]
    if truth.verdict == "different":
        return [*found, (f"{'DIFFERENT OUTPUTS' if not found else 'WORSE'} by {truth.dtype}: {words}{other}", "bad")]
    if found:
        return [*found, (f"values by {truth.dtype}: {words}", "good")]
    return [(f"SAME OUTPUTS by {truth.dtype}{_limits(outputs, comparison)}: {words}{other}", "good")]


def truth_words(truth: TruthReport) -> str:
    """Say in a few words how the target fares against the truth, by its worst leaf."""
    worst = next((leaf for leaf in truth.leaves if leaf.verdict == truth.verdict), None)
    if truth.verdict == "unjudged":
        why = [*truth.reasons, *(f"{worst.path}: {'; '.join(worst.reasons)}" for _ in (worst,) if worst)]
        return (why or [reason for reason, _ in truth.skipped] or ["nothing was judged"])[0]
    if truth.verdict == "different" and worst is not None:
        more = sum(leaf.verdict == "different" for leaf in truth.leaves) - 1
        return f"{shorten(worst.path, 40)}: {_worse(worst)}" + (f" (and {more:,} more)" if more else "")
    pairs = [leaf.rmse for leaf in truth.leaves if leaf.rmse is not None]
    far = [(leaf.rmse_ratio or 1.0, leaf.rmse[1] / leaf.rmse[0]) for leaf in truth.leaves if leaf.rmse and leaf.rmse[0]]
    if all(target == reference for reference, target in pairs):
        return "as close to it as the reference"
    if all(target <= reference for reference, target in pairs):
        return f"closer to it than the reference, by up to {figure(1 / max(1e-300, min(raw for _, raw in far)))}x"
    ratio, raw = max(far, default=(1.0, 1.0))
    return f"{figure(raw)}x the reference's distance from it" if ratio > 1 else "as close to it as rounding allows"


def _worse(leaf: LeafTruth) -> str:
    if leaf.rmse_ratio is None or leaf.max_ratio is None or leaf.allowed is None:
        return "; ".join(leaf.reasons)
    words = []
    if leaf.rmse_ratio > leaf.allowed[0]:
        words.append(f"worse by {figure(leaf.rmse_ratio)}x (RMSE)")
    if leaf.max_ratio > leaf.allowed[1]:
        at = f" at {list(leaf.outlier.at)}" if leaf.outlier else ""
        words.append(f"outlier {figure(leaf.max_ratio)}x{at}")
    return ", ".join([*words, *(leaf.reasons[:1] if leaf.lost[1] else ())])


def _limits(outputs: OutputsReport, comparison: Comparison) -> str:
    """Say what the agreement of outputs does not cover."""
    total = outputs.batches + sum(count for _, count in outputs.skipped)
    if not comparison.complete or comparison.target.failure:
        # The target ended on its way; how far it should have come is known from the reference.
        prepared = comparison.reference.preparation
        total = max(total, (prepared.batches if prepared else None) or 0)
    limits = [f"{outputs.batches:,} of {total:,} batches compared"] if total > outputs.batches else []
    limits += [] if comparison.inputs is not None else ["inputs differ"]
    vacuous = sum(bool(leaf.vacuous) for leaf in outputs.leaves)
    if vacuous == 1 or outputs.vacuous:
        limits.append(f"vacuous: {reasons(outputs, most=1)}")
    elif vacuous:
        limits.append(f"{vacuous:,} of {len(outputs.leaves):,} leaves are vacuous")
    return f" ({', '.join(limits)})" if limits else ""


def _not_compared(outputs: OutputsReport | None) -> str:
    reasons = [reason for reason, _ in outputs.skipped] if outputs else []
    why = f": {one_line(reasons[0])}" if reasons else ""
    return cut(f"outputs not compared{why}", LONGEST)


def unlike_words(unlike: Sequence[Unlike]) -> str:
    """Say in few words what differs between the calls of two sides."""
    values = [
        each.name if each.name == "inputs" else f"{each.name} {each.reference} against {each.target}" for each in unlike
    ]
    return cut(listed(values), LONGEST)


def _speed(comparison: Comparison) -> list[Piece]:
    other = other_work(comparison.comparability)
    idle = [f"the {name} was NOT COMPILED" for index, name in enumerate(SIDES) if not_compiled(comparison, index)]
    idle += [
        f"NO KERNEL of the {name}'s op_lib ran" for index, name in enumerate(SIDES) if not_swapped(comparison, index)
    ]
    if comparison.speedups and (other or idle):
        between = f" between unlike sides: {unlike_words(other)}" if other else ""
        return [("; ".join([f"NO SPEEDUP{between}", *idle]), "warn")]
    found = [speed_words(wall(comparison))]
    unlike = [each.name for each in comparison.comparability]
    if comparison.speedups and unlike:
        found.insert(0, (f"not alike: {listed(unlike)}", "warn"))
    return found


def _demanded(comparison: Comparison) -> list[Piece]:
    """Say when a speedup that was asked for is not there."""
    demand = check(comparison, "speedup")
    if demand is None:
        return []
    if demand.verdict == "different":
        return [(f"TOO SLOW: wanted {demand.wanted}", "bad")]
    return [(f"CANNOT BE JUDGED: whether it is {demand.wanted} as fast", "warn")]

"""From what a comparison holds to the questions that decide it."""

from __future__ import annotations

from collections.abc import Iterator

from libbench.comparability import no_speedup, speed_differs
from libbench.drawing import baked, drawn_apart
from libbench.result import SIDES, Check, Comparison, Failure, Preparation, Verdict
from libbench.speed import APART_ZONE
from libbench.truths import but_for_values
from libbench.vacuous import reasons, refused


def checks(comparison: Comparison, min_speedup: float | None = None) -> tuple[Check, ...]:
    """Answer what can be answered by now. Config difference and speed are no checks, unless a speedup is asked for."""
    reference, target = comparison.reference, comparison.target
    found = [_failed("reference", reference.failure), _repeats(comparison), _failed("target", target.failure)]
    report = comparison.outputs
    if report is not None and report.batches:
        agreed = "all within tolerance"
        if comparison.truth is not None:
            report, agreed = but_for_values(report), "the same but for floating values, which the truth judges"
        worst = next((leaf for leaf in report.leaves if leaf.verdict != "same"), None)
        said = report.reasons or (worst.reasons if worst else ())
        found.append(Check("outputs", report.verdict, "; ".join(said) or agreed))
        if refused(comparison):
            found[-1] = Check(
                "outputs", "unjudged", f"vacuous: {reasons(report)}", "an output that could have differed"
            )
    found += [baked(comparison), _curve(comparison), _truth(comparison)]
    found += _timed_outputs(comparison)
    found += _ranks(comparison)
    for metric in comparison.metrics:
        values, verdict = f"{metric.reference} against {metric.target}", metric.verdict
        if verdict == "different" and drawn_apart(comparison.outputs):
            values, verdict = f"{values}, which may be chance: the sides draw other random numbers", "unjudged"
        found.append(Check(f"metric {metric.name}", verdict, values, f"within {metric.allowed:g}"))
    judged = comparison.metrics or (report is not None and report.batches)
    if not judged and not reference.failure and not target.failure:
        found.append(Check("outputs", "unjudged", "no output and no metric was compared"))
    if min_speedup is not None:
        found.append(_speed(comparison, min_speedup))
    found += [_seed(seed) for seed in comparison.seeds]
    return tuple(check for check in found if check is not None)


def _failed(side: str, failure: Failure | None) -> Check | None:
    if failure is None:
        return None
    # A target that this machine cannot run says nothing about the target.
    trusted = side == "target" and failure.kind != "unavailable"
    return Check(f"{side} {failure.stage}", "different" if trusted else "unjudged", failure.message)


def _repeats(comparison: Comparison) -> Check | None:
    preparation = comparison.reference.preparation
    if preparation is None or preparation.repeats == "same":
        return None
    # A float64 copy draws other numbers, so that it is no truth of what is drawn.
    if preparation.draws and comparison.truth is None:
        return Check("reference repeats", "same", "it is stochastic, but draws the same from one seed", _REPEATS)
    return Check("reference repeats", "unjudged", _not_repeated(preparation), _REPEATS)


def _not_repeated(preparation: Preparation) -> str:
    if preparation.draws:
        return "it draws at random, and its float64 copy draws other numbers, which can be no truth"
    if preparation.seeded is None:
        return preparation.repeats
    return f"two calls from one seed differ, so it keeps a state, or a generator of its own ({preparation.seeded.note})"


_REPEATS = "two calls on one batch agree, or two from one seed"
# What is wanted of a reference.


def _timed_outputs(comparison: Comparison) -> Iterator[Check]:
    """Judge each side by whether it gave, while it was timed, what it gives otherwise."""
    for index, side in enumerate(SIDES):
        looked_at = [m for m in comparison.measurements if len(m.kept) > index and m.kept[index]]
        if looked_at:
            differ = [m.strayed[index] for m in looked_at if m.strayed[index]]
            verdict: Verdict = "same" if not differ else "unjudged" if side == "reference" else "different"
            found = differ[0] if differ else f"as untimed, in {len(looked_at)} of {len(looked_at)} processes"
            yield Check(f"{side} timed outputs", verdict, found, "those of an untimed call")


def _ranks(comparison: Comparison) -> Iterator[Check]:
    """Judge each side that ran on several ranks by whether they did what they should."""
    for side, result in zip(SIDES, (comparison.reference, comparison.target), strict=True):
        if result.evaluation is not None and result.evaluation.odd_ranks:
            verdict: Verdict = "unjudged" if side == "reference" else "different"
            yield Check(f"{side} ranks", verdict, "; ".join(result.evaluation.odd_ranks), "all do what they should")


def _curve(comparison: Comparison) -> Check | None:
    """Judge the loss curves; how far they part is the truth's to say where there is one."""
    curve = comparison.curve
    if curve is None or (comparison.truth is not None and curve.other_data is None):
        return None
    found = "; ".join([*curve.reasons, *curve.causes]) or f"{curve.judged} steps within tolerance"
    return Check("loss curve", curve.verdict, found, "within tolerance at step 0, and as much again with every step")


def _truth(comparison: Comparison) -> Check | None:
    truth, reference, target = comparison.truth, comparison.reference, comparison.target
    if truth is None or ((reference.failure or target.failure) and not truth.batches):
        return None
    worst = next((leaf for leaf in truth.leaves if leaf.verdict != "same"), None)
    reasons = truth.reasons or (tuple(f"{worst.path}: {reason}" for reason in worst.reasons) if worst else ())
    if not truth.leaves and not reasons:
        reasons = tuple(reason for reason, _ in truth.skipped) or ("nothing was judged",)
    return Check("truth", truth.verdict, "; ".join(reasons) or "as close to the truth as the reference, or closer")


def _seed(comparison: Comparison) -> Check:
    verdicts: tuple[Verdict, ...] = ("same", "different", "unjudged")
    bad = [check for check in comparison.checks if check.verdict != "same"]
    found = "; ".join(f"{check.name}: {check.found}" for check in bad) or "the same"
    return Check(f"seed {comparison.reference.job.seed}", verdicts[comparison.exit_code], found)


def _speed(comparison: Comparison, wanted: float) -> Check:
    wall = next((speedup for speedup in comparison.speedups if speedup.clock == "wall"), None)
    name, text = "speedup", f"at least {wanted:g}x"
    if wall is None or wall.low is None or wall.high is None:
        return Check(name, "unjudged", "not measured", text)
    # What was timed apart is judged by what its interval does not cover, too.
    spread = 1.0 if wall.pairs else 1 + APART_ZONE
    low, high = wall.low / spread, wall.high * spread
    verdict: Verdict = "same" if low >= wanted else "different" if high < wanted else "unjudged"
    why = no_speedup(comparison) or (not wall.pairs and speed_differs(comparison.comparability))
    if why:
        return Check(name, "unjudged", f"{wall.ratio:.3g}x between unlike sides", text)
    return Check(name, verdict, f"{wall.ratio:.3g}x [{wall.low:.3g}, {wall.high:.3g}]", text)

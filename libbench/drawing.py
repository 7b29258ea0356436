"""Which further calls a comparison needs of sides that draw at random, and what to say of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from libbench.distribution import LEAST
from libbench.findings import OutputsReport
from libbench.result import Check, Comparison, Result
from libbench.state import seed_at
from libbench.timing import call_of

MOST = 64
"""Calls of a side; more would tell little more."""
SECONDS = 5.0
"""They may take about so long, but for the least of them."""
LONGEST = 120.0
"""Where the least of them would take longer, there are none."""
_FIRST = {"reference": 2**20, "target": 2**21}
"""Numbers of calls, far from those of batches; each side has its own, since calls from one seed would be alike."""


class Ask(NamedTuple):
    """What to call a side from.

    Attributes:
        seeds: one for each call; none where that would take too long.
        wanted: paths of outputs to keep in any case.
        why: why there are no seeds.
    """

    seeds: tuple[int, ...]
    wanted: tuple[str, ...] = ()
    why: str = ""


def ask_reference(result: Result) -> Ask | None:
    """Say what is needed of a side that others are compared with; None where it draws nothing at random."""
    return _ask(result, "reference") if result.preparation and result.preparation.draws else None


def ask_target(reference: Result, result: Result, *, other_draws: bool) -> Ask | None:
    """Say what is needed of a target; None where values tell, since both draw the same numbers, or none."""
    if reference.draws is None or not other_draws:
        return None
    return _ask(result, "target")._replace(wanted=tuple(leaf.path for leaf in reference.draws.leaves))


def _ask(result: Result, side: str) -> Ask:
    seconds = call_of(result)
    if LEAST * seconds > LONGEST:
        return Ask((), why=f"the {side}'s calls take {seconds:.3g} s, too long for the {LEAST} that are needed")
    calls = min(MOST, max(LEAST, int(SECONDS / seconds) if seconds > 0 else MOST))
    return Ask(tuple(seed_at(result.job.seed, _FIRST[side] + number) for number in range(calls)))


def drawn_apart(report: OutputsReport | None) -> bool:
    """Tell whether an output was judged by its distribution, since the sides draw other numbers."""
    return report is not None and any(leaf.draws is not None for leaf in report.leaves)


def baked(comparison: Comparison) -> Check | None:
    """Judge a target by whether tracing has fixed what it should do anew in every call; None where nothing shows."""
    report, facts = comparison.outputs, comparison.target.facts
    leaves = report.leaves if report is not None else ()
    known = "; ".join(facts.baked) if facts is not None else ""
    fixed = [
        leaf.path for leaf in leaves if leaf.draws is not None and leaf.draws.fixed and leaf.verdict == "different"
    ]
    wanted = "what the model does in every call is done in every call"
    if fixed and facts is not None:
        found = f"{', '.join(fixed)} the same from every seed" + (f": {known}" if known else "")
        return Check("target baked in", "different", found, wanted)
    differ = any(leaf.verdict == "different" and leaf.value_reasons for leaf in leaves)
    return Check("target baked in", "different", known, wanted) if known and differ else None


def drawing_notes(comparison: Comparison, *, other_draws: bool) -> Iterator[str]:
    """Say how random numbers were dealt with, and what tracing has fixed without a difference that shows."""
    reference, target = comparison.reference, comparison.target
    batches = comparison.outputs.batches if comparison.outputs is not None else 0
    draws = reference.preparation is not None and reference.preparation.draws
    if draws and batches and other_draws and target.draws is not None:
        yield (
            "the reference is stochastic, and the target draws other numbers from the same seed: what is drawn is "
            "judged by its distribution, in calls from other seeds"
        )
    elif draws and batches:
        yield "the reference is stochastic, and the target draws the same numbers from the same seed"
    elif other_draws and comparison.curve is not None:
        yield (
            "the target draws other random numbers than the reference from the same seed, so that losses part by "
            "chance; where its compiler has it, rng='same' draws the same"
        )
    facts = target.facts
    if facts is not None and facts.baked and baked(comparison) is None:
        listed = "; ".join(facts.baked)
        yield f"tracing has fixed what may change from call to call, without a difference here: {listed}"
    for name, result in (("reference", reference), ("target", target)):
        if result.preparation is not None and result.preparation.off_device:
            yield f"the {name} makes tensors on another device: {'; '.join(result.preparation.off_device)}"

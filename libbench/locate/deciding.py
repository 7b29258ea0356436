"""Which differences of two configs decide? Two jobs in, the smallest set that flips the verdict out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from libbench.config import as_overrides
from libbench.config.between import Between
from libbench.decisive import Asked, Decisive, Outcome, Probe
from libbench.errors import ConfigError
from libbench.job import Job, lying_between
from libbench.locate.asking import label_of
from libbench.locate.flipping import Flip, flip_of, speedup_of
from libbench.locate.smallest import Search, Taken, bound_of
from libbench.result import Comparison
from libbench.rows import is_broken

Compare = Callable[[Job, str], tuple[Comparison, bool]]
"""Gives the comparison of the reference with a job, which has a name; and whether it was run before."""


def decide(
    reference: Job, target: Job, asked: Asked, compare: Compare, tell: Callable[[Probe], None] = lambda probe: None
) -> Decisive:
    """Find the smallest set of the differences of two configs that flips the verdict as all of them do.

    Each config between the two is compared with the reference as any target is; tolerance and timer are always those
    of the pair itself.

    Args:
        asked: "outputs" or "speed"; where the target fails, what makes it fail is looked for.
        compare: is asked for one config after another, the target first.
        tell: is told what came of each.
    """
    begin = time.monotonic()
    known = lying_between(reference, target)
    found = _decided(_Asker(reference, target, known, compare, tell), asked)
    notes = [*found.notes, *(f"{each.path} differs, and is left as the reference has it" for each in known.left)]
    return replace(found, notes=tuple(notes), seconds=time.monotonic() - begin)


def _decided(asker: _Asker, asked: Asked) -> Decisive:
    places = asker.between.places
    base = Decisive(
        reference=label_of(asker.reference), target=label_of(asker.target), of=asked, verdict="unjudged",
        places=tuple(place.path for place in places), bound=bound_of(len(places)),
    )  # fmt: skip
    if not places:
        return replace(base, verdict="same", reason="the configs do not differ")
    flip, comparison = asker.begin(asked)
    base = replace(base, probes=tuple(asker.probes))
    if flip is None:
        level = has_not_flipped(comparison, asked)
        agree = level and asked == "outputs"
        reason = "the outputs agree" if agree else said(comparison, asked)
        return replace(base, verdict="same" if level else "unjudged", reason=reason)
    search = Search(len(places), asker.ask)
    smallest = search.found()
    rewrite = as_overrides(asker.between.mixed(()), asker.between.mixed(smallest.members))
    members = tuple(sorted(smallest.members))
    return replace(
        base,
        of=flip.of,
        verdict="located",
        members=members,
        changes=tuple(change for number in members for change in places[number].changes),
        overrides=rewrite.lines,
        left=rewrite.left,
        checked=smallest.checked,
        rest=smallest.rest,
        apart=tuple(sorted(smallest.apart)),
        probes=tuple(asker.probes),
    )


class _Asker:
    """Asks what comes of the configs between two.

    Attributes:
        between: the two configs.
        probes: what came of each, the target first.
    """

    def __init__(
        self, reference: Job, target: Job, known: Between, compare: Compare, tell: Callable[[Probe], None]
    ) -> None:
        self.reference = reference
        self.target = target
        self.between = known
        self.probes: list[Probe] = []
        self._compare = compare
        self._tell = tell
        self._flip: Flip | None = None
        self._seen: dict[str, Outcome] = {Job.between(reference, target, ()).known_by(): "holds"}

    def begin(self, asked: Asked) -> tuple[Flip | None, Comparison]:
        """Compare the target itself; give what it has flipped."""
        comparison, kept = self._compare(self.target, self.target.name)
        flip = self._flip = None if is_broken(comparison) else flip_of(comparison, asked)
        self._seen[self.target.known_by()] = "flips"
        everything = tuple(range(len(self.between.places)))
        outcome: Outcome = "unresolved" if flip is None else "flips"
        self._note(_probe(everything, outcome, comparison, flip.of if flip else asked, kept))
        return flip, comparison

    def ask(self, taken: Taken) -> Outcome:
        """Give what comes of the reference with some of the places as the target has them."""
        assert self._flip is not None
        numbers = tuple(sorted(taken))
        name = ", ".join(self.between.places[number].path for number in numbers)
        try:
            job = Job.between(self.reference, self.target, numbers)
        except ConfigError as error:
            self._note(Probe(taken=numbers, outcome="unresolved", finding=str(error), ran=False))
            return "unresolved"
        known = self._seen.get(job.known_by())
        if known is not None:
            finding = "the config is one that came before"
            self._note(Probe(taken=numbers, outcome=known, finding=finding, ran=False))
            return known
        comparison, kept = self._compare(job, name)
        outcome = "unresolved" if is_broken(comparison) else self._flip.outcome(comparison)
        self._seen[job.known_by()] = outcome
        self._note(_probe(numbers, outcome, comparison, self._flip.of, kept))
        return outcome

    def _note(self, probe: Probe) -> None:
        self.probes.append(probe)
        self._tell(probe)


def _probe(taken: tuple[int, ...], outcome: Outcome, comparison: Comparison, of: Asked, kept: bool) -> Probe:
    finding, speedup = said(comparison, of), speedup_of(comparison)
    return Probe(taken=taken, outcome=outcome, finding=finding, speedup=speedup, kept=kept)


def has_not_flipped(comparison: Comparison, asked: Asked) -> bool:
    """Tell whether a target without a flip is certainly as its reference, rather than one that cannot be judged."""
    if is_broken(comparison) or comparison.reference.failure or comparison.target.failure:
        return False
    if asked != "speed":
        return asked == "failure" or comparison.exit_code == 0
    speedup = speedup_of(comparison)
    return speedup is not None and speedup.verdict == "level"


def said(comparison: Comparison, of: Asked) -> str:
    """Say in a line what came of a comparison."""
    bad = next((check for check in comparison.checks if check.verdict != "same"), None)
    failed = comparison.reference.failure or comparison.target.failure
    speedup = speedup_of(comparison)
    if of == "speed" and not failed and speedup is not None:
        if speedup.low is None:
            return f"{speedup.ratio:.3g}x, {speedup.note}"
        interval = f"[{speedup.low:.3g}, {speedup.high:.3g}]"
        return f"{speedup.ratio:.3g}x {interval} {speedup.verdict}" + (f": {speedup.note}" if speedup.note else "")
    if of == "speed" and not failed:
        return "the sides do other work, or were not timed, so that there is no speedup"
    return "the same" if bad is None else f"{bad.name}: {' '.join(bad.found.split())}"

"""Which differences of two configs decide: records of plain values, so that they can be written as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from libbench.config import Change
from libbench.measured import Speedup

DECISIVE_SCHEMA = "libbench.decisive"

Asked = Literal["outputs", "speed", "failure"]
Outcome = Literal["flips", "holds", "unresolved"]


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One configuration between the two, and what came of it.

    Attributes:
        taken: positions of the places in which it is the target's; in all others it is the reference's.
        outcome: "flips" the verdict as the target does, "holds" as the reference does, or "unresolved": it cannot be
            built, cannot be judged, or does something else.
        finding: what was found, or why it is unresolved.
        speedup: against the reference, by the wall clock; None where it was not timed.
        ran: whether it was run; False for a config that is wrong, which is told without.
        kept: whether it was run before, and read from the rows.
    """

    taken: tuple[int, ...]
    outcome: Outcome
    finding: str
    speedup: Speedup | None = None
    ran: bool = True
    kept: bool = False


@dataclass(frozen=True, kw_only=True)
class Decisive:
    """The smallest set of differences of two configs that flips the verdict.

    Attributes:
        reference: its file and overrides, or its name.
        target: likewise.
        of: what is flipped: "outputs" (or a metric) that differ, "speed" that is faster or slower, or "failure", where
            the target fails.
        verdict: "same" where there is nothing to locate; "unjudged" where it cannot be told.
        reason: why it is the same or unjudged; may be empty.
        places: where the configs differ, each as a dotted path.
        members: positions of those places that are the set; empty where none was found.
        changes: what differs there.
        overrides: the lines that make the set of the reference.
        left: what of the set no override can make.
        checked: whether each member was left out, and no such set flips the verdict. Where False, the bound had no room
            for it, and it rests on this: that more differences never undo what fewer do.
        rest: what all places but the members come to; None where that was not run, or there are no others.
        apart: positions of a set without any of the members that flips the verdict, too; empty where none was seen.
        probes: the target first, then what was asked, in order.
        bound: how many runs the search takes at most beside the target's where everything can be judged.
        notes: what else is to be known.
        seconds: what all of it took.
    """

    reference: str
    target: str
    of: Asked
    verdict: Literal["located", "same", "unjudged"]
    reason: str = ""
    places: tuple[str, ...] = ()
    members: tuple[int, ...] = ()
    changes: tuple[Change, ...] = ()
    overrides: tuple[str, ...] = ()
    left: tuple[Change, ...] = ()
    checked: bool = False
    rest: Outcome | None = None
    apart: tuple[int, ...] = ()
    probes: tuple[Probe, ...] = ()
    bound: int = 0
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def exit_code(self) -> int:
        """0 nothing to locate, 1 located, 2 it cannot be judged."""
        return {"same": 0, "located": 1, "unjudged": 2}[self.verdict]

    @property
    def whole(self) -> Probe | None:
        """The target itself; None where it was not run."""
        return self.probes[0] if self.probes else None

    @property
    def by_itself(self) -> Probe | None:
        """The set by itself; None where none was found."""
        return self.of_places(self.members) if self.members else None

    @property
    def runs(self) -> int:
        """How many configs were run beside the reference and the target, those of earlier runs included."""
        return sum(probe.ran for probe in self.probes[1:])

    def of_places(self, taken: tuple[int, ...]) -> Probe | None:
        """Give what came of a set of places; None where it was not asked."""
        return next((probe for probe in self.probes if probe.taken == taken), None)

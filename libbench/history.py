"""The same pair, run after run: has what it gives become worse, or how fast it is?"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from libbench.comparability import speed_differs
from libbench.entry import GRADES, Entry, unlike_runs
from libbench.findings import level_text
from libbench.measured import SpeedVerdict
from libbench.result import Unlike
from libbench.speed import APART_ZONE, ZONE, verdict_of, welch

FALSE_ALARMS = 0.01
"""Of histories in which no speed has changed, so many at most are called slower, however many pairs they have."""
LEAST_LEVEL = -10.0
"""Outputs that agree exactly count as those that just agree at this level, the lowest of the grid."""
PLACES = ("node", "machine", "processor", "cores")
"""What makes a machine another one."""

OutcomeVerdict = Literal["worse", "better", "alike", "unjudged", "new"]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """By what a history is judged.

    Attributes:
        zone: a change of speed by up to this share is none.
        levels: by how much t* of a leaf must have risen to be worse.
        across: whether speed is judged from one machine to another.
        strict: whether a speed that cannot be judged, or a pair with nothing to compare it with, counts as unjudged.
    """

    zone: float = ZONE
    levels: float = 1.0
    across: bool = False
    strict: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.zone < 1:
            raise ValueError(f"zone must be a share from 0 to below 1, got {self.zone!r}")
        if not self.levels > 0:
            raise ValueError(f"levels must be above 0, got {self.levels!r}")


@dataclass(frozen=True)
class OutcomeChange:
    """Whether the newest run came out worse than an earlier one.

    Attributes:
        verdict: "worse", "better" or "alike"; "unjudged" where one of the two could not be judged, "new" where there is
            no earlier run.
        text: what has changed, or why nothing can be said; empty where nothing has.
        baseline: the earlier run; None where there is none.
    """

    verdict: OutcomeVerdict
    text: str = ""
    baseline: Entry | None = None


@dataclass(frozen=True)
class SpeedChange:
    """How fast the newest run's target is, by how fast it was: above 1 it has become faster.

    Attributes:
        ratio: the new speedup over the old one; of one side the old time over the new one.
        low, high: its interval at `confidence`; None where there is too little for one.
        verdict: "inconclusive" also where no verdict may be given; `note` says why.
        confidence: of the interval.
        baseline: the earlier run.
        unlike: what else has changed between the two runs.
        note: what to know before trusting it.
    """

    ratio: float
    low: float | None
    high: float | None
    verdict: SpeedVerdict
    confidence: float
    baseline: Entry
    unlike: tuple[Unlike, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Trend:
    """One pair over time.

    Attributes:
        name: what the report calls it.
        entries: its runs, the oldest first.
        outcome: of the newest run against the baseline.
        speed: likewise; None where one of the two was not timed.
    """

    name: str
    entries: tuple[Entry, ...]
    outcome: OutcomeChange
    speed: SpeedChange | None = None

    @property
    def newest(self) -> Entry:
        """The run that is judged."""
        return self.entries[-1]

    @property
    def worse(self) -> bool:
        """Whether it is a regression."""
        return self.outcome.verdict == "worse" or (self.speed is not None and self.speed.verdict == "slower")

    @property
    def open(self) -> bool:
        """Whether something about it is not known that one may want to know."""
        timed = self.newest.seconds[1] is not None or any(entry.logs for entry in self.entries)
        unknown = self.speed is None or self.speed.verdict == "inconclusive"
        return self.outcome.verdict in ("new", "unjudged") or (timed and unknown)


@dataclass(frozen=True)
class History:
    """All pairs over time, and what follows.

    Attributes:
        trends: one for each pair.
        rule: by what they were judged.
    """

    trends: tuple[Trend, ...]
    rule: Rule

    @property
    def exit_code(self) -> int:
        """0 no regression, 1 a regression, 2 it could not be judged.

        A regression that was found outweighs what could not be judged. Nothing compared is not a pass.
        """
        outcomes = {trend.outcome.verdict for trend in self.trends}
        if any(trend.worse for trend in self.trends):
            return 1
        if "unjudged" in outcomes or not outcomes - {"new"}:
            return 2
        return 2 if self.rule.strict and any(trend.open for trend in self.trends) else 0


def history(
    entries: Sequence[Entry],
    rule: Rule | None = None,
    *,
    by: Literal["config", "name"] = "config",
    baseline: Literal["previous", "first"] | Sequence[Entry] = "previous",
    only: Sequence[Entry] | None = None,
) -> History:
    """Judge the newest run of every pair by an earlier one.

    Args:
        entries: of any pairs, in any order; one that is there twice counts once.
        by: what makes two runs those of one pair: both configs but for their limits, or only the names of both sides.
        baseline: "previous": the newest of the earlier runs; "first": the oldest; or runs of their own, of which the
            newest counts. A run that could not be judged, or for speed one on another machine, is passed over as long
            as there is another.
        only: only pairs that have a run among these are judged; None judges all.
    """
    rule = rule or Rule()
    grouped = _grouped(entries, by)
    others = None if isinstance(baseline, str) else _grouped(baseline, by)
    wanted = grouped if only is None else _grouped(only, by)
    found = []
    for key, runs in grouped.items():
        if key in wanted:
            earlier = runs[:-1] if others is None else [e for e in others.get(key, ()) if e.began != runs[-1].began]
            found.append((runs, earlier if baseline == "first" else earlier[::-1]))
    timed = sum(_timed(*each) for each in found)
    confidence = 1 - 2 * FALSE_ALARMS / max(1, timed)
    return History(tuple(_trend(*each, rule, confidence) for each in found), rule)


def _timed(runs: Sequence[Entry], earlier: Sequence[Entry]) -> bool:
    return bool(runs[-1].logs) and any(entry.logs for entry in earlier)


def _trend(runs: Sequence[Entry], earlier: Sequence[Entry], rule: Rule, confidence: float) -> Trend:
    """Judge the last of a pair's runs by the first of the earlier ones that will do."""
    newest = runs[-1]
    speed = _speed(newest, earlier, rule, confidence) if _timed(runs, earlier) else None
    return Trend(newest.name, tuple(runs), _outcome(newest, earlier, rule), speed)


def _grouped(entries: Sequence[Entry], by: str) -> dict[str, list[Entry]]:
    """Give each pair's runs, the oldest first."""
    key: Callable[[Entry], str] = (lambda e: e.known_by) if by == "config" else (lambda e: f"{e.paired} {e.name}")
    groups: dict[str, dict[float, Entry]] = {}
    for entry in sorted(entries, key=lambda e: e.began):
        groups.setdefault(key(entry), {}).setdefault(entry.began, entry)
    return {name: list(runs.values()) for name, runs in groups.items()}


def _outcome(newest: Entry, earlier: Sequence[Entry], rule: Rule) -> OutcomeChange:
    if newest.verdict not in GRADES:
        return OutcomeChange("unjudged", f"the newest run is {newest.verdict}", next(iter(earlier), None))
    if not earlier:
        return OutcomeChange("new", "no earlier run")
    before = next((entry for entry in earlier if entry.verdict in GRADES), None)
    if before is None:
        return OutcomeChange("unjudged", "no earlier run could be judged", earlier[0])
    change = GRADES[newest.verdict] - GRADES[before.verdict]
    if change:
        return OutcomeChange("worse" if change > 0 else "better", f"{before.verdict} -> {newest.verdict}", before)
    rises = {
        path: max(level, LEAST_LEVEL) - max(before.levels[path], LEAST_LEVEL)
        for path, level in newest.levels.items()
        if path in before.levels and level != before.levels[path]
    }
    path = max(rises, key=rises.__getitem__, default="")
    if not rises or rises[path] < rule.levels:
        return OutcomeChange("alike", "", before)
    more = sum(rise >= rule.levels for rise in rises.values()) - 1
    text = f"t* of {path} {level_text(before.levels[path])} -> {level_text(newest.levels[path])}"
    return OutcomeChange("worse", text + (f" (and {more:,} more)" if more else ""), before)


def _speed(newest: Entry, earlier: Sequence[Entry], rule: Rule, confidence: float) -> SpeedChange:
    """Judge how fast the newest run's target is by how fast it was.

    For a pair, what is compared are speedups over the reference of the same run, so that what the machine does in one
    of them cancels: the difference of the means of both runs' log ratios, one for each process, with Welch's interval.
    """
    timed = [entry for entry in earlier if entry.logs]
    fit = (entry for entry in timed if not entry.doubt and not _hindrance(unlike_runs(entry, newest), newest, rule))
    before = next(fit, timed[0])
    unlike = unlike_runs(before, newest)
    found = welch(newest.logs, before.logs, confidence)
    low, high = (None, None) if found is None else (math.exp(found[0]), math.exp(found[1]))
    zone = rule.zone if newest.paired else max(rule.zone, APART_ZONE)
    verdict = verdict_of(low, high, zone, alone=not newest.paired)
    hindrance = _hindrance(unlike, newest, rule)
    notes = [f"no verdict: {hindrance} {'differ' if ',' in hindrance else 'differs'}"] if hindrance else []
    notes += [f"no verdict: {when}: {e.doubt}" for when, e in (("now", newest), ("before", before)) if e.doubt]
    if low is None and not notes:
        notes.append("no interval: fewer than 2 processes in a run")
    if notes:
        verdict = "inconclusive"
    places = [each.name for each in unlike if each.name in PLACES]
    if rule.across and places and not hindrance:
        notes.append(f"judged from one machine to another: other {', '.join(places)}")
    if not newest.paired:
        notes.append(f"measured at another time, so that only what lies wholly beyond {zone:.0%} is faster or slower")
    ratio = math.exp(statistics.median(newest.logs) - statistics.median(before.logs))
    return SpeedChange(ratio, low, high, verdict, confidence, before, unlike, "; ".join(notes))


def _hindrance(unlike: Sequence[Unlike], newest: Entry, rule: Rule) -> str:
    """Name what makes the times of two runs those of unlike things; empty where nothing does."""
    across = rule.across and newest.paired
    return speed_differs([each for each in unlike if not (across and each.name in PLACES)])

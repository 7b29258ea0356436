"""Which differences of two configs decide, as text."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from libbench.config.places import short
from libbench.decisive import Decisive, Outcome, Probe
from libbench.report.changes import change_head, write_lines
from libbench.report.headline import LONGEST
from libbench.report.located import short_side
from libbench.report.page import Column, Page, TextPage
from libbench.report.words import Tone, cut, listed, one_line, plural, ratio, seconds

MOST_NAMED = 4
_RUNS = (
    Column("run", right=True), Column("outcome"), Column("differences", least=24, end=True),
    Column("finding", least=24, end=True),
)  # fmt: skip
OUTCOMES: dict[Outcome, tuple[str, Tone]] = {
    "flips": ("does it", "bad"),
    "holds": ("does not", "good"),
    "unresolved": ("not judged", "warn"),
}
"""What came of a run, in words."""


def decisive_headline(found: Decisive) -> str:
    """Give the verdict as one line of plain text."""
    if found.verdict == "same":
        return f"NOTHING TO LOCATE: {cut(found.reason, LONGEST)}"
    if found.verdict == "unjudged":
        return f"CANNOT BE JUDGED: {cut(found.reason, LONGEST)}"
    one = len(found.members) == 1
    return f"LOCATED: {_named(found, found.members)} {'alone' if one else 'together'} {_does(found, one)}"


def render_decisive(found: Decisive, *, verbose: bool = False, colour: bool = False, width: int = 100) -> str:
    """Give the report: what decides, how it is written as overrides, what the others do, and the runs it took.

    Args:
        verbose: shows every run.
        colour, width: as for `libbench.report.text.render`.
    """
    page = TextPage(width, colour)
    write_decisive(page, found, verbose)
    return page.text()


def write_decisive(page: Page, found: Decisive, verbose: bool) -> None:
    """Write all of it."""
    tones: dict[str, Tone] = {"same": "good", "located": "bad"}
    page.pieces([(decisive_headline(found), tones.get(found.verdict, "warn"))])
    page.gap()
    page.entry("reference", one_line(short_side(found.reference)))
    page.entry("target", one_line(short_side(found.target)))
    page.gap()
    if found.members:
        _write_set(page, found)
        page.gap()
        _write_others(page, found)
    for number, note in enumerate(found.notes):
        page.entry("" if number else "notes", note, "warn")
    page.gap()
    if verbose and found.probes:
        page.entry("runs", "the target first")
        page.table(_RUNS, [_run(number, probe, found) for number, probe in enumerate(found.probes)])
        page.gap()
    page.item(" · ".join(_costs(found)), "dim", indent=0)


def _write_set(page: Page, found: Decisive) -> None:
    page.entry("config", f"{len(found.members):,} of {plural(len(found.places), 'difference')} {_decide(found)}")
    files = [short(side.partition(" ")[0]) for side in (found.reference, found.target)]
    write_lines(page, found.changes, (files[0], files[1]))
    if found.overrides:
        page.entry("overrides", " ".join(shlex.quote(line) for line in found.overrides))
    for change in found.left:
        page.entry("", f"no override can make {change_head(change)}", "dim")


def _write_others(page: Page, found: Decisive) -> None:
    count = len(found.places) - len(found.members)
    whole, rest = found.whole, found.of_places(_others(found))
    if whole is not None and found.of == "speed":
        page.entry("all", f"{plural(len(found.places), 'difference')}: {whole.finding}")
    if len(found.members) > 1:
        page.entry("fewer", _fewer(found))
    if count and found.rest is not None:
        what = "the other difference" if count == 1 else f"the other {count:,} differences"
        finding = f": {rest.finding}" if rest is not None else ""
        page.entry("without", f"{what} {_alone(found.rest, count == 1)} without {_them(found)}{finding}")
    if found.apart and found.apart != _others(found):
        verb = "does" if len(found.apart) == 1 else "do"
        page.entry("", f"{_named(found, found.apart)} {verb} it, too: there is more than one cause", "warn")


def _fewer(found: Decisive) -> str:
    """Say what comes of the members when one of them is left out."""
    asked = [found.of_places(tuple(each for each in found.members if each != left)) for left in found.members]
    outcomes = [probe.outcome if probe else None for probe in asked]
    counts = {"it is not so": "holds", "it cannot be judged": "unresolved", "it was not run": None}
    said = [f"{outcomes.count(outcome):,} times {words}" for words, outcome in counts.items() if outcome in outcomes]
    return f"with one of the {len(outcomes):,} left out, {', '.join(said)}"


def _alone(outcome: Outcome, one: bool) -> str:
    words = {"flips": ("do it, too,", "does it, too,"), "holds": ("do not", "does not")}
    return words[outcome][one] if outcome in words else "cannot be judged"


def _them(found: Decisive) -> str:
    return "it" if len(found.members) == 1 else "these"


def _others(found: Decisive) -> tuple[int, ...]:
    return tuple(number for number in range(len(found.places)) if number not in found.members)


def _decide(found: Decisive) -> str:
    return "decides" if len(found.members) == 1 else "decide"


def _named(found: Decisive, members: tuple[int, ...]) -> str:
    names = [found.places[number] for number in members]
    if 1 < len(names) <= MOST_NAMED:
        return f"{', '.join(map(one_line, names[:-1]))} and {one_line(names[-1])}"
    return listed(names, MOST_NAMED)


def _does(found: Decisive, one: bool) -> str:
    makes, probe = "makes" if one else "make", found.by_itself
    if found.of == "failure":
        return f"{makes} the target fail: {cut(probe.finding if probe else '', LONGEST)}"
    speedup = probe.speedup if probe else None
    if found.of == "speed" and speedup is not None:
        value, low, high = ratio(speedup.ratio, speedup.low, speedup.high)
        return f"{makes} it {value}x {'as fast' if speedup.ratio < 1 else 'faster'} (95 % interval {low} to {high})"
    return f"{makes} the outputs differ"


def _run(number: int, probe: Probe, found: Decisive) -> list[str | tuple[str, Tone]]:
    head = str(number) if number else "target"
    if not probe.ran:
        head = "-"
    taken = "all" if len(probe.taken) == len(found.places) else listed(found.places[each] for each in probe.taken)
    return [head, OUTCOMES[probe.outcome], f"{len(probe.taken):,}: {taken}", probe.finding]


def _costs(found: Decisive) -> Iterator[str]:
    yield f"took {seconds(found.seconds)}"
    if found.probes:
        yield f"{plural(found.runs, 'run')} beside reference and target, {_bounded(found)}"
    unresolved = sum(probe.outcome == "unresolved" for probe in found.probes[1:])
    if unresolved:
        yield f"{unresolved:,} could not be judged"
    kept = sum(probe.kept for probe in found.probes)
    if kept:
        yield f"{kept:,} done before"
    yield "details: --verbose, --json FILE"


def _bounded(found: Decisive) -> str:
    return f"of at most {found.bound:,}" if found.runs <= found.bound else "more than where all can be judged"

"""The same pairs over time, as text: has anything become worse?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise

from libbench.entry import Entry, unlike_runs
from libbench.findings import level_text
from libbench.history import FALSE_ALARMS, History, OutcomeVerdict, SpeedChange, Trend
from libbench.report.headline import SPEED_TONES, Piece
from libbench.report.many import TONES
from libbench.report.page import Cell, Column, Page, TextPage
from libbench.report.words import Tone, cut, listed, nbytes, one_line, plural, ratio, seconds
from libbench.result import Unlike

COLUMNS = (
    Column("pair", least=16),
    Column("runs", right=True),
    Column("outcome", least=12),
    Column("now", right=True),
    Column("change of speed"),
)
_ENTRY_COLUMNS = (
    Column("began (UTC)"),
    Column("outcome"),
    Column("speedup"),
    Column("reference", right=True),
    Column("target", right=True),
    Column("first call", right=True, drop=1),
    Column("peak", right=True, drop=2),
    Column("worst t*", right=True, drop=3),
)
_TONES: dict[OutcomeVerdict, Tone] = {"worse": "bad", "better": "good", "alike": "plain"}
_LONGEST = 60
_MOST_RUNS = 20


def render_history(history: History, *, verbose: bool = False, colour: bool = False, width: int = 100) -> str:
    """Give the report of a history: the verdict, a line for each pair, and the newest runs of those that became worse.

    Args:
        verbose: shows every run of all pairs, the newest first.
        colour, width: as for `render`.
    """
    page = TextPage(width, colour)
    page.pieces(pieces(history))
    page.gap()
    page.table(COLUMNS, rows(history))
    page.gap()
    for line in remarks(history):
        page.item(line, "dim", indent=0)
    for trend in worst_first(history):
        if verbose or trend.worse:
            page.gap()
            _write_trend(page, trend, None if verbose else _MOST_RUNS)
    return page.text()


def render_trend(trend: Trend, *, colour: bool = False, width: int = 100) -> str:
    """Give the runs of a pair, the newest first and at most 20, and what has changed from one to the next.

    Args:
        colour, width: as for `render`.
    """
    page = TextPage(width, colour)
    _write_trend(page, trend, _MOST_RUNS)
    return page.text()


def headline(history: History) -> str:
    """Give the verdict on a history as one line of plain text."""
    return " · ".join(text for text, _ in pieces(history))


def pieces(history: History) -> list[Piece]:
    """Give the headline in pieces, each with its tone."""
    trends = history.trends
    worse = [trend for trend in trends if trend.worse]
    judged = [trend for trend in trends if trend.outcome.verdict not in ("new", "unjudged")]
    if worse:
        more = f" (and {len(worse) - 1:,} more)" if len(worse) > 1 else ""
        found: list[Piece] = [(f"REGRESSION: {cut(worst_words(worse[0]), _LONGEST * 2)}{more}", "bad")]
    elif history.exit_code == 2:
        found = [(f"CANNOT BE JUDGED: {_why_not(history)}", "warn")]
    else:
        found = [("NO REGRESSION", "good")]
    found.append((f"{len(judged):,} of {plural(len(trends), 'pair')} judged", "plain"))
    outcomes = Counter(trend.outcome.verdict for trend in trends)
    found += [(f"{outcomes[word]:,} {word}", "warn") for word in ("unjudged", "new") if outcomes[word]]
    speeds = Counter(trend.speed.verdict for trend in trends if trend.speed)
    if speeds["faster"]:
        found.append((f"{speeds['faster']:,} faster", "good"))
    if speeds["inconclusive"]:
        found.append((f"speed of {speeds['inconclusive']:,} inconclusive", "warn"))
    return found


def worst_words(trend: Trend) -> str:
    """Say in what a pair has become worse, its outcome before its speed."""
    said = [trend.outcome.text] if trend.outcome.verdict == "worse" else []
    if trend.speed is not None and trend.speed.verdict == "slower":
        said.append(f"slower, {_change(trend.speed)}")
    return f"{trend.name}: {'; '.join(said)}"


def _why_not(history: History) -> str:
    unjudged = next((trend for trend in history.trends if trend.outcome.verdict == "unjudged"), None)
    if unjudged is not None:
        return cut(f"{unjudged.name}: {unjudged.outcome.text}", _LONGEST * 2)
    if all(trend.outcome.verdict == "new" for trend in history.trends):
        return "there is no earlier run to compare with"
    return "not all speeds are known, which --strict asks for"


def worst_first(history: History) -> list[Trend]:
    """Give the pairs that became worse before those that could not be judged, and then all others."""
    return sorted(history.trends, key=lambda trend: (not trend.worse, trend.outcome.verdict != "unjudged"))


def rows(history: History) -> list[list[Cell]]:
    """Give the cells of each pair's line, in the order of `worst_first`."""
    names = Counter(trend.name for trend in history.trends)
    return [_row(trend, names[trend.name] > 1) for trend in worst_first(history)]


def _row(trend: Trend, ambiguous: bool) -> list[Cell]:
    newest = trend.newest
    name = f"{trend.name} ({newest.known_by[:6]})" if ambiguous else trend.name
    return [name, f"{len(trend.entries):,}", outcome_cell(trend), _now(newest), speed_cell(trend)]


def outcome_cell(trend: Trend) -> tuple[str, Tone]:
    """Say how the outcome has changed, or what it is where it has not."""
    change, word = trend.outcome, trend.newest.verdict
    if change.verdict in ("worse", "better"):
        return change.text, _TONES[change.verdict]
    said = f"{word} (new)" if change.verdict == "new" else word
    return said, "warn" if change.verdict == "unjudged" else TONES.get(word, "plain")


def speed_cell(trend: Trend) -> tuple[str, Tone]:
    """Say how the speed has changed, with its interval; or that it is not known."""
    if trend.speed is not None:
        return change_cell(trend.speed)
    return ("-" if trend.outcome.verdict == "new" else "not timed"), "dim"


def change_cell(speed: SpeedChange) -> tuple[str, Tone]:
    """Give a change of speed with its interval and its verdict."""
    return f"{_change(speed)} {speed.verdict}", SPEED_TONES[speed.verdict]


def _change(speed: SpeedChange) -> str:
    value, low, high = ratio(speed.ratio, speed.low, speed.high)
    return f"{value}x {'no interval' if speed.low is None else f'[{low}, {high}]'}"


def _now(entry: Entry) -> str:
    """Give how fast the newest run was: a speedup, or of one side its seconds."""
    if not entry.paired:
        return seconds(entry.seconds[1])
    return "-" if entry.ratio is None else f"{ratio(entry.ratio, entry.low, entry.high)[0]}x"


def remarks(history: History) -> Iterator[str]:
    """Say what the figures stand on, and why a speed has no verdict."""
    speeds = [trend.speed for trend in history.trends if trend.speed is not None]
    if any(speed.low is not None for speed in speeds):
        share = f"{100 * speeds[0].confidence:.4g} %"
        yield (
            f"intervals are {share} ones, so that at most {FALSE_ALARMS:.0%} of histories in which no speed has "
            f"changed are called slower; a change within {history.rule.zone:.0%} is none"
        )
    for trend in history.trends:
        if trend.speed is not None and trend.speed.note:
            yield f"{trend.name}: {one_line(trend.speed.note)}"
    names = Counter(trend.name for trend in history.trends)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        yield f"there are several configs of {listed(twice)}; --by name takes those of one name for one pair"


def _write_trend(page: Page, trend: Trend, most: int | None) -> None:
    page.item(trend.name, "strong", indent=0)
    entries = trend.entries[::-1][:most]
    page.table(_ENTRY_COLUMNS, [_entry_row(entry) for entry in entries])
    if len(entries) < len(trend.entries):
        page.item(f"and {plural(len(trend.entries) - len(entries), 'earlier run')}, shown by --verbose", "dim")
    for label, baseline in _baselines(trend):
        page.item(f"{label} compared with the run of {when(baseline)} ({one_line(baseline.source)})", "dim")
        if changed := unlike_runs(baseline, trend.newest):
            page.item(f"changed since: {changes_text(changed)}", "warn")
    for newer, older in pairwise(entries):
        if changed := unlike_runs(older, newer):
            page.item(f"{when(newer)}: {changes_text(changed)}", "dim")
    page.item(f"newest: {one_line(trend.newest.finding)}", "dim")


def _baselines(trend: Trend) -> Iterator[tuple[str, Entry]]:
    """Give the earlier runs that the newest one was compared with: one, or one for each question."""
    outcome, speed = trend.outcome.baseline, trend.speed.baseline if trend.speed else None
    if outcome is not None and speed in (None, outcome):
        yield "outcome" if speed is None else "both", outcome
        return
    yield from ((label, entry) for label, entry in (("outcome", outcome), ("speed", speed)) if entry is not None)


def _entry_row(entry: Entry) -> list[Cell]:
    value, low, high = ("-", "", "") if entry.ratio is None else ratio(entry.ratio, entry.low, entry.high)
    interval = f" [{low}, {high}]" if entry.low is not None else ""
    return [
        when(entry),
        (entry.verdict, TONES.get(entry.verdict, "warn")) if entry.verdict != "ran" else "ran",
        "-" if entry.ratio is None else f"{value}x{interval}",
        seconds(entry.seconds[0]),
        seconds(entry.seconds[1]),
        seconds(entry.first_call),
        nbytes(max(entry.peak.values(), default=None)),
        level_text(max(entry.levels.values(), default=None)),
    ]


def when(entry: Entry) -> str:
    """Give when a run was begun, to the second, in UTC."""
    return f"{datetime.fromtimestamp(entry.began, UTC):%Y-%m-%d %H:%M:%S}"


def changes_text(changed: Sequence[Unlike]) -> str:
    """List what has changed between two runs."""
    return "; ".join(f"{one_line(c.name)} {cut(c.reference, _LONGEST)} -> {cut(c.target, _LONGEST)}" for c in changed)

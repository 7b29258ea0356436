"""What generation shows: tokens per second, the first token, and where two sides' tokens part."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from libbench.report.costs import SIDES
from libbench.report.headline import wall
from libbench.report.page import Cell, Page
from libbench.report.words import figure, plural, ratio, seconds, span
from libbench.result import Comparison, Result
from libbench.tokens import Generated


def write_tokens(page: Page, comparison: Comparison) -> None:
    """Write how the generated tokens compare, and how fast both sides gave them."""
    sides = comparison.reference.generated, comparison.target.generated
    if not all(sides):
        return
    page.entry("tokens", f"{_said(sides[0])} in the reference, {_said(sides[1])} in the target")
    report = comparison.tokens
    if report is not None:
        text = f"{report.equal:,} of {plural(report.sequences, 'sequence')} the same, token by token"
        page.item(text, "plain" if report.first is None else "bad")
        if report.first is not None:
            page.item(report.first.text, "bad")
    rows = [row for row in (_rate_row(comparison, sides), _first_row(sides), _later_row(sides)) if row]
    page.table(SIDES, rows)


def write_side_tokens(page: Page, result: Result) -> None:
    """Write how fast a side that ran by itself generated."""
    if not result.generated:
        return
    first, later = _first(result.generated), _later(result.generated)
    text = f"{_said(result.generated)}; first token after {seconds(first)}"
    page.entry("tokens", text + (f", then one every {seconds(later)}" if later is not None else ""))


def _rate_row(comparison: Comparison, sides: tuple[Sequence[Generated], Sequence[Generated]]) -> list[Cell] | None:
    """Give tokens per second in the timed calls, where every full batch gives as many tokens."""
    speedup = wall(comparison)
    counts = [_per_call(side) for side in sides]
    if speedup is None or counts[0] is None or counts[1] is None:
        return None
    share = counts[1] / counts[0]
    rates = [count / each for count, each in zip(counts, (speedup.reference, speedup.target), strict=True) if count]
    ends = [None if end is None else end * share for end in (speedup.low, speedup.high)]
    value, low, high = ratio(speedup.ratio * share, *ends)
    words = f"{value}x  {'no interval' if ends[0] is None else f'[{low}, {high}]'}  in the timed calls"
    return ["tokens a second", *(figure(rate) for rate in rates), words]


def _first_row(sides: tuple[Sequence[Generated], Sequence[Generated]]) -> list[Cell]:
    note = f"median of {span(len(side) for side in sides)} untimed calls"
    return ["first token", *(seconds(_first(side)) for side in sides), (note, "dim")]


def _later_row(sides: tuple[Sequence[Generated], Sequence[Generated]]) -> list[Cell] | None:
    later = [_later(side) for side in sides]
    if later == [None, None]:
        return None
    return ["later tokens", *map(seconds, later), ("each, in the same calls", "dim")]


def _first(calls: Sequence[Generated]) -> float:
    return statistics.median(call.first for call in calls)


def _later(calls: Sequence[Generated]) -> float | None:
    known = [call.later for call in calls if call.later is not None]
    return statistics.median(known) if known else None


def _per_call(calls: Sequence[Generated]) -> int | None:
    """Give the tokens of a call on a full batch; None where they differ from call to call."""
    most = max(call.sequences for call in calls)
    found = {call.tokens * call.sequences for call in calls if call.sequences == most}
    return found.pop() if len(found) == 1 else None


def _said(calls: Sequence[Generated]) -> str:
    return f"{span(call.tokens for call in calls)} new for each of {span(call.sequences for call in calls)} sequences"

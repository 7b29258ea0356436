"""From what a command has found to the summary that continuous integration shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from libbench.history import History, Trend
from libbench.report.grid import Square, columns_of, footer, notes_of, square_of, table_lines
from libbench.report.headline import headline
from libbench.report.history import COLUMNS as PAIRS
from libbench.report.history import change_cell, outcome_cell, remarks, render_trend, rows, worst_first
from libbench.report.history import headline as history_headline
from libbench.report.many import COLUMNS, OWN_COLUMNS, counted, finding, own_counted, own_row, row, verdict_word
from libbench.report.rows import HEADS, row_cells
from libbench.report.summary import Case, Item, State, Summary, gravest, texts, titles
from libbench.report.text import render, render_result, result_headline
from libbench.report.words import one_line, plural, side_name
from libbench.result import Check, Comparison, Failure, Result


def of_comparisons(comparisons: Sequence[Comparison]) -> Summary:
    """Give the summary of `libbench diff`: a line for each target, a case for each check."""
    items = []
    for comparison in comparisons:
        name = f"{one_line(side_name(comparison.reference.job))} -> {one_line(side_name(comparison.target.job))}"
        cases = tuple(_check_case(name, comparison, check) for check in comparison.checks)
        if not comparison.complete:
            cases += (Case(name, "comparison", "error", "interrupted", headline(comparison)),)
        items.append(Item(name, texts(row(comparison)), cases, render(comparison)))
    said = [headline(comparisons[0])] if len(comparisons) == 1 else []
    if not said:
        counts = counted(map(verdict_word, comparisons))
        said = [plural(len(comparisons), "target"), *(text for text, _ in counts)]
    return Summary(" · ".join(said), titles(COLUMNS), tuple(items))


def of_results(results: Sequence[Result]) -> Summary:
    """Give the summary of `libbench run`: a line and a case for each config."""
    items = [
        Item(name, texts(own_row(result)), (_side_case(name, result),), render_result(result))
        for result in results
        for name in [one_line(side_name(result.job))]
    ]
    if len(results) == 1:
        said = [result_headline(results[0])]
    else:
        said = [plural(len(results), "config"), *(text for text, _ in own_counted(results))]
    return Summary(" · ".join(said), titles(OWN_COLUMNS), tuple(items))


@dataclass(frozen=True)
class RowItem:
    """What the summary of a list takes of a row.

    Attributes:
        word: the verdict on it.
        number: which row of the list it is.
        square: its place in a table, and what stands there; None where rows are not shown as one.
    """

    item: Item
    word: str
    number: int = 0
    square: Square | None = None


def row_item(name: str, comparison: Comparison, number: int = 0, place: tuple[str, str] | None = None) -> RowItem:
    """Take it from the comparison of a row.

    Args:
        number: which row of the list it is.
        place: the titles of its line and its column in a table; None where rows are not shown as one.
    """
    word = verdict_word(comparison)
    odd = [_check_case(name, comparison, check) for check in comparison.checks if check.verdict != "same"]
    state = gravest(case.state for case in odd) if comparison.complete else "error"
    detail = "" if state == "passed" else "\n".join([headline(comparison), *(f"{c.name}: {c.text}" for c in odd)])
    case = Case("libbench sweep", name, state, word, finding(comparison, word), detail, comparison.seconds)
    item = Item(name, texts(row_cells(name, comparison, speed=True)), (case,), detail)
    return RowItem(item, word, number, None if place is None else square_of(*place, comparison))


def of_rows(found: Sequence[RowItem], total: int, key: str | None = None) -> Summary:
    """Give the summary of `libbench sweep`: a line and a case for each row that is done.

    Args:
        total: how many rows there will be.
        key: what the columns are values of, where rows are shown as a table; a line is then one of that.
    """
    done = plural(total, "row") if len(found) == total else f"{len(found):,} of {plural(total, 'row')}"
    said = [done, *(text for text, _ in counted(each.word for each in found))]
    if key is None:
        return Summary(" · ".join(said), HEADS, tuple(each.item for each in found))
    squares = squares_of(found)
    lines = tuple(_line_item(title, texts([title, *cells]), found) for title, cells in table_lines(squares))
    return Summary(" · ".join(said), (f"{key}=", *columns_of(squares)), lines, (*footer(squares), *notes_of(squares)))


def squares_of(found: Sequence[RowItem]) -> list[Square]:
    """Give what a table shows, in the order of the list."""
    return [each.square for each in sorted(found, key=lambda each: each.number) if each.square is not None]


def _line_item(title: str, cells: tuple[str, ...], found: Sequence[RowItem]) -> Item:
    items = [each.item for each in found if each.square is not None and each.square.line == title]
    details = [f"{item.name}: {item.detail}" for item in items if item.detail]
    return Item(title, cells, tuple(case for item in items for case in item.cases), "\n\n".join(details))


def of_history(history: History) -> Summary:
    """Give the summary of `libbench history`: a line for each pair, with cases for its outcome and its speed."""
    items = [
        Item(cells[0], cells, tuple(_trend_cases(cells[0], trend, strict=history.rule.strict)), render_trend(trend))
        for trend, line in zip(worst_first(history), rows(history), strict=True)
        for cells in [texts(line)]
    ]
    return Summary(history_headline(history), titles(PAIRS), tuple(items), tuple(remarks(history)))


def _check_case(suite: str, comparison: Comparison, check: Check) -> Case:
    """Give a check as a test: what cannot be judged is an error, but for what is not there or not steady enough."""
    failures = {"reference": comparison.reference.failure, "target": comparison.target.failure}
    failure = failures.get(check.name.split()[0]) if check.name.split()[-1] in _STAGES else None
    states: dict[str, State] = {"same": "passed", "different": "failure", "unjudged": "error"}
    state = states[check.verdict]
    if check.verdict == "unjudged" and (check.name == "speedup" or (failure and failure.kind == "unavailable")):
        state = "skipped"
    wanted = f" (wanted: {check.wanted})" if check.wanted else ""
    text = "\n".join([f"{check.found}{wanted}", *_traceback(failure)])
    return Case(suite, check.name, state, failure.kind if failure else check.verdict, check.found, text)


_STAGES = ("instantiate", "compile", "evaluate", "measure")


def _traceback(failure: Failure | None) -> Iterator[str]:
    if failure is not None and failure.traceback:
        yield failure.traceback


def _side_case(name: str, result: Result) -> Case:
    failure, said = result.failure, result_headline(result)
    if failure is not None:
        state: State = "skipped" if failure.kind == "unavailable" else "failure"
        return Case("libbench run", name, state, failure.kind, said, "\n".join([said, *_traceback(failure)]))
    if result.evaluation is None:
        return Case("libbench run", name, "error", "interrupted", "interrupted")
    return Case("libbench run", name, "passed", message=said)


def _trend_cases(name: str, trend: Trend, *, strict: bool) -> Iterator[Case]:
    unknown: State = "error" if strict else "skipped"
    outcome, speed = trend.outcome, trend.speed
    outcomes: dict[str, State] = {"worse": "failure", "unjudged": "error", "new": unknown}
    found = outcome_cell(trend)[0] if outcome.verdict != "unjudged" else outcome.text
    text = f"{found}; {trend.newest.finding}"
    yield Case(name, "outcome", outcomes.get(outcome.verdict, "passed"), outcome.verdict, found, text)
    if speed is not None:
        speeds: dict[str, State] = {"slower": "failure", "inconclusive": unknown}
        found = change_cell(speed)[0]
        text = f"{found}; {speed.note}" if speed.note else found
        yield Case(name, "speed", speeds.get(speed.verdict, "passed"), speed.verdict, found, text)

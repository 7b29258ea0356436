"""The report as JSON, for programs. Its fields are described in docs/json.md."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import libbench
from libbench.decisive import DECISIVE_SCHEMA, Decisive
from libbench.errors import LibbenchError
from libbench.history import History
from libbench.located import LOCATED_SCHEMA, Located
from libbench.measured import Timing
from libbench.records import check_document, decode, encode
from libbench.report.costs import first_call, pays_off
from libbench.report.decisive import decisive_headline
from libbench.report.headline import headline
from libbench.report.history import headline as history_headline
from libbench.report.located import located_headline
from libbench.result import RESULT_SCHEMA, SCHEMA_VERSION, Comparison, Result

COMPARISON = "libbench.comparison"

Record = TypeVar("Record", Comparison, Result, Located, Decisive)


def to_json(comparison: Comparison) -> dict[str, Any]:
    """Give all of a comparison, and what a reader would derive from it first, as JSON values.

    No float is NaN or infinite: those are the strings "nan", "inf" and "-inf".
    """
    sides = {"reference": comparison.reference, "target": comparison.target}
    measured = {
        name: [m.clocks[position] for m in comparison.measurements if position < len(m.clocks)] or side.timings
        for position, (name, side) in enumerate(sides.items())
    }
    derived = {
        "headline": headline(comparison),
        "exit_code": comparison.exit_code,
        "vacuous": comparison.vacuous,
        "median_seconds": {name: _medians(timings) for name, timings in measured.items()},
        "first_call_seconds": {name: first_call(side.preparation) for name, side in sides.items()},
        "pays_off_after_calls": pays_off(comparison),
    }
    return _document(COMPARISON, "comparison", comparison, derived)


def from_json(document: Mapping[str, Any]) -> Comparison:
    """Give the comparison that `to_json` wrote; what was derived from it is derived anew.

    Raises:
        LibbenchError: it is another kind of document, of a newer version, or not as documented.
    """
    return _read(COMPARISON, "comparison", Comparison, document)


def history_to_json(history: History, left_out: Sequence[str] = ()) -> dict[str, Any]:
    """Give all of a history as JSON values, as `to_json` does.

    Args:
        left_out: what else was found where it was read, each with the reason why it is no run.
    """
    derived = {"headline": history_headline(history), "exit_code": history.exit_code, "left_out": left_out}
    return _document("libbench.history", "history", history, derived)


def result_to_json(result: Result) -> dict[str, Any]:
    """Give all of one side's result as JSON values, as `to_json` does."""
    derived = {
        "median_seconds": _medians(result.timings),
        "first_call_seconds": first_call(result.preparation),
    }
    return _document(RESULT_SCHEMA, "result", result, derived)


def result_from_json(document: Mapping[str, Any]) -> Result:
    """Give the result that `result_to_json` wrote.

    Raises:
        LibbenchError: as for `from_json`.
    """
    return _read(RESULT_SCHEMA, "result", Result, document)


def located_to_json(found: Located) -> dict[str, Any]:
    """Give all of what was found of where two sides part as JSON values, as `to_json` does."""
    derived = {"headline": located_headline(found), "exit_code": found.exit_code}
    return _document(LOCATED_SCHEMA, "located", found, derived)


def located_from_json(document: Mapping[str, Any]) -> Located:
    """Give what `located_to_json` wrote.

    Raises:
        LibbenchError: as for `from_json`.
    """
    return _read(LOCATED_SCHEMA, "located", Located, document)


def decisive_to_json(found: Decisive) -> dict[str, Any]:
    """Give all of what was found of which differences decide as JSON values, as `to_json` does."""
    derived = {"headline": decisive_headline(found), "exit_code": found.exit_code, "runs": found.runs}
    return _document(DECISIVE_SCHEMA, "decisive", found, derived)


def decisive_from_json(document: Mapping[str, Any]) -> Decisive:
    """Give what `decisive_to_json` wrote.

    Raises:
        LibbenchError: as for `from_json`.
    """
    return _read(DECISIVE_SCHEMA, "decisive", Decisive, document)


def _document(schema: str, key: str, record: Any, derived: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema": schema,
        "version": SCHEMA_VERSION,
        "libbench": libbench.__version__,
        "derived": encode(derived),
        key: encode(record),
    }


def _read(schema: str, key: str, kind: type[Record], document: Mapping[str, Any]) -> Record:
    check_document(document, schema, SCHEMA_VERSION)
    try:
        record: Record = decode(kind, document[key])
    except (KeyError, TypeError, ValueError) as error:
        raise LibbenchError(f"the document is not a {schema}: {type(error).__name__}: {error}") from error
    return record


def _medians(timings: Sequence[Mapping[str, Timing]]) -> dict[str, float | None]:
    """Give, by clock, the median over processes of each one's median trial."""
    clocks = dict.fromkeys(clock for timing in timings for clock in timing)
    return {clock: statistics.median(t[clock].median for t in timings if clock in t) for clock in clocks}

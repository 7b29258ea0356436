"""`libbench evaluate`: judge the records of saved sides again."""

from __future__ import annotations

import argparse
from pathlib import Path

from libbench.cli.output import put, style_of
from libbench.records import write_json
from libbench.reevaluate import evaluator_of, recompared, reevaluated
from libbench.report.json import result_to_json, to_json
from libbench.report.text import render_evaluated, render_recompared
from libbench.saved import SavedSide
from libbench.settings import Tolerance


def main(arguments: argparse.Namespace) -> int:
    """Print the metrics of a side; with a reference, judge them and give the exit code of `libbench diff`."""
    side = SavedSide.load(arguments.folder)
    evaluator, tolerance = evaluator_of(side, arguments.evaluator, arguments.overrides)
    if arguments.ref is None:
        result = reevaluated(side, evaluator)
        _write(arguments.json, result_to_json(result))
        put(render_evaluated(result, **style_of()))
        return 2 if result.failure else 0
    reference = SavedSide.load(arguments.ref)
    tolerance = tolerance or side.tolerance or reference.tolerance or Tolerance()
    comparison = recompared(reference, side, evaluator, tolerance)
    _write(arguments.json, to_json(comparison))
    put(render_recompared(comparison, **style_of()))
    return comparison.exit_code


def _write(file: Path | None, document: object) -> None:
    if file is not None:
        write_json(file, document)

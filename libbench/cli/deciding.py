"""`libbench locate --by config`."""

from __future__ import annotations

import argparse
import functools
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from libbench.cli.kept import Kept, json_files
from libbench.cli.output import WIDTH, style_of, tell
from libbench.cli.plans import plan_of
from libbench.cli.progress import Progress
from libbench.decisive import Asked, Decisive, Probe
from libbench.diff import Plan, check_empty, work_folder
from libbench.errors import LibbenchError
from libbench.job import Job
from libbench.locate.again import write_again
from libbench.locate.against import Against
from libbench.locate.deciding import decide
from libbench.locate.scripts import NotWritten
from libbench.plan import settings_of
from libbench.report.decisive import OUTCOMES, render_decisive
from libbench.report.json import decisive_to_json, from_json, to_json
from libbench.report.words import cut, plural
from libbench.result import Comparison
from libbench.rowfile import RowFile
from libbench.rows import Row, is_broken, key_of


def main(arguments: argparse.Namespace, pairs: list[tuple[Job, Job]]) -> int:
    """Say which differences of the configs decide, pair by pair; give the largest exit code."""
    asked: Asked = arguments.of or "outputs"
    plan = replace(plan_of(arguments), speed=asked == "speed")
    for pair in pairs:
        settings_of(*pair, plan)
    if arguments.reproduce is not None:
        check_empty(arguments.reproduce)
    kept: Kept[Decisive] = Kept(json_files(arguments, "finding", len(pairs) > 1, decisive_to_json, folder=False))
    with Progress() as progress, ExitStack() as stack:
        file = None if arguments.to is None else stack.enter_context(RowFile(arguments.to))
        for number, pair in enumerate(pairs):
            found = decided(pair, asked, plan, progress, file)
            if arguments.reproduce is not None and found.members:
                found = replace(found, notes=(*found.notes, _reproduced(arguments.reproduce, found, pair, plan)))
            kept.keep(number, found)
            progress.print(render_decisive(found, verbose=arguments.verbose, **style_of()))
    kept.tell_broken()
    return max(found.exit_code for found in kept.all)


def decided(
    pair: tuple[Job, Job], asked: Asked, plan: Plan, progress: Progress, file: RowFile | None = None
) -> Decisive:
    """Find the differences of a pair that decide.

    Args:
        file: the rows that were run before, to which the others are added; None keeps none.
    """
    with work_folder(None) as folder:
        against = Against(pair[0], plan, folder, progress.watch)
        rows = _Rows(pair[0], plan, against, file)
        return decide(*pair, asked, rows.compare, functools.partial(_tell, progress))


class _Rows:
    """Compares one config after another, and keeps each as a row before the next begins.

    Args:
        file: the rows; None keeps none.
    """

    def __init__(self, reference: Job, plan: Plan, against: Against, file: RowFile | None) -> None:
        self._reference = reference
        self._plan = plan
        self._against = against
        self._file = file

    def compare(self, target: Job, name: str) -> tuple[Comparison, bool]:
        """Give the comparison with a config, and whether it was there before."""
        key = key_of(Row(self._reference, target, name), self._plan)
        if self._file is not None and key in self._file.rows:
            try:
                known = from_json(self._file.read(key))
            except LibbenchError as error:
                raise LibbenchError(f"the row {name!r} in {self._file.path} cannot be read: {error}") from error
            if not is_broken(known):
                return known, True
        comparison = self._against.compare(target)
        if self._file is not None:
            self._file.add(key, {"row": name, **to_json(comparison)})
        return comparison, False


def _tell(progress: Progress, probe: Probe) -> None:
    with progress.aside():
        tell(f"{plural(len(probe.taken), 'difference')}: {OUTCOMES[probe.outcome][0]}: {cut(probe.finding, WIDTH)}")


def _reproduced(folder: Path, found: Decisive, pair: tuple[Job, Job], plan: Plan) -> str:
    try:
        return write_again(folder, found, pair, plan)
    except NotWritten as error:
        return str(error)

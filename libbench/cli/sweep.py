"""`libbench sweep`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from libbench.cli.graphs import sample_rows, wants_samples
from libbench.cli.kept import Kept, summary_files
from libbench.cli.output import style_of, tell
from libbench.cli.pages import check_pages, write_pages
from libbench.cli.pairs import places_of, rows_of
from libbench.cli.plans import plan_of, with_traceback
from libbench.cli.progress import Progress
from libbench.errors import LibbenchError
from libbench.interfaces import Event
from libbench.plan import Plan
from libbench.records import encode
from libbench.report.grid import render_grid
from libbench.report.json import from_json, to_json
from libbench.report.results import Entry, Listed
from libbench.report.rows import Outcome, RowTable, render_summary
from libbench.report.summaries import RowItem, of_rows, row_item, squares_of
from libbench.report.words import plural
from libbench.result import Comparison
from libbench.rowfile import SAMPLE, RowFile
from libbench.rows import Row, check_rows, is_broken, is_settled, key_of, run_rows

Keyed = dict[str, Row]
TellRow = Callable[[Row, Comparison], None]
Take = Callable[[str, Comparison], None]
"""Is told of every row by its key."""


def main(arguments: argparse.Namespace) -> int:
    """Run the rows of the flags that are not done, print each, and give the largest exit code of all."""
    check_pages(arguments)
    return run_list(sample_rows(arguments) if wants_samples(arguments) else rows_of(arguments), arguments)


def run_list(listed: Sequence[Row], arguments: argparse.Namespace, tell_row: TellRow = lambda row, found: None) -> int:
    """Run the rows of a list that are not done, print each, and give the largest exit code of all.

    Args:
        arguments: those of `libbench sweep`; where `to` is None, no row was done before and none is kept. With a
            `table`, a key, rows are printed as a table, too, when all are done.
        tell_row: is told of every row, those that were done before first, each before it is printed.
    """
    plan = plan_of(arguments)
    rows: Keyed = {}
    for row in listed:
        rows.setdefault(key_of(row, plan), row)
    numbers = {key: number for number, key in enumerate(rows)}
    places = None if arguments.table is None else places_of(list(rows.values()), arguments.table)
    with _row_file(arguments.to) as file:
        kept: Kept[RowItem] = Kept(summary_files(arguments, lambda found: of_rows(found, len(rows), arguments.table)))

        def take(key: str, comparison: Comparison) -> None:
            place = None if places is None else places[numbers[key]]
            kept.keep(len(kept.all), row_item(rows[key].name, comparison, numbers[key], place))
            tell_row(rows[key], comparison)

        outcomes = _known(file, rows, take, retry=arguments.retry)
        left = {key: row for key, row in rows.items() if key not in outcomes}
        check_rows(list(left.values()), plan, arguments.jobs)
        _tell_begin(arguments, len(listed), rows, len(outcomes), len(file.rows.keys() - rows.keys()))
        try:
            _run(arguments, plan, left, outcomes, file, rows, take, prints=not kept.prints)
        finally:
            kept.close()
        kept.put("")
        if places is not None:
            kept.put(render_grid(arguments.table, squares_of(kept.all), **style_of()) + "\n")
        kept.put(render_summary([outcomes[key] for key in rows], **style_of()))
        if arguments.html is not None or arguments.plots is not None:
            entries = [Entry(row.name, from_json(file.read(key)), row.sample) for key, row in rows.items()]
            write_pages(arguments, [Listed(file.path.stem, str(file.path), tuple(entries))])
    kept.tell_broken()
    return max(outcome.exit_code for outcome in outcomes.values())


@contextmanager
def _row_file(path: Path | None) -> Iterator[RowFile]:
    with ExitStack() as stack:
        if path is None:
            path = Path(stack.enter_context(TemporaryDirectory(prefix="libbench-"))) / "rows.jsonl"
        yield stack.enter_context(RowFile(path))


def _known(file: RowFile, rows: Keyed, take: Take, *, retry: bool) -> dict[str, Outcome]:
    """Give what came of the rows that need not be run again."""
    found = {}
    for key in [key for key in rows if key in file.rows]:
        try:
            comparison = from_json(file.read(key))
        except LibbenchError as error:
            raise LibbenchError(f"the row {rows[key].name!r} in {file.path} cannot be read: {error}") from error
        if is_settled(comparison) if retry else not is_broken(comparison):
            found[key] = Outcome.of(comparison)
            take(key, comparison)
    return found


def _tell_begin(arguments: argparse.Namespace, listed: int, rows: Keyed, known: int, others: int) -> None:
    if listed > len(rows):
        twins = listed - len(rows)
        tell(f"left out: {plural(twins, 'row')} of the list that {'asks' if twins == 1 else 'ask'} what another asks")
    if others:
        tell(f"{arguments.to} has {plural(others, 'row')} that are not of this list")
    if known:
        tell(f"{known:,} of {plural(len(rows), 'row')} were done before")


def _run(
    arguments: argparse.Namespace,
    plan: Plan,
    left: Keyed,
    outcomes: dict[str, Outcome],
    file: RowFile,
    rows: Keyed,
    take: Take,
    *,
    prints: bool,
) -> None:
    """Run what is left; each row is on disk before it is printed."""
    keys, pairs = list(left), list(left.values())
    names = [row.name for row in rows.values()]
    table = RowTable(names, speed=plan.speed, **style_of())
    with Progress(lines=False) as progress:

        def watch(name: str, event: Event) -> None:
            progress.watch(f"{len(outcomes):,} of {len(rows):,} rows; {name}", event)

        if left and prints:
            progress.print(table.head())
        with closing(run_rows(pairs, plan, watch=watch, jobs=arguments.jobs)) as done:
            for number, comparison in done:
                key, row = keys[number], pairs[number]
                sample = {} if row.sample is None else {SAMPLE: encode(row.sample)}
                file.add(key, {"row": row.name, **sample, **to_json(comparison)})
                outcomes[key] = Outcome.of(comparison)
                with progress.aside():
                    take(key, comparison)
                text = table.line(len(outcomes), row.name, comparison)
                if prints:
                    progress.print(with_traceback(text, arguments, comparison.reference, comparison.target))

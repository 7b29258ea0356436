"""`libbench sweep`."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path

from libbench.cli.graphs import sample_rows, wants_samples
from libbench.cli.kept import Kept, summary_files
from libbench.cli.output import style_of, tell
from libbench.cli.pages import check_pages, write_pages
from libbench.cli.pairs import rows_of
from libbench.cli.plans import plan_of, with_traceback
from libbench.cli.progress import Progress
from libbench.errors import LibbenchError
from libbench.interfaces import Event
from libbench.plan import Plan
from libbench.records import encode
from libbench.report.json import from_json, to_json
from libbench.report.results import Entry, Listed
from libbench.report.rows import Outcome, RowTable, render_summary
from libbench.report.summaries import RowItem, of_rows, row_item
from libbench.report.words import plural
from libbench.rowfile import SAMPLE, RowFile
from libbench.rows import Row, check_rows, is_broken, is_settled, key_of, run_rows

Keyed = dict[str, Row]


def main(arguments: argparse.Namespace) -> int:
    """Run the rows that are not done, print each, and give the largest exit code of all."""
    check_pages(arguments)
    plan = plan_of(arguments)
    listed = sample_rows(arguments) if wants_samples(arguments) else rows_of(arguments)
    rows: Keyed = {}
    for row in listed:
        rows.setdefault(key_of(row, plan), row)
    with RowFile(arguments.to) as file:
        kept: Kept[RowItem] = Kept(summary_files(arguments, lambda found: of_rows(found, len(rows))))
        outcomes = _known(file, arguments.to, rows, kept, retry=arguments.retry)
        left = {key: row for key, row in rows.items() if key not in outcomes}
        check_rows(list(left.values()), plan, arguments.jobs)
        _tell_begin(arguments, len(listed), rows, len(outcomes), len(file.rows.keys() - rows.keys()))
        try:
            _run(arguments, plan, left, outcomes, file, rows, kept)
        finally:
            kept.close()
        kept.put("")
        kept.put(render_summary([outcomes[key] for key in rows], **style_of()))
        if arguments.html is not None or arguments.plots is not None:
            entries = [Entry(row.name, from_json(file.read(key)), row.sample) for key, row in rows.items()]
            write_pages(arguments, [Listed(arguments.to.stem, str(arguments.to), tuple(entries))])
    kept.tell_broken()
    return max(outcome.exit_code for outcome in outcomes.values())


def _known(file: RowFile, path: Path, rows: Keyed, kept: Kept[RowItem], *, retry: bool) -> dict[str, Outcome]:
    """Give what came of the rows that need not be run again, and keep them."""
    found = {}
    for key in [key for key in rows if key in file.rows]:
        try:
            comparison = from_json(file.read(key))
        except LibbenchError as error:
            raise LibbenchError(f"the row {rows[key].name!r} in {path} cannot be read: {error}") from error
        if is_settled(comparison) if retry else not is_broken(comparison):
            found[key] = Outcome.of(comparison)
            kept.keep(len(kept.all), row_item(rows[key].name, comparison))
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
    kept: Kept[RowItem],
) -> None:
    """Run what is left; each row is on disk before it is printed."""
    keys, pairs = list(left), list(left.values())
    names = [row.name for row in rows.values()]
    table = RowTable(names, speed=plan.speed, **style_of())
    with Progress(lines=False) as progress:

        def watch(name: str, event: Event) -> None:
            progress.watch(f"{len(outcomes):,} of {len(rows):,} rows; {name}", event)

        if left and not kept.prints:
            progress.print(table.head())
        with closing(run_rows(pairs, plan, watch=watch, jobs=arguments.jobs)) as done:
            for number, comparison in done:
                key, row = keys[number], pairs[number]
                sample = {} if row.sample is None else {SAMPLE: encode(row.sample)}
                file.add(key, {"row": row.name, **sample, **to_json(comparison)})
                outcomes[key] = Outcome.of(comparison)
                kept.keep(len(kept.all), row_item(row.name, comparison))
                text = table.line(len(outcomes), row.name, comparison)
                if not kept.prints:
                    progress.print(with_traceback(text, arguments, comparison.reference, comparison.target))

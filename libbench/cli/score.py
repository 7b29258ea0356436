"""`libbench score`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import libbench
from libbench.benchlog import samples_of
from libbench.categories import Known, Rule, Trait, categorised
from libbench.cli.output import put, style_of
from libbench.errors import LibbenchError
from libbench.records import encode, write_json
from libbench.report.documents import names_of
from libbench.report.json import from_json
from libbench.report.scores import headline, render
from libbench.rowfile import read_rows, sample_of
from libbench.scored import scored
from libbench.scores import SCHEMA, SCHEMA_VERSION, Scoring
from libbench.scoring import score_runs

_ENDINGS = (".jsonl", ".log", ".txt")


def main(arguments: argparse.Namespace) -> int:
    """Score files of results, print what they come to, and give 0."""
    settings = Scoring(
        penalty=arguments.penalty,
        power=arguments.power,
        errors=arguments.errors,
        judged=arguments.judged,
        seed=arguments.seed,
    )
    by = _category(arguments.category)
    files = [file for given in arguments.results for file in _files(given)]
    runs = [(name, str(file), categorised(_read(file), by)) for name, file in zip(names_of(files), files, strict=True)]
    scores = score_runs(runs, settings)
    put(render(scores, **style_of()))
    if arguments.json is not None:
        document = {
            "schema": SCHEMA,
            "version": SCHEMA_VERSION,
            "libbench": libbench.__version__,
            "derived": {"headline": headline(scores)},
            "scores": encode(scores),
        }
        write_json(arguments.json, document)
    return 0


def _category(given: Sequence[str]) -> Trait | list[Rule] | None:
    """Read `--category`: one trait, or rules.

    Raises:
        LibbenchError: it is neither.
    """
    if not given:
        return None
    if given == ["source"] or given == ["tag"] or given == ["folder"]:
        trait: Trait = given[0]
        return trait
    pairs = [text.partition("=") for text in given]
    for name, equals, pattern in pairs:
        if not (name and equals and pattern):
            raise LibbenchError(
                f"--category wants source, tag or folder, or any number of NAME=GLOB, got {name + equals + pattern!r}"
            )
    return [Rule(name, pattern) for name, _, pattern in pairs]


def _files(given: Path) -> list[Path]:
    """Give a file itself, and of a folder the files of results in it.

    Raises:
        LibbenchError: there are none.
    """
    if not given.is_dir():
        return [given]
    found = sorted(path for path in given.iterdir() if path.suffix in _ENDINGS and path.is_file())
    if not found:
        raise LibbenchError(f"{given} has no file of results: wanted one that ends in {', '.join(_ENDINGS)}")
    return found


def _read(file: Path) -> list[Known]:
    """Read the samples of a file: rows of a list, or the log of a GraphNet bench.

    Raises:
        LibbenchError: it is neither, or has no sample.
        OSError: it cannot be read.
    """
    with file.open(encoding="utf-8", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
        if not first.lstrip().startswith("{"):
            lines.seek(0)
            return [Known(sample=sample) for sample in samples_of(lines, str(file))]
    found = list(_rows(file))
    if not found:
        raise LibbenchError(f"{file} has no row")
    return found


def _rows(file: Path) -> Iterator[Known]:
    for document in read_rows(file):
        row = str(document.get("row", document["key"]))
        found = document.get("comparison")
        if isinstance(found, dict):
            found["measurements"] = []  # each trial, of which nothing is scored, and which take longest to read
        try:
            comparison, graph = from_json(document), sample_of(document)
        except LibbenchError as error:
            raise LibbenchError(f"the row {row!r} in {file} cannot be read: {error}") from error
        if graph is None:
            yield Known(sample=scored(comparison, row))
        else:
            yield Known(sample=scored(comparison, graph.path), source=graph.source, tag=graph.tag)

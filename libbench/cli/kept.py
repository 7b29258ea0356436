"""Writing what has been won, as it comes."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

from libbench.cli.output import put
from libbench.errors import LibbenchError
from libbench.records import json_text, write_text
from libbench.report.junit import junit
from libbench.report.markdown import markdown
from libbench.report.summary import Summary

T = TypeVar("T")
Render = Callable[[Sequence[T]], str]
"""Gives the text of a file from all that has been won; that is never nothing."""
_STDOUT = Path("-")


class Kept(Generic[T]):
    """What has been won so far; it writes all of it to files whenever there is more.

    Args:
        files: what is written where; Markdown for "-" is printed when all is done.

    Attributes:
        all: what there is; the last one may still grow.
        prints: whether Markdown takes the place of the report on standard output.
    """

    def __init__(self, files: Mapping[Path, Render[T]]) -> None:
        self._files = {file: render for file, render in files.items() if file != _STDOUT}
        self._printed = files.get(_STDOUT)
        self._begun: set[Path] = set()
        self._broken: dict[Path, OSError] = {}
        self.prints = self._printed is not None
        self.all: list[T] = []

    def keep(self, number: int, found: T) -> None:
        """Take one in, or more of it.

        Args:
            number: its place, from 0.
            found: what there is of it now.

        Raises:
            OSError: a file cannot be written from the start, which is when there is nothing to lose.
        """
        self.all[number:] = [found]
        for file, render in self._files.items():
            if file not in self._broken:
                self._write(file, render(self.all))

    def _write(self, file: Path, text: str) -> None:
        try:
            write_text(file, text)
            self._begun.add(file)
        except OSError as error:
            if file not in self._begun:
                raise
            self._broken[file] = error

    def put(self, text: str) -> None:
        """Print a part of the report, unless Markdown takes its place."""
        if not self.prints:
            put(text)

    def close(self) -> None:
        """Print what is to be printed, whatever there is."""
        if self._printed is not None and self.all:
            put(self._printed(self.all))

    def tell_broken(self) -> None:
        """Raise what kept a file from being written later, for when the report has been printed."""
        for file, error in self._broken.items():
            raise LibbenchError(f"{file} is not complete: {error}")


def json_files(
    arguments: argparse.Namespace, name: str, many: bool, document: Callable[[T], Any], *, folder: bool = True
) -> dict[Path, Render[T]]:
    """Give what `--json` names, and a file in the folder that `--save` names.

    Args:
        name: what one of them is called.
        many: whether there may be several.
        document: gives the JSON document of one.
        folder: whether to write into the folder that `--save` names.
    """
    own = arguments.save / f"{name}.json" if folder and arguments.save else None

    def render(found: Sequence[T]) -> str:
        documents = [document(each) for each in found]
        return json_text({f"{name}s": documents} if many else documents[0])

    return {file: render for file in (arguments.json, own) if file is not None}


def summary_files(arguments: argparse.Namespace, summary: Callable[[Sequence[T]], Summary]) -> dict[Path, Render[T]]:
    """Give what `--junit` and `--markdown` name.

    Args:
        summary: gives that of all that has been won.
    """

    def rendered(text: Callable[[Summary], str]) -> Render[T]:
        return lambda found: text(summary(found))

    kinds = (arguments.junit, junit), (arguments.markdown, markdown)
    return {file: rendered(text) for file, text in kinds if file is not None}

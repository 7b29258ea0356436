"""Writing what has been won, as it comes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from libbench.errors import LibbenchError
from libbench.records import write_json

T = TypeVar("T")


class Kept(Generic[T]):
    """What has been won so far; it writes all of it to the files that the flags name, whenever there is more.

    Args:
        arguments: the flags; `--json` names a file, and `--save` the folder of another.
        name: what one of them is called.
        many: whether there may be several.
        document: gives the JSON document of one.
        folder: whether to write into the folder that `--save` names.

    Attributes:
        all: what there is; the last one may still grow.
    """

    def __init__(
        self,
        arguments: argparse.Namespace,
        name: str,
        many: bool,
        document: Callable[[T], Any],
        *,
        folder: bool = True,
    ) -> None:
        own = arguments.save / f"{name}.json" if arguments.save and folder else None
        self._files: list[Path] = [file for file in (arguments.json, own) if file is not None]
        self._plural = f"{name}s" if many else None
        self._document = document
        self._begun: set[Path] = set()
        self._broken: dict[Path, OSError] = {}
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
        documents = [self._document(each) for each in self.all]
        for file in self._files:
            if file not in self._broken:
                self._write(file, {self._plural: documents} if self._plural is not None else documents[0])

    def _write(self, file: Path, document: Any) -> None:
        try:
            write_json(file, document)
            self._begun.add(file)
        except OSError as error:
            if file not in self._begun:
                raise
            self._broken[file] = error

    def tell_broken(self) -> None:
        """Raise what kept a file from being written later, for when the report has been printed."""
        for file, error in self._broken.items():
            raise LibbenchError(f"{file} is not complete: {error}")

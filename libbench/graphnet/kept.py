"""What is kept of a side in a folder that has room for many samples."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import TextIO
from urllib.parse import quote

from libbench.errors import LibbenchError
from libbench.saved import RESULT

LONGEST = 200
"""Characters of a file's name that come from the sample's path; filesystems have 255 for all of it."""


class Kept:
    """The place of one sample: a folder to save a side in, and its log.

    What was there of an earlier run is gone from the beginning on, so that it cannot be taken for what this one finds.

    Args:
        root: of all samples; it is made.
        path: of the sample; no two paths have one place.

    Attributes:
        folder: to save the side in.

    Raises:
        LibbenchError: another run is writing there, or the folder holds what is no saved side.
    """

    def __init__(self, root: Path, path: str) -> None:
        name = file_name(path)
        self.folder = root / f"{name}.side"
        root.mkdir(parents=True, exist_ok=True)
        self._log: TextIO = (root / f"{name}.log").open("a", encoding="utf-8")
        try:
            try:
                fcntl.flock(self._log, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LibbenchError(f"{self.folder} is being written by another run") from None
            self._log.truncate(0)
            if self.folder.exists():
                if any(self.folder.iterdir()) and not (self.folder / RESULT).is_file():
                    raise LibbenchError(f"{self.folder} holds what is no saved side; it is left alone")
                shutil.rmtree(self.folder)
        except BaseException:
            self._log.close()
            raise

    def write(self, lines: Iterable[str]) -> None:
        """Write the log."""
        self._log.write("".join(f"{line}\n" for line in lines))

    def __enter__(self) -> Kept:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._log.close()


def file_name(path: str) -> str:
    """Give a file's name that no other path has, one that can be read as long as it is not too long."""
    name = quote(os.path.normpath(path), safe=" ")
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST - 17]}-{sha256(name.encode()).hexdigest()[:16]}"

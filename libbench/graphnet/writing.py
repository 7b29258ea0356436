"""Where a log goes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from libbench.cli.output import tell


class Log:
    """Writes blocks of lines to standard error, each at once, and to a file where one is named.

    Args:
        file: what was in it goes; None for none.
    """

    def __init__(self, file: Path | None) -> None:
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
        self._file = None if file is None else file.open("w", encoding="utf-8")

    def write(self, lines: Iterable[str]) -> None:
        """Write a block."""
        text = "\n".join(lines)
        tell(text)
        if self._file is not None:
            self._file.write(f"{text}\n")
            self._file.flush()

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

"""Progress: a bar on a terminal, a line for each stage elsewhere. Both on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from libbench.cli.output import put, tell
from libbench.interfaces import Event

_UNITS = {"evaluate": "batches", "measure": "pairs"}


class Progress:
    """Shows which side does what, and how far it has come.

    Args:
        lines: whether stages are told where there is no terminal for a bar.
    """

    def __init__(self, *, lines: bool = True) -> None:
        self._lines = lines
        self._shown: str | None = None
        self._bar = _bar() if sys.stderr is not None and sys.stderr.isatty() else None
        self._task = self._bar.add_task("loading", total=None, unit="") if self._bar else None

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def watch(self, name: str, event: Event) -> None:
        """Show an event of the side `name`."""
        # Building both sides again is a part of timing them, and of no interest by itself.
        doing = name if name.startswith("timing") else f"{name}: {event.note or event.stage}"
        if self._bar is not None and self._task is not None:
            if self._shown != doing or event.total is None:
                # An update cannot take a total away, nor set the clock of a finished task going again.
                self._bar.reset(self._task, total=event.total, description=doing)
            self._bar.update(self._task, completed=event.done, total=event.total, unit=_UNITS.get(event.stage, ""))
        elif self._lines and self._shown != doing:
            tell(doing)
        self._shown = doing

    def print(self, text: str) -> None:
        """Print to standard output, above the bar where there is one."""
        with self.aside():
            put(text)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the bar away meanwhile."""
        if self._bar is not None:
            self._bar.stop()
        yield
        if self._bar is not None:
            self._bar.start()


def _bar() -> Bar:
    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}", markup=False),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )

"""Rows of figures with the bars that they have to meet: printed, and kept in docs/benchmarks.md."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "benchmarks.md"


@dataclass(frozen=True)
class Row:
    """One figure.

    Attributes:
        what: what was measured.
        ours: of libbench, as text; "-" where it was not measured.
        other: what it is set against, as text.
        figure: what the bar judges; None where it was not measured.
        bar: the most that the figure may be; None where there is no bar.
        unit: of figure and bar.
        note: why it was not measured.
    """

    what: str
    ours: str
    other: str
    figure: float | None
    bar: float | None = None
    unit: str = "x"
    note: str = ""

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        figure = "-" if self.figure is None else f"{self.figure:.3g}{self.unit}"
        bar = "-" if self.bar is None else f"at most {self.bar:g}{self.unit}"
        return self.what, self.ours, self.other, figure, bar, self.verdict

    @property
    def verdict(self) -> str:
        """One of "met", "NOT met" and "not measured"; nothing without a bar."""
        if self.figure is None:
            return f"not measured: {self.note}"
        if self.bar is None:
            return ""
        return "met" if self.figure <= self.bar else "NOT met"


HEAD = ("measured", "libbench", "set against", "figure", "bar", "verdict")


def table(rows: Sequence[Row]) -> str:
    """Give a Markdown table whose columns stand below one another."""
    cells = [HEAD, *(row.cells for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(HEAD))]
    lines = [f"| {' | '.join(text.ljust(width) for text, width in zip(row, widths, strict=True))} |" for row in cells]
    return "\n".join([lines[0], f"|{'|'.join('-' * (width + 2) for width in widths)}|", *lines[1:]])


def machine(peers: Sequence[str] = ()) -> str:
    """Say what was measured, and on what kind of machine."""
    versions = [f"{name} {metadata.version(name)}" for name in ("omegaconf", "hydra-core")]
    return (
        f"{_processor()}, {os.cpu_count()} cores; Python {platform.python_version()}, {', '.join([*versions, *peers])}."
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def finish(section: str, rows: Sequence[Row], peers: Sequence[str] = ()) -> None:
    """Print the rows, and put them into the page where `--write` asks for it."""
    parser = argparse.ArgumentParser(description=f"{section}: figures beside their bars.")
    parser.add_argument("--write", action="store_true", help="keep the figures in docs/benchmarks.md")
    arguments = parser.parse_args()
    report(section, rows, peers, write=arguments.write)


def report(section: str, rows: Sequence[Row], peers: Sequence[str] = (), *, write: bool) -> None:
    """Print the rows, and put them into the page or not."""
    text = f"{machine(peers)}\n\n{table(rows)}"
    print(text)
    if write:
        begin, end = f"<!-- {section}: begin -->\n", f"<!-- {section}: end -->"
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
        PAGE.write_text(f"{before}{begin}{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")

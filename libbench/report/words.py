"""Numbers, units and names as the report writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Literal

from rich.cells import cell_len, chop_cells, set_cell_size

from libbench.config.places import short
from libbench.result import JobRecord, Result

Tone = Literal["good", "bad", "warn", "dim", "strong", "plain"]

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ud800-\udfff\ufeff]")
_TIMES = ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms"), (600.0, 1.0, "s"), (36e3, 1 / 60, "min"))
_SIZES = ("B", "kB", "MB", "GB", "TB", "PB")


def figure(value: int | float | str | None, digits: int = 3) -> str:
    """Give a number with so many significant digits, a whole one with separators; "-" for None."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**15 else f"{Decimal(value):.{digits - 1}e}"
    if not math.isfinite(value) or value == 0:
        return f"{value:g}".replace("-0", "0")
    if 1e-3 <= abs(value) < 10 ** max(digits, 6):
        return significant(value, digits)
    return f"{value:.{digits - 1}e}"


def significant(value: float, digits: int) -> str:
    """Give a finite number without an exponent, rounded to so many significant digits, with separators."""
    rounded = float(f"{value:.{digits - 1}e}")
    if rounded == 0:
        return "0"
    return f"{rounded:,.{max(0, digits - 1 - math.floor(math.log10(abs(rounded))))}f}"


def apart(one: int | float | str | None, two: int | float | str | None, digits: int = 4) -> tuple[str, str]:
    """Give two numbers with so many digits, or with as many more as it takes to tell them apart."""
    while digits < 17 and one != two and figure(one, digits) == figure(two, digits):
        digits += 1
    return figure(one, digits), figure(two, digits)


def seconds(value: float | None) -> str:
    """Give a time with the unit that suits it: `412 us`, `3.10 ms`, `17.4 s`; "-" for None."""
    if value is None or not math.isfinite(value):
        return figure(value)
    if value == 0:
        return "0 s"
    factor, unit = time_unit(value)
    return f"{figure(value * factor)} {unit}"


def time_unit(value: float) -> tuple[float, str]:
    """Give what seconds are multiplied by, and the unit, that suit a time."""
    for below, factor, unit in _TIMES:
        if abs(float(f"{value:.2e}")) < below:
            return factor, unit
    return 1 / 3600, "h"


def nbytes(value: int | None) -> str:
    """Give a size with a decimal unit: `14.2 MB`; "-" for None."""
    if value is None:
        return "-"
    if abs(value) >= 10**18:
        return f"{figure(value)} B"
    size, unit = float(value), 0
    while abs(size) >= 999.5 and unit < len(_SIZES) - 1:
        size, unit = size / 1000, unit + 1
    return f"{value:,} B" if unit == 0 else f"{significant(size, 3)} {_SIZES[unit]}"


def ratio(value: float, low: float | None = None, high: float | None = None) -> tuple[str, str, str]:
    """Give a ratio and the ends of its interval with as many decimals as the interval deserves."""
    given = [x for x in (value, low, high) if x is not None]
    if not all(1e-4 <= x < 1e6 for x in given):
        return figure(value), figure(low), figure(high)
    size = math.floor(math.log10(value))
    least = min(2, 2 - size) if size >= 0 else 1 - size
    decimals = least
    if low is not None and high is not None and high > low:
        decimals = max(least, min(least + 1, math.ceil(-math.log10((high - low) / 2))))
    decimals = max(0, decimals)
    texts = ["-" if x is None else f"{x:,.{decimals}f}" for x in (value, low, high)]
    return texts[0], texts[1], texts[2]


def rounded_up(value: float) -> str:
    """Give a count rounded up to two significant digits."""
    if not math.isfinite(value) or value >= 1e15:
        return figure(value)
    whole = math.ceil(value)
    step = 10 ** max(0, len(str(whole)) - 2)
    return f"{-(-whole // step) * step:,}"


def differ(count: int) -> str:
    """Give the verb that fits a count."""
    return "differs" if count == 1 else "differ"


def plural(count: int, noun: str, many: str = "") -> str:
    """Give `1 leaf` or `3 leaves`."""
    return f"{count:,} {noun if count == 1 else many or noun + 's'}"


def span(values: Iterable[int]) -> str:
    """Give `150`, or `120 to 150`."""
    found = sorted(set(values))
    return "0" if not found else f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,} to {found[-1]:,}"


def listed(names: Iterable[str], most: int = 5) -> str:
    """Give the first names, and how many more there are."""
    found = [one_line(name) for name in names]
    more = f", and {len(found) - most:,} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def one_line(text: str) -> str:
    """Give text without line breaks, escape sequences and what else would disturb a terminal."""
    return " ".join(printable(text).split())


def printable(text: str) -> str:
    """Give text without what would disturb a terminal; its lines stay."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n"))).expandtabs(4)


def shorten(text: str, width: int) -> str:
    """Give one line of at most so many columns; what is too long loses its middle."""
    text = one_line(text)
    if cell_len(text) <= width:
        return text
    head = (width - 1 + 1) // 2
    tail = width - 1 - head
    end = text[len(text) - tail :] if tail > 0 else ""
    while cell_len(end) > tail:
        end = end[1:]
    return f"{set_cell_size(text, head).rstrip()}…{end.lstrip()}"


def shortened(texts: Sequence[str], width: int) -> list[str]:
    """Give each text in one line of at most so many columns, so that different ones still look different.

    A text loses its middle. Of those that would then look alike, what they have in common at both ends goes first;
    where even that does not tell them apart, they stay whole, broken into several lines.
    """
    whole = [one_line(text) for text in texts]
    found = {text: shorten(text, width) for text in whole}
    for alike in _alike(found):
        start, end = _common(alike), _common([text[::-1] for text in alike])
        found |= {text: _around(text, start, min(end, len(text) - start), width) for text in alike}
    for alike in _alike(found):
        found |= {text: "\n".join(chop_cells(text, width)) for text in alike}
    return [found[text] for text in whole]


def _alike(found: Mapping[str, str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for text, shown in found.items():
        groups.setdefault(shown, []).append(text)
    return [texts for texts in groups.values() if len(texts) > 1]


def _common(texts: Sequence[str]) -> int:
    """Give how many characters all texts begin with."""
    columns = enumerate(zip(*texts, strict=False))
    return next((i for i, column in columns if len(set(column)) > 1), min(map(len, texts)))


def _around(text: str, start: int, end: int, width: int) -> str:
    """Shorten a text by what stands before `start` and in the last `end` characters, as evenly as the room allows."""
    spare = max(0, width - 2 - (len(text) - start - end))
    tail = min(end, max(spare // 2, spare - start))
    head = min(start, spare - tail)
    before = text[:start] if head == start else f"{text[:head]}…"
    after = text[len(text) - end :] if tail == end else f"…{text[len(text) - tail :]}"
    return shorten(before + text[start : len(text) - end] + after, width)


def cut(text: str, width: int) -> str:
    """Give one line of at most so many columns; what is too long loses its end."""
    text = one_line(text)
    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"


def side_name(job: JobRecord) -> str:
    """Give what a reader knows a side by: its file and its overrides, or its name."""
    if job.file is None:
        return one_line(job.name)
    return one_line(" ".join([short(job.file), *job.overrides]))


def saved_name(result: Result) -> str:
    """Give what a reader knows a side by, with the folder that it was read from, where there is one."""
    name = side_name(result.job)
    return name if result.saved is None else f"{name}, saved in {one_line(short(result.saved))}"

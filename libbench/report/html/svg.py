"""Charts as SVG inside a page: colours are the page's own, so that they follow the dark."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from rich.cells import cell_len

from libbench.report.charts.chart import Axis, Block, Chart, Dots, Line, Mark, Shape
from libbench.report.words import shorten

WIDTH = 360
_LETTER = 6.6
"""Units that a character of a label takes."""
_LONGEST = 22
_TOP, _RIGHT, _BELOW, _TITLE = 8.0, 14.0, 20.0, 14.0


@dataclass(frozen=True)
class _Frame:
    """Where the inner part of a chart lies in the picture."""

    chart: Chart
    left: float
    top: float
    width: float

    def x(self, value: float) -> float:
        return self.left + self.width * self.chart.x.share(value)

    def y(self, value: float) -> float:
        share = self.chart.y.share(value)
        return self.top + self.chart.height * (share if self.chart.y.names else 1 - share)

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.chart.height


def svg(chart: Chart) -> str:
    """Give the picture of a chart as an `<svg>` element, 360 units wide; every text in it is escaped."""
    names = [_short(text) for _, text in chart.y.ticks]
    left = max([_LETTER * cell_len(name) for name in names], default=0.0) + 8 if names else 2.0
    top = _TOP + (_TITLE if chart.y.label else 0.0)
    frame = _Frame(chart, left, top, WIDTH - left - _RIGHT)
    below = _BELOW * bool(chart.x.ticks) + _TITLE * bool(chart.x.label)
    root = ElementTree.Element(
        "svg", {"viewBox": f"0 0 {WIDTH} {_px(frame.bottom + below + 4)}", "role": "img", "class": "chart"}
    )
    _child(root, "title", {}, chart.title)
    _child(root, "desc", {}, chart.words)
    _draw_axes(root, frame, names)
    for mark in chart.marks:
        _draw(root, frame, mark)
    return ElementTree.tostring(root, encoding="unicode")


def key(mark: Mark) -> str:
    """Give the small picture of a mark that stands in a legend."""
    chart = Chart("", "", "", Axis("", 0, 1), Axis("", 0, 1), (), height=10)
    frame = _Frame(chart, 2, 1, 16)
    root = ElementTree.Element("svg", {"viewBox": "0 0 20 12", "class": "key", "aria-hidden": "true"})
    if isinstance(mark, Dots):
        mark = Dots((0.5,), (0.5,), mark.role, mark.cross, large=True)
    elif isinstance(mark, Line):
        upright = mark.xs[0] == mark.xs[1]
        ends = ((0.5, 0.5), (0.0, 1.0)) if upright else ((0.0, 1.0), (0.5, 0.5))
        mark = Line(*ends, mark.role, mark.dashed, mark.thin)
    _draw(root, frame, mark)
    return ElementTree.tostring(root, encoding="unicode")


def _draw_axes(root: ElementTree.Element, frame: _Frame, names: Sequence[str]) -> None:
    x, y = frame.chart.x, frame.chart.y
    grid = [f"M{_px(frame.x(at))} {_px(frame.top)}V{_px(frame.bottom)}" for at, _ in x.ticks]
    if not y.names:
        grid += [f"M{_px(frame.left)} {_px(frame.y(at))}H{_px(frame.right)}" for at, _ in y.ticks]
    if grid:
        _child(root, "path", {"class": "grid", "d": "".join(grid)})
    for (at, _), name in zip(y.ticks, names, strict=True):
        _text(root, frame.left - 6, frame.y(at) + 4, name, "end")
    for at, text in _spaced(x, frame):
        _text(root, frame.x(at), frame.bottom + 15, text, "middle")
    if x.label:
        _text(root, frame.left + frame.width / 2, frame.bottom + _BELOW * bool(x.ticks) + 11, x.label, "middle", "axis")
    if y.label:
        _text(root, 2, _TITLE - 2, y.label, "start", "axis")


def _spaced(axis: Axis, frame: _Frame) -> Iterator[tuple[float, str]]:
    """Give the ticks whose texts do not run into one another."""
    free = -math.inf
    for at, text in axis.ticks:
        half = _LETTER * cell_len(text) / 2
        if frame.x(at) - half >= free and frame.x(at) + half <= WIDTH + 4:
            yield at, text
            free = frame.x(at) + half + 6


def _draw(root: ElementTree.Element, frame: _Frame, mark: Mark) -> None:
    match mark:
        case Dots():
            size = 3.4 if mark.large else 2.4
            ink = "cross" if mark.cross else "dots large" if mark.large else "dots"
            _child(root, "path", {"class": f"{ink} {mark.role}", "d": _dots(mark, frame, size)})
        case Line():
            looks = "".join([" dashed" * mark.dashed, " thin" * mark.thin])
            _child(root, "path", {"class": f"line {mark.role}{looks}", "d": _path(mark.xs, mark.ys, frame)})
        case Block():
            _draw_block(root, frame, mark)
        case Shape():
            _child(root, "path", {"class": f"fill faint {mark.role}", "d": f"{_path(mark.xs, mark.ys, frame)}Z"})


def _draw_block(root: ElementTree.Element, frame: _Frame, mark: Block) -> None:
    xs, ys = sorted((frame.x(mark.x0), frame.x(mark.x1))), sorted((frame.y(mark.y0), frame.y(mark.y1)))
    box = {"x": xs[0], "y": ys[0], "width": max(1.0, xs[1] - xs[0]), "height": ys[1] - ys[0]}
    look = f"fill{' faint' * mark.faint} {mark.role}"
    _child(root, "rect", {**{name: _px(value) for name, value in box.items()}, "class": look})
    if mark.text:
        _text(root, xs[1] + 5, (ys[0] + ys[1]) / 2 + 4, mark.text, "start")


def _dots(mark: Dots, frame: _Frame, size: float) -> str:
    points = [(frame.x(x), frame.y(y)) for x, y in zip(mark.xs, mark.ys, strict=True) if math.isfinite(x + y)]
    if not mark.cross:
        return "".join(f"M{_px(x)} {_px(y)}h0" for x, y in points)
    side = _px(2 * size)
    return "".join(
        f"M{_px(x - size)} {_px(y - size)}l{side} {side}m-{side} 0l{side} -{side}" for x, y in points
    )  # fmt: skip


def _path(xs: Sequence[float], ys: Sequence[float], frame: _Frame) -> str:
    found, joined = [], False
    for x, y in zip(xs, ys, strict=True):
        if math.isfinite(x) and math.isfinite(y):
            found.append(f"{'L' if joined else 'M'}{_px(frame.x(x))} {_px(frame.y(y))}")
        joined = math.isfinite(x) and math.isfinite(y)
    return "".join(found)


def _text(root: ElementTree.Element, x: float, y: float, text: str, anchor: str, look: str = "") -> None:
    given = {"x": _px(x), "y": _px(y)} | ({"text-anchor": anchor} if anchor != "start" else {})
    _child(root, "text", given | ({"class": look} if look else {}), text)


def _child(root: ElementTree.Element, tag: str, given: dict[str, str], text: str = "") -> None:
    ElementTree.SubElement(root, tag, given).text = text or None


def _short(text: str) -> str:
    return shorten(text, _LONGEST)


def _px(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")

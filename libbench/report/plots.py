"""Charts as files of their own, SVG and PNG, drawn by matplotlib."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from libbench.optional import need
from libbench.report.charts.chart import Axis, Block, Chart, Dots, Line, Mark, Role, Shape
from libbench.report.words import shorten

_COLOURS: dict[Role, str] = {
    "reference": "#0072b2", "target": "#d55e00", "plain": "#1b1f24", "quiet": "#8a94a0", "good": "#11703a",
    "bad": "#b3261e", "warn": "#875400",
}  # fmt: skip
"""Told apart by who does not see red and green alike (Okabe and Ito, 2008), and never by colour alone."""
_INCHES = 5.2
_UNITS = 70.0
"""Units of a chart's height in an inch."""
_LONGEST = 40
_STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "libbench", "font.size": 9, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "#e6e9ed", "axes.axisbelow": True,
}  # fmt: skip


def check_installed() -> None:
    """Find out whether plots can be drawn.

    Raises:
        MissingPackageError: they cannot; the message says what to install.
    """
    _matplotlib("matplotlib")


def write_plots(charts: Iterable[Chart], folder: Path) -> list[Path]:
    """Draw each chart into two files of its name, `.svg` and `.png`; what has such a name is written over.

    Raises:
        MissingPackageError: matplotlib is not installed.
        OSError: a file cannot be written.
    """
    matplotlib = _matplotlib("matplotlib")
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    # Nothing of what the process has set for its own figures is changed, and none of them is.
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        for chart in charts:
            figure = _drawn(chart)
            for path, metadata in ((folder / f"{chart.name}.svg", {"Date": None}), (folder / f"{chart.name}.png", {})):
                figure.savefig(path, dpi=200, metadata=metadata)
                written.append(path)
    return written


def _drawn(chart: Chart) -> Any:
    figure = _matplotlib("matplotlib.figure").Figure(
        figsize=(_INCHES, 1.2 + chart.height / _UNITS), layout="constrained"
    )
    axes = figure.add_subplot()
    _plain(axes.set_title(chart.title, loc="left", fontsize=10, fontweight="bold"))
    for axis, which in ((chart.x, "x"), (chart.y, "y")):
        _set_axis(axes, axis, which)
    for mark in chart.marks:
        _draw(axes, mark)
    if chart.legend:
        handles = [_handle(mark, text) for mark, text in chart.legend]
        legend = figure.legend(
            handles=handles, loc="outside lower left", frameon=False, ncols=len(handles), handletextpad=0.6,
            columnspacing=1.4,
        )  # fmt: skip
        for text in legend.get_texts():
            _plain(text)
    return figure


def _set_axis(axes: Any, axis: Axis, which: str) -> None:
    if axis.log:
        getattr(axes, f"set_{which}scale")("log")
    # Rows of names are read from the top.
    ends = (axis.high, axis.low) if axis.names and which == "y" else (axis.low, axis.high)
    getattr(axes, f"set_{which}lim")(*ends)
    own = getattr(axes, f"{which}axis")
    labels = [shorten(text, _LONGEST) for _, text in axis.ticks]
    for text in getattr(axes, f"set_{which}ticks")([at for at, _ in axis.ticks], labels):
        _plain(text.label1)
    if not axis.ticks:
        own.set_visible(False)
    own.set_minor_locator(_matplotlib("matplotlib.ticker").NullLocator())
    if axis.names:
        own.grid(False)
        own.set_tick_params(length=0)
    _plain(getattr(axes, f"set_{which}label")(axis.label))


def _plain(text: Any) -> None:
    """Have a text written as it is, where matplotlib would take what stands between two dollars for a formula."""
    text.set_parse_math(False)


def _draw(axes: Any, mark: Mark) -> None:
    colour = _COLOURS[mark.role]
    match mark:
        case Dots():
            axes.plot(mark.xs, mark.ys, **_marker(mark))
        case Line():
            axes.plot(mark.xs, mark.ys, **_stroke(mark))
        case Block():
            alpha = 0.2 if mark.faint else 1.0
            patches = _matplotlib("matplotlib.patches")
            size = mark.x1 - mark.x0, mark.y1 - mark.y0
            axes.add_patch(patches.Rectangle((mark.x0, mark.y0), *size, color=colour, alpha=alpha, linewidth=0))
            if mark.text:
                middle = (mark.y0 + mark.y1) / 2
                _plain(axes.annotate(mark.text, (mark.x1, middle), (4, 0), textcoords="offset points", va="center"))
        case Shape():
            axes.fill(mark.xs, mark.ys, color=colour, alpha=0.2, linewidth=0)


def _marker(mark: Dots) -> dict[str, Any]:
    shape = {"marker": "x", "markeredgewidth": 1.3} if mark.cross else {"marker": "o", "markeredgewidth": 0}
    alpha = 1.0 if mark.cross or mark.large else 0.5
    return {
        "linestyle": "",
        "color": _COLOURS[mark.role],
        "markersize": 6 if mark.large else 4,
        "alpha": alpha,
        **shape,
    }


def _stroke(mark: Line) -> dict[str, Any]:
    width = 0.9 if mark.thin else 1.6
    return {"color": _COLOURS[mark.role], "linestyle": "--" if mark.dashed else "-", "linewidth": width}


def _handle(mark: Mark, text: str) -> Any:
    """Give what stands for a mark in the legend."""
    if isinstance(mark, Dots | Line):
        upright = isinstance(mark, Line) and mark.xs[0] == mark.xs[1]
        look = _marker(mark) if isinstance(mark, Dots) else _stroke(mark)
        look |= {"marker": "|", "linestyle": "", "markersize": 9} if upright else {}
        return _matplotlib("matplotlib.lines").Line2D([], [], label=text, **look)
    faint = isinstance(mark, Shape) or (isinstance(mark, Block) and mark.faint)
    return _matplotlib("matplotlib.patches").Patch(color=_COLOURS[mark.role], alpha=0.2 if faint else 1.0, label=text)


def _matplotlib(module: str) -> Any:
    return need(module, extra="plots", purpose="plots (--plots)")

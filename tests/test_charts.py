"""Charts: what is drawn is what was found."""

import math
import re
import sys
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib
import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_records import comparison, different_leaf, leaf, measurement, outputs, side, speedup

from libbench.errors import MissingPackageError
from libbench.measured import Measurement, Timing
from libbench.report.charts.chart import Axis, Block, Chart, Dots, Line, Shape
from libbench.report.charts.costs import cost_charts
from libbench.report.charts.errors import error_charts
from libbench.report.charts.rows import row_charts
from libbench.report.charts.scores import score_charts
from libbench.report.charts.speed import MOST_DOTS, speed_charts
from libbench.report.html.svg import svg
from libbench.report.plots import write_plots
from libbench.scores import Sample
from libbench.scoring import score_runs

GRID = {"float16": -5, "bfloat16": -5, "float32": -6, "float64": -4}
VALUES = st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=8)


def marks(chart, kind):
    return [mark for mark in chart.marks if isinstance(mark, kind)]


@given(VALUES, st.sampled_from([True, False, None]))
def test_an_axis_has_room_for_all_values_and_ticks_between_its_ends(values, log):
    axis = Axis.over("x", values, log=log)

    assert axis.low < axis.high
    assert all(0 <= axis.share(value) <= 1 for value in values)
    assert axis.share(min(values)) <= axis.share(max(values))
    ticks = [at for at, _ in axis.ticks]
    assert ticks == sorted(ticks)
    assert all(axis.low * (1 - 1e-9) <= at <= axis.high * (1 + 1e-9) for at in ticks)
    assert len(ticks) <= 9


@pytest.mark.parametrize("values", [[], [math.nan, math.inf], [0.0], [-3.0, -3.0], [0.0, 5.0]])
def test_an_axis_of_odd_values_is_one_all_the_same(values):
    axis = Axis.over("x", values)

    assert axis.low < axis.high
    assert axis.ticks


def test_pairs_are_drawn_process_by_process_with_the_interval_that_decides():
    found = comparison(measurements=(measurement(),) * 3, speedups=(speedup(1.83, 1.79, 1.88),))

    ratios, times = speed_charts(found)

    assert [name for _, name in ratios.y.ticks] == ["process 1", "process 2", "process 3"]
    (band,) = marks(ratios, Block)
    assert (band.x0, band.x1) == (1.79, 1.88)
    assert [len(dots.xs) for dots in marks(ratios, Dots)] == [3, 3, 3]
    assert sorted(marks(ratios, Dots)[0].xs) == pytest.approx(sorted([4e-4 / 2.2e-4, 4.2e-4 / 2.3e-4, 4.1e-4 / 2.1e-4]))
    assert [len(dots.xs) for dots in marks(times, Dots)] == [9, 9]


def test_of_many_trials_so_many_are_drawn_and_the_ends_are_among_them():
    seconds = tuple(1e-3 + k * 1e-6 for k in range(5000))
    timed = Measurement(({"wall": Timing(seconds)}, {"wall": Timing(seconds)}), (1, 1), (1, 1), 1.0)

    _, times = speed_charts(comparison(measurements=(timed,)))

    drawn = marks(times, Dots)[0].xs
    assert len(drawn) == MOST_DOTS
    assert (drawn[0], drawn[-1]) == (seconds[0], seconds[-1])
    assert times.rows[0][:2] == ("reference", "5,000")


def test_sides_that_were_timed_apart_have_no_pairs_and_what_was_not_timed_has_no_chart():
    timings = ({"wall": Timing((1e-3, 2e-3))},)
    saved = comparison(
        reference=side(timings=timings), target=side(timings=timings), measurements=(), speedups=(speedup(pairs=()),)
    )

    assert [chart.name for chart in speed_charts(saved)] == ["times"]
    assert list(speed_charts(comparison(speedups=()))) == []


def test_a_histogram_holds_every_sampled_value_once():
    found = comparison(outputs=outputs(leaf(ulp_counts=(60, 30, 0, 10), ulp_max=7)))

    chart = next(error_charts(found))

    bars = marks(chart, Block)
    assert [bar.y1 for bar in bars] == [60.0, 30.0, 10.0]
    assert [row[:2] for row in chart.rows] == [("0", "60"), ("1", "30"), ("2-3", "0"), ("4-7", "10")]
    assert "100 sampled values" in chart.words


def test_levels_are_those_that_all_leaves_pass_together():
    worse = different_leaf("b", grid={**GRID, "float32": 2, "float64": None})
    (chart,) = error_charts(comparison(outputs=outputs(worse, leaf(grid=GRID))))

    assert chart.rows == (("float16", "-5"), ("bfloat16", "-5"), ("float32", "2"), ("float64", "none"))
    crosses = [set(dots.xs) for dots in marks(chart, Dots)]
    assert crosses[2] == set(range(-10, 2))
    assert crosses[3] == set(range(-10, 6))
    assert [(block.x0, block.x1) for block in marks(chart, Block)][2] == (1.5, 5.5)


def test_what_is_not_known_has_no_bar():
    bare = replace(side(), preparation=None, evaluation=None)

    assert [chart.name for chart in cost_charts(comparison())] == ["first-call", "memory"]
    assert list(cost_charts(comparison(reference=bare, target=bare))) == []


def scored(*samples):
    return score_runs([("a", "a", samples)])


def right(name, value, category="x"):
    return Sample(
        name=name, passes=tuple(range(-10, 6)), speedup=value, speed="faster", interval=True, category=category
    )


def test_the_curves_hold_the_scores_and_es_goes_by_steps_from_level_1():
    wrong = Sample(name="w", passes=(), error="accuracy", speedup=2.0, category="x")
    scores = scored(right("a", 4.0), right("b", 4.0), wrong)

    s, es, _ = score_charts(scores)

    line = next(mark for mark in marks(s, Line) if not mark.thin)
    points = scores.runs[0].all.points
    assert dict(zip(line.xs, line.ys, strict=True)) == {float(p.level): p.s for p in points}
    steps = next(mark for mark in marks(es, Line) if not mark.thin)
    drawn = list(zip(steps.xs, steps.ys, strict=True))
    assert (1.0, points[10].es) in drawn
    assert (1.0, points[11].es) in drawn
    assert [row[0] for row in es.rows] == [str(level) for level in range(-10, 5)]


def test_what_is_wrong_is_marked_and_no_part_of_a_violin():
    wrong = Sample(name="w", passes=(), error="accuracy", speedup=64.0, category="x")
    empty = replace(right("e", 32.0), doubt="vacuous")
    *_, chart = score_charts(scored(*(right(f"r{k}", 1 + k / 10) for k in range(6)), wrong, empty))

    (area,) = marks(chart, Shape)
    assert max(area.xs) < 4
    crosses = [dots for dots in marks(chart, Dots) if dots.cross]
    assert [list(dots.xs) for dots in crosses] == [[64.0]]
    assert [32.0] in [list(dots.xs) for dots in marks(chart, Dots) if dots.role == "quiet"]
    assert chart.rows == (("x", "6", "1.24x", "1", "1", "0"),)


def test_samples_that_are_all_alike_or_have_no_speedup_are_drawn_all_the_same():
    charts = list(score_charts(scored(*(right(f"r{k}", 1.5) for k in range(5)))))
    assert len(charts) == 3
    assert all("nan" not in svg(chart) for chart in charts)
    untimed = Sample(name="a", passes=tuple(range(-10, 6)))
    assert [chart.name for chart in score_charts(scored(untimed, untimed))] == ["s", "es"]
    assert list(score_charts(scored())) == []


def test_rows_are_counted_by_verdict_and_sorted_by_speed():
    rows = [("a", comparison()), ("b", comparison(speedups=(speedup(1.2, 1.1, 1.3),))), ("c", comparison(outputs=None))]

    counts, speeds = row_charts(rows)

    assert dict(counts.rows) == {"same": "3"}
    assert [row[0] for row in speeds.rows][:2] == ["b", "a"]


def test_a_picture_holds_every_text_escaped():
    name = "<b>&\"'</svg>$x$"
    chart = Chart("a", name, name, Axis.over(name, [1.0]), Axis.of_names([name]), (Dots((1.0,), (0.0,), "good"),))

    root = ElementTree.fromstring(svg(chart))

    assert [child.text for child in root if child.tag in ("title", "desc")] == [name, name]
    assert name in [child.text for child in root if child.tag == "text"]


def test_plots_are_written_as_svg_and_png_with_names_as_they_are_and_leave_matplotlib_alone(tmp_path):
    name = r"$\frac{a}$ </svg> שלום"
    x, y = Axis.over(name, [1.0, 9.0]), Axis.of_names([name, "b"])
    drawn = (
        Dots((1.0, 2.0), (0.0, 1.0), "good", cross=True), Line((1.0, math.nan), (0.0, 1.0), "quiet", dashed=True),
        Block(1.0, 0.0, 2.0, 1.0, "bad", text=name), Shape((1.0, 2.0, 1.0), (0.0, 1.0, 1.0), "target"),
    )  # fmt: skip
    chart = Chart("it", name, name, x, y, drawn, tuple((mark, name) for mark in drawn))
    before = dict(matplotlib.rcParams)

    written = write_plots([chart], tmp_path / "one")
    write_plots([chart], tmp_path / "two")

    assert [path.name for path in written] == ["it.svg", "it.png"]
    assert (tmp_path / "one" / "it.svg").read_bytes() == (tmp_path / "two" / "it.svg").read_bytes()
    assert r"\frac" in (tmp_path / "one" / "it.svg").read_text()
    assert (tmp_path / "one" / "it.png").read_bytes().startswith(b"\x89PNG")
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(MissingPackageError, match=re.escape("pip install 'libbench[plots]'")):
        write_plots([], tmp_path)

"""The page: it stands alone, says what the report in a terminal says, and bears any name."""

import json
import re
import sys
import tomllib
from dataclasses import replace
from fnmatch import fnmatch
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import needs_browser, shown
from report_records import (
    CHANGE,
    comparison,
    different_leaf,
    failed,
    leaf,
    measurement,
    metric,
    outputs,
    side,
    speedup,
)

from libbench.curves import Curve, CurveReport, Loss, Step
from libbench.errors import LibbenchError, MissingPackageError
from libbench.report.headline import headline, pieces
from libbench.report.html.page import charts_of, page_of, render_list, render_page
from libbench.report.json import to_json
from libbench.report.many import verdict_word
from libbench.report.results import Entry, Listed, read_lists
from libbench.report.text import render
from libbench.report.words import one_line
from libbench.rowfile import GraphSampleRecord

ROOT = Path(__file__).parent.parent
SCRIPT = "</script><script>document.title = 'taken'</script><img src=http://example.org/x onerror=alert(1)>"
LONG = "encoder." + "very_long_block_name." * 14 + "weight"
RTL = "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627"
VOID = {"meta", "link", "br", "input", "img"}
GRID = {"float16": -5, "bfloat16": -5, "float32": -6, "float64": -4}
TIMED = comparison(
    outputs=outputs(leaf(grid=GRID, ulp_counts=(40, 20, 4))), measurements=(measurement(), measurement())
)


class Page(HTMLParser):
    """Reads a page, and finds fault with tags that are not closed in their order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words, self.faults = [], [], [], []
        self.feed(text)
        self.close()
        self.faults += [f"{tag} is not closed" for tag in self.open]
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    def count(self, tag):
        return sum(name == tag for name, _ in self.tags)

    def of(self, tag, look):
        return [given for name, given in self.tags if name == tag and look in given.get("class", "").split()]


def hostile():
    job = replace(side().job, name=SCRIPT, file=f"/data/{SCRIPT}.py", overrides=(f"a={LONG}",))
    changed = replace(CHANGE, path=f"model.{LONG}", reference=SCRIPT, target=RTL, target_origin=f"{SCRIPT}:3")
    return comparison(
        reference=side(job=job), changes=(CHANGE, changed), notes=(SCRIPT,),
        outputs=outputs(different_leaf(SCRIPT, ulp_counts=(3, 9), grid=GRID), leaf(LONG, grid=GRID), leaf(RTL)),
        metrics=(metric(SCRIPT), metric(LONG, target=0.5, verdict="different"), metric(RTL)),
    )  # fmt: skip


def training():
    def curve(scale):
        steps = (Step(k, 0, (k,), "a", (Loss(scale * (3 - k), 1.0, 1, "float32"),)) for k in range(3))
        return Curve(tuple(steps))

    report = CurveReport(verdict="same", judged=3, drift=(0.0, 1e-7, 2e-7), rtol=1e-6, atol=1e-6)
    sides = side(curve=curve(1.0)), side("inductor", curve=curve(1.0000001))
    return comparison(reference=sides[0], target=sides[1], curve=report)


CASES = {
    "same": TIMED,
    "different": comparison(outputs=outputs(different_leaf(grid=GRID, ulp_counts=(1, 2, 3)))),
    "failed": failed(message=f"CompilerFailed: {SCRIPT}"),
    "stochastic": comparison(reference=side(preparation=replace(side().preparation, repeats="logits differ"))),
    "training": training(),
    "seeds": comparison(speedups=(), seeds=(comparison(speedups=(), measurements=()),)),
    "interrupted": comparison(complete=False, metrics=(), measurements=(), speedups=()),
    "nothing": comparison(outputs=None, inputs=None, metrics=(), measurements=(), speedups=(), changes=()),
    "hostile": hostile(),
}
ROWS = [(f"sample/{name}", case) for name, case in CASES.items()]


def listed(rows=ROWS, name="rows"):
    entries = []
    for row, found in rows:
        sample = GraphSampleRecord(path=row, name=row, source=row[:1], tag=None, hash="", files="", seed=0)
        entries.append(Entry(row, found, sample))
    return Listed(name, f"{name}.jsonl", tuple(entries))


def in_a_page(text):
    """Give a text as a page has it between its tags."""
    return " ".join(one_line(text).split())


@pytest.mark.parametrize("case", CASES)
def test_every_tag_is_closed_and_nothing_is_asked_for_from_outside(case):
    text = render_page(CASES[case])
    page = Page(text)

    assert page.faults == []
    assert page.count("script") == page.count("img") == 0
    assert {given[name] for _, given in page.tags for name in ("src", "href", "xlink:href") if name in given} == {
        "data:,"
    }
    style = text[text.index("<style>") : text.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_the_page_of_a_list_is_whole_too_and_has_no_script_but_its_own():
    text = render_list([listed([*ROWS, (SCRIPT, hostile()), (LONG, hostile()), (RTL, failed())])])
    page = Page(text)

    assert page.faults == []
    assert page.count("script") == 1
    assert page.count("img") == 0
    assert len(page.of("details", "row")) == len(ROWS) + 3
    assert in_a_page(SCRIPT) in page.text
    assert in_a_page(RTL) in page.text


@pytest.mark.parametrize("case", CASES)
def test_the_page_says_what_the_report_says(case):
    found = CASES[case]
    page = Page(render_page(found))

    for text, _ in pieces(found):
        assert in_a_page(text) in page.text
    # Every word of the report, but for the last line, which says where there is more.
    said = render(found, width=2000).splitlines()[1:-1]
    words = {word.strip(",") for line in said for word in line.split() if "…" not in word}
    assert {word for word in words if word not in page.text} - {"->"} == set()


def test_every_value_of_the_outputs_and_the_place_of_a_change_stand_in_the_page():
    page = Page(render_page(comparison(outputs=outputs(different_leaf(), leaf("mask")))))

    for text in ("float32", "(64, 10)", "DIFFERENT", "0.125", "[41, 3]", "12 / 3,600", "-0.90", "-6.74"):
        assert text in page.text
    assert "TorchCompile(backend='inductor')" in page.text
    assert "inductor.py:4" in page.text


def test_what_a_picture_shows_is_said_in_words_and_in_figures():
    page = Page(render_page(TIMED))

    pictures = [given for tag, given in page.tags if tag == "svg" and given.get("role") == "img"]
    charts = charts_of([Listed("", "", (Entry("a", TIMED),))])
    assert len(pictures) == len(charts) == page.count("figure") >= 5
    for chart in charts:
        assert page.text.count(in_a_page(chart.words)) == 2  # beside the picture, and as its description
        assert chart.rows
    assert page.count("title") == 1 + len(charts)
    assert page.count("desc") == len(charts)


def test_a_verdict_has_a_word_and_a_sign_and_not_a_colour_alone():
    page = Page(render_list([listed([("a", TIMED), ("b", failed())])]))

    assert "✓ same" in page.text
    assert "✗ FAILED" in page.text


def test_a_list_shows_each_verdict_as_a_terminal_does_and_counts_them():
    text = render_list([listed()])
    page = Page(text)

    rows = page.of("details", "row")
    assert [row["data-verdict"] for row in rows] == [verdict_word(found) for _, found in ROWS]
    assert page.text.startswith("9 rows · ")
    for _, found in ROWS:
        assert in_a_page(pieces(found)[0][0]) in page.text
    for told in ("S(t)", "ES(t)", "AGGREGATE", "Speedup by category"):
        assert told in page.text


def test_several_lists_are_drawn_side_by_side_and_their_rows_say_which_they_are_of():
    page = Page(render_list([listed([("a", TIMED)], "one"), listed([("a", failed())], "two")]))

    assert [row["data-list"] for row in page.of("details", "row")] == ["one", "two"]
    assert page.faults == []


def test_a_page_of_250_rows_stays_light():
    many = outputs(*(leaf(f"past.{k}", grid=GRID) for k in range(20)))
    found = comparison(outputs=many, measurements=TIMED.measurements * 3, notes=("a note " * 20,) * 3)

    text = render_list([listed([(f"source/model{k}", found) for k in range(250)])])

    assert len(text.encode()) < 5_000_000


def test_one_comparison_is_a_page_of_its_own_and_two_are_a_list():
    assert page_of([listed([("a", TIMED)])]) == render_page(TIMED)
    assert len(Page(page_of([listed([("a", TIMED), ("b", failed())])])).of("details", "row")) == 2


def test_without_jinja_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)

    with pytest.raises(MissingPackageError, match=re.escape("pip install 'libbench[report]'")):
        render_page(TIMED)


def test_the_templates_are_part_of_the_package():
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["libbench"]
    templates = list((ROOT / "libbench" / "report" / "html" / "templates").iterdir())

    assert templates
    for file in templates:
        assert any(fnmatch(str(file.relative_to(ROOT / "libbench")), pattern) for pattern in patterns)


@pytest.fixture
def results(tmp_path):
    """Files as the commands leave them: of one comparison, of several targets, and of a list."""
    one, several, rows = tmp_path / "one.json", tmp_path / "several.json", tmp_path / "rows.jsonl"
    one.write_text(json.dumps(to_json(TIMED)))
    several.write_text(json.dumps({"comparisons": [to_json(TIMED), to_json(failed())]}))
    lines = [{"key": f"{k:016x}", "row": name, **to_json(found)} for k, (name, found) in enumerate(ROWS)]
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return one, several, rows


def test_results_on_disk_become_lists_whatever_form_they_have(results):
    one, several, rows = read_lists(results)

    assert [len(each.entries) for each in (one, several, rows)] == [1, 2, len(ROWS)]
    assert [entry.name for entry in rows.entries] == [name for name, _ in ROWS]
    assert one.entries[0].comparison == TIMED


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[1]", "holds no comparison, but list"),
        ("{}", "wanted a document of schema 'libbench.comparison'"),
        ('{"comparisons": [1]}', "wanted a document of schema"),
        ('{"comparisons": []}', "has no comparison"),
        ("", "has no comparison"),
        ("# heading\n", "is no row"),
    ],
)
def test_a_file_that_holds_something_else_is_named(tmp_path, text, told):
    file = tmp_path / "odd.json"
    file.write_text(text)

    with pytest.raises(LibbenchError, match=re.escape(told)) as caught:
        read_lists([file])
    assert str(file) in str(caught.value)


def test_a_folder_that_diff_has_not_written_is_refused(tmp_path):
    with pytest.raises(LibbenchError, match=re.escape("has no comparison.json")):
        read_lists([tmp_path])


def test_report_makes_a_page_and_plots_of_results(libbench, results, tmp_path):
    page, plots = tmp_path / "new" / "page.html", tmp_path / "plots"

    assert libbench("report", results[0], "--html", page, "--plots", plots)[0] == 0

    assert Page(page.read_text()).text.count(headline(TIMED).split(" · ")[0]) >= 1
    names = {file.stem for file in plots.iterdir()}
    assert {"speedup", "times", "errors-1", "levels", "first-call", "memory"} <= names
    assert {file.suffix for file in plots.iterdir()} == {".svg", ".png"}


def test_report_without_anything_to_write_or_with_a_folder_for_a_page_is_an_error(libbench, results, tmp_path):
    nothing = "libbench: nothing to write: give --html FILE for a page, --plots DIR for plots\n"
    assert libbench("report", results[0]) == (2, "", nothing)
    code, _, err = libbench("report", results[0], "--html", tmp_path)
    assert (code, "--html wants a file" in err) == (2, True)


def test_diff_and_sweep_write_the_page_of_what_they_have_compared(libbench, config, tmp_path):
    one, rows = tmp_path / "one.html", tmp_path / "rows.html"
    base = ("--ref", config("a"), "--no-speed")

    code, out, _ = libbench("diff", *base, "--tgt-set", "model.bias=false", "--html", one)
    assert code == 1
    assert out.splitlines()[0].split(" · ")[0] in Page(one.read_text()).text

    flags = ("--tgt-set", "model.bias=true,false", "--to", tmp_path / "rows.jsonl", "--html", rows)
    code, out, _ = libbench("sweep", *base, *flags)
    page = Page(rows.read_text())
    assert [row["data-verdict"] for row in page.of("details", "row")] == ["same", "DIFFERENT"]
    assert "2 rows · 1 same · 1 different" in page.text


PROBE = """
const found = {};
const form = document.querySelector("form.tools");
found.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
found.asked = performance.getEntriesByType("resource").length;
found.title = document.title;
if (form) {
  const seen = () => [...document.querySelectorAll(".row")].filter((row) => !row.hidden);
  const names = () => seen().map((row) => row.dataset.name);
  const press = (key) => { form.querySelector(`button[value="${key}"]`).click(); return names(); };
  found.hidden = form.hidden;
  found.fast = press("speed");
  found.slow = press("speed");
  found.named = press("name");
  form.elements.verdict.value = "FAILED";
  form.dispatchEvent(new Event("input"));
  found.failed = names();
  found.count = form.querySelector("output").textContent;
}
const told = document.createElement("pre");
told.id = "told";
told.textContent = JSON.stringify(found);
document.body.append(told);
"""


def probed(file, width):
    dom = shown(file, width=width, script=PROBE)
    page = Page(dom[dom.rindex('<pre id="told">') : dom.rindex("</pre>") + 6])
    return json.loads(page.text)


@needs_browser
def test_in_a_browser_a_page_with_hostile_names_fits_a_phone_and_asks_for_nothing(tmp_path):
    file = tmp_path / "page.html"
    file.write_text(render_page(hostile()))

    found = probed(file, 360)

    assert (found["wide"], found["asked"]) == (0, 0)
    assert found["title"] == in_a_page(headline(hostile()))


@needs_browser
def test_in_a_browser_rows_are_sorted_and_chosen(tmp_path):
    file = tmp_path / "page.html"
    fast, slow = (
        comparison(speedups=(speedup(3.0, 2.9, 3.1),)),
        comparison(speedups=(speedup(0.5, 0.4, 0.6, "slower"),)),
    )
    file.write_text(render_list([listed([("b", slow), ("c", failed()), ("a", fast), (SCRIPT, hostile())])]))

    found = probed(file, 360)

    assert (found["wide"], found["asked"], found["hidden"]) == (0, 0, False)
    assert found["fast"] == ["a", SCRIPT, "b", "c"]  # what has no speed stays at the end
    assert found["slow"] == ["b", SCRIPT, "a", "c"]
    assert found["named"][-3:] == ["a", "b", "c"]
    assert (found["failed"], found["count"]) == (["c"], "1 of 4")

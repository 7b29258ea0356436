"""What continuous integration reads: JUnit XML and Markdown, with the words of the report."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from report_records import comparison, different_leaf, failed, outputs, side, speedup
from test_history import run, scaled

from libbench.history import Rule, history
from libbench.report.headline import headline
from libbench.report.junit import junit
from libbench.report.markdown import MOST, escaped, markdown
from libbench.report.summaries import of_comparisons, of_history, of_results, of_rows, row_item
from libbench.report.summary import Case, Item, Summary
from libbench.report.text import render
from libbench.result import Failure


def cases(summary):
    """Give every case of the XML as its suite, its name and what became of it."""
    root = ElementTree.fromstring(junit(summary))
    return [
        (case.get("classname"), case.get("name"), *[each.tag for each in case if each.tag != "system-out"])
        for case in root.iter("testcase")
    ]


def rendered(text):
    """Give what a reader of Markdown sees: the cells of all tables, and the whole as HTML."""
    html = MarkdownIt("commonmark").enable("table").render(text)
    return [re.sub("<[^>]+>", "", cell) for cell in re.findall(r"<td>(.*?)</td>", html, re.DOTALL)], html


DIFFERENT = comparison(outputs=outputs(different_leaf()))
UNAVAILABLE = failed(kind="unavailable", message="MissingPackageError: it needs triton")
STOCHASTIC = comparison(reference=side(preparation=replace(side().preparation, repeats="values differ")))
UNDECIDED = comparison(2.0, speedups=(speedup(2.0, 1.9, 2.1, "faster"),))


@pytest.mark.parametrize(
    ("made", "name", "state"),
    [
        (comparison(), "outputs", []),
        (DIFFERENT, "outputs", ["failure"]),
        (failed(), "target compile", ["failure"]),
        (UNAVAILABLE, "target compile", ["skipped"]),
        (STOCHASTIC, "reference repeats", ["error"]),
        (UNDECIDED, "speedup", ["skipped"]),
        (comparison(2.0), "speedup", ["failure"]),
        (comparison(complete=False), "comparison", ["error"]),
    ],
)
def test_each_check_of_a_comparison_is_a_case_and_its_verdict_what_became_of_it(made, name, state):
    found = {each: rest for _, each, *rest in cases(of_comparisons([made]))}

    assert found[name] == state
    assert len(found) == len(made.checks) + (not made.complete)
    assert [rest for each, rest in found.items() if each != name and rest] == []


def test_counts_stand_at_the_root_and_at_each_suite():
    root = ElementTree.fromstring(junit(of_comparisons([comparison(), DIFFERENT, UNAVAILABLE])))

    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5", "failures": "1", "errors": "0", "skipped": "1"
    }  # fmt: skip
    assert sum(int(suite.get("tests")) for suite in root.iter("testsuite")) == 5


def test_a_failure_carries_its_kind_its_message_and_its_traceback():
    (found,) = ElementTree.fromstring(junit(of_comparisons([failed()]))).iter("failure")

    assert (found.get("type"), found.get("message")) == (
        "exception",
        "BackendCompilerFailed: unsupported operator aten::foo",
    )
    assert "Traceback (most recent call last):\n" in found.text


@given(st.text(), st.text())
def test_whatever_a_name_or_a_message_holds_the_xml_is_read_back(name, message):
    case = Case("suite", name, "failure", "kind", message, message)

    root = ElementTree.fromstring(junit(Summary("a", ("b",), (Item("suite", ("c",), (case,), message),))))

    assert len(list(root.iter("failure"))) == 1


def test_markdown_says_what_the_terminal_says():
    made = [comparison(), DIFFERENT]

    one, many = markdown(of_comparisons(made[:1])), markdown(of_comparisons(made))

    assert one.splitlines()[0] == f"### {escaped(headline(made[0]))}"
    assert many.splitlines()[0] == "### 2 targets · 1 same · 1 different"
    cells, html = rendered(many)
    assert cells[1:3] == ["same", "outputs agree within 2.4e-07; metrics agree"]
    assert cells[6:8] == ["DIFFERENT", "outputs differ by 0.125; metrics agree"]
    assert html.count("<details>") == 2
    assert render(made[0]) in many


@given(st.text())
def test_whatever_a_name_holds_it_stays_in_its_cell(name):
    item = Item(name, (name, "same"), (), f"</details>\n{name}\n```\n# not a heading")

    cells, html = rendered(markdown(Summary(name, ("pair", "verdict"), (item,))))

    assert len(cells) == 2
    assert cells[1] == "same"
    assert re.findall(r"<h[12]>", html) == []
    assert html.rstrip().endswith("</details>")


@pytest.mark.parametrize(
    "text", ["a|b", "<b>bold</b>", "**bold**", "[a](b)", "`code`", "a_b_c", "\\|", "&lt;", "~~a~~"]
)
def test_markup_in_a_name_is_shown_as_it_is_written(text):
    cells, _ = rendered(markdown(Summary("a", ("pair", "b"), (Item(text, (text, "c"), ()),))))

    assert cells[0].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == text


def test_a_long_list_stays_below_a_megabyte_and_says_what_it_leaves_out():
    items = [Item(f"row {n}", (f"row {n}", "é" * 100), (), "x" * 5000) for n in range(8000)]

    text = markdown(Summary("a", ("pair", "finding"), tuple(items)))

    assert MOST * 0.95 < len(text.encode()) <= MOST
    kept = text.count("| row ")
    assert f"{8000 - kept:,} lines left out" in text
    assert "8,000 reports left out" in text


def test_of_a_list_each_row_is_a_case_and_those_that_are_not_the_same_tell_why():
    found = [row_item("first", comparison(seconds=2.0)), row_item("second", DIFFERENT), row_item("third", UNAVAILABLE)]

    summary = of_rows(found, 4)

    assert cases(summary) == [
        ("libbench sweep", "first"),
        ("libbench sweep", "second", "failure"),
        ("libbench sweep", "third", "skipped"),
    ]
    assert 'name="first" time="2.000"' in junit(summary)
    assert summary.headline == "3 of 4 rows · 1 same · 1 different · 1 not judged"
    assert markdown(summary).count("<details>") == 2


def test_of_configs_that_ran_by_themselves_each_is_a_case():
    made = [side("a"), side("b", failure=Failure("compile", "exception", "no")), side("c", evaluation=None)]

    assert cases(of_results(made)) == [
        ("libbench run", "a"),
        ("libbench run", "b", "failure"),
        ("libbench run", "c", "error"),
    ]
    assert of_results(made).headline == "3 configs · 2 ran · 1 failed"
    assert of_results(made[:1]).headline == "RAN · speed not measured"


@pytest.mark.parametrize(
    ("newest", "outcome", "speed", "strict"),
    [
        (run(2), [], [], []),
        (run(2, scaled(0.8)), [], ["failure"], ["failure"]),
        (run(2, (1.5, 2.1, 1.9, 1.6, 1.8)), [], ["skipped"], ["error"]),
        (run(2, outputs=outputs(different_leaf())), ["failure"], [], []),
        (run(2, complete=False), ["error"], ["skipped"], ["error"]),
    ],
)
def test_of_a_history_outcome_and_speed_of_each_pair_are_cases(newest, outcome, speed, strict):
    for rule, wanted in ((Rule(), speed), (Rule(strict=True), strict)):
        found = cases(of_history(history([run(1), newest], rule)))

        assert [rest for *_, rest in [(s, n, r) for s, n, *r in found]] == [outcome, wanted]

"""A summary as JUnit XML, as servers of continuous integration read it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from xml.etree import ElementTree

from libbench.report.summary import Case, Summary
from libbench.report.words import cut, printable

_NO_XML = re.compile("[\ufffe\uffff]")
_LONGEST = 1000
"""Columns of a message; a text has no limit."""
_COUNTED = ("failures", "errors", "skipped")


def junit(summary: Summary) -> str:
    """Give a summary as JUnit XML: a suite for each thing that was judged, with a case for each question.

    What XML cannot hold, or would disturb a reader, is left out.
    """
    suites: dict[str, list[Case]] = {}
    details: dict[str, str] = {}
    for item in summary.items:
        for case in item.cases:
            suites.setdefault(case.suite, []).append(case)
        if all(case.suite == item.name for case in item.cases):
            details[item.name] = item.detail
    every = [case for cases in suites.values() for case in cases]
    root = ElementTree.Element("testsuites", {"name": "libbench", **_counts(every)})
    for name, cases in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", {"name": _clean(name), **_counts(cases)})
        for case in cases:
            _add(suite, case)
        if details.get(name):
            ElementTree.SubElement(suite, "system-out").text = _clean(details[name])
    ElementTree.indent(root)
    return "<?xml version='1.0' encoding='utf-8'?>\n" + ElementTree.tostring(root, encoding="unicode")


def _counts(cases: Sequence[Case]) -> dict[str, str]:
    found = Counter({"failure": "failures", "error": "errors"}.get(case.state, case.state) for case in cases)
    known = [case.seconds for case in cases if case.seconds is not None]
    time = {"time": f"{sum(known):.3f}"} if known else {}
    return {"tests": str(len(cases)), **{name: str(found[name]) for name in _COUNTED}, **time}


def _add(suite: ElementTree.Element, case: Case) -> None:
    time = {} if case.seconds is None else {"time": f"{case.seconds:.3f}"}
    made = ElementTree.SubElement(
        suite, "testcase", {"classname": _clean(case.suite), "name": _clean(case.name), **time}
    )
    message = {"message": cut(_clean(case.message), _LONGEST)}
    if case.state == "skipped":
        ElementTree.SubElement(made, "skipped", message)
    elif case.state != "passed":
        found = ElementTree.SubElement(made, case.state, {**message, "type": _clean(case.kind) or case.state})
        found.text = _clean(case.text or case.message)
    elif case.message:
        ElementTree.SubElement(made, "system-out").text = _clean(case.message)


def _clean(text: str) -> str:
    return _NO_XML.sub("", printable(text))

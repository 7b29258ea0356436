import dataclasses
import json
import math
import re
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Union, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_records import comparison, different_leaf, failed, inductor, leaf, measurement, metric, outputs, speedup

from libbench.decisive import Decisive
from libbench.errors import LibbenchError
from libbench.findings import Extreme
from libbench.history import History
from libbench.located import Located
from libbench.measured import Measurement, Timing
from libbench.report.json import (
    decisive_to_json,
    from_json,
    located_to_json,
    result_from_json,
    result_to_json,
    to_json,
)
from libbench.report.text import headline
from libbench.result import Comparison, Evaluation, Result
from libbench.scores import Scores

DOCS = Path(__file__).parent.parent / "docs" / "json.md"


def through_text(document):
    return json.loads(json.dumps(document, allow_nan=False))


def same(one, two):
    """Tell whether two values are equal in type and content, NaN equal to NaN."""
    if isinstance(one, float) and math.isnan(one):
        return isinstance(two, float) and math.isnan(two)
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return type(one) is type(two) and all(same(getattr(one, n), getattr(two, n)) for n in names)
    if isinstance(one, tuple):
        return isinstance(two, tuple) and len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, Mapping):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    return type(one) is type(two) and one == two


@pytest.mark.parametrize(
    "made", [comparison(), failed(), comparison(2.0, complete=False), comparison(outputs=outputs(different_leaf()))]
)
def test_a_comparison_comes_back_as_it_was(made):
    assert same(from_json(through_text(to_json(made))), made)


@given(st.floats(), st.floats(), st.floats() | st.none(), st.lists(st.floats(), max_size=4), st.integers())
def test_every_number_comes_back_exactly(one, two, three, several, whole):
    clocks = ({"wall": Timing(tuple(several))}, {"wall": Timing(())})
    found = leaf(
        max_abs=Extreme(value=one, at=(), reference=two, target="1+2j"), rmse=three, level=two,
        max_rel=Extreme(value=whole, at=(0, whole), reference=whole, target=one),
    )  # fmt: skip
    made = comparison(
        outputs=outputs(found),
        metrics=(metric("m", three, one, "different", allowed=two),),
        speedups=(speedup(1.5, three, two),),
        measurements=(Measurement(clocks, (1, 2), (0, 0), one),),
        target=inductor(evaluation=Evaluation({"a": one, "b": two}, {})),
    )

    assert same(from_json(through_text(to_json(made))), made)


def test_the_text_has_no_bare_nan_or_infinity():
    made = comparison(metrics=(metric("m", math.nan, math.inf, "different"),), seconds=-math.inf, measurements=())

    text = json.dumps(to_json(made), allow_nan=False)

    assert '"nan"' in text
    assert '"inf"' in text
    assert not re.search(r"(?<!\")\b(NaN|Infinity)\b", text)


def test_what_a_reader_would_derive_stands_beside_the_records():
    made = comparison()

    document = to_json(made)

    assert document["schema"] == "libbench.comparison"
    assert document["version"] == 1
    derived = document["derived"]
    assert derived["headline"] == headline(made)
    assert derived["exit_code"] == 0
    assert derived["median_seconds"] == {"reference": {"wall": 4.1e-4}, "target": {"wall": 2.2e-4}}
    assert derived["first_call_seconds"] == {"reference": 0.003, "target": 17.4}
    assert derived["pays_off_after_calls"] == pytest.approx((17.4 - 0.003) / (412e-6 * (1 - 1 / 1.83)), rel=1e-3)


def test_a_result_comes_back_as_it_was():
    made = inductor(timings=(measurement().clocks[0],) * 2)

    document = through_text(result_to_json(made))

    assert same(result_from_json(document), made)
    assert document["derived"]["median_seconds"] == {"wall": 4.1e-4}


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"version": 2}, "reads up to version 1"),
        ({"version": "1"}, "wanted a version"),
        ({"version": 0}, "wanted a version"),
        ({"schema": "libbench.result"}, "wanted a document of schema 'libbench.comparison', got 'libbench.result'"),
        ({"schema": None}, "got None"),
        ({"comparison": {}}, "is not a libbench.comparison"),
        ({"comparison": []}, "is not a libbench.comparison"),
        ({"comparison": {"reference": 1, "target": 2}}, "is not a libbench.comparison"),
    ],
)
def test_another_document_is_refused(change, text):
    with pytest.raises(LibbenchError, match=re.escape(text)):
        from_json({**to_json(comparison()), **change})


@pytest.mark.parametrize("document", [{}, [], "text", None])
def test_what_is_no_document_is_refused(document):
    with pytest.raises(LibbenchError, match="wanted a document of schema"):
        from_json(document)


def test_a_field_that_is_not_known_is_left_out():
    document = to_json(comparison())
    document["comparison"]["later"] = 1

    assert same(from_json(document), comparison())


def records(kind, found=None):
    """Give every dataclass that can be reached from a type."""
    found = {} if found is None else found
    if dataclasses.is_dataclass(kind):
        if kind not in found:
            found[kind] = [field.name for field in dataclasses.fields(kind)]
            for inner in get_type_hints(kind).values():
                records(inner, found)
    elif get_origin(kind) in (Union, types.UnionType, tuple, Mapping):
        for inner in get_args(kind):
            records(inner, found)
    elif get_origin(kind) not in (None, Literal):
        raise AssertionError(f"a kind of field that the test does not look into: {kind}")
    return found


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        pytest.param(kind, fields, id=kind.__name__)
        for kind, fields in (records(Comparison) | records(Decisive) | records(Scores) | records(History)).items()
    ],
)
def test_the_documentation_names_every_field_and_no_other(kind, fields):
    (section,) = re.findall(rf"^## {kind.__name__}\n(.*?)(?=^## |\Z)", DOCS.read_text(), re.DOTALL | re.MULTILINE)

    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == fields


def test_the_documentation_names_everything_around_the_records():
    section = DOCS.read_text().partition("## The document")[2].partition("\n## Comparison")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    located = Located(reference="a", target="b", verdict="same")
    decisive = Decisive(reference="a", target="b", of="outputs", verdict="same")
    documents = (
        to_json(comparison()), result_to_json(inductor()), located_to_json(located), decisive_to_json(decisive),
    )  # fmt: skip

    assert named == {name for document in documents for name in (*document, *document["derived"])}
    assert Result in records(Comparison)

"""Records go to JSON and come back as they were."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libbench.measured import Measurement, Timing
from libbench.records import decode, encode, write_json
from libbench.result import CompileFacts, Failure, Preparation


@dataclass(frozen=True)
class Inner:
    value: float
    kind: Literal["a", "b"] = "a"


@dataclass(frozen=True)
class Outer:
    many: tuple[Inner, ...]
    pair: tuple[int, str | None]
    by_name: Mapping[str, float]
    by_index: Mapping[int, int] = field(default_factory=dict)
    perhaps: Inner | None = None
    flag: bool = False


inners = st.builds(Inner, st.floats(), st.sampled_from(["a", "b"]))
outers = st.builds(
    Outer,
    st.lists(inners).map(tuple),
    st.tuples(st.integers(), st.none() | st.text()),
    st.dictionaries(st.text(), st.floats()),
    st.dictionaries(st.integers(), st.integers()),
    st.none() | inners,
    st.booleans(),
)


@given(outers)
def test_any_record_comes_back_from_its_text(record):
    text = json.dumps(encode(record), allow_nan=False)

    back = decode(Outer, json.loads(text))

    assert repr(back) == repr(record)


def test_floats_that_json_lacks_are_words():
    assert [encode(value) for value in (math.nan, math.inf, -math.inf)] == ["nan", "inf", "-inf"]


def test_the_records_of_a_run_come_back():
    facts = CompileFacts(graphs=1, fallbacks=("aten::foo",))
    preparation = Preparation({"first": 0.5}, "eager", facts, None, 3, None, 2, "same", ("x",), 100)
    measurement = Measurement(({"wall": Timing((1.0, 2.0))},), (1,), (6,), 0.1)
    failure = Failure("compile", "signal", "killed by SIGSEGV")

    for record in (preparation, measurement, failure):
        assert decode(type(record), json.loads(json.dumps(encode(record)))) == record


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (Inner, {"value": "x"}),
        (Inner, {"value": 10**400}),
        (Outer, {"many": [], "pair": [1], "by_name": {}}),
        (Inner, {"value": 1.0, "kind": "c"}),
        (Inner, [1.0]),
        (int, True),
        (int, 1.5),
        (str, None),
    ],
)
def test_data_that_does_not_fit_is_refused(kind, data):
    with pytest.raises(TypeError, match="wanted"):
        decode(kind, data)


def test_a_record_of_a_newer_version_can_be_read():
    assert decode(Inner, {"value": 1.0, "colour": "red"}) == Inner(1.0)


def test_what_is_not_a_record_is_named():
    with pytest.raises(TypeError, match="object"):
        encode({"a": object()})


def test_a_link_is_followed_and_what_is_no_file_is_written_to(tmp_path):
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)

    write_json(tmp_path / "link.json", {"a": 1})
    write_json(tmp_path / "pipe", {"b": 2})

    assert json.loads((tmp_path / "real.json").read_text()) == {"a": 1}
    assert (tmp_path / "link.json").is_symlink()
    assert json.loads(os.read(reader, 1000)) == {"b": 2}
    os.close(reader)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    file = tmp_path / "sub" / "found.json"
    write_json(file, {"a": 1})

    with pytest.raises(ValueError, match="JSON"):
        write_json(file, {"a": math.nan})

    assert json.loads(file.read_text()) == {"a": 1}
    assert [path.name for path in file.parent.iterdir()] == ["found.json"]

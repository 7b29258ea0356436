"""Rows on disk: what a kill, a second run and a stranger's file do to them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libbench.errors import LibbenchError
from libbench.rowfile import RowFile, read_rows


def written(path, keys):
    with RowFile(path) as file:
        for number, key in enumerate(keys):
            file.add(key, {"number": number})
    return path


def test_rows_come_back_in_their_order_and_the_later_of_one_key_counts(tmp_path):
    path = written(tmp_path / "deep" / "rows.jsonl", ["a", "b", "a"])

    assert list(read_rows(path)) == [{"key": "a", "number": 2}, {"key": "b", "number": 1}]
    with RowFile(path) as file:
        assert file.read("a") == {"key": "a", "number": 2}


@given(cut=st.integers(0, 200), keys=st.lists(st.sampled_from(["a", "b", "c", "ü"]), max_size=6))
def test_wherever_a_file_is_cut_off_the_whole_rows_stand_and_the_next_one_follows_them(tmp_path_factory, cut, keys):
    path = written(tmp_path_factory.mktemp("rows") / "rows.jsonl", keys)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    kept = whole[:cut].count(b"\n")

    with RowFile(path) as file:
        assert file.rows.keys() == set(keys[:kept])
        file.add("new", {"number": -1})

    numbers = [json.loads(line)["number"] for line in path.read_text().splitlines()]
    assert numbers == [*range(kept), -1]


def test_a_second_run_is_refused_as_long_as_the_first_has_the_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    with RowFile(path), pytest.raises(LibbenchError, match=r"rows\.jsonl is being written by another run"):
        RowFile(path)

    RowFile(path).close()


@pytest.mark.parametrize("line", ["{}", "[1]", "garbage", '{"key": 3}', ""])
def test_a_file_that_holds_something_else_is_left_as_it_is_and_its_line_named(tmp_path, line):
    path = written(tmp_path / "rows.jsonl", ["a"])
    path.write_text(path.read_text() + line + "\n")
    before = path.read_bytes()

    with pytest.raises(LibbenchError, match=r"rows\.jsonl:2 is no row: wanted a JSON object with 'key'"):
        RowFile(path)
    with pytest.raises(LibbenchError, match=r"rows\.jsonl:2"):
        list(read_rows(path))
    assert path.read_bytes() == before


def test_a_row_is_plain_json_without_bare_nan(tmp_path):
    with RowFile(tmp_path / "rows.jsonl") as file, pytest.raises(ValueError, match="JSON"):
        file.add("a", {"value": float("nan")})
    assert (tmp_path / "rows.jsonl").read_bytes() == b""

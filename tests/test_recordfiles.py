"""Records on disk: everything a record may hold comes back as it was."""

import math
from contextlib import closing

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from libbench.errors import LibbenchError
from libbench.recordfiles import LINES, RecordWriter, load_records
from libbench.tree import fingerprint


def written(folder, *batches):
    with closing(RecordWriter(folder)) as writer:
        for records in batches:
            writer.add(records)
    return load_records(folder)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.integers(0), plain))
def test_numbers_texts_and_containers_come_back_as_they_were(tmp_path_factory, records):
    found = written(tmp_path_factory.mktemp("records"), records)

    assert list(found) == sorted(records)
    assert fingerprint(found) == fingerprint(dict(sorted(records.items())))


@pytest.mark.parametrize(
    "value",
    [
        torch.randn(3, 2),
        torch.randn(4, 6)[1, ::2],
        torch.tensor(1.5, dtype=torch.bfloat16),
        torch.tensor([1 + 2j]),
        torch.zeros(0, 3),
        torch.ones(2, requires_grad=True),
        np.arange(6.0).reshape(2, 3).T,
        np.float32(0.1),
        np.int64(3),
        np.bool_(True),
        {"nested": [torch.ones(2), (np.ones(1), "text")]},
    ],
)
def test_tensors_and_arrays_come_back_in_kind_dtype_shape_and_value(tmp_path, value):
    found = written(tmp_path, {0: value, 1: "other"}, {2: value})

    assert fingerprint(found[0]) == fingerprint(found[2]) == fingerprint(value)
    assert type(found[0]) is type(value)


def test_not_a_number_and_infinity_are_no_text(tmp_path):
    found = written(tmp_path, {0: math.nan, 1: "nan", 2: -math.inf, 3: "-inf"})

    assert math.isnan(found[0])
    assert found | {0: 0} == {0: 0, 1: "nan", 2: -math.inf, 3: "-inf"}


def test_a_line_can_be_read_as_soon_as_it_is_written_and_one_cut_off_is_left_out(tmp_path):
    writer = RecordWriter(tmp_path)
    writer.add({0: 1.0})
    assert load_records(tmp_path) == {0: 1.0}

    with (tmp_path / LINES).open("a") as file:
        file.write('{"tensors": null, "rec')

    assert load_records(tmp_path) == {0: 1.0}
    writer.close()


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", np.array(["text"]), [print]])
def test_what_cannot_be_kept_is_an_error_that_names_the_sample(tmp_path, value):
    with pytest.raises(TypeError, match="the record of sample 4 cannot be kept: a "):
        written(tmp_path, {4: value})


@pytest.mark.parametrize("text", ["{", "[]", '{"tensors": null}', '{"tensors": 3, "records": []}',
                                  '{"tensors": null, "records": [[0, {"pickle": "x"}]]}'])  # fmt: skip
def test_a_damaged_file_is_an_error_that_names_file_and_line(tmp_path, text):
    (tmp_path / LINES).write_text('{"tensors": null, "records": [[0, 1]]}\n' + text + "\n")

    with pytest.raises(LibbenchError, match="records.jsonl cannot be read, line 2|cannot be read as a saved snapshot"):
        load_records(tmp_path)


def test_a_folder_without_records_says_so(tmp_path):
    with pytest.raises(LibbenchError, match="has no records.jsonl: the side was run without an evaluator"):
        load_records(tmp_path)

"""Records go to disk and come back as they were; several ranks' records become one."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from libbench.errors import LibbenchError
from libbench.evaluation import merge_records
from libbench.recorded import load_records, save_records

PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
RECORDS = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.integers(0, 2**40), RECORDS, max_size=4))
def test_plain_records_come_back_equal_and_of_the_same_types(tmp_path_factory, records):
    folder = tmp_path_factory.mktemp("records")

    save_records(records, folder)

    assert repr(load_records(folder)) == repr(records)


def test_tensors_arrays_and_numbers_of_numpy_come_back_bit_by_bit(tmp_path):
    record = {
        "half": torch.tensor([1.5, float("nan")], dtype=torch.float16),
        "view": torch.arange(6).reshape(2, 3).t(),
        "complex": np.array([1 + 2j]),
        "single": np.float32(0.1),
        "flag": np.bool_(True),
    }

    save_records({3: record, 1: (record["half"],)}, tmp_path / "new")
    back = load_records(tmp_path / "new")

    assert list(back) == [3, 1]
    torch.testing.assert_close(back[3]["half"], record["half"], rtol=0, atol=0, equal_nan=True)
    assert back[3]["view"].tolist() == record["view"].tolist()
    assert back[3]["complex"].tolist() == [1 + 2j]
    assert [type(back[3][name]) for name in ("single", "flag")] == [np.float32, np.bool_]
    assert back[3]["single"] == np.float32(0.1)


def test_a_record_that_cannot_be_written_is_told_with_its_index(tmp_path):
    with pytest.raises(LibbenchError, match="the record of index 7 .* a object is none of numbers, strings, tensors"):
        save_records({7: [object()]}, tmp_path)


def test_a_union_is_in_index_order_and_the_first_part_counts():
    assert list(merge_records([{4: "a", 0: "b"}, {0: "c", 2: "d"}]).items()) == [(0, "b"), (2, "d"), (4, "a")]
    assert merge_records([]) == {}

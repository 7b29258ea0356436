import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from libbench.report.words import (
    apart,
    cut,
    figure,
    nbytes,
    one_line,
    ratio,
    rounded_up,
    seconds,
    shorten,
    shortened,
    span,
)

ANY_FLOAT = st.floats()
ANY_TEXT = st.text()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"), (4.12e-4, "412 us"), (3.1e-3, "3.10 ms"), (17.4, "17.4 s"), (5e-8, "50.0 ns"), (93.04, "93.0 s"),
        (0.9996, "1.00 s"), (0.9994, "999 ms"), (720, "12.0 min"), (40_000, "11.1 h"), (None, "-"), (math.nan, "nan"),
    ],
)  # fmt: skip
def test_seconds_are_shown_with_the_unit_that_suits_them(value, text):
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (14_200_000, "14.2 MB"), (999_999, "1.00 MB"), (None, "-")],
)
def test_bytes_are_shown_with_a_decimal_unit(value, text):
    assert nbytes(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (2.4e-07, "2.40e-07"), (0.125, "0.125"), (1234.5, "1,230"), (math.inf, "inf"),
        (-math.inf, "-inf"), (math.nan, "nan"), (None, "-"), (1_234_567, "1,234,567"), (2**200, "1.61e+60"),
        (10**400, "1.00e+400"), ("1+2j", "1+2j"),
    ],
)  # fmt: skip
def test_a_figure_has_no_more_digits_than_it_deserves(value, text):
    assert figure(value) == text


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ((1.83, 1.79, 1.88), ("1.83", "1.79", "1.88")),
        ((1.0, 0.9961, 1.0042), ("1.000", "0.996", "1.004")),
        ((0.55, 0.54, 0.57), ("0.55", "0.54", "0.57")),
        ((12.34, 11.9, 12.8), ("12.3", "11.9", "12.8")),
        ((0.0123, 0.012, 0.0126), ("0.0123", "0.0120", "0.0126")),
        ((2.5, None, None), ("2.50", "-", "-")),
        ((math.inf, math.nan, None), ("inf", "nan", "-")),
    ],
)
def test_a_ratio_has_the_decimals_that_its_interval_deserves(given, texts):
    assert ratio(*given) == texts


@given(ANY_FLOAT, ANY_FLOAT)
def test_two_unequal_numbers_never_look_alike(one, two):
    texts = apart(one, two)

    assert (texts[0] == texts[1]) == (one == two or (math.isnan(one) and math.isnan(two)))


@given(ANY_FLOAT, ANY_FLOAT | st.none(), ANY_FLOAT | st.none())
def test_no_number_is_too_strange_to_be_shown(one, two, three):
    assert all([figure(one), seconds(one), *ratio(one, two, three), rounded_up(abs(one))])


@given(ANY_TEXT, st.integers(2, 40))
def test_a_shortened_text_fits_whatever_its_letters_are(text, width):
    assert cell_len(shorten(text, width)) <= width
    assert cell_len(cut(text, width)) <= width


def test_a_long_name_keeps_both_its_ends():
    assert shorten("model.encoder.layers.11.attention.keys", 20) == "model.enco…tion.keys"


def test_what_disturbs_a_terminal_is_taken_out():
    assert one_line("a\x1b[31mred\x1b[0m\n\tb\x07\u202e") == "ared b"


def test_counts_are_rounded_up():
    assert [rounded_up(x) for x in (1.2, 93_001, 99_999)] == ["2", "94,000", "100,000"]


def test_a_span_of_equal_counts_is_one_count():
    assert [span([150, 150]), span([120, 150]), span([])] == ["150", "120 to 150", "0"]


def test_long_texts_are_shortened_so_that_different_ones_look_different():
    names = [f"transformer.h.{i}.{part}.c_proj.weight" for i in range(12) for part in ("attn", "mlp")]

    shown = shortened(names, 24)

    assert len(set(shown)) == len(names)
    assert shown[:3] == ["transfor…0.attn…j.weight", "transform…0.mlp…j.weight", "transfor…1.attn…j.weight"]
    assert shortened(["short", names[0], "short"], 20)[::2] == ["short", "short"]


@given(st.lists(st.text(alphabet="ab.é漢", max_size=40), max_size=6), st.integers(8, 30))
def test_shortened_texts_fit_and_stay_apart(texts, width):
    shown = shortened(texts, width)

    assert all(cell_len(line) <= width for text in shown for line in text.split("\n"))
    assert len(set(shown)) == len({one_line(text) for text in texts})

"""Logs of a GraphNet bench, with all that stands in them besides."""

import math
import random

import pytest
from bench_logs import PROMPT, Told, log_of

from libbench.benchlog import samples_of
from libbench.errors import LibbenchError

PLAIN = Told("samples/timm/net", (("float32", -6.0), ("int64", -math.inf)), 1.2345678901234567)


def read(text):
    return samples_of(text.splitlines(keepends=True), "a.log")


def test_a_sample_passes_by_the_level_of_its_dtypes_and_keeps_every_digit_of_its_speedup():
    (found,) = read(log_of([PLAIN]))

    assert found.name == "samples/timm/net"
    assert found.passes == tuple(range(-6, 6))
    assert found.speedup == 1.2345678901234567
    assert (found.error, found.doubt, found.speed) == (None, None, None)


@pytest.mark.parametrize(
    ("dtype", "lowest", "passes"),
    [
        ("float16", -3.0, range(-3, 6)),
        ("bfloat16", -3.0, range(-3, 6)),
        ("float64", -3.0, range(-3, 6)),
        ("int64", -math.inf, range(-10, 6)),
        ("complex64", -math.inf, range(-10, 6)),
        ("bool", math.inf, ()),
    ],
)
def test_a_dtype_without_levels_has_to_be_equal(dtype, lowest, passes):
    (found,) = read(log_of([Told("a", ((dtype, lowest),))]))

    assert found.passes == tuple(passes)
    assert found.error == (None if passes else "accuracy")


@pytest.mark.parametrize("failed", ["reference", "compile", "runtime", "shape", "type"])
def test_how_a_side_failed_is_told_by_its_lines(failed):
    (found,) = read(log_of([Told("a", failed=failed)]))

    assert (found.error, found.passes) == (failed, ())
    assert found.doubt == ("reference" if failed == "reference" else None)


def test_text_from_elsewhere_changes_nothing():
    told = [PLAIN, Told("b", failed="compile"), Told("c", (("float16", 2.0),))]

    assert read(log_of(told, random.Random(1))) == read(log_of(told))


@pytest.mark.parametrize(
    "line",
    [
        "UserWarning: Error: the cache is read-only\n",
        "Exception: ignored in an atexit callback\n",
        f"{PROMPT} [Warning] Error: it is slow\n",
        "all_close_atol was called, [Correctness] is not known\n",
        "[Speedup] of the cache: none\n",
        "[Datatype] eager is float32\n",
        "\n",
    ],
)
def test_a_warning_with_a_telling_word_changes_nothing(line):
    lines = log_of([PLAIN, Told("b", failed="compile")]).splitlines(keepends=True)
    for place in (3, 8, 20, len(lines) - 2):
        assert samples_of([*lines[:place], line, *lines[place:]]) == samples_of(lines)


def test_what_stands_before_a_tag_in_its_line_is_passed_over():
    text = log_of([PLAIN]).replace(f"{PROMPT} [Speedup]", f"  0%|   | 0/3{PROMPT} [Speedup]")

    assert read(text) == read(log_of([PLAIN]))


def test_a_line_that_was_cut_off_does_not_pass():
    text = log_of([PLAIN])
    cut = text.replace("[all_close_atol_1.00E-06_rtol_8.65E-08]: 1 1", "[all_close_atol_1.00E-06_rtol_8.65E-08]: 1 1x")
    assert cut != text

    assert read(text)[0].passes == tuple(range(-6, 6))
    # The second output is an integer, of which that line does not speak.
    assert read(cut)[0].passes == tuple(range(-6, 6))
    assert read(cut.replace("1.00E-06_rtol_8.65E-08]: 1", "1.00E-06_rtol_8.65E-08]: x"))[0].passes == tuple(
        range(-5, 6)
    )


def test_nothing_compared_is_no_pass():
    lines = [line for line in log_of([PLAIN]).splitlines() if "Correctness" not in line]
    (found,) = samples_of(lines)

    assert (found.error, found.passes, found.doubt) == ("unjudged", (), "unjudged")


def test_a_target_that_failed_is_not_judged_by_what_an_older_run_has_left():
    lines = log_of([PLAIN]).splitlines()
    first = next(i for i, line in enumerate(lines) if "[Datatype]" in line)
    status = [f"{PROMPT} [Result][status] eager:success", f"{PROMPT} [Result][status] eager:failed"]
    rest = [line for line in lines[first:] if "[Result]" not in line]

    (found,) = samples_of([*lines[:first], *status, *rest])

    assert (found.error, found.passes) == ("runtime", ())


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (["eager:success", "eager:failed"], "runtime"),
        (["eager:success compiled:failed"], "runtime"),
        (["eager:failed", "eager:success"], "reference"),
        (["eager:success compiled:success"], "unjudged"),
        ([], "reference"),
    ],
)
def test_a_sample_without_outputs_is_told_by_its_status(status, error):
    lines = [f"{PROMPT} [Processing] a", *(f"{PROMPT} [Result][status] {each}" for each in status)]

    assert samples_of(lines)[0].error == error


def test_outputs_that_are_not_finite_elsewhere_are_compared_without_tolerances():
    lines = [line for line in log_of([PLAIN]).splitlines() if "[Shape]" not in line and "all_close" not in line]

    assert samples_of(lines)[0].error == "nan"


def test_samples_that_are_announced_by_number_are_read_too():
    body = "".join(line + "\n" for line in log_of([PLAIN]).splitlines()[1:])
    text = f"[0] eval_backend_diff, model_path: /s/a\n{body}[1] eval_backend_diff, model_path: /s/b\n{body}"

    assert [each.name for each in read(text)] == ["/s/a", "/s/b"]
    announced = f"[0] eval_backend_diff, model_path: /s/a\n{PROMPT} [Processing] /s/a\n{body}"
    assert [each.name for each in read(announced)] == ["/s/a"]


def test_a_sample_that_comes_twice_counts_twice():
    assert len(read(log_of([PLAIN, PLAIN]))) == 2


@pytest.mark.parametrize("text", ["", "hello\n", "[Config] model: a\n"])
def test_a_text_without_samples_is_no_log(text):
    with pytest.raises(LibbenchError, match=r"a\.log has no sample: wanted lines with \[Processing\] and a path"):
        read(text)


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "fast"])
def test_a_speedup_that_is_none_is_told_with_its_line(value):
    text = log_of([Told("a")]).replace("[Speedup][e2e]: 1.25", f"[Speedup][e2e]: {value}")

    with pytest.raises(LibbenchError, match=rf"a\.log:\d+: wanted a speedup above 0, got '{value}'"):
        read(text)

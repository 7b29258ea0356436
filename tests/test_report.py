import dataclasses
import math
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_records import (
    CHANGE,
    comparison,
    different_leaf,
    failed,
    inductor,
    leaf,
    measurement,
    metric,
    outputs,
    side,
    speedup,
)
from rich.cells import cell_len

import libbench.job
from libbench.config.places import short
from libbench.findings import Extreme, OutputsReport
from libbench.measured import NullArm
from libbench.report.text import headline, render, render_many, render_result
from libbench.result import Comparison, CompileFacts, Evaluation, Failure, Result

FASTER = "1.83x FASTER (95 % interval 1.79 to 1.88)"
BFLOAT16 = different_leaf(
    dtypes=("float32", "bfloat16"),
    reasons=(
        "dtype float32 in the reference, bfloat16 in the target",
        "3,570 of 3,600 values are not within rtol 1.3e-06 and atol 1e-05",
    ),
    mismatches=3570,
)
NOT_REACHED = {"outputs": None, "inputs": None, "metrics": (), "measurements": (), "speedups": ()}
BROKEN = Failure("evaluate", "exception", "ValueError: no weights")
SKIPPED = OutputsReport(verdict="unjudged", skipped=(("the reference has no batch with the same indices", 6),))
STOCHASTIC = side(preparation=dataclasses.replace(side().preparation, repeats="logits 3,600 of 3,600 values differ"))

CASES = {
    "same": (comparison(), 0, f"SAME OUTPUTS · {FASTER}"),
    "slower": (
        comparison(speedups=(speedup(0.55, 0.54, 0.57, "slower"),)),
        0,
        "SAME OUTPUTS · 0.55x: SLOWER (95 % interval 0.54 to 0.57)",
    ),
    "level": (
        comparison(speedups=(speedup(1.0, 0.9962, 1.0041, "level"),)),
        0,
        "SAME OUTPUTS · no measurable difference in speed (95 % interval 0.996 to 1.004)",
    ),
    "inconclusive": (
        comparison(speedups=(speedup(1.2, 0.9, 1.5, "inconclusive"),)),
        0,
        "SAME OUTPUTS · speed inconclusive (1.20x, 95 % interval 0.90 to 1.50)",
    ),
    "few pairs": (
        comparison(speedups=(speedup(1.2, None, None, "inconclusive", note="no interval: fewer than 6 pairs"),)),
        0,
        "SAME OUTPUTS · speed inconclusive (1.20x, no interval: fewer than 6 pairs)",
    ),
    "not timed": (comparison(speedups=()), 0, "SAME OUTPUTS · speed not measured"),
    "other values": (
        comparison(outputs=outputs(different_leaf())),
        1,
        f"DIFFERENT OUTPUTS: logits: 12 of 3,600 values out of tolerance · metrics within tolerance · {FASTER}",
    ),
    "other dtype": (
        comparison(outputs=outputs(BFLOAT16)),
        1,
        "DIFFERENT OUTPUTS: logits: bfloat16, not float32; 3,570 of 3,600 values out of tolerance"
        f" · metrics within tolerance · {FASTER}",
    ),
    "other structure": (
        comparison(
            outputs=outputs(leaf(), leaf("b", "different"), verdict="different", reasons=("b: only in the target",)),
            metrics=(),
        ),
        1,
        f"DIFFERENT OUTPUTS: b: only in the target · {FASTER}",
    ),
    "other metric": (
        comparison(metrics=(metric(target=0.95, verdict="different"),)),
        1,
        f"DIFFERENT METRICS: top1 0.9722 against 0.9500 · SAME OUTPUTS · {FASTER}",
    ),
    "all differ": (
        comparison(
            outputs=outputs(different_leaf(), different_leaf("b")),
            metrics=(metric(target=math.nan, verdict="different"), metric("f1", 1.0, None, "different")),
        ),
        1,
        "DIFFERENT OUTPUTS: logits: 12 of 3,600 values out of tolerance (and 1 more)"
        f" · DIFFERENT METRICS: top1 0.9722 against nan (and 1 more) · {FASTER}",
    ),
    "only metrics": (
        comparison(outputs=SKIPPED, inputs=None),
        0,
        "SAME METRICS (outputs not compared: the reference has no batch with the same indices)" f" · {FASTER}",
    ),
    "only metrics, and they differ": (
        comparison(outputs=SKIPPED, inputs=None, metrics=(metric(target=0.0, verdict="different"),)),
        1,
        f"DIFFERENT METRICS: top1 0.9722 against 0 · {FASTER}",
    ),
    "nothing compared": (
        comparison(outputs=SKIPPED, inputs=None, metrics=()),
        2,
        "CANNOT BE JUDGED: outputs not compared: the reference has no batch with the same indices" f" · {FASTER}",
    ),
    "nothing at all": (
        comparison(**NOT_REACHED),
        2,
        "CANNOT BE JUDGED: no output and no metric was compared · speed not measured",
    ),
    "some batches": (
        comparison(outputs=outputs(leaf(), skipped=(("not kept", 3),))),
        0,
        f"SAME OUTPUTS (6 of 9 batches compared) · {FASTER}",
    ),
    "other inputs": (comparison(inputs=None), 0, f"SAME OUTPUTS (inputs differ) · {FASTER}"),
    "a leaf without values": (
        comparison(outputs=outputs(leaf("w", "unjudged", reasons=("holds no values",)))),
        2,
        f"CANNOT BE JUDGED: w: holds no values · metrics within tolerance · {FASTER}",
    ),
    "stochastic": (
        comparison(reference=STOCHASTIC),
        2,
        "CANNOT BE JUDGED: the reference is stochastic: logits 3,600 of 3,600 values differ"
        f" · {FASTER}",
    ),
    "reference failed": (
        comparison(reference=side(failure=BROKEN), **NOT_REACHED),
        2,
        "REFERENCE FAILED in evaluate: ValueError: no weights",
    ),
    "target failed": (failed(), 1, "TARGET FAILED in compile: BackendCompilerFailed: unsupported operator aten::foo"),
    "target failed late": (
        comparison(target=inductor(failure=Failure("measure", "signal", "SIGSEGV")), measurements=(), speedups=()),
        1,
        "TARGET FAILED in measure: SIGSEGV · before that: SAME OUTPUTS",
    ),
    "target failed halfway": (
        comparison(
            target=inductor(failure=Failure("evaluate", "timeout", "600 s")), outputs=outputs(leaf(), batches=2),
            metrics=(), measurements=(), speedups=(),
        ),
        1,
        "TARGET FAILED in evaluate: 600 s · before that: SAME OUTPUTS (2 of 6 batches compared)",
    ),
    "target not available": (
        failed(kind="unavailable", message="UnavailableError: no C++ compiler"),
        2,
        "CANNOT BE JUDGED: the target is not available here in compile: UnavailableError: no C++ compiler",
    ),
    "interrupted": (
        comparison(complete=False, measurements=(), speedups=()), 2, "INTERRUPTED · before that: SAME OUTPUTS",
    ),
    "interrupted early": (
        comparison(complete=False, **NOT_REACHED), 2, "INTERRUPTED · before anything was compared",
    ),
    "nothing compiled": (
        comparison(target=inductor(facts=CompileFacts(graphs=0))),
        0,
        "SAME OUTPUTS · NO SPEEDUP; the target was NOT COMPILED",
    ),
    "compiled and never run": (
        comparison(1.2, target=inductor(facts=CompileFacts(graphs=2, calls=0))),
        2,
        "SAME OUTPUTS · NO SPEEDUP; the target was NOT COMPILED · "
        "CANNOT BE JUDGED: whether it is at least 1.2x as fast",
    ),
    "too slow": (comparison(2.0), 1, f"SAME OUTPUTS · {FASTER} · TOO SLOW: wanted at least 2x"),
    "fast enough?": (
        comparison(1.85), 2, f"SAME OUTPUTS · {FASTER} · CANNOT BE JUDGED: whether it is at least 1.85x as fast",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_headline_says_what_was_found(case):
    made, _, text = CASES[case]

    assert headline(made) == text


@pytest.mark.parametrize("case", CASES)
def test_the_headline_agrees_with_the_exit_code(case):
    made, code, text = CASES[case]

    assert made.exit_code == code
    assert code != 0 or text.startswith("SAME")
    assert code != 1 or any(word in text for word in ("DIFFERENT", "TARGET FAILED", "TOO SLOW"))
    assert code != 2 or any(word in text for word in ("CANNOT BE JUDGED", "REFERENCE FAILED", "INTERRUPTED"))


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_report_begins_with_the_headline_and_fits_the_width(case, verbose):
    made, _, text = CASES[case]

    lines = render(made, verbose=verbose).splitlines()

    first = " ".join(lines[: lines.index("")])
    assert first.replace(" · ", " ").split() == text.replace(" · ", " ").split()
    assert max(map(cell_len, lines)) <= 100


def test_outputs_that_differ_and_metrics_that_agree_are_both_in_the_first_two_lines():
    lines = render(comparison(outputs=outputs(BFLOAT16))).splitlines()

    assert lines[0] == "DIFFERENT OUTPUTS: logits: bfloat16, not float32; 3,570 of 3,600 values out of tolerance"
    assert lines[1] == f"metrics within tolerance · {FASTER}"


LONG = "model.encoder.layers.11.attention.self.query_key_value.past_key_values.0.keys"
NASTY = comparison(
    reference=side("r" * 150),
    target=side("日本語" * 60, environment={**side().environment, "torch": "2.6" * 50}, metrics={}),
    changes=(
        CHANGE,
        dataclasses.replace(CHANGE, kind="added", path=LONG * 2, reference="", target="Foo(" + "a=1, " * 400 + ")"),
        dataclasses.replace(CHANGE, path="x" * 300, reference="y" * 300, target_origin="/very/long" * 20),
    ),
    outputs=outputs(
        *(
            different_leaf(
                f"{LONG}.{i}",
                dtypes=("float32", "transformers.cache_utils.DynamicCacheWithAVeryLongName" * 2),
                shapes=((8, 12, 1024, 64), (1,) * 40),
                elements=123_456_789_012,
                mismatches=98_765_432_109,
                max_abs=Extreme(value=10**400, at=(1,) * 30, reference=10**400, target=0),
                max_rel=Extreme(value=math.inf, at=(0,), reference=0.0, target=math.nan),
                level=math.inf, rmse=math.nan, cosine=None, snr_db=-math.inf, nans=(3, 10**12),
                reasons=("why " * 200, "x" * 500), notes=("\x1b[31m" + "note " * 40,),
            )
            for i in range(30)
        ),
        reasons=tuple(f"{LONG}.{i}: only in the target" for i in range(40)),
        notes=("\x1b[31mred\x1b[0m\r\n" * 50,),
        skipped=(("because " * 40, 10**9),),
    ),
    inputs=None,
    metrics=tuple(
        metric(f"{LONG * 2}{i}", values[0], values[1], "different", note="because " * 30)
        for i, values in enumerate([(math.nan, 1e300), (None, -math.inf), (1e-300, -1.23456789e-300)] * 10)
    ),
    speedups=(
        speedup(1e-9, 1e-10, 2e-9, "slower", clock="c" * 80),
        speedup(1e12, math.nan, math.inf, "inconclusive", clock="gpu", note="note " * 60),
    ),
    notes=("x" * 500, "word " * 100),
)  # fmt: skip


@pytest.mark.parametrize("width", [80, 100, 140])
@pytest.mark.parametrize("verbose", [False, True])
def test_no_value_and_no_name_makes_a_line_too_wide(verbose, width):
    text = render(NASTY, verbose=verbose, width=width)

    assert max(map(cell_len, text.splitlines())) <= width
    assert "\x1b" not in text


@pytest.mark.parametrize("colour", [False, True])
def test_escape_sequences_come_only_with_colour(colour, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")

    texts = [render(comparison(), colour=colour), render_many([comparison(), failed()], colour=colour)]

    assert [("\x1b[" in text) for text in texts] == [colour, colour]


def test_no_colour_in_the_environment_does_not_take_the_colour_that_was_asked_for(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "20")

    assert "\x1b[1;32mSAME OUTPUTS" in render(comparison(), colour=True)


def test_the_config_difference_has_its_values_and_where_they_were_written():
    text = render(comparison())

    assert "1 of 11 parts differs" in text
    assert "compiler  Eager()  ->  TorchCompile(backend='inductor')" in text
    assert "eager.py:7, inductor.py:4" in text


def test_a_line_of_the_sides_own_config_is_named_by_its_file_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = dataclasses.replace(side().job, file=str(tmp_path / "configs" / "a.py"))
    change = dataclasses.replace(CHANGE, reference_origin="configs/a.py:3", target_origin="configs/common/b.py:4")

    text = render(comparison(reference=side(job=job), changes=(change,)))

    assert "reference    configs/a.py\n" in text
    assert "  a.py:3, configs/common/b.py:4\n" in text


def test_a_part_that_no_config_names_is_called_a_default():
    change = dataclasses.replace(CHANGE, reference_origin=f"{short(libbench.job.__file__)}:140")

    assert "default, inductor.py:4" in render(comparison(changes=(change,)))


def test_a_change_that_does_not_count_is_shown_only_when_all_is_asked_for():
    change = dataclasses.replace(CHANGE, kind="default", path="compiler.mode", counted=False)

    texts = [render(comparison(changes=(change,)), verbose=verbose) for verbose in (False, True)]

    assert ["compiler.mode" in text for text in texts] == [False, True]
    assert "no difference" in texts[0]


def test_the_outputs_table_names_both_dtypes_where_they_differ():
    text = render(comparison(outputs=outputs(BFLOAT16)))

    assert "float32      (64, 10)  DIFFERENT    0.125  [41, 3]" in text
    assert "-> bfloat16" in text
    assert "3,570 / 3,600" in text


@pytest.mark.parametrize(("level", "word"), [(-math.inf, "exact"), (math.inf, "never"), (-6.7412, "-6.74")])
def test_a_level_without_end_is_a_word(level, word):
    (row,) = [line for line in render(comparison(outputs=outputs(leaf(level=level)))).splitlines() if "0 / 3" in line]

    assert row.split()[-1] == word


def test_only_the_worst_ten_leaves_are_shown_and_the_rest_is_counted():
    leaves = [*(different_leaf(f"bad{i}") for i in range(11)), *(leaf(f"good{i}") for i in range(5))]
    made = comparison(outputs=outputs(*leaves))

    text = render(made)

    assert "bad9 " in text
    assert "bad10" not in text
    assert "and 6 more leaves: 1 different, 5 same" in text
    assert "good4" in render(made, verbose=True)


def test_one_reason_of_many_leaves_is_written_once():
    text = render(comparison(outputs=outputs(different_leaf("a"), different_leaf("b"), different_leaf("c"))))

    assert text.count("values are not within") == 1
    assert "a and 2 more: 12 of 3,600 values are not within rtol 1.3e-06 and atol 1e-05" in text


def test_a_missing_leaf_is_told_once():
    lone = leaf("b", "different", reasons=("only in the target",), elements=0, dtypes=(None, "float32"))
    text = render(comparison(outputs=outputs(lone, verdict="different", reasons=("b: only in the target (tensor)",))))

    assert text.splitlines().count("  b: only in the target (tensor)") == 1
    assert "  b: only in the target\n" not in text


def test_statistics_and_tolerance_of_each_leaf_are_under_verbose():
    made = comparison(outputs=outputs(leaf(nans=(2, 2))))

    assert "SNR" not in render(made)
    text = render(made, verbose=True)
    for fact in ("tolerance rtol 1.30e-06, atol 1.00e-05", "SNR 140 dB", "ULP p50 0, p99 2.00, max 4", "NaN 2 against"):
        assert fact in text


def test_metrics_that_are_judged_apart_never_look_alike():
    text = render(comparison(metrics=(metric("loss", 0.1234561, 0.1234562, "different", allowed=1e-9),)))

    assert "0.1234561" in text
    assert "0.1234562" in text
    assert "1 of 1 differs" in text


def test_the_references_metrics_are_there_when_the_target_failed():
    text = render(failed())

    assert "of the reference only" in text
    assert "0.9722" in text


def test_a_ratio_never_stands_without_its_interval():
    known, unknown = speedup(), speedup(1.83, None, None, "inconclusive", clock="gpu", note="no interval: few")

    lines = render(comparison(speedups=(known, unknown))).splitlines()

    ratios = [line for line in lines if "1.83x" in line]
    assert len(ratios) == 3
    assert all("interval" in line or "[1.79, 1.88]" in line for line in ratios)


def test_a_wide_interval_is_never_called_faster():
    assert "FASTER" not in headline(comparison(speedups=(speedup(1.8, 0.9, 3.0, "inconclusive"),)))


def test_the_first_call_has_its_cache_and_the_calls_after_which_it_pays_off():
    text = render(comparison())

    assert "3.00 ms      17.4 s  compilation included; target with a cold cache" in text
    # (17.4 - 0.003) s more at first, 0.187 ms less for each call.
    assert "pays off after 94,000 calls" in text


def test_a_first_call_pays_off_only_for_a_target_that_is_faster():
    assert "pays off" not in render(comparison(speedups=(speedup(1.01, 0.99, 1.03, "level"),)))


def test_code_that_was_not_compiled_is_not_sold_as_compiled():
    text = render(comparison(target=inductor(facts=CompileFacts(graphs=0, fallbacks=("aten.foo",)))))

    assert "target: NOT COMPILED" in text
    assert "aten.foo" in text
    assert "uncompiled code" in text


def timed_calls(ran, **facts):
    """Give the report of a target whose compiled code ran so often in each timed call."""
    counted = dataclasses.replace(measurement(), ran=(None, ran))
    target = inductor(facts=CompileFacts(**{"graphs": 2, "calls": 90, **facts}))
    return render(comparison(target=target, measurements=(counted,) * 5))


def test_compiled_code_is_said_to_have_run_in_the_timed_calls_or_not():
    assert "target: yes, 2 graphs; ran in every timed call" in timed_calls(1.0)
    assert "target: yes, 2 graphs; ran 20 times in every timed call" in timed_calls(20.0)
    assert "target: yes, 2 graphs; whether that ran it does not tell" in timed_calls(None, calls=None)
    text = timed_calls(0.0)
    assert "target: NOT COMPILED, 2 graphs; none of it ran in a timed call" in text
    assert "NO SPEEDUP; the target was NOT COMPILED" in text
    assert "faster" not in text


def test_a_compiler_that_makes_no_graphs_says_what_it_did_by_its_notes():
    facts = CompileFacts(notes=("8-bit weights in 5 of 9 layers",), fallbacks=("Conv2d (4)",))
    text = render(comparison(target=inductor(facts=facts)))

    assert "target: 8-bit weights in 5 of 9 layers; 1 operator not compiled: Conv2d (4)" in text


def test_eager_sides_have_no_word_on_compiling():
    assert "\ncompiled" not in render(comparison(target=side()))


def test_what_was_compiled_while_evaluating_counts_too():
    facts = CompileFacts(graphs=3, breaks=1, recompiles=2, artefact_bytes=546_000)
    text = render(comparison(target=inductor(evaluation=Evaluation({"top1": 0.97222}, {}, facts=facts))))

    assert "target: yes, 3 graphs, 1 break, compiled again 2 times, 546 kB" in text


def test_the_machines_own_noise_stands_beside_the_speed():
    text = render(comparison(null=NullArm(1.004, 0.0125, (20,) * 5)))

    assert "own noise" in text
    assert "1.004x +- 1.2% the reference against a copy of itself" in text
    assert "own noise" not in render(comparison())


def test_a_warm_first_call_is_that_of_processes_with_a_filled_cache():
    cold = dataclasses.replace(measurement(), first=(0.003, 17.0), cold=(None, True))
    warm = [dataclasses.replace(measurement(), first=(0.003, s), cold=(None, False)) for s in (3.0, 4.0, 5.0)]

    lines = [" ".join(line.split()) for line in render(comparison(measurements=(cold, *warm))).splitlines()]

    assert "warm first call 3.00 ms 4.00 s median of the timing's processes" in lines
    assert "warm first call" not in render(comparison(measurements=(cold,)))


def test_an_inconclusive_ratio_says_what_would_decide():
    open_ratio = speedup(1.01, 0.97, 1.05, "inconclusive", further=6)
    text = render(comparison(speedups=(open_ratio,), measurements=(dataclasses.replace(measurement(), took=2.5),) * 5))

    assert "about 6 more processes (15.0 s) would decide: --set runner.processes=11" in text


def test_memory_is_shown_for_each_kind_and_side():
    target = inductor(evaluation=Evaluation({"top1": 0.97222}, {"host": 31_000_000, "cuda": 5_000}))

    lines = [" ".join(line.split()) for line in render(comparison(target=target)).splitlines()]

    assert "peak host 14.2 MB 31.0 MB in a call" in lines
    assert "peak cuda - 5.00 kB in a call" in lines
    assert "resident 2.10 MB 2.10 MB model, compiler and their imports" in lines


def test_environments_are_shown_when_they_differ_and_the_load_is_no_difference():
    other = {**side().environment, "torch": "2.6.0", "load": 3.0}
    alike = {**side().environment, "load": 3.0}

    text = render(comparison(target=inductor(environment=other)))

    assert "torch differs" in text
    assert "2.6.0" in text
    assert "3.12.3" not in text
    assert "\nenvironment" not in render(comparison(target=inductor(environment=alike)))
    assert "3.12.3" in render(comparison(), verbose=True)


def test_a_traceback_is_shown_only_when_all_is_asked_for():
    texts = [render(failed(), verbose=verbose) for verbose in (False, True)]

    assert ["File 'a.py', line 1" in text for text in texts] == [False, True]
    assert "traceback and details: --verbose" in texts[0]


def test_a_long_message_of_a_failure_is_cut_in_the_headline_and_whole_below():
    message = "RuntimeError: " + " ".join(f"word{i}" for i in range(100))

    text = render(failed(message=message))

    assert "word99" not in headline(failed(message=message))
    assert "word99" in text


def test_notes_are_shown():
    assert "notes        threads differ: 1 and 2\n" in render(comparison(notes=("threads differ: 1 and 2",)))


def test_a_comparison_that_has_only_begun_can_be_rendered():
    job = side().job

    for verbose in (False, True):
        text = render(Comparison(Result(job), Result(job)), verbose=verbose)
        assert text.startswith("INTERRUPTED · before anything was compared\n")


def test_many_targets_have_one_row_each_the_worst_first():
    made = [
        comparison(target=inductor(job=dataclasses.replace(side().job, name="good"))),
        failed(target=side("broken", failure=BROKEN)),
        comparison(outputs=outputs(BFLOAT16), target=side("bfloat16")),
        comparison(outputs=SKIPPED, metrics=(), target=side("odd")),
    ]

    lines = render_many(made).splitlines()

    rows = [line.split()[0] for line in lines if line.startswith("  ")][1:]
    assert lines[0] == "4 targets against eager"
    assert rows == ["odd", "broken", "bfloat16", "good"]
    assert "outputs differ by 0.125; metrics agree" in "\n".join(lines)
    assert lines[-2] == "1 same · 1 different · 1 failed · 1 not judged"
    assert lines[-1] == "fastest of the same: good, 1.83x (95 % interval 1.79 to 1.88)"


def test_the_fastest_is_named_only_when_one_is_faster_and_same():
    level = comparison(speedups=(speedup(1.0, 0.99, 1.01, "level"),))
    wrong = comparison(outputs=outputs(BFLOAT16))

    assert "fastest" not in render_many([level, wrong])


def test_rows_of_many_targets_fit_and_keep_their_intervals():
    text = render_many([NASTY, comparison(), failed(message="x " * 300)])

    assert max(map(cell_len, text.splitlines())) <= 100
    assert "[1.79, 1.88]" in text


def test_one_side_by_itself_has_metrics_speed_and_memory():
    result = inductor(timings=(measurement().clocks[0],) * 3)

    text = render_result(result)

    assert text.startswith("RAN · 410 us per call\n")
    assert "top1  0.9722" in text
    assert "9 trials in 3 processes" in text
    assert "17.4 s, compilation included" in text
    assert "yes, 1 graph, 0 breaks" in text
    assert "peak host 14.2 MB" in text


@pytest.mark.parametrize("verbose", [False, True])
def test_one_side_that_failed_says_where(verbose):
    text = render_result(Result(side().job, failure=BROKEN), verbose=verbose)

    assert text.startswith("FAILED in evaluate: ValueError: no weights\n")
    assert max(map(cell_len, text.splitlines())) <= 100


RESULTS = st.builds(
    Result, environment=st.dictionaries(st.text(), st.none() | st.integers() | st.text()),
    preparation=..., evaluation=..., timings=..., failure=...,
)  # fmt: skip
COMPARISONS = st.builds(
    Comparison, reference=RESULTS, target=RESULTS, changes=..., checks=..., inputs=..., outputs=..., metrics=...,
    measurements=..., speedups=..., notes=..., seconds=..., complete=...,
)  # fmt: skip


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(COMPARISONS, st.booleans(), st.integers(80, 120))
def test_whatever_the_records_hold_can_be_rendered_within_the_width(made, verbose, width):
    texts = [render(made, verbose=verbose, width=width), render_many([made, made], width=width)]
    texts.append(render_result(made.reference, verbose=verbose, width=width))

    assert max(cell_len(line) for text in texts for line in text.splitlines()) <= width
    assert "\n" not in headline(made)


def test_the_threads_of_both_sides_are_said_where_they_differ():
    other = inductor(environment={**side().environment, "threads": 2})

    assert "threads 1 (reference) and 2 (target), 2 cores" in render(comparison(target=other))
    assert "pairs, threads 1, 2 cores" in render(comparison())


def test_leaves_with_long_names_are_told_apart_in_the_table():
    names = [f"transformer.h.{i}.attention.projection.weight" for i in range(8)]

    text = render(comparison(outputs=outputs(*(leaf(name, shapes=((64, 1024, 768),) * 2) for name in names))))

    rows = [line.split()[0] for line in text.splitlines() if line.startswith("  tra")]
    assert len(rows) == len(set(rows)) == 8
    assert all(re.search(rf"\.{i}\b", row) for i, row in enumerate(rows))


def test_a_sweep_with_a_demand_says_which_are_only_too_slow_which_differ_and_which_failed():
    slow = comparison(1.3, speedups=(speedup(0.58, 0.57, 0.59, "slower"),))
    unsure = comparison(1.3, speedups=(speedup(1.3, 1.2, 1.4, "faster"),))
    both = comparison(1.3, speedups=(), outputs=outputs(different_leaf()))

    text = render_many([comparison(1.3), slow, unsure, both, failed()])

    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert any("TOO SLOW outputs agree within 2.4e-07; too slow" in row for row in rows)
    assert any("not judged outputs agree within 2.4e-07; not known" in row for row in rows)
    assert any("DIFFERENT outputs differ by 0.125; not known whet" in row for row in rows)
    assert "1 same · 1 too slow · 1 different · 1 failed · 1 not judged" in rows

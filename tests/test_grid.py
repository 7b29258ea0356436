"""A list of rows as a table: which row stands where, what a cell says, and why a row is not the same."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from report_records import comparison, different_leaf, failed, inductor, leaf, outputs, side, speedup

from libbench.report.grid import notes_of, render_grid, square_of
from libbench.result import CompileFacts

ROOT = Path(__file__).parent.parent
COMPILERS = ROOT / "configs" / "compilers"


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Run the sweep of the page on two networks and two compilers; give its command line, its code and its text."""
    from contextlib import redirect_stdout
    from io import StringIO

    from libbench.cli.main import main

    folder = tmp_path_factory.mktemp("swept")
    arguments = [
        *("sweep", "--ref", COMPILERS / "eager.py", "--tgt", COMPILERS / "aot_eager.py", COMPILERS / "bfloat16.py"),
        *("--set", "net=recurrent,mixture", "--table", "net", "--to", folder / "rows.jsonl", "--no-speed"),
    ]
    arguments = list(map(str, arguments))
    out = StringIO()
    with redirect_stdout(out):
        code = main(arguments)
    return arguments, code, out.getvalue()


def test_one_sweep_of_networks_and_compilers_is_a_table_with_a_line_for_what_is_not_the_same(swept):
    _, code, text = swept

    grid = text[text.index("  net=") :].splitlines()
    assert grid[0].split() == ["net=", "recurrent", "mixture"]
    lines = {line.split()[0]: line.split()[1:] for line in grid if re.match(r"  [a-z]", line)}
    assert lines["aot_eager"] == ["same", "exact", "(1)", "same", "exact"]
    assert [word for word in lines["bfloat16"] if word == "DIFFERENT"] == ["DIFFERENT"] * 2
    notes = re.sub(r"\n {4}", " ", text)  # a long one has several lines
    assert "(1) aot_eager: recurrent: no speedup: target not compiled; left to Python: Dynamo does not" in notes
    assert "(2) bfloat16: recurrent: output: bfloat16, not float32; " in notes
    assert "4 rows · 2 same · 2 different" in text
    assert max(map(len, text.splitlines())) <= 100
    assert code == 1


def test_the_same_command_prints_the_table_from_the_file_as_text_as_markdown_and_as_junit(swept, libbench, tmp_path):
    arguments, _, text = swept

    code, out, err = libbench(*arguments, "--markdown", tmp_path / "table.md", "--junit", tmp_path / "rows.xml")

    assert "4 of 4 rows were done before" in err
    assert out.strip() == text[text.index("  net=") :].strip()
    page = (tmp_path / "table.md").read_text()
    assert "| net= | recurrent | mixture |" in page
    assert re.search(r"^\| aot\\_eager \| same exact \(\d+\) \| same exact<br>[^|]* \|$", page, re.MULTILINE)
    assert "(2) bfloat16: recurrent: output: bfloat16, not float32" in page
    cases = ElementTree.parse(tmp_path / "rows.xml").getroot().iter("testcase")
    assert sorted(case.get("name") for case in cases) == [
        f"{compiler} net={net}" for compiler in ("aot_eager", "bfloat16") for net in ("mixture", "recurrent")
    ]
    assert code == 1


def test_a_key_that_is_not_overridden_makes_no_table(libbench, tmp_path):
    code, _, err = libbench(
        *("sweep", "--ref", COMPILERS / "eager.py", "--tgt", COMPILERS / "fx.py", "--set", "net=conv,unet"),
        *("--table", "nets", "--to", tmp_path / "rows.jsonl"),
    )

    assert code == 2
    assert "--table wants a key that is overridden, as by --set, got 'nets'; did you mean 'net'?" in err
    assert not (tmp_path / "rows.jsonl").exists()


def test_every_compiler_has_a_config_and_every_network_can_be_named(libbench):
    known = {path.stem for path in COMPILERS.glob("*.py")}
    assert {"eager", "aot_eager", "inductor", "onnx_runtime", "openvino", "openvino_f32"} <= known
    for file in sorted(COMPILERS.glob("*.py")):
        for net in ("conv", "encoder", "t5", "unet", "recurrent", "language", "mixture"):
            assert libbench("config", "validate", file, f"net={net}")[0] == 0


def test_a_cell_has_verdict_and_level_speedup_with_interval_and_the_time_of_compiling_alone():
    target = inductor()
    spent = {"compile": 3.0, "first": 15.0, "second": 0.5, "imports": 2.5}
    target = replace(target, preparation=replace(target.preparation, seconds=spent))

    square = square_of("inductor", "conv", comparison(target=target))

    assert square.lines == ("same -6.74", "1.83x [1.79, 1.88]", "15.0 s")
    assert (square.tone, square.note) == ("good", "")
    assert square_of("eager", "conv", comparison(target=side())).lines == ("same -6.74", "1.83x [1.79, 1.88]")


def test_a_speedup_that_is_not_shown_is_marked_and_one_of_unlike_things_is_none():
    doubted = square_of("a", "b", comparison(speedups=(speedup(verdict="inconclusive"),)))
    alone = square_of("a", "b", comparison(speedups=(speedup(low=None, high=None, verdict="inconclusive"),)))
    facts = CompileFacts(graphs=0, notes=("left to Python: no LSTM",))
    idle = square_of("a", "b", comparison(target=inductor(facts=facts)))
    untimed = square_of("a", "b", comparison(target=inductor(facts=facts), speedups=()))

    assert doubted.lines[1] == "1.83x [1.79, 1.88] ?"
    assert alone.lines[1] == "1.83x ?"
    assert idle.lines == ("same -6.74", "-")
    assert idle.note == untimed.note == "no speedup: target not compiled; left to Python: no LSTM"
    assert untimed.lines == ("same -6.74",)


def test_a_difference_says_what_the_compiler_says_of_itself_and_a_failure_its_stage():
    notes = CompileFacts(graphs=1, calls=1, notes=("operators run in bf16: 12, f32: 3",))
    other = square_of(
        "openvino", "t5", comparison(target=inductor(facts=notes), outputs=outputs(different_leaf("logits")))
    )
    broken = square_of("tvm", "t5", failed())

    assert other.lines[0] == "DIFFERENT -0.90"
    assert other.note == (
        "logits: 12 of 3,600 values out of tolerance; differ by 0.125; metrics agree; operators run in bf16: 12, f32: 3"
    )
    assert broken.lines == ("FAILED",)
    assert broken.note == "in compile: BackendCompilerFailed: unsupported operator aten::foo"


def test_equal_notes_share_a_number_and_a_wide_table_is_cut_into_parts():
    squares = [square_of(line, f"column-{n}", failed()) for line in ("tvm", "iree") for n in range(12)]
    squares[3] = square_of("tvm", "column-3", comparison())
    squares = [each for each in squares if (each.line, each.column) != ("iree", "column-0")]

    text = render_grid("net", squares)

    assert text.count("net=") == 2
    assert max(map(len, text.splitlines())) <= 100
    assert [line.split(": ", 2)[0] for line in notes_of(squares)] == ["(1) tvm"]
    assert "column-3" not in notes_of(squares)[0].partition("; iree")[0]
    assert "column-0" not in notes_of(squares)[0].partition("; iree")[2]


def test_integers_are_exact_or_never_right():
    whole = leaf(level=None, rtol=None, atol=None, dtypes=("int64", "int64"))
    equal = replace(whole, max_abs=None)
    other = different_leaf(level=None, rtol=None, atol=None, dtypes=("int64", "int64"))

    assert square_of("a", "b", comparison(outputs=outputs(equal))).lines[0] == "same exact"
    assert square_of("a", "b", comparison(outputs=outputs(leaf(), other))).lines[0] == "DIFFERENT never"

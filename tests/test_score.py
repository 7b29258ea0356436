"""`libbench score` at the command line."""

import json
import random

import pytest
from bench_logs import Told, log_of
from report_records import comparison, failed, leaf, outputs, speedup

from libbench.report.json import to_json
from libbench.rowfile import RowFile
from libbench.scores import Sample, Scoring
from libbench.scoring import score_runs


def rows(path, made):
    """Write the rows of a list: comparison by name, with the source of its graph sample where there is one."""
    with RowFile(path) as file:
        for name, (source, found) in made.items():
            sample = {"path": name, "name": name, "source": source, "tag": None, "hash": "", "files": "ab", "seed": 0}
            file.add(name, {"row": name, **({"sample": sample} if source else {}), **to_json(found)})
    return path


def made(ratio):
    speedups = () if ratio is None else (speedup(ratio, ratio, ratio),)
    return comparison(outputs=outputs(leaf(grid={"float32": -6})), speedups=speedups, metrics=())


LIST = {
    "samples/timm/a": ("timm", made(2.0)),
    "samples/timm/b": ("timm", made(0.5)),
    "samples/hf/c": ("hf", failed()),
    "samples/hf/d": ("hf", made(None)),
}


@pytest.fixture
def results(tmp_path):
    return rows(tmp_path / "rows.jsonl", LIST)


def test_the_aggregate_and_how_many_samples_count_are_the_first_line(libbench, results):
    code, out, err = libbench("score", results)

    assert (code, err) == (0, "")
    first, *rest = out.splitlines()
    assert first.startswith("AGGREGATE -0.2")
    assert first.endswith("· 4 samples count")
    assert any(line.startswith("samples      4, of which 3 pass at level 1; others: 1 compile") for line in rest)
    assert any(line.startswith("speed        1 without a speedup: 1 counts") for line in rest)
    assert "   -5     3  0.562  " in out
    assert [line.split()[0] for line in rest if line.startswith(("  hf", "  timm"))] == ["hf", "timm"]


def test_penalty_power_and_errors_are_as_asked(libbench, results):
    code, out, _ = libbench("score", results, "--penalty", 0.5, "--power", 1, "--errors", "mismatch_extended")

    assert code == 0
    assert "b = 0.5, p = 1, errors mismatch_extended" in out
    at_usual = (2.0 * 0.25 * 0.5 * 1.0) ** (1 / 4)
    assert f"   -5     3  {at_usual:.3f}" in out
    assert "    5     3" in out


def test_everything_is_written_as_json(libbench, results, tmp_path):
    code, out, _ = libbench("score", results, "--json", tmp_path / "scores.json", "--seed", 3)

    document = json.loads((tmp_path / "scores.json").read_text())
    assert (code, document["schema"], document["version"]) == (0, "libbench.scores", 1)
    assert out.startswith(document["derived"]["headline"])
    assert document["scores"]["settings"]["seed"] == 3
    (run,) = document["scores"]["runs"]
    assert [sample["name"] for sample in run["samples"]] == list(LIST)
    assert [sample["speedup"] for sample in run["samples"]] == [2.0, 0.5, None, None]
    assert [point["level"] for point in run["all"]["points"]] == list(range(-10, 5))
    assert set(run["categories"]) == {"hf", "timm"}
    assert run["all"]["interval"][0] < run["all"]["aggregate"] < run["all"]["interval"][1]


def test_rows_and_logs_are_scored_side_by_side(libbench, results, tmp_path):
    (tmp_path / "bench.log").write_text(log_of([Told("samples/timm/a", speedup=4.0), Told("samples/timm/b")]))

    code, out, _ = libbench("score", results, tmp_path / "bench.log")

    assert code == 0
    assert out.splitlines()[0].startswith("A rows -0.2")
    assert out.splitlines()[1].startswith("B bench 0.")
    assert "not alike    the runs do not have the same samples: 2 are in all of them" in out
    assert "against A    +0." in out
    assert "speed        2 as a log has them, without an interval" in out


def test_a_folder_stands_for_the_results_in_it(libbench, results, tmp_path):
    (tmp_path / "notes.md").write_text("nothing")
    (tmp_path / "b.log").write_text(log_of([Told("a")]))

    code, out, _ = libbench("score", tmp_path)

    assert code == 0
    first = out.splitlines()[0]
    assert first.startswith("A b 0.")
    assert " of 1 sample · B rows -0." in first


def test_categories_are_those_that_are_asked_for(libbench, results):
    by_folder = libbench("score", "--category", "folder", results)[1]
    by_name = libbench("score", results, "--category", "early=*/a", "--category", "late=*/[bc]")[1]

    assert [line.split()[:2] for line in by_folder.splitlines()[-2:]] == [["hf", "2"], ["timm", "2"]]
    assert [line.split()[:2] for line in by_name.splitlines()[-3:]] == [["early", "1"], ["late", "2"], ["other", "1"]]


def test_judged_samples_alone_are_scored_on_request(libbench, tmp_path):
    known = made(2.0)
    vacuous = made(8.0)
    vacuous = json.loads(json.dumps(to_json(vacuous)))
    vacuous["comparison"]["outputs"]["leaves"][0]["vacuous"] = "constant"
    with RowFile(tmp_path / "rows.jsonl") as file:
        file.add("a", {"row": "a", **to_json(known)})
        file.add("b", {"row": "b", **vacuous})

    _, beside, _ = libbench("score", tmp_path / "rows.jsonl")
    _, alone, _ = libbench("score", tmp_path / "rows.jsonl", "--judged")

    assert beside.splitlines()[0].endswith("2 samples count")
    assert "judged       1 of 2, without 1 vacuous: 0." in beside
    assert "   -5     2  4.000" in beside
    assert alone.splitlines()[0].endswith("(no interval) · 1 sample counts")
    assert "   -5     1  2.000" in alone


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--penalty", "0"], "wanted a number above 0, got '0'"),
        (["--penalty", "2"], "wanted a number above 0 and at most 1, got '2'"),
        (["--power", "-1"], "wanted a number of at least 0"),
        (["--errors", "strict"], "invalid choice: 'strict'"),
        (["--seed", "x"], "wanted a whole number of at least 0"),
    ],
)
def test_a_wrong_flag_is_told(libbench, results, capsys, flags, text):
    with pytest.raises(SystemExit) as stopped:
        libbench("score", results, *flags)

    assert stopped.value.code == 2
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "flags", "text"),
    [
        (
            "a.jsonl",
            '{"key": "a", "row": "b"}\n',
            [],
            "the row 'b' in {file} cannot be read: wanted a document of schem",
        ),
        ("a.jsonl", '{"schema": 1}\n', [], "{file}:1 is no row"),
        ("a.jsonl", '{"key": "cut off"', [], "{file} has no row"),
        ("a.log", "nothing\n", [], "{file} has no sample: wanted lines with [Processing] and a path"),
        ("a.log", "", [], "{file} has no sample"),
        (
            "a.log",
            "x [Processing] a\n",
            ["--category", "name"],
            "--category wants source, tag or folder, or any number",
        ),
    ],
)
def test_a_file_that_is_none_of_results_is_one_line(libbench, tmp_path, name, content, flags, text):
    file = tmp_path / name
    file.write_text(content)

    code, out, err = libbench("score", file, *flags)

    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert text.format(file=file) in err


def test_what_is_not_there_is_named(libbench, tmp_path):
    assert str(tmp_path / "none.jsonl") in libbench("score", tmp_path / "none.jsonl")[2]
    (tmp_path / "empty").mkdir()
    assert (
        "has no file of results: wanted one that ends in .jsonl, .log, .txt" in libbench("score", tmp_path / "empty")[2]
    )


def test_no_line_is_longer_than_100_columns(libbench, tmp_path):
    chance = random.Random(4)
    files = []
    for run in range(4):
        told = [
            Told(
                f"samples/{chance.choice(('timm', 'a source with a name that does not end so soon', 'hf'))}/{i}" * 3,
                speedup=10 ** chance.uniform(-3, 5),
                failed=chance.choice(("", "", "reference", "compile")),
            )
            for i in range(20)
        ]
        files.append(tmp_path / f"a run whose name goes on and on {run}.log")
        files[-1].write_text(log_of(told))

    for given in (files[:1], files):
        out = libbench("score", *given)[1]
        assert max(map(len, out.splitlines())) <= 100
        assert "\x1b" not in out
        assert "…" not in out.partition("category")[0]


def test_a_run_without_a_sample_has_a_report():
    from libbench.report.scores import render

    (run,) = score_runs(
        [("a", "a", [Sample(name="x", error="reference", doubt="reference")])], Scoring(judged=True)
    ).runs
    assert run.judged.samples == 0
    assert render(score_runs([("a", "a", [])])).startswith("AGGREGATE 0.000 (no interval) · 0 samples count")

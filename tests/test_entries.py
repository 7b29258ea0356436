"""Reading the runs of a history from what the commands have written."""

import json
from dataclasses import replace

import pytest
from report_records import comparison, side

from libbench.errors import LibbenchError
from libbench.job import Job
from libbench.report.entries import pair_entry, read_entries, side_entry
from libbench.report.json import result_to_json, to_json
from libbench.rowfile import RowFile

COMPARISON = to_json(comparison(began=5.0))
RESULT = result_to_json(side(began=6.0))


def written(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_every_file_of_a_folder_that_holds_results_is_read_and_the_others_are_named(tmp_path):
    written(tmp_path / "one.json", COMPARISON)
    written(tmp_path / "deep" / "several.json", {"comparisons": [COMPARISON, to_json(comparison(began=7.0))]})
    written(tmp_path / "own.json", {"results": [RESULT]})
    with RowFile(tmp_path / "rows.jsonl") as rows:
        rows.add("a", {"row": "a", **COMPARISON})
        rows.add("b", {"row": "b", **COMPARISON})
    written(tmp_path / "garbage.json", "{")
    written(tmp_path / "package.json", {"name": "other"})
    written(tmp_path / "lines.jsonl", "1\n")
    written(tmp_path / "report.xml", "<a/>")

    found = read_entries([tmp_path])

    assert sorted((e.source.rpartition("/")[2], e.began, e.paired) for e in found.entries) == [
        ("one.json", 5.0, True), ("own.json", 6.0, False), ("rows.jsonl", 5.0, True), ("rows.jsonl", 5.0, True),
        ("several.json", 5.0, True), ("several.json", 7.0, True),
    ]  # fmt: skip
    assert [line.rpartition("/")[2].partition(":")[0] for line in found.left_out] == [
        "garbage.json", "lines.jsonl", "package.json",
    ]  # fmt: skip


def test_a_saved_sides_outputs_are_not_taken_for_runs(tmp_path):
    written(tmp_path / "side" / "result.json", {**RESULT, "complete": True, "batches": 1})
    written(tmp_path / "side" / "outputs" / "00000.json", {"kind": "tuple"})
    written(tmp_path / "side" / "outputs" / "00000.safetensors", "")
    written(tmp_path / "side" / "outputs" / "index.jsonl", "{}\n")

    found = read_entries([tmp_path])

    assert [(e.verdict, e.name) for e in found.entries] == [("ran", "eager")]
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"name": "other"}, "is no result of libbench: wanted a document of schema 'libbench.comparison' or "),
        ("{", "is no result of libbench: Expecting"),
        ({**COMPARISON, "version": 99}, "libbench.comparison is of version 99; this libbench reads up to version 1"),
        ({**COMPARISON, "comparison": {"reference": 3}}, "is not a libbench.comparison: TypeError: reference: wanted"),
    ],
)
def test_a_file_that_is_named_has_to_be_a_result(tmp_path, document, message):
    with pytest.raises(LibbenchError, match=message) as raised:
        read_entries([written(tmp_path / "a.json", document)])

    assert str(tmp_path / "a.json") in str(raised.value)


def test_a_damaged_result_in_a_folder_is_no_stranger(tmp_path):
    written(tmp_path / "a.json", {**COMPARISON, "comparison": {}})

    with pytest.raises(LibbenchError, match=r"a\.json: the document is not a libbench.comparison"):
        read_entries([tmp_path])


@pytest.mark.parametrize("began", [None, float("nan"), float("inf"), -1.0, 1e30])
def test_a_run_that_does_not_say_when_it_began_is_left_out_and_counted(tmp_path, began):
    written(tmp_path / "a.json", {"comparisons": [COMPARISON, to_json(comparison(began=began))]})

    found = read_entries([tmp_path / "a.json"])

    assert len(found.entries) == 1
    assert found.left_out == (f"{tmp_path / 'a.json'}: 1 of 2 runs do not say when they began",)


def test_a_pair_is_known_by_both_configs_whatever_their_limits_and_named_without_them(config):
    def entry(*overrides, name="a"):
        job = Job.load(config(name), overrides)
        return pair_entry(comparison(reference=side(job=job.record()), target=side(job=job.record()), began=1.0), "f")

    plain, limited, other = entry(), entry("runner.timeout=5", "runner.memory=99"), entry("model.out_features=2")

    assert (plain.known_by, plain.name) == (limited.known_by, limited.name)
    assert plain.known_by == entry(name="b").known_by
    assert other.known_by != plain.known_by
    assert (plain.name, other.name) == ("a -> a", "a model.out_features=2 -> a model.out_features=2")


def test_what_a_run_was_made_by_is_kept_with_it():
    made = comparison(began=1.0)
    environment = {**made.target.environment, "libbench": "0.1.0", "c++": "g++ 12"}

    entry = pair_entry(replace(made, target=replace(made.target, environment=environment)), "f")

    wanted = {
        "machine": "Linux-6.1-x86_64", "threads": "1", "torch": "2.7.0", "packages numpy": "2.1.0", "c++": "g++ 12",
        "libbench": "0.1.0", "compiler": "inductor, torch 2.7.0", "reference compiler": "eager, torch 2.7.0",
        "compiled": "yes", "inputs": "3f9a1c22ab01",
    }  # fmt: skip
    assert {name: entry.environment[name] for name in wanted} == wanted
    assert "load" not in entry.environment
    assert (entry.first_call, entry.peak, entry.levels) == (17.4, {"host": 14_200_000}, {"logits": -6.7412})


def test_a_side_that_was_interrupted_is_no_run_to_judge():
    assert side_entry(side(began=1.0), "f", complete=False).verdict == "interrupted"
    assert side_entry(side(began=1.0, evaluation=None), "f").verdict == "interrupted"

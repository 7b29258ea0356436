"""`libbench history` on what real runs leave behind."""

import json
from pathlib import Path

import pytest
from report_records import comparison, side
from test_history import timed

from libbench.cli.main import main
from libbench.report.json import result_to_json, to_json
from libbench.speed import speedups


def kept(path, day, ratios=(1.8, 1.81, 1.79), **more):
    """Write a run of this day as `diff --json` does."""
    found = timed(ratios)
    made = comparison(measurements=found, speedups=speedups(found), began=86_400.0 * day, **more)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(to_json(made)))
    return path


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """Run one pair and one side, each twice, and let all ways of keeping them be used."""
    folder = tmp_path_factory.mktemp("real")
    (folder / "a.py").write_text(
        "import torch\n"
        "from libbench.config import LazyCall as L\n"
        "from libbench.data import RandomInputs\n"
        "model = L(torch.nn.Linear)(in_features=4, out_features=3)\n"
        "data = L(RandomInputs)(shapes=(4,), samples=8, batch_size=4)\n"
        "runner = L('libbench.runners.process.Process')(processes=2)\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["diff", "--ref", "a.py", "--budget", "0.3s", "--json", "kept/one.json"]) == 0
        assert main(["diff", "--ref", "a.py", "--no-speed", "--timeout", "99", "--save", "kept/two"]) == 0
        assert main(["run", "a.py", "--no-speed", "--save", "kept/side"]) == 0
        assert main(["run", "a.py", "--budget", "0.3s", "--json", "kept/side.json"]) == 0
    return folder


def test_what_every_command_keeps_is_found_in_a_folder_by_pair_and_by_time(libbench, real, tmp_path):
    code, out, err = libbench("history", real / "kept", "--json", tmp_path / "found.json", "-v")

    trends = {each["name"]: each for each in json.loads((tmp_path / "found.json").read_text())["history"]["trends"]}
    sources = {name: [Path(e["source"]).relative_to(real) for e in each["entries"]] for name, each in trends.items()}
    assert sources == {
        "a -> a": [Path("kept/one.json"), Path("kept/two/comparison.json")],
        "a": [Path("kept/side/result.json"), Path("kept/side.json")],
    }
    assert (code, err) == (0, "")
    assert out.startswith("NO REGRESSION · 2 of 2 pairs judged")
    timed = trends["a -> a"]["entries"][0]
    assert len(timed["logs"]) == 2
    assert min(*timed["seconds"], timed["first_call"]) > 0
    assert timed["peak"].keys() == {"host"}
    assert trends["a"]["entries"][1]["environment"]["torch"]


def test_a_speed_that_is_not_measured_any_more_is_said_and_breaks_only_what_is_strict(libbench, real):
    assert "not timed" in libbench("history", real / "kept" / "one.json", real / "kept" / "two")[1]
    assert libbench("history", real / "kept")[0] == 0
    assert libbench("history", real / "kept", "--strict")[0] == 2


def test_a_regression_comes_first_and_shows_its_runs(libbench, tmp_path):
    kept(tmp_path / "b.json", 1)
    kept(tmp_path / "a.json", 2, (1.5, 1.51, 1.49))

    code, out, _ = libbench("history", tmp_path, "--markdown", tmp_path / "page.md", "--junit", tmp_path / "junit.xml")

    assert code == 1
    assert out.splitlines()[0] == ("REGRESSION: eager -> inductor: slower, 0.83x [0.81, 0.85] · 1 of 1 pair judged")
    rows = [line for line in out.splitlines() if line.startswith("  1970-01-0")]
    assert [row.split()[0] for row in rows] == ["1970-01-03", "1970-01-02"]
    assert "0.83x" in (tmp_path / "page.md").read_text()
    assert '<failure message="0.83x' in (tmp_path / "junit.xml").read_text()
    assert max(map(len, out.splitlines())) <= 100


def test_files_are_ordered_by_what_they_hold_and_not_by_when_they_were_written(libbench, tmp_path):
    kept(tmp_path / "newest.json", 3)
    kept(tmp_path / "slow.json", 2, (1.5, 1.51, 1.49))
    kept(tmp_path / "oldest.json", 1)

    assert libbench("history", tmp_path)[0] == 0
    assert "1.20x" in libbench("history", tmp_path)[1]


def test_what_has_changed_between_two_runs_is_shown(libbench, tmp_path):
    before, after = (side(environment={**side().environment, "torch": torch}) for torch in ("2.7.0", "2.8.0"))
    kept(tmp_path / "a.json", 1, target=before)
    kept(tmp_path / "b.json", 2, target=after)

    out = libbench("history", tmp_path, "-v")[1]

    assert "changed since: torch 2.7.0 -> 2.8.0" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "No such file or directory: 'missing'"),
        (["empty"], "there is no run in empty"),
        (
            ["one.json", "--baseline", "empty"],
            "there is no run in empty; wanted previous, first or a file with results",
        ),
        (["one.json", "--only", "empty"], "no pair has a run in empty"),
        (["other.json"], "other.json is no result of libbench: wanted a document of schema"),
    ],
)
def test_what_is_no_history_is_one_line_and_code_two(libbench, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("other.json").write_text("[]")
    kept(Path("one.json"), 1)

    code, out, err = libbench("history", *arguments)

    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("share", ["-1", "100%", "x", "1", "nan"])
def test_a_zone_is_a_share(share, capsys):
    with pytest.raises(SystemExit) as raised:
        main(["history", "a.json", f"--zone={share}"])

    assert raised.value.code == 2
    assert "argument --zone: wanted a" in capsys.readouterr().err


def test_a_zone_may_be_given_as_a_percentage(libbench, tmp_path):
    kept(tmp_path / "a.json", 1)
    kept(tmp_path / "b.json", 2, (1.7, 1.71, 1.69))

    assert [libbench("history", tmp_path, *flag)[0] for flag in ([], ["--zone", "10%"], ["--zone", "0.1"])] == [1, 0, 0]


def test_a_folder_says_what_in_it_is_no_run(libbench, tmp_path):
    kept(tmp_path / "a.json", 1)
    kept(tmp_path / "b.json", 2)
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "own.json").write_text(json.dumps(result_to_json(side())))

    code, _, err = libbench("history", tmp_path)

    assert code == 0
    assert [line.rpartition("/")[2] for line in err.splitlines()] == [
        "other.json: wanted a document of schema 'libbench.comparison' or 'libbench.result', got None",
        "own.json: 1 of 1 runs do not say when they began",
    ]


def test_of_a_long_history_the_newest_runs_are_shown_and_all_on_request(libbench, tmp_path):
    for day in range(1, 31):
        kept(tmp_path / f"{day}.json", day, (1.5, 1.51, 1.49) if day == 30 else (1.8, 1.81, 1.79))

    short, long = (libbench("history", tmp_path, *flag)[1] for flag in ([], ["-v"]))

    assert (short.count("  1970-01-"), long.count("  1970-01-")) == (20, 30)
    assert "and 10 earlier runs, shown by --verbose" in short

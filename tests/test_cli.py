"""The command line as a user meets it: what is printed, what is written, the exit code."""

import errno
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from libbench.cli.arguments import parsed
from libbench.records import write_text

ROOT = Path(__file__).parent.parent
SLEEPER = """
import time
class Sleeper(torch.nn.Linear):
    def forward(self, x):
        time.sleep(600)
model = L(Sleeper)(4, 3)
"""


def started(*arguments, cwd=None):
    return subprocess.Popen(
        [sys.executable, str(ROOT / "tools" / "diff.py"), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        # A shell lets what it starts in the background ignore this signal, the tests included.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def test_the_verdict_is_the_first_line_and_zero_the_exit_code(libbench, config):
    code, out, _ = libbench("diff", "--ref", config("a"), "--tgt", config("b"), "--no-speed")

    assert code == 0
    assert out.startswith("SAME OUTPUTS")
    assert max(map(len, out.splitlines())) <= 100


def test_without_a_target_the_references_file_is_compared_with_its_overrides(libbench, config):
    code, out, _ = libbench("diff", "--ref", config("a"), "--tgt-set", "model.out_features=2", "--no-speed")

    assert code == 1
    assert out.startswith("DIFFERENT OUTPUTS")
    assert "out_features" in out


def test_set_reaches_both_sides_and_ref_set_only_the_reference(libbench, config, tmp_path):
    file = tmp_path / "found.json"
    libbench(
        *("diff", "--ref", config("a"), "--tgt", config("b"), "--no-speed", "--json", file),
        *("--set", "data.samples=4", "--ref-set", "data.batch_size=2"),
    )

    found = json.loads(file.read_text())["comparison"]
    assert found["reference"]["job"]["overrides"] == ["data.samples=4", "data.batch_size=2"]
    assert found["target"]["job"]["overrides"] == ["data.samples=4"]


def test_several_targets_get_a_row_each_and_the_largest_exit_code(libbench, config):
    narrow = config("narrow", "model.out_features = 2")

    code, out, _ = libbench("diff", "--ref", config("a"), "--tgt", config("b"), "--tgt", narrow, "--no-speed")

    assert code == 1
    assert out.count("SAME OUTPUTS") >= 1
    assert out.count("DIFFERENT OUTPUTS") >= 1
    assert re.search(r"narrow", out.splitlines()[-2] + out)


def test_a_failed_target_is_the_headline_and_its_traceback_only_on_request(libbench, config):
    bad = config("bad", "def broken(): raise OSError('no weights here')\nmodel = L(broken)()")

    code, out, _ = libbench("diff", "--ref", config("a"), "--tgt", bad, "--no-speed")
    _, detailed, _ = libbench("diff", "--ref", config("a"), "--tgt", bad, "--no-speed", "--traceback")

    assert code == 1
    assert out.startswith("TARGET FAILED in instantiate: OSError: no weights here")
    assert "Traceback" not in out
    assert "Traceback" in detailed


@pytest.mark.parametrize(
    ("lines", "flags", "words"),
    [
        ("model = L(torch.nn.Linear)(in_featurs=4, out_features=3)", [], ["bad.py:2", "in_featurs", "in_features"]),
        ("import nonesuch", [], ["bad.py:2", "nonesuch"]),
        ("from .bas import model", [], ["bad.py:2", "bas"]),
        ("from .base import modle", [], ["bad.py:2", "modle", "model"]),
        ("raise RuntimeError('not today')", [], ["bad.py:2", "not today"]),
        ("1 +", [], ["bad.py:2"]),
        ("model = None", [], ["bad.py", "model"]),
        ("compilr = L(dict)()", [], ["bad.py:2", "compilr", "compiler"]),
        ("", ["--tgt-set", "model.out_featurs=3"], ["out_featurs", "out_features"]),
        ("", ["--tgt-set", "compilr.backend=3"], ["compilr", "compiler"]),
        ("", ["--tgt-set", "model.out_features"], ["model.out_features"]),
        ("", ["--tgt-set", "model.out_features=interval(2,3)"], ["model.out_features", "choice"]),
        ("", ["--tgt-set", "model.out_featurs=2,3"], ["out_featurs", "out_features"]),
        ("", ["--tgt-set", "model.out_features=2,3", "--exclude", "model.out_feature=2"], ["out_feature", "did you"]),
        ("", ["--zip"], ["--zip", "nothing is swept"]),
        ("seed = -1", [], ["seed", "-1"]),
        ("model = torch.nn.Linear(4, 3)", [], ["bad.py:2", "model", "LazyCall"]),
        ("", ["--tgt-set", "compiler.backend=x"], ["Eager", "backend"]),
        ("activation = torch.nn.ReLU()", ["--tgt-set", "modle=1"], ["modle", "model"]),
        ("", ["--tgt-set", "model=Linear"], ["model", "_target_"]),
        ("", ["--tgt-set", "b.py"], ["KEY=VALUE", "b.py"]),
        ("timer = L('libbench.settings.Timer')(pairs=0)", ["--no-speed"], ["bad.py:2", "pairs", "0"]),
        ("runner = L('libbench.runners.process.Process')(timeout=0)", [], ["bad.py:2", "timeout", "0"]),
        ("model = L('torch.nn.Linaer')(4, 3)", [], ["bad.py:2", "Linaer", "Linear"]),
        ("model = L(torch.nn.Linear)(in_features=4)", [], ["bad.py:2", "out_features"]),
    ],
)
def test_a_wrong_config_is_one_line_with_its_place_and_the_nearest_right_name(libbench, config, lines, flags, words):
    code, _, err = libbench("diff", "--ref", config("a"), "--tgt", config("bad", lines), *flags)

    assert code == 2
    (line,) = [line for line in err.splitlines() if line.startswith("libbench: ")]
    for word in words:
        assert word in line


def test_a_missing_file_is_named_with_the_nearest_one(libbench, config):
    config("eager")

    code, _, err = libbench("diff", "--ref", config("a").with_name("eagre.py"))

    assert code == 2
    assert "eagre.py" in err
    assert "eager.py" in err


@pytest.mark.parametrize("flags", [["--rtol", "-1"], ["--timeout", "0"], ["--min-speedup", "x"], ["--spill", "many"]])
def test_a_wrong_flag_is_told_and_exits_with_two(libbench, config, flags):
    with pytest.raises(SystemExit) as stop:
        libbench("diff", "--ref", config("a"), *flags)

    assert stop.value.code == 2


def test_a_timeout_is_a_finding_within_its_time(libbench, config):
    begin = time.monotonic()
    code, out, _ = libbench("diff", "--ref", config("a"), "--tgt", config("sleeps", SLEEPER), "--timeout", "3")

    assert code == 1
    assert out.startswith("TARGET FAILED in evaluate")
    assert "3 s" in out.splitlines()[0]
    assert time.monotonic() - begin < 60


def test_a_speedup_that_is_asked_for_becomes_a_check(libbench, config):
    code, out, _ = libbench("diff", "--ref", config("a"), "--tgt", config("b"), "--quick", "--min-speedup", "50")

    assert code == 1
    assert "50" in out


def test_the_saved_folder_holds_outputs_results_and_configs(libbench, config, tmp_path):
    save = tmp_path / "saved"

    code, _, _ = libbench("diff", "--ref", config("a"), "--tgt", config("b"), "--no-speed", "--save", save)

    assert code == 0
    assert json.loads((save / "comparison.json").read_text())["derived"]["exit_code"] == 0
    assert (save / "reference" / "00000.safetensors").exists()
    assert not (save / "cache").exists()
    again, _, err = libbench("diff", "--ref", config("a"), "--tgt", config("b"), "--no-speed", "--save", save)
    assert (again, "not an empty folder" in err) == (2, True)


def test_run_prints_metrics_and_speed_of_one_config(libbench, config):
    code, out, _ = libbench("run", config("a"), "data.samples=8", "--quick")

    assert code == 0
    assert re.search(r"\d (us|µs|ms)", out)


def test_run_of_a_config_that_fails_exits_with_two(libbench, config):
    code, out, _ = libbench("run", config("bad", "def broken(): raise OSError('no weights')\nmodel = L(broken)()"))

    assert code == 2
    assert "no weights" in out


def test_help_answers_without_importing_torch():
    script = "import sys; from libbench.cli.main import main\ntry: main(['diff', '--help'])\nexcept SystemExit: pass\n"
    script += "assert 'torch' not in sys.modules and 'rich' not in sys.modules"

    assert subprocess.run([sys.executable, "-c", script], capture_output=True).returncode == 0


def test_an_interrupt_ends_every_child_and_keeps_what_was_won(config, tmp_path):
    file = tmp_path / "found.json"
    summaries = ("--junit", tmp_path / "found.xml", "--markdown", tmp_path / "found.md")
    tool = started("--ref", config("a"), "--tgt", config("sleeps", SLEEPER), "--no-speed", "--json", file, *summaries)
    for line in tool.stderr:
        if line.startswith("sleeps: evaluate"):
            break
    family = psutil.Process(tool.pid).children(recursive=True)
    assert len(family) >= 2

    tool.send_signal(signal.SIGINT)
    out, _ = tool.communicate(timeout=60)

    assert tool.returncode == 130
    assert out.startswith("INTERRUPTED")
    assert json.loads(file.read_text())["comparison"]["reference"]["evaluation"] is not None
    assert '<error message="INTERRUPTED' in (tmp_path / "found.xml").read_text()
    assert (tmp_path / "found.md").read_text().startswith("### INTERRUPTED")
    _, alive = psutil.wait_procs(family, timeout=10)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


def test_two_comparisons_in_one_folder_do_not_disturb_each_other(config, tmp_path):
    a, b = config("a"), config("b")
    narrow = config("narrow", "model.out_features = 2")

    tools = [started("--ref", a, "--tgt", each, "--no-speed", cwd=tmp_path) for each in (b, narrow)]
    for tool in tools:
        tool.communicate(timeout=120)

    assert [tool.returncode for tool in tools] == [0, 1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "b.py", "base.py", "narrow.py"]


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full", ">&-"])
def test_a_closed_or_full_stream_does_not_change_the_verdict(config, closed):
    command = f"{sys.executable} {ROOT}/tools/diff.py --ref {config('a')} --no-speed {closed}"

    assert subprocess.run(["bash", "-c", command], capture_output=True, timeout=120).returncode == 0


def test_a_reader_that_has_gone_is_no_traceback(config):
    tool = f"{sys.executable} {ROOT}/tools/diff.py --ref {config('a')} --tgt-set model.out_features=2 --no-speed"
    command = f"({tool} | true; exit ${{PIPESTATUS[0]}}) 2>&1"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120)

    assert "Traceback" not in found.stdout
    assert "Broken" not in found.stdout
    assert found.returncode == 1


def test_nans_on_both_sides_are_said_and_prove_nothing(libbench, config):
    nans = "class Model(torch.nn.Linear):\n    def forward(self, x): return super().forward(x) * float('nan')\n"
    code, out, _ = libbench("diff", "--ref", config("a", nans + "model = L(Model)(4, 3)"), "--no-speed")

    assert code == 2
    assert "30 of 30 values are NaN on both sides" in out
    assert "output: proves nothing: all of it is NaN" in out


def test_settings_are_overridden_from_their_defaults(libbench, config, tmp_path):
    file = tmp_path / "found.json"
    code, _, err = libbench(
        *("diff", "--ref", config("a"), "--json", file, "--set", "timer.pairs=7", "tolerance.dtype=any"),
    )

    found = json.loads(file.read_text())["comparison"]
    assert (code, err.count("libbench:")) == (0, 0)
    assert (found["timer"]["pairs"], found["tolerance"]["dtype"]) == (7, "any")


@pytest.mark.parametrize(("text", "seconds"), [("3", 3), ("2.5s", 2.5), ("1m", 60), ("2min", 120), ("1h", 3600)])
def test_a_budget_is_a_time(text, seconds):
    assert parsed(["diff", "--ref", "a.py", "--budget", text]).budget == seconds


@pytest.mark.parametrize("text", ["0", "1x", "fast", "5 days", ""])
def test_a_budget_that_is_no_time_is_refused(text, capsys):
    with pytest.raises(SystemExit):
        parsed(["diff", "--ref", "a.py", "--budget", text])

    assert "wanted a time above 0 such as 60s or 5m" in capsys.readouterr().err


def test_a_budget_wins_over_quick_and_quick_takes_three_processes(libbench, config, tmp_path):
    file = tmp_path / "out.json"
    libbench("diff", "--ref", config("a"), "--json", file, "--quick", "--budget", "2s", "--set", "timer.pairs=7")
    found = json.loads(file.read_text())["comparison"]

    assert found["timer"]["budget"] == 2.0
    assert len(found["measurements"]) == 3


def test_quick_changes_only_the_budget(libbench, config, tmp_path):
    file = tmp_path / "found.json"
    libbench("diff", "--ref", config("a"), "--json", file, "--set", "timer.pairs=7", "--quick")

    assert json.loads(file.read_text())["comparison"]["timer"] == {
        "pairs": 7,
        "precision": 0.01,
        "budget": 6.0,
        "warmup": None,
        "least": None,
    }


def test_overrides_of_run_may_stand_anywhere(libbench, config, tmp_path):
    file = tmp_path / "found.json"
    code, _, _ = libbench("run", config("a"), "data.samples=4", "--no-speed", "data.batch_size=2", "--json", file)

    assert code == 0
    assert json.loads(file.read_text())["result"]["job"]["overrides"] == ["data.samples=4", "data.batch_size=2"]


def test_an_unknown_flag_is_told_with_the_usage_of_its_command(libbench, config, capsys):
    with pytest.raises(SystemExit) as stop:
        libbench("run", config("a"), "--no-sped")

    assert stop.value.code == 2
    assert "libbench run: error: unrecognized arguments: --no-sped" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["diff", "--ref"], ["run"]])
def test_a_json_file_that_cannot_be_written_is_told_before_anything_runs(libbench, config, tmp_path, command):
    code, out, err = libbench(*command, config("sleeps", SLEEPER), "--json", tmp_path)

    assert code == 2
    assert out == ""
    assert "evaluate" not in err


@pytest.fixture
def filling(monkeypatch):
    """Let the disk be full when the given number of JSON files was written."""

    def after(count):
        written = []

        def write(path, data):
            if len(written) >= count:
                raise OSError(errno.ENOSPC, "No space left on device")
            written.append(path)
            write_text(path, data)

        monkeypatch.setattr("libbench.cli.kept.write_text", write)

    return after


@pytest.mark.parametrize(
    ("command", "more", "said"),
    [
        (["diff", "--ref"], [], ["SAME OUTPUTS"]),
        (["diff", "--ref"], ["--set", "data.samples=4,8"], ["samples=4", "samples=8"]),
        (["run"], [], ["RAN"]),
        (["run"], ["--set", "data.samples=4,8"], ["samples=4", "samples=8"]),
    ],
)
def test_a_disk_that_fills_up_is_told_when_all_was_shown(libbench, config, tmp_path, filling, command, more, said):
    file = tmp_path / "found.json"
    filling(2)

    code, out, err = libbench(*command, config("a"), "--no-speed", "--json", file, *more)

    assert code == 2
    assert [word for word in said if word not in out] == []
    assert [line for line in err.splitlines() if line.startswith("libbench:")] == [
        f"libbench: {file} is not complete: [Errno 28] No space left on device"
    ]
    assert json.loads(file.read_text())


@pytest.mark.parametrize("command", [["diff", "--ref"], ["run"]])
def test_a_disk_that_is_full_from_the_start_is_told_before_anything_runs(libbench, config, tmp_path, filling, command):
    filling(0)

    code, out, err = libbench(*command, config("sleeps", SLEEPER), "--json", tmp_path / "found.json")

    assert (code, out) == (2, "")
    assert err == "libbench: OSError: [Errno 28] No space left on device\n"


def test_it_works_where_the_current_folder_shadows_its_modules(config, tmp_path):
    (tmp_path / "libbench").mkdir()
    (tmp_path / "statistics.py").write_text("raise RuntimeError('not the one of Python')")
    tool = started("--ref", config("a"), "--no-speed", cwd=tmp_path)
    out, err = tool.communicate(timeout=120)

    assert (tool.returncode, err.count("libbench:")) == (0, 0)
    assert out.startswith("SAME OUTPUTS")


def test_a_hangup_that_is_ignored_stays_ignored(config, tmp_path):
    file = tmp_path / "found.json"
    command = ["nohup", sys.executable, ROOT / "tools" / "diff.py", "--ref", config("a"), "--no-speed", "--json", file]
    tool = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in tool.stderr:
        if line.startswith("a"):
            break

    tool.send_signal(signal.SIGHUP)
    tool.communicate(timeout=120)

    assert tool.returncode == 0

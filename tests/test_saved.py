"""A side that was saved takes the place of a config: on another day, on another machine, without its code."""

import json
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from libbench.diff import Plan, diff, run
from libbench.errors import ConfigError, LibbenchError
from libbench.job import Job
from libbench.report.json import from_json, to_json
from libbench.report.text import render
from libbench.saved import SavedSide
from libbench.settings import Timer

ROOT = Path(__file__).parent.parent
NO_SPEED = Plan(speed=False)
METRIC = """
from libbench.interfaces import Evaluator
class Mean(Evaluator):
    tolerances = {"mean": 0.25}
    def process(self, batch, outputs): return dict(zip(batch.indices, outputs.mean(1).tolist()))
    def evaluate(self, records): return {"mean": sum(records.values()) / len(records)}
evaluator = L(Mean)()
"""
SHIFTED = """
class Shifted(torch.nn.Linear):
    def forward(self, x): return super().forward(x) + by
by = BY
model = L(Shifted)(in_features=4, out_features=3)
"""


@pytest.fixture
def saved(config, tmp_path):
    """Run a config and save it as a folder of the same name."""

    def make(name, lines="", overrides=(), **plan):
        folder = tmp_path / f"saved-{name}"
        run(Job.load(config(name, lines), overrides), Plan(**{"speed": False, "save": folder, **plan}))
        return folder

    return make


def edited(folder, change):
    file = folder / "result.json"
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))
    return folder


def unlike(comparison):
    return {each.name: (each.reference, each.target) for each in comparison.comparability}


def test_what_run_saves_is_compared_with_a_config_on_the_command_line(libbench, config, tmp_path):
    folder = tmp_path / "saved"
    assert libbench("run", config("a"), "--no-speed", "--save", folder)[0] == 0

    code, out, _ = libbench("diff", "--ref", folder, "--tgt", config("b"))
    other, text, _ = libbench("diff", "--ref", folder, "--tgt", config("b"), "--tgt-set", "model.out_features=2")

    assert code == 0
    assert out.splitlines()[0] == "SAME OUTPUTS · speed not measured"
    assert f"a.py, saved in {folder}" in " ".join(out.split())
    assert re.search(r"^config +no difference$", out, re.MULTILINE)
    assert f"speed not measured: {folder} holds none: it was run without" in " ".join(out.split())
    assert other == 1
    assert text.startswith("DIFFERENT OUTPUTS")
    assert re.search(r"model.out_features +3 +-> +2", text)


def test_two_folders_are_compared_without_running_or_importing_anything(libbench, config, saved, tmp_path):
    mark = tmp_path / "imported"
    lines = METRIC + f"import pathlib\npathlib.Path({str(mark)!r}).touch()\n"
    folders = saved("a", lines), saved("b", lines), saved("c", lines + SHIFTED.replace("BY", "1.0"))
    mark.unlink()

    same = libbench("diff", "--ref", folders[0], "--tgt", folders[1])
    different = libbench("diff", "--ref", folders[0], "--tgt", folders[2], "--atol", "2")

    assert same[0] == 0
    assert re.search(r"mean +\S+ +\S+ +0 +0.25 +ok", same[1])
    assert different[0] == 1
    assert different[1].startswith("DIFFERENT METRICS: mean")
    assert not mark.exists()


def test_a_saved_target_is_judged_by_a_reference_that_runs(config, saved):
    within, beyond = (saved(n, METRIC + SHIFTED.replace("BY", b)) for n, b in (("near", "0.1"), ("far", "0.5")))

    near = diff(config("ref", METRIC), within, Plan(speed=False, atol=1.0))
    far = diff(config("ref", METRIC), beyond, Plan(speed=False, atol=1.0))

    assert (near.exit_code, near.metrics[0].allowed) == (0, 0.25)
    assert (far.exit_code, far.metrics[0].verdict, far.outputs.verdict) == (1, "different", "same")
    assert [change.path for change in near.changes if change.counted][:1] == ["model"]


def test_a_saved_reference_needs_nothing_that_its_config_names(config, saved, tmp_path):
    (tmp_path / "own_layers.py").write_text("import torch\nclass Own(torch.nn.Linear): pass\nMODE = 3\n")
    lines = "from .own_layers import Own\nmodel = L(Own)(4, 3)\nkinds = [Own]\nbest = [lambda x: x]\n"
    folder = saved("gone", lines)
    for file in ("own_layers.py", "gone.py"):
        (tmp_path / file).unlink()

    comparison = diff(folder, config("here"), NO_SPEED)

    assert comparison.exit_code == 0
    changes = {change.path: (change.reference, change.target) for change in comparison.changes}
    assert changes["model"] == ("Own(in_features=4, out_features=3)", "Linear(in_features=4, out_features=3)")
    assert changes["kinds"] == ("[Own]", "")
    assert "lambda" in changes["best"][0]


def test_a_config_that_was_moved_with_its_files_is_no_other_one(config, saved, tmp_path):
    lines = (
        "import enum\nfrom libbench.config import derive\nclass Mode(enum.Enum):\n    FAST = 1\n"
        "class Own(torch.nn.Linear): pass\nmodel = L(Own)(4, 3)\nmode = Mode.FAST\nown = [lambda x: x]\n"
        "twice = derive(lambda cfg: 2 * cfg.model.out_features)\nkind = torch.float16\n"
    )
    folder = saved("a", lines)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for file in ("a.py", "base.py"):
        shutil.copy(tmp_path / file, moved / file)

    comparison = diff(folder, moved / "a.py", NO_SPEED)

    # What has no name but its line in the file cannot be told to be equal.
    assert {change.path for change in comparison.changes} == {"own.0", "twice"}
    assert comparison.exit_code == 0
    assert diff(folder, tmp_path / "a.py", NO_SPEED).changes == ()


def test_other_batches_are_said_and_nothing_is_compared(libbench, config, saved):
    code, out, _ = libbench(
        *("diff", "--ref", saved("a"), "--tgt", config("b"), "--tgt-set", "data.batch_size=5", "--no-speed")
    )

    assert code == 2
    assert re.search(r"^not alike +batch size$", out, re.MULTILINE)
    assert re.search(r"^ +batch size +4 +5$", out, re.MULTILINE)


def test_other_inputs_are_said(config, saved):
    comparison = diff(saved("a"), Job.load(config("b"), ["data.seed=5"]), NO_SPEED)

    assert comparison.inputs is None
    assert "other ones in 3 of 3 batches" in unlike(comparison)["inputs"][1]
    assert unlike(comparison)["inputs"][0] != unlike(comparison)["inputs"][1].partition(",")[0]


def test_other_dtypes_and_shapes_are_said(config, saved):
    lines = "class M(torch.nn.Linear):\n    def forward(self, x): return super().forward(x).double()[:, :2]\n"

    comparison = diff(saved("a"), config("b", lines + "model = L(M)(4, 3)"), NO_SPEED)

    assert unlike(comparison)["dtype"] == ("float32", "float64")
    assert unlike(comparison)["shape"] == ("(4, 3)", "(4, 2)")
    assert comparison.exit_code == 1


def test_another_seed_cannot_be_judged(libbench, config, saved):
    folder = saved("a")

    code, _, err = libbench("diff", "--ref", folder, "--tgt", config("b"), "--seed", "7", "--no-speed")

    assert code == 2
    assert "different seeds cannot be judged: 0 and 7" in err
    with pytest.raises(ConfigError, match="different seeds"):
        diff(folder, saved("c", "seed = 3"), NO_SPEED)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: (folder / "outputs" / "00001.safetensors").unlink(), "00001.safetensors"),
        (lambda folder: (folder / "outputs" / "00001.json").unlink(), "00001.json"),
        (lambda folder: (folder / "outputs" / "00002.safetensors").write_bytes(b"abc"), "00002.safetensors"),
        (lambda folder: (folder / "outputs" / "index.jsonl").unlink(), "index.jsonl"),
        (lambda folder: (folder / "outputs" / "index.jsonl").write_text("{}\n"), "index.jsonl cannot be read, line 1"),
        (lambda folder: (folder / "outputs" / "index.jsonl").write_text(""), "it has 0 of 3 batches"),
        (lambda folder: (folder / "result.json").write_text("{"), "result.json cannot be read"),
        (lambda folder: (folder / "result.json").write_text("[]"), "wanted a document of schema 'libbench.result'"),
        (lambda folder: edited(folder, lambda d: d.update(version=2)), "reads up to version 1"),
        (lambda folder: edited(folder, lambda d: d.update(schema="libbench.comparison")), "got 'libbench.comparison'"),
        (lambda folder: edited(folder, lambda d: d.pop("spill")), "result.json is not that of a saved side"),
        (lambda folder: edited(folder, lambda d: d["result"].update(job=3)), "result.json is not that of a saved side"),
        (lambda folder: (folder / "result.json").unlink(), "is a folder without result.json: wanted a config file"),
        (
            lambda folder: edited(folder, lambda d: d["result"]["job"].update(config="{a", digest="0")),
            "cannot read the config in",
        ),
    ],
)
def test_a_folder_that_is_damaged_or_none_is_told_in_one_line(libbench, config, saved, damage, words):
    folder = saved("a")
    damage(folder)

    for sides in (("--ref", folder, "--tgt", config("b")), ("--ref", config("b"), "--tgt", folder)):
        code, out, err = libbench("diff", *sides, "--no-speed")
        (line,) = [line for line in err.splitlines() if "libbench: " in line]
        assert (code, out) == (2, "")
        assert words in line
        assert "saved-a" in line


def test_a_file_that_is_cut_off_is_told(libbench, config, saved):
    folder = saved("a")
    file = folder / "outputs" / "00001.safetensors"
    file.write_bytes(file.read_bytes()[:-5])

    code, _, err = libbench("diff", "--ref", folder, "--tgt", config("b"), "--no-speed")

    assert code == 2
    assert "00001.safetensors cannot be read as a saved snapshot" in err


@pytest.mark.parametrize("flag", [("--ref-set", "data.samples=4"), ("--set", "data.samples=4")])
def test_no_override_changes_a_saved_side(libbench, config, saved, flag):
    code, _, err = libbench("diff", "--ref", saved("a"), "--tgt", config("b"), *flag, "--no-speed")

    assert code == 2
    assert "is a saved side, and is what it was: data.samples=4 cannot change it" in err


def test_a_saved_reference_alone_asks_for_a_target(libbench, saved):
    code, _, err = libbench("diff", "--ref", saved("a"), "--tgt-set", "model.out_features=2")

    assert code == 2
    assert "--tgt is needed" in err


def test_a_limit_and_a_sweep_are_for_the_side_that_runs(libbench, config, saved):
    code, out, _ = libbench(
        *("diff", "--ref", saved("a"), "--tgt", config("b"), "--tgt-set", "model.out_features=3,2", "--no-speed"),
        *("--timeout", "100"),
    )

    assert code == 1
    assert out.count("SAME OUTPUTS") == 1
    assert out.count("DIFFERENT OUTPUTS") == 1


def test_each_config_of_a_sweep_is_a_saved_side(libbench, config, tmp_path):
    folder = tmp_path / "sweep"
    libbench("run", config("a"), "model.out_features=3,2", "--no-speed", "--save", folder)

    code, _, err = libbench("diff", "--ref", folder, "--tgt", config("b"), "--no-speed")

    assert code == 2
    assert "holds several saved sides; name one of config-1, config-2 in it" in err
    for name, wanted in (("config-1", 0), ("config-2", 1)):
        assert libbench("diff", "--ref", folder / name, "--tgt", config("b"), "--no-speed")[0] == wanted


SLOW = """
import time
class Slow(torch.nn.Linear):
    calls = 0
    def forward(self, x):
        self.calls += 1
        if self.calls > 4: time.sleep(600)
        return super().forward(x)
model = L(Slow)(4, 3)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_interrupted_leaves_a_folder_that_says_so(libbench, config, tmp_path, number):
    folder = tmp_path / "saved"
    tool = subprocess.Popen(
        [sys.executable, ROOT / "tools" / "run.py", config("slow", SLOW), "--save", folder],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    index = folder / "outputs" / "index.jsonl"
    while not index.exists() or index.read_text().count("\n") < 2:
        assert tool.poll() is None
    tool.send_signal(number)
    tool.communicate(timeout=60)

    code, out, err = libbench("diff", "--ref", folder, "--tgt", config("b"), "--no-speed")

    assert (code, out) == (2, "")
    assert f"{folder} is not complete: it was interrupted, or still runs, after 2 of 3 batches" in err


def test_one_interrupted_while_it_was_timed_is_compared_without_its_times(config, saved):
    folder = saved("a", speed=True, timer=Timer(pairs=8, warmup=1))
    edited(folder, lambda document: document.update(complete=False))

    comparison = diff(folder, config("b"), Plan(timer=Timer(pairs=8, warmup=1)))

    assert (comparison.exit_code, comparison.speedups) == (0, ())
    assert any("speed not measured" in note and "interrupted" in note for note in comparison.notes)
    assert "speed not measured" in render(comparison).splitlines()[0]


def test_a_side_that_failed_is_a_failed_side_when_it_is_read(config, saved):
    bad = "def broken(): raise OSError('no weights')\nmodel = L(broken)()"
    folder = saved("bad", bad)

    as_target, as_reference = diff(config("a"), folder, NO_SPEED), diff(folder, config("a"), NO_SPEED)

    assert (as_target.exit_code, as_reference.exit_code) == (1, 2)
    assert "no weights" in as_target.target.failure.message
    assert as_reference.reference.failure.stage == "instantiate"


def test_a_crash_while_timing_leaves_the_outputs_to_be_compared(config, saved):
    crashes = SLOW.replace("time.sleep(600)", "os._exit(3)").replace("> 4", "> 9").replace("import time", "import os")
    folder = saved("crash", crashes, speed=True, timer=Timer(pairs=30, warmup=1))

    without, asked = diff(folder, config("b"), NO_SPEED), diff(folder, config("b"), Plan())

    assert without.exit_code == 0
    assert (asked.exit_code, asked.reference.failure.stage, asked.outputs.verdict) == (2, "measure", "same")


def test_outputs_that_were_not_kept_are_counted_on_either_side(config, saved):
    folder = saved("a", spill=60)

    for sides, who in (((folder, config("b")), "reference"), ((config("b"), folder), "target")):
        comparison = diff(*sides, NO_SPEED)
        assert comparison.outputs.batches == 1
        assert comparison.outputs.skipped == ((f"the {who}'s outputs beyond 60 bytes were not kept", 2),)


def test_nothing_in_a_saved_folder_is_changed_by_comparing_it(config, saved):
    folder = saved("a")
    before = {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    diff(folder, config("b"), Plan(speed=False, spill=0))
    diff(config("b"), folder, NO_SPEED)

    assert {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()} == before


def test_the_tolerance_of_a_saved_targets_config_wins(config, saved):
    lines = "from libbench.settings import Tolerance\ntolerance = L(Tolerance)(atol=1.0, leaves={'x*': (0.1, 0.2)})\n"
    folder = saved("near", lines + SHIFTED.replace("BY", "0.5"))

    comparison = diff(config("a"), folder, NO_SPEED)

    assert (comparison.exit_code, comparison.tolerance.atol) == (0, 1.0)
    assert comparison.tolerance.leaves == {"x*": (0.1, 0.2)}
    assert diff(config("a"), folder, Plan(speed=False, atol=0.1)).exit_code == 1


def test_times_of_another_time_give_a_ratio_and_say_so(config, saved):
    timer = Timer(pairs=12, warmup=2)
    folder = saved("a", speed=True, timer=timer)

    comparison = diff(folder, config("b"), Plan(timer=timer))

    speedup = next(each for each in comparison.speedups if each.clock == "wall")
    assert speedup.low <= speedup.ratio * 1.5
    assert speedup.pairs == ()
    assert "not alternated with the reference" in speedup.note
    assert (comparison.measurements, len(comparison.target.timings)) == ((), 5)
    assert from_json(json.loads(json.dumps(to_json(comparison)))) == comparison
    assert set(to_json(comparison)["derived"]["median_seconds"]["reference"]) == {"wall", "cpu"}
    text = render(comparison, verbose=True)
    assert "5 and 5 processes, each side by itself" in text
    assert text.count("process 3: 12 trials; medians wall") == 2


def test_two_saved_sides_are_compared_by_the_times_that_they_hold(saved):
    timer = Timer(pairs=12, warmup=2)
    folder = saved("a", speed=True, timer=timer)

    comparison = diff(folder, folder, Plan())

    assert comparison.speedups[0].ratio == 1.0
    assert comparison.speedups[0].verdict == "inconclusive"


def other_machine(document):
    document["result"]["environment"].update({"processor": "Abacus 9000", "threads": 64})


def slower(document, factor=100.0):
    for process in document["result"]["timings"]:
        process["wall"]["seconds"] = [factor * each for each in process["wall"]["seconds"]]


def test_a_far_faster_target_is_called_faster_only_where_the_machine_is_the_same(config, saved):
    timer = Timer(pairs=12, warmup=2)
    folder = edited(saved("a", speed=True, timer=timer), slower)
    plan = Plan(timer=timer, min_speedup=3.0)

    here = diff(folder, config("b"), plan)
    elsewhere = diff(edited(folder, other_machine), config("b"), plan)

    assert here.speedups[0].verdict == "faster"
    assert (here.exit_code, here.checks[-1].verdict) == (0, "same")
    assert elsewhere.speedups[0].verdict == "inconclusive"
    assert "no verdict: processor, threads differ" in elsewhere.speedups[0].note
    assert unlike(elsewhere)["processor"][0] == "Abacus 9000"
    assert unlike(elsewhere)["threads"][0] == "64"
    assert (elsewhere.exit_code, elsewhere.checks[-1].verdict) == (2, "unjudged")
    text = render(elsewhere)
    assert text.index("not alike: processor, threads") < text.index("x, 95 % interval")
    assert text.index("Abacus 9000") < text.index("wall per call")


def test_a_saved_side_says_what_it_holds_and_nothing_is_pickled(saved):
    folder = saved("a", METRIC, overrides=["data.samples=8"])

    side = SavedSide.load(folder)

    assert (side.seed, side.complete, side.result.evaluation.allowed) == (0, True, {"mean": 0.25})
    assert [each.output.indices for each in side.batches] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert side.result.metrics.keys() == {"mean"}
    assert side.result.environment["torch"]
    assert side.result.job.overrides == ("data.samples=8",)
    assert (folder / "outputs" / "config.yaml").read_text() == side.result.job.config
    assert {file.suffix for file in folder.rglob("*") if file.is_file()} <= {
        *(".json", ".jsonl", ".safetensors", ".yaml", ".txt"),
    }


def test_a_folder_of_something_else_is_told_from_python_too(tmp_path, config):
    with pytest.raises(LibbenchError, match="is a folder without result.json"):
        diff(tmp_path, config("a"))


def test_a_name_tells_sides_apart_that_were_saved_under_one(libbench, saved, tmp_path):
    folder = saved("a")

    _, out, _ = libbench("diff", "--ref", folder, "--tgt", folder, folder, "--no-speed")

    assert "a (target)" in out
    assert "a (target 2)" in out
    assert replace(SavedSide.load(folder), name="x").record().name == "x"

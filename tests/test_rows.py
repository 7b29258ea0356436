"""Lists of pairs: what a row is known by, how they are run, kept, interrupted and gone on with."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import psutil
import pytest

from libbench.job import Job
from libbench.plan import Plan
from libbench.report.headline import headline
from libbench.report.json import from_json
from libbench.report.many import verdict_word
from libbench.rowfile import read_rows
from libbench.rows import Row, is_broken, key_of, run_rows

ROOT = Path(__file__).parent.parent
NUMBERED = """
import os, pathlib, signal, time
class Numbered(torch.nn.Linear):
    def __init__(self, number, deadly=-1, wait=0.0, once=None):
        super().__init__(4, 3)
        self.number, self.deadly, self.wait, self.once = number, deadly, wait, once
    def forward(self, x):
        time.sleep(self.wait)
        if self.number == self.deadly and (self.once is None or not os.path.exists(self.once)):
            if self.once is not None:
                pathlib.Path(self.once).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().forward(x) + (self.number % 3 == 1)
model = L(Numbered)(number=0)
"""


def words(path):
    return {document["row"]: verdict_word(from_json(document)) for document in read_rows(path)}


def test_a_row_is_known_by_both_configs_and_the_question_and_not_by_its_limits(config):
    job = Job.load(config("a"))
    plan = Plan(speed=False)

    def key(*overrides, plan=plan, seed=None):
        return key_of(Row(job, Job.load(config("a"), overrides, seed), "name"), plan)

    assert key() == key() == key("runner.timeout=5", "runner.memory=1000000000")
    others = [
        key("model.out_features=2"), key("runner.threads=1"), key(seed=7), key(plan=Plan()),
        key(plan=Plan(speed=False, rtol=1e-3)), key(plan=Plan(speed=False, seeds=2)), key(plan=Plan(budget=2.0)),
    ]  # fmt: skip
    assert len({key(), *others}) == 1 + len(others)


def test_of_twenty_rows_one_is_killed_and_nineteen_are_right(libbench, config, tmp_path):
    file = tmp_path / "rows.jsonl"
    numbers = ",".join(map(str, range(20)))
    before = set(psutil.Process().children(recursive=True))

    code, out, _ = libbench(
        *("sweep", "--ref", config("a", NUMBERED), "--no-speed", "--to", file),
        *("--tgt-set", f"model.number={numbers}", "model.deadly=11"),
    )

    found = words(file)
    right = {f"model.number={n}": "DIFFERENT" if n % 3 == 1 else "same" for n in range(20)}
    assert found == {**right, "model.number=11": "FAILED"}
    assert code == 1
    assert "20 rows · 12 same · 7 different · 1 failed" in out
    assert "killed by SIGKILL" in out
    assert max(map(len, out.splitlines())) <= 100
    left = [p for p in psutil.Process().children(recursive=True) if p not in before]
    assert [
        p for p in left if "forkserver" not in " ".join(p.cmdline()) and "tracker" not in " ".join(p.cmdline())
    ] == []


def test_a_rank_that_is_killed_costs_its_row_and_no_other(libbench, config, tmp_path):
    file = tmp_path / "rows.jsonl"
    ranks = NUMBERED.replace("if self.number ==", "if os.environ.get('RANK') == '1' and self.number ==")
    ranks += "runner = L('libbench.runners.distributed.Distributed')(nproc=2)\n"

    code, out, _ = libbench(
        *("sweep", "--ref", config("a", NUMBERED), "--tgt", config("ranks", ranks), "--no-speed", "--to", file),
        *("--tgt-set", "model.number=0,2,3,5,6", "model.deadly=3"),
    )

    assert words(file) == {f"model.number={n}": "FAILED" if n == 3 else "same" for n in (0, 2, 3, 5, 6)}
    assert "rank 1: killed by SIGKILL" in out
    assert code == 1


def test_a_reference_that_is_killed_once_costs_one_row_and_not_all_of_its_targets(libbench, config, tmp_path):
    file = tmp_path / "rows.jsonl"

    code, _, _ = libbench(
        *("sweep", "--ref", config("a", NUMBERED), "--no-speed", "--to", file),
        *("--ref-set", "model.deadly=0", f"model.once={tmp_path}/once", "--tgt-set", "model.number=0,1,2"),
    )

    assert words(file) == {"model.number=0": "not judged", "model.number=1": "DIFFERENT", "model.number=2": "same"}
    assert code == 2


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_list_is_gone_on_with_and_gives_the_rows_of_one_that_was_not(libbench, config, tmp_path, end):
    arguments = [
        *("sweep", "--ref", config("a", NUMBERED), "--no-speed", "--set", "model.wait=0.1"),
        *("--tgt-set", "model.number=0,1,2,3"),
    ]
    broken, whole = tmp_path / "broken.jsonl", tmp_path / "whole.jsonl"
    command = [sys.executable, ROOT / "tools" / "sweep.py", *arguments[1:], "--to", broken]
    process = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    while broken.stat().st_size == 0 if broken.exists() else True:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(end)
    assert process.wait(30) == (130 if end == signal.SIGINT else -signal.SIGKILL)
    done = len(list(read_rows(broken)))
    assert 1 <= done < 4

    code, out, err = libbench(*arguments, "--to", broken)

    assert f"{done} of 4 rows were done before" in err
    assert "4 rows · 3 same · 1 different" in out
    libbench(*arguments, "--to", whole)
    assert words(broken) == words(whole)
    assert code == 1


def test_finished_rows_are_skipped_and_failed_ones_only_run_again_on_request(libbench, config, tmp_path):
    file, flag = tmp_path / "rows.jsonl", tmp_path / "once"
    arguments = [
        *("sweep", "--ref", config("a", NUMBERED), "--no-speed", "--to", file),
        *("--tgt-set", "model.number=0,3", "model.deadly=3", f"model.once={flag}"),
    ]
    assert libbench(*arguments)[0] == 1
    size = file.stat().st_size

    code, out, err = libbench(*arguments)
    assert (code, file.stat().st_size) == (1, size)
    assert "2 of 2 rows were done before" in err

    code, out, err = libbench(*arguments, "--retry")
    assert code == 0
    assert "1 of 2 rows were done before" in err
    assert "2 rows · 2 same" in out
    assert words(file) == {"model.number=0": "same", "model.number=3": "same"}


def test_several_jobs_at_a_time_give_the_same_rows(libbench, config, tmp_path):
    file = tmp_path / "rows.jsonl"

    code, out, _ = libbench(
        *("sweep", "--ref", config("a", NUMBERED), "--no-speed", "--to", file, "--jobs", 3),
        *("--tgt-set", "model.number=0,1,2,3,4", "model.deadly=2"),
    )

    assert sorted(words(file).items()) == [
        ("model.number=0", "same"), ("model.number=1", "DIFFERENT"), ("model.number=2", "FAILED"),
        ("model.number=3", "same"), ("model.number=4", "DIFFERENT"),
    ]  # fmt: skip
    assert code == 1
    assert out.count("/5  ") == 5


def test_several_jobs_that_would_disturb_one_anothers_timing_are_refused(libbench, config, tmp_path):
    code, _, err = libbench(
        "sweep", "--ref", config("a"), "--tgt", config("b"), "--to", tmp_path / "rows.jsonl", "--jobs", 2
    )

    assert code == 2
    assert "2 jobs at a time would disturb one another's timing on Process" in err


def test_a_list_is_read_where_it_lies_and_its_lines_share_a_reference(libbench, config, tmp_path, monkeypatch):
    config("a", NUMBERED)
    config("c", "model = L(torch.nn.Linear)(4, 2)")
    listed = tmp_path / "pairs.txt"
    listed.write_text(
        "# two files, then overrides\n\na.py a.py tgt.model.number=1,2\na.py c.py  # another model\n"
        "a.py a.py data.batch_size=5 ref.model.number=3\n"
    )
    monkeypatch.chdir("/")

    code, out, _ = libbench("sweep", "--list", listed, "--no-speed", "--to", tmp_path / "rows.jsonl")

    assert words(tmp_path / "rows.jsonl") == {
        "a model.number=1": "DIFFERENT",
        "a model.number=2": "same",
        "c": "DIFFERENT",
        "ref.model.number=3 a data.batch_size=5": "same",
    }
    assert "4 rows" in out
    assert code == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a.py", "wanted REFERENCE TARGET [KEY=VALUE ...], got 1 paths"),
        ("a.py b.py c.py", "got 3 paths"),
        ("a.py b.py tgt.modle.x=1", "modle"),
        ("a.py absent.py", "absent.py"),
        ("a.py 'b.py", "No closing quotation"),
    ],
)
def test_a_wrong_line_of_a_list_is_named_before_anything_runs(libbench, config, tmp_path, line, words):
    config("a"), config("b")
    listed = tmp_path / "pairs.txt"
    listed.write_text(f"a.py b.py\n{line}\n")

    code, out, err = libbench("sweep", "--list", listed, "--no-speed", "--to", tmp_path / "rows.jsonl")

    assert (code, out) == (2, "")
    assert "pairs.txt:2: " in err
    assert words in err
    assert len(err.splitlines()) == 1


def test_without_sides_or_with_too_many_it_says_what_is_wanted(libbench, config, tmp_path):
    to = ("--to", tmp_path / "rows.jsonl")

    assert "give --ref and --tgt, or a --list" in libbench("sweep", *to)[2]
    assert "leave --ref and --tgt out" in libbench("sweep", "--list", "x", "--ref", config("a"), *to)[2]


def test_a_row_that_breaks_takes_no_other_with_it_and_is_tried_again(config, tmp_path):
    good, gone = Job.load(config("a")), Job.load(config("gone"))
    rows = [Row(good, good, "good"), Row(good, gone, "gone"), Row(good, good, "good, too")]
    (tmp_path / "gone.py").unlink()

    found = dict(run_rows(rows, Plan(speed=False, seeds=2)))

    assert is_broken(found[1])
    assert headline(found[1]).startswith(f"CANNOT BE JUDGED: ConfigError: no config file {tmp_path}/gone.py")
    assert [verdict_word(found[number]) for number in (0, 2)] == ["same", "same"]


GREEDY = """
import subprocess, sys, time
class Greedy(torch.nn.Linear):
    def forward(self, x):
        if OWN:
            self.taken = bytearray(b"x" * 1_500_000_000)
            time.sleep(60)
        subprocess.run([sys.executable, "-c", "import time; x = bytearray(b'x' * 1_500_000_000); time.sleep(60)"])
model = L(Greedy)(4, 3)
"""


@pytest.mark.parametrize("own", [True, False])
def test_a_side_that_takes_more_memory_than_it_may_is_ended_with_all_it_started(libbench, config, tmp_path, own):
    greedy = config("greedy", f"OWN = {own}\n{GREEDY}")

    code, out, _ = libbench("diff", "--ref", config("a"), "--tgt", greedy, "--no-speed", "--memory", "1200MB")

    assert code == 1
    assert out.startswith("TARGET FAILED in evaluate: its process took 1,")
    assert "more than 1,200 MB" in out
    assert not [p for p in psutil.process_iter(["cmdline"]) if "1_500_000_000" in " ".join(p.info["cmdline"] or ())]


def test_every_row_on_disk_is_a_whole_comparison(libbench, config, tmp_path):
    file = tmp_path / "rows.jsonl"
    libbench("sweep", "--ref", config("a"), "--tgt", config("b"), "--no-speed", "--to", file)

    (line,) = file.read_text().splitlines()
    comparison = from_json(json.loads(line))
    assert comparison.complete
    assert comparison.outputs.verdict == "same"


def test_a_list_without_a_pair_is_named(libbench, tmp_path):
    listed = tmp_path / "pairs.txt"
    listed.write_text("# nothing yet\n")

    code, _, err = libbench("sweep", "--list", listed, "--to", tmp_path / "rows.jsonl")

    assert code == 2
    assert f"{listed} names no pair; wanted lines of REFERENCE TARGET" in err


def test_a_pair_that_cannot_be_judged_is_named_before_anything_runs(libbench, config, tmp_path):
    config("a"), config("b")
    listed = tmp_path / "pairs.txt"
    listed.write_text("a.py b.py\na.py b.py ref.seed=1 tgt.seed=2\n")

    code, out, err = libbench("sweep", "--list", listed, "--no-speed", "--to", tmp_path / "rows.jsonl")

    assert (code, out) == (2, "")
    assert "row 'ref.seed=1 seed=2': different seeds cannot be judged" in err


def test_a_row_that_is_no_comparison_is_named_with_its_file(libbench, config, tmp_path):
    path = tmp_path / "rows.jsonl"
    asked = ("sweep", "--ref", config("a"), "--tgt", config("b"), "--no-speed", "--to", path)
    libbench(*asked)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({"key": document["key"], "schema": "libbench.result"}) + "\n")

    code, _, err = libbench(*asked)

    assert code == 2
    assert f"the row 'b' in {path} cannot be read: " in err


def test_a_list_that_is_gone_on_with_sums_up_the_rows_of_both_runs(libbench, config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = ("sweep", "--ref", config("a", NUMBERED), "--no-speed", "--to", "rows.jsonl", "--markdown", "-")

    libbench(*command, "--junit", "first.xml", "--tgt-set", "model.number=1")
    code, out, _ = libbench(*command, "--junit", "second.xml", "--tgt-set", "model.number=0,1")

    assert code == 1
    assert out.startswith("### 2 rows · 1 same · 1 different\n\n| pair | verdict | finding | speed |\n")
    assert out.count("| model.number=") == 2
    cases = ElementTree.parse("second.xml").getroot().iter("testcase")
    assert {case.get("name"): case.find("failure") is not None for case in cases} == {
        "model.number=0": False,
        "model.number=1": True,
    }

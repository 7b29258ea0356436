"""The same question at several seeds: the worst counts."""

import json
import re

import pytest

from libbench.cli.main import main
from libbench.config import LazyCall as L
from libbench.data import RandomInputs
from libbench.diff import Plan, diff, diff_all, run
from libbench.errors import ConfigError
from libbench.job import Job
from libbench.records import encode
from libbench.report.json import from_json, to_json
from libbench.report.text import headline, render
from libbench.settings import Timer

THREE = Plan(speed=False, seeds=3)
PICKY = """
class Picky(torch.nn.Linear):
    def __init__(self, bad=(), fails=(), offset=0.1):
        super().__init__(4, 3)
        self.seed, self.bad, self.fails, self.offset = torch.initial_seed(), bad, fails, offset
    def forward(self, x):
        if self.seed in self.fails:
            raise RuntimeError(f"seed {self.seed} fails")
        return super().forward(x) + (self.offset if self.seed in self.bad else 0)
model = L(Picky)()
"""
CONSTANT = """
class Constant(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(4.0))
    def forward(self, x):
        return x * self.weight
class Fixed:
    def __init__(self):
        self.inner = RandomInputs(shapes=(4,), samples=6, batch_size=4)
    def __iter__(self):
        return iter(self.inner)
model = L(Constant)()
data = L(Fixed)()
"""


@pytest.fixture
def job(config):
    def load(*overrides):
        return Job.load(config("picky", PICKY), list(overrides))

    return load


def test_outputs_are_compared_at_every_seed_with_other_weights_and_other_inputs(job):
    comparison = diff(job(), job(), THREE)

    every = (comparison, *comparison.seeds)
    assert [each.reference.job.seed for each in every] == [each.target.job.seed for each in every] == [0, 1, 2]
    assert [each.outputs.batches for each in every] == [3, 3, 3]
    assert len({each.inputs for each in every}) == 3
    assert [check.name for check in comparison.checks] == ["outputs", "seed 1", "seed 2"]
    assert comparison.exit_code == 0
    assert headline(comparison).startswith("SAME OUTPUTS (3 seeds)")


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ("model.bad=[2]", 1, "DIFFERENT OUTPUTS: output: 30 of 30 values out of tolerance (at seed 2, the worst of 3)"),
        ("model.bad=[0]", 1, "DIFFERENT OUTPUTS: output: 30 of 30 values out of tolerance (at seed 0, the worst of 3)"),
        ("model.fails=[1]", 1, "TARGET FAILED in evaluate: RuntimeError: seed 1 fails"),
    ],
)
def test_the_worst_seed_decides_and_stands_first(job, change, code, words):
    comparison = diff(job(), job(change), THREE)

    seed = change[-2]
    rows = render(comparison).partition("\nseeds ")[2].partition("verdict")[2].splitlines()
    assert comparison.exit_code == code
    assert headline(comparison).startswith(words)
    assert rows[1].split()[0] == seed
    assert [row.split()[0] for row in rows[2:4]] == sorted({"0", "1", "2"} - {seed})
    assert [row.split()[1] for row in rows[2:4]] == ["same", "same"]
    assert "1 of 3 differs or cannot be judged" in render(comparison)


def test_the_tables_show_the_worst_seed_and_say_which(job):
    comparison = diff(job(), job("model.bad=[2]"), Plan(seeds=3, timer=Timer(pairs=6, warmup=1)))

    text = render(comparison)
    told = "1 of 3 differs or cannot be judged; below stands what was found at seed 2, the worst of them"
    assert told in " ".join(text.split())
    assert text.index("\nseeds ") < text.index("\noutputs ") < text.index("wall per call")
    assert re.search(r"output +float32 +\(4, 3\) +DIFFERENT +0.100 .* 30 / 30", text)


def test_a_target_that_fails_at_a_later_seed_is_called_failed_in_a_row_and_its_traceback_can_be_had(libbench, config):
    file = config("picky", PICKY)
    flags = ("--tgt-set", "model.fails=[1],[3]", "--seeds", "2", "--no-speed")

    code, out, _ = libbench("diff", "--ref", file, *flags, "--traceback")

    assert code == 1
    assert out.splitlines()[-1] == "1 same · 1 failed"
    assert "FAILED" in out.splitlines()[-4]
    assert "Traceback" in out


def test_a_reference_that_fails_at_one_seed_cannot_be_judged(job):
    comparison = diff(job("model.fails=[2]"), job(), THREE)

    assert comparison.exit_code == 2
    assert [check.verdict for check in comparison.checks] == ["same", "same", "unjudged"]
    assert "REFERENCE FAILED" in headline(comparison)


def test_a_reference_is_run_once_for_each_seed_however_many_targets_there_are(config, tmp_path):
    runs = tmp_path / "runs"
    ref = config(
        "ref",
        f"def build():\n    open({str(runs)!r}, 'a').write(f'{{torch.initial_seed()}} ')\n"
        "    return torch.nn.Linear(4, 3)\nmodel = L(build)()",
    )

    found = list(diff_all(Job.load(ref), [Job.load(config(name)) for name in "ab"], THREE))

    assert [comparison.exit_code for comparison in found] == [0, 0]
    assert runs.read_text().split() == ["0", "1", "2"]


def test_seeds_begin_where_the_configs_do_and_only_the_first_is_timed(job):
    reference = job("seed=7")

    comparison = diff(reference, job("seed=7"), Plan(timer=Timer(pairs=6, warmup=1), seeds=2))

    assert [each.reference.job.seed for each in comparison.seeds] == [8]
    assert comparison.measurements
    assert not comparison.seeds[0].measurements


def test_that_no_seed_changes_anything_is_said(config):
    constant = config("constant", CONSTANT)

    told = "no seed changes the reference's inputs or its first outputs"
    assert any(told in note for note in diff(constant, constant, THREE).notes)
    assert not any(told in note for note in diff(config("a"), config("b"), THREE).notes)


def test_every_seed_is_handed_over_as_it_is_won(job):
    seen = []

    comparison = diff(job(), job(), THREE, keep=lambda each: seen.append((len(each.seeds), each.complete)))

    assert [count for count, _ in seen] == sorted(count for count, _ in seen)
    assert {count for count, complete in seen if not complete} == {0, 1, 2}
    assert seen[-1] == (2, True)
    assert encode(from_json(json.loads(json.dumps(to_json(comparison))))) == encode(comparison)


def test_a_truth_judges_at_every_seed(job):
    comparison = diff(job(), job("model.bad=[1]", "model.offset=3e-6"), Plan(speed=False, seeds=2, truth="float64"))

    assert [each.truth.verdict for each in (comparison, *comparison.seeds)] == ["same", "different"]
    assert comparison.seeds[0].outputs.verdict == "same"
    assert comparison.exit_code == 1
    assert "worse by" in headline(comparison)
    assert "the worst of 2" in headline(comparison)


def test_the_flags_of_the_command_line_ask_for_truth_and_seeds(config, capsys, tmp_path):
    flags = ["--no-speed", "--truth", "float64", "--seeds", "2", "--json", str(tmp_path / "found.json")]

    code = main(["diff", "--ref", str(config("a")), "--tgt", str(config("b")), *flags])

    found = json.loads((tmp_path / "found.json").read_text())["comparison"]
    assert code == 0
    assert capsys.readouterr().out.startswith("SAME OUTPUTS by float64: as close to it as the reference (2 seeds)")
    assert (found["truth"]["verdict"], len(found["seeds"])) == ("same", 1)


@pytest.mark.parametrize("flags", [["--seeds", "0"], ["--seeds", "two"], ["--seeds", "-1"], ["--truth", "float32"]])
def test_a_flag_that_makes_no_sense_is_refused(config, capsys, flags):
    with pytest.raises(SystemExit) as error:
        main(["diff", "--ref", str(config("a")), *flags])

    assert error.value.code == 2
    assert flags[1] in capsys.readouterr().err


@pytest.mark.parametrize("seeds", [0, True, 1.5])
def test_a_plan_wants_at_least_one_seed(seeds):
    with pytest.raises(ValueError, match="seeds must be an int of at least 1"):
        Plan(seeds=seeds)


def test_a_config_made_in_python_moves_the_seed_of_its_data_too():
    made = {"model": L(dict)(), "data": L(RandomInputs)(shapes=(4,), samples=4, batch_size=2, seed=10), "seed": 3}

    moved = Job.of(made).at_seed(5)

    assert (moved.seed, moved.config.seed, moved.config.data.seed) == (5, 5, 12)


def test_a_seed_of_the_data_that_follows_the_configs_own_is_not_moved_twice(config):
    lines = "data = L(RandomInputs)(shapes=(4,), samples=4, batch_size=2, seed='${seed}')\nseed = 3\n"

    moved = Job.load(config("linked", lines)).at_seed(5)

    assert (moved.seed, moved.config.data.seed) == (5, 5)
    assert Job.from_ticket(moved.ticket()).digest == moved.digest


def test_a_side_that_was_saved_has_one_seed_and_no_float64_copy_but_its_own_noise(config, tmp_path):
    saved = tmp_path / "saved"
    run(Job.load(config("a")), Plan(speed=False, save=saved))

    with pytest.raises(ConfigError, match="which has one seed, not the 2 wanted"):
        diff(config("a"), saved, Plan(speed=False, seeds=2))
    with pytest.raises(ConfigError, match="of which no float64 copy can be run"):
        diff(saved, config("a"), Plan(speed=False, truth="float64"))

    comparison = diff(saved, config("a"), Plan(speed=False))
    judged = diff(config("a"), saved, Plan(speed=False, truth="float64"))
    assert comparison.reference.reruns[0].exact
    assert comparison.outputs.leaves[0].noise == 0
    assert (judged.exit_code, judged.truth.verdict) == (0, "same")

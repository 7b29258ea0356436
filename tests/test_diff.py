"""The whole line, from config files to verdicts, in child processes."""

import subprocess
import sys
import textwrap

import pytest

from libbench.diff import Plan, diff, diff_all, run
from libbench.errors import ConfigError, LibbenchError
from libbench.job import Job
from libbench.report.text import render
from libbench.settings import Timer

NO_SPEED = Plan(speed=False)


def checks(comparison):
    return {check.name: check.verdict for check in comparison.checks}


def model(body, more=""):
    """Lines of a config whose model's forward has this body; `self.calls` counts its calls from 1."""
    return f"""
import ctypes, os, signal, sys, time
{more}
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.calls = 0
    def forward(self, x):
        self.calls += 1
        y = self.linear(x)
{textwrap.indent(textwrap.dedent(body), "        ")}
model = L(Model)()
"""


def test_a_config_against_itself_is_the_same(config):
    comparison = diff(config("a"), config("b"), NO_SPEED)

    assert checks(comparison) == {"outputs": "same"}
    assert comparison.exit_code == 0
    assert comparison.changes == ()
    assert comparison.outputs.samples == 10
    assert comparison.outputs.batches == 3
    assert comparison.inputs is not None
    assert comparison.outputs.leaves[0].level == float("-inf")


def test_the_result_keeps_the_config_that_ran_and_where_it_ran(config):
    comparison = diff(Job.load(config("a"), ["data.samples=4"]), Job.load(config("a"), ["data.samples=4"]), NO_SPEED)

    job = comparison.reference.job
    assert job.overrides == ("data.samples=4",)
    assert "samples: 4" in job.config
    assert "compiler" in job.config
    assert comparison.reference.environment["torch"]
    assert comparison.reference.preparation.parameters == 15
    assert set(comparison.reference.preparation.seconds) - {"imports"} == {"instantiate", "compile", "first", "second"}
    assert comparison.reference.evaluation.peak["host"] >= 0


@pytest.mark.parametrize(
    ("body", "stage", "words"),
    [
        ("raise RuntimeError('no such kernel')", "evaluate", "no such kernel"),
        ("sys.exit(3)", "evaluate", "SystemExit: 3"),
        ("ctypes.string_at(0)", "evaluate", "SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGBUS)", "evaluate", "SIGBUS"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "evaluate", "SIGKILL"),
        ("os._exit(7)", "evaluate", "exit code 7"),
        ("raise MemoryError", "evaluate", "MemoryError"),
    ],
)
def test_a_target_that_fails_is_a_finding_with_its_stage(config, body, stage, words):
    comparison = diff(config("good"), config("bad", model(body)), NO_SPEED)

    assert comparison.exit_code == 1
    assert checks(comparison) == {f"target {stage}": "different"}
    assert words in comparison.target.failure.message
    assert comparison.reference.evaluation is not None


def test_a_native_crash_leaves_the_python_stack_of_the_place(config):
    comparison = diff(config("good"), config("bad", model("ctypes.string_at(0)")), NO_SPEED)

    assert comparison.target.failure.kind == "signal"
    assert "bad.py" in comparison.target.failure.traceback


def test_a_target_that_sleeps_for_ever_is_ended_by_its_time_limit(config):
    bad = Job.load(config("bad", model("time.sleep(600)")), ["runner.timeout=2"])

    comparison = diff(config("good"), bad, NO_SPEED)

    assert comparison.exit_code == 1
    assert comparison.target.failure.kind == "timeout"
    assert "2 s" in comparison.target.failure.message


@pytest.mark.parametrize(
    ("lines", "stage"),
    [
        ("def broken(): raise OSError('no weights')\nmodel = L(broken)()", "instantiate"),
        (
            "class Broken:\n    def compile(self, model, example, method): raise RuntimeError('unsupported')\n"
            "compiler = L(Broken)()",
            "compile",
        ),
        ("workload = L('libbench.workloads.inference.Inference')(method='generate')", "compile"),
    ],
)
def test_the_stage_of_a_failure_is_where_it_happened(config, lines, stage):
    comparison = diff(config("good"), config("bad", lines), NO_SPEED)

    assert comparison.target.failure.stage == stage
    assert comparison.exit_code == 1


def test_what_a_target_won_before_it_failed_is_kept(config):
    late = config("late", model("if self.calls > 3: raise RuntimeError('third batch')\nreturn y"))

    comparison = diff(config("good", model("return y")), late, NO_SPEED)

    assert "third batch" in comparison.target.failure.message
    assert comparison.outputs.batches == 1
    assert checks(comparison) == {"target evaluate": "different", "outputs": "same"}


@pytest.mark.parametrize("body", ["raise RuntimeError('no')", "os.kill(os.getpid(), signal.SIGSEGV)"])
def test_a_reference_that_fails_cannot_be_judged_by(config, body):
    comparison = diff(config("bad", model(body)), config("good"), NO_SPEED)

    assert comparison.exit_code == 2
    assert checks(comparison) == {"reference evaluate": "unjudged"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return y, y, y", "2"),
        ("return y, torch.full_like(y, float('nan'))", "1"),
        ("return y, y.double()", "1"),
        ("return y, y[:, :2]", "1"),
    ],
)
def test_outputs_that_differ_name_the_leaf(config, body, words):
    comparison = diff(config("ref", model("return y, y")), config("tgt", model(body)), NO_SPEED)

    assert comparison.exit_code == 1
    assert checks(comparison) == {"outputs": "different"}
    told = " ".join([*comparison.outputs.reasons, *(leaf.path for leaf in comparison.outputs.leaves[:1])])
    assert words in told


def test_one_output_less_is_a_difference_and_the_others_are_still_compared(config):
    comparison = diff(config("ref", model("return y, y")), config("tgt", model("return (y,)")), NO_SPEED)

    assert comparison.exit_code == 1
    assert "same" in {leaf.verdict for leaf in comparison.outputs.leaves}


def test_a_stochastic_reference_is_judged_by_only_where_it_repeats_itself_from_a_seed(config):
    dropout = model("return torch.nn.functional.dropout(y, 0.5)")
    own = model("torch.seed()\nreturn torch.nn.functional.dropout(y, 0.5)")

    seeded = diff(config("ref", dropout), config("tgt", dropout), NO_SPEED)
    unseeded = diff(config("own", own), config("tgt", dropout), NO_SPEED)

    assert (seeded.exit_code, unseeded.exit_code) == (0, 2)
    assert checks(seeded)["reference repeats"] == "same"
    assert checks(unseeded)["reference repeats"] == "unjudged"


def test_a_model_that_changes_its_input_is_reported_and_judged_as_if_it_did_not(config):
    adds = model("x.add_(1)\nreturn self.linear(x)")

    comparison = diff(config("ref", adds), config("tgt", adds), Plan(timer=Timer(pairs=8, warmup=1)))

    assert comparison.exit_code == 0
    assert any("changes its inputs in place" in note for note in comparison.notes)


def test_a_buffer_that_the_next_call_overwrites_is_compared_as_it_was(config):
    reuses = model(
        "self.buffer = getattr(self, 'buffer', torch.zeros(4, 3))\nout = self.buffer[:len(x)]\nout.copy_(y)\nreturn out"
    )

    comparison = diff(config("ref", model("return y")), config("tgt", reuses), NO_SPEED)

    assert checks(comparison) == {"outputs": "same"}


def test_different_seeds_cannot_be_judged(config):
    with pytest.raises(ConfigError, match="different seeds"):
        diff(Job.load(config("a"), seed=1), Job.load(config("b"), seed=2), NO_SPEED)


def test_another_dataset_is_said_and_its_outputs_are_not_taken_for_the_same_inputs(config):
    other = Job.load(config("b"), ["data.seed=5"])

    comparison = diff(config("a"), other, NO_SPEED)

    assert comparison.inputs is None
    (inputs,) = [each for each in comparison.comparability if each.name == "inputs"]
    assert inputs.target.endswith("other ones in 3 of 3 batches")


def test_batches_of_other_indices_leave_only_the_metrics_and_without_any_nothing_is_judged(config):
    comparison = diff(config("a"), Job.load(config("b"), ["data.batch_size=5"]), NO_SPEED)

    assert comparison.exit_code == 2
    assert comparison.outputs.batches == 0


def test_samples_that_only_one_side_ran_are_a_difference_beside_those_that_agree(config):
    comparison = diff(config("a"), Job.load(config("b"), ["data.samples=4"]), NO_SPEED)

    assert comparison.exit_code == 1
    assert comparison.outputs.leaves[0].verdict == "same"
    assert "6 samples are only in the reference, the first with index 4" in comparison.outputs.reasons


def test_outputs_beyond_the_spill_are_counted_as_not_compared(config):
    comparison = diff(config("a"), config("b"), Plan(speed=False, spill=60))

    assert comparison.outputs.batches == 1
    assert sum(count for _, count in comparison.outputs.skipped) == 2


def test_a_tolerance_in_the_targets_config_wins_over_the_references_and_a_flag_over_both(config):
    lines = "from libbench.settings import Tolerance\n"
    near = config("near", model("return y + 0.01") + lines + "tolerance = L(Tolerance)(atol=0.1)")
    ref = config("ref", model("return y") + lines + "tolerance = L(Tolerance)(atol=1e-6)")

    assert diff(ref, near, NO_SPEED).exit_code == 0
    assert diff(ref, near, Plan(speed=False, atol=1e-3)).exit_code == 1


def test_one_reference_is_run_once_for_many_targets(config, tmp_path):
    runs = tmp_path / "runs"
    ref = config(
        "ref",
        f"import os\ndef build(): open({str(runs)!r}, 'a').write('x'); return torch.nn.Linear(4, 3)\n"
        "model = L(build)()",
    )
    jobs = [Job.load(config(name)) for name in ("a", "b")]

    found = list(diff_all(Job.load(ref), [*jobs, Job.load(config("bad", model("raise ValueError")))], NO_SPEED))

    assert [comparison.exit_code for comparison in found] == [0, 0, 1]
    assert runs.read_text() == "x"


def test_saved_outputs_and_configs_stay_and_are_never_written_over(config, tmp_path):
    save = tmp_path / "saved"

    diff(config("a"), config("b"), Plan(speed=False, save=save))

    assert len(list((save / "reference").glob("*.safetensors"))) == 3
    assert len(list((save / "target").glob("*.safetensors"))) == 3
    with pytest.raises(LibbenchError, match="not an empty folder"):
        diff(config("a"), config("b"), Plan(speed=False, save=save))


def test_speed_is_measured_in_fresh_processes_on_pairs_that_alternate(config):
    comparison = diff(config("a"), config("b"), Plan(timer=Timer(pairs=12, warmup=2)))

    assert [speedup.clock for speedup in comparison.speedups] == ["wall", "cpu"]
    for speedup in comparison.speedups:
        assert speedup.pairs == (12,) * 5
        assert speedup.low <= speedup.high
    assert len(comparison.measurements) == 5
    assert comparison.null.pairs == (20,) * 5
    assert comparison.exit_code == 0


@pytest.mark.parametrize("who", ["reference", "target"])
@pytest.mark.parametrize("call", [40, 400])
def test_a_crash_while_timing_is_told_of_the_side_that_was_running(config, who, call):
    sound = config("sound", model("return y"))
    crashes = config("bad", model(f"if self.calls > {call}: os.kill(os.getpid(), signal.SIGSEGV)\nreturn y"))
    sides = (crashes, sound) if who == "reference" else (sound, crashes)

    comparison = diff(*sides, Plan(timer=Timer(pairs=500, warmup=2)))

    failed = getattr(comparison, who)
    assert (failed.failure.stage, failed.failure.message) == ("measure", "killed by SIGSEGV")
    assert checks(comparison)["outputs"] == "same"
    assert comparison.exit_code == (2 if who == "reference" else 1)


def test_sides_that_name_different_runners_are_timed_in_alternating_rounds(config):
    local = config("local", "runner = L('libbench.runners.local.Local')()")

    comparison = diff(config("a"), local, Plan(timer=Timer(pairs=20, warmup=1)))

    assert any("different runners" in note for note in comparison.notes)
    assert not any(measurement.together for measurement in comparison.measurements)
    assert comparison.speedups[0].pairs == (20,) * 5


def test_sides_that_are_not_themselves_in_one_process_are_timed_apart(tmp_path):
    for name, width in (("a", 3), ("b", 4)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "own_net.py").write_text(f"import torch\ndef net(): return torch.nn.Linear(4, {width})\n")
        (folder / "config.py").write_text(
            "import sys\nfrom libbench.config import LazyCall as L\nfrom libbench.data import RandomInputs\n"
            f"sys.path.insert(0, {str(folder)!r})\n"
            "data = L(RandomInputs)(shapes=(4,), samples=10, batch_size=4)\nmodel = L('own_net.net')()\n"
        )
    script = (
        "import sys\nfrom libbench.diff import Plan, diff\nfrom libbench.settings import Timer\n"
        "found = diff(sys.argv[1], sys.argv[2], Plan(timer=Timer(pairs=8, warmup=1)))\n"
        "print([m.together for m in found.measurements], *found.notes)\n"
    )
    files = [str(tmp_path / name / "config.py") for name in ("a", "b")]

    found = subprocess.run([sys.executable, "-c", script, *files], capture_output=True, text=True, timeout=300)

    assert "[False, False, False, False, False]" in found.stdout
    assert "in one process a side gave other outputs than alone" in found.stdout


def test_data_that_can_be_gone_through_only_once_are_refused(config):
    once = "def once():\n    yield from L(RandomInputs)(shapes=(4,), samples=4, batch_size=2)\ndata = L(once)()\n"

    comparison = diff(config("a", once), config("b"), NO_SPEED)

    assert "gone through several times" in comparison.reference.failure.message


REPEATS = """
from libbench.interfaces import Batch
class Repeats:
    def __init__(self, times): self.times = times
    def __iter__(self):
        for i in range(self.times):
            yield Batch(indices=range(2), inputs=torch.full((2, 4), float(i)), number=0)
data = L(Repeats)(times=3)
"""


def test_batches_with_the_same_samples_are_paired_in_their_order(config):
    comparison = diff(config("a", REPEATS), config("b", REPEATS), NO_SPEED)

    assert comparison.exit_code == 0
    assert comparison.outputs.batches == 3


def test_a_sample_that_one_side_ran_less_often_is_a_difference(config):
    comparison = diff(config("a", REPEATS), Job.load(config("b", REPEATS), ["data.times=2"]), NO_SPEED)

    assert comparison.exit_code == 1
    assert "2 samples are only in the reference, the first with index 0" in comparison.outputs.reasons


@pytest.mark.parametrize("indices", ["('a', 'b')", "(0.5, 1.5)"])
def test_indices_that_are_no_ints_are_the_sides_failure(config, indices):
    odd = REPEATS.replace("range(2)", indices)

    comparison = diff(config("a"), config("b", odd), NO_SPEED)

    assert comparison.exit_code == 1
    assert "indices of batch 0 must be ints" in comparison.target.failure.message


def test_inputs_that_are_no_tensors_may_be_changed_in_place_too(config):
    lines = """
import numpy
from libbench.interfaces import Batch
class Arrays:
    def __init__(self): self.batch = Batch(indices=(0, 1), inputs=numpy.arange(8.0).reshape(2, 4), number=0)
    def __iter__(self): return iter([self.batch])
class Adds(torch.nn.Module):
    def forward(self, x):
        x += 1
        return torch.from_numpy(x.copy())
data = L(Arrays)()
model = L(Adds)()
"""
    comparison = diff(config("a", lines), config("b", lines), NO_SPEED)

    assert comparison.exit_code == 0
    assert comparison.reference.preparation.mutated == ("inputs",)


def test_an_exception_of_the_users_own_that_is_called_like_one_of_ours_is_a_failure(config):
    lines = model("class UnavailableError(Exception): pass\nraise UnavailableError('mine')")

    assert diff(config("a"), config("b", lines), NO_SPEED).exit_code == 1


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("class Odd(BaseException): pass\nraise Odd('far off')", "Odd: far off"),
        ("class Odd(Exception):\n    def __str__(self): raise KeyError\nraise Odd", "Odd: its text cannot be read"),
        ("error = ValueError('noted')\nerror.__notes__ = [3]\nraise error", "ValueError: noted (3)"),
        ("raise ValueError('\\ud800 odd')", "odd"),
    ],
)
def test_an_exception_however_odd_is_named(config, body, words):
    comparison = diff(config("a"), config("b", model(body)), NO_SPEED)

    assert comparison.exit_code == 1
    assert words in comparison.target.failure.message


def test_an_evaluator_that_cannot_compare_leaves_the_outputs_judged(config):
    lines = """
from libbench.interfaces import Evaluator
class Cannot(Evaluator):
    def process(self, batch, outputs): return {batch.indices[0]: 1}
    def evaluate(self, records): return {"n": len(records)}
    def compare(self, reference, target, tolerance): raise RuntimeError("no idea")
evaluator = L(Cannot)()
"""
    comparison = diff(config("a", lines), config("b", lines), NO_SPEED)

    assert checks(comparison) == {"outputs": "same", "metric n": "unjudged"}
    assert comparison.exit_code == 2
    assert "no idea" in comparison.metrics[0].note
    assert any("gave no record for 7 samples" in note for note in comparison.notes)


def test_a_config_made_in_python_runs_in_a_child_as_it_is(config):
    import torch

    from libbench.config import LazyCall as L
    from libbench.data import RandomInputs

    made = {"model": L(torch.nn.Linear)(4, 3), "data": L(RandomInputs)(shapes=(4,), samples=10, batch_size=4)}

    assert diff(made, config("b"), NO_SPEED).exit_code == 0


def test_nothing_is_left_of_a_comparison(config, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)

    diff(config("a"), config("b", model("ctypes.string_at(0)")), NO_SPEED)

    assert list((tmp_path / "tmp").glob("libbench-*")) == []


def test_a_class_that_a_function_of_the_config_makes_runs_in_a_child(config):
    lines = "def make():\n    class Local(torch.nn.Linear): pass\n    return Local\nmodel = L(make())(4, 3)\n"

    comparison = diff(config("a", lines), config("a", lines), NO_SPEED)

    assert (comparison.exit_code, comparison.changes) == (0, ())


KNOWS_ADDRESSES = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.known = torch.nn.Linear(4, 3), {}
    def forward(self, x):
        if x.data_ptr() not in self.known:
            self.known[x.data_ptr()] = x, self.linear(x)
        return self.known[x.data_ptr()][1].clone()
model = L(Model)()
"""
MANY = "data = L(RandomInputs)(shapes=(4,), samples=40, batch_size=4)\n"


def test_a_target_that_is_quick_since_it_remembers_answers_is_different(config):
    plan = Plan(timer=Timer(pairs=240, warmup=1))
    comparison = diff(config("honest", MANY + model("return y")), config("quick", MANY + KNOWS_ADDRESSES), plan)

    assert checks(comparison)["outputs"] == "same"
    assert checks(comparison)["reference timed outputs"] == "same"
    assert checks(comparison)["target timed outputs"] == "different"
    assert comparison.exit_code == 1


def test_a_target_that_is_wrong_only_after_a_while_is_different_and_not_faster(config):
    plan = Plan(timer=Timer(pairs=60, warmup=1))
    tired = "if self.calls > 30:\n    return torch.zeros_like(y)\nreturn y"
    comparison = diff(
        config("steady", MANY + model("time.sleep(1e-3)\nreturn y")), config("tired", MANY + model(tired)), plan
    )

    assert checks(comparison)["outputs"] == "same"
    assert checks(comparison)["target timed outputs"] == "different"
    assert {speedup.verdict for speedup in comparison.speedups} == {"inconclusive"}
    assert "OTHER OUTPUTS WHILE TIMED: the target's" in render(comparison)


def test_a_side_that_is_run_alone_is_checked_while_it_is_timed_too(config):
    result = run(Job.load(config("quick", MANY + KNOWS_ADDRESSES)), Plan(timer=Timer(pairs=240, warmup=1)))

    assert "a timed call gave other outputs" in result.failure.message


def test_a_reference_that_remembers_answers_cannot_be_trusted(config):
    plan = Plan(timer=Timer(pairs=240, warmup=1))
    comparison = diff(config("quick", MANY + KNOWS_ADDRESSES), config("honest", MANY + model("return y")), plan)

    assert checks(comparison)["reference timed outputs"] == "unjudged"
    assert comparison.exit_code == 2


def test_where_there_is_no_room_for_a_copy_of_the_reference_the_two_are_timed_without(config):
    """The third model in a process, whichever side it is, finds no memory."""
    scarce = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(4, 3)
            torch.models_made = getattr(torch, "models_made", 0) + 1
            if torch.models_made > 2:
                raise MemoryError("no room")
        def forward(self, x):
            return self.linear(x)
    model = L(Model)()
    """
    found = diff(config("a", scarce), config("b", scarce), Plan(timer=Timer(pairs=8, warmup=1)))

    assert found.exit_code == 0
    assert found.null is None
    assert len(found.measurements) == 5
    assert any("no second copy of the reference" in note for note in found.notes)


def test_slow_calls_are_timed_in_as_few_processes_as_the_budget_has_room_for(config):
    slow = model("import time; time.sleep(0.05); return y")
    found = diff(config("a", slow), config("b", slow), Plan(budget=0.7))

    assert len(found.measurements) == 1
    assert len(found.measurements[0].clocks[0]["wall"].seconds) >= 6
    assert found.null is None


@pytest.mark.parametrize("line", ["compiler = TorchCompile", "compiler = L(TorchCompile)"])
def test_a_part_whose_call_was_forgotten_is_an_error_with_its_line(config, line):
    file = config("a", f"from libbench.compilers.torch_compile import TorchCompile\n{line}\n")

    with pytest.raises(ConfigError, match=r"compiler is \w+ by itself, which is not called.*a.py:3"):
        Job.load(file)


def test_batches_that_were_not_kept_are_no_unlike_batches(config):
    comparison = diff(config("a"), config("b"), Plan(speed=False, spill=1))

    assert comparison.exit_code == 2
    assert not any("unlike batches" in note for note in comparison.notes)


def test_a_target_that_failed_before_it_could_tell_its_load_has_none(config):
    comparison = diff(config("a"), config("b", "def broken(): raise ValueError\nmodel = L(broken)()\n"), NO_SPEED)

    assert [unlike.name for unlike in comparison.comparability] == []

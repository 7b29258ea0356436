"""Models that are hard to judge, each through a whole comparison: with itself, and with another one."""

from pathlib import Path

import pytest

from libbench.diff import Plan, diff, diff_all
from libbench.job import Job
from libbench.noise import AGAIN
from libbench.settings import Timer
from libbench.state import changed, state_of
from libbench.worker import Worker

NO_SPEED = Plan(speed=False)
TRAIN = "workload = L('libbench.workloads.inference.Inference')(mode='train')\n"
BODY = """
import torch
class Model(torch.nn.Module):
    def __init__(self, scale=1.0, method="plain", broken=0):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.register_buffer("out", torch.zeros(8, 3))
        self.scale, self.method, self.broken, self.calls = scale, method, broken, 0
    def forward(self, x):
        self.calls += 1
        if self.calls == self.broken:
            raise RuntimeError(f"call {self.calls} fails")
        return getattr(self, self.method)(x)
    def plain(self, x):
        return self.linear(x) * self.scale
    def dropout(self, x):
        return torch.nn.functional.dropout(self.plain(x), 0.5, self.training)
    def faint(self, x):
        y = self.plain(x)
        return y + 1e-7 * torch.rand_like(y)
    def counts(self, x):
        return self.plain(x) + self.calls
    def adds(self, x):
        return self.plain(x.add_(1))
    def reuses(self, x):
        return self.out[: len(x)].copy_(self.plain(x))
    def normed(self, x):
        return self.norm(self.linear(x)) * self.scale
    def view(self, x):
        return x[:, :2] if self.scale == 1 else x[:, 1:3]
model = L(Model)()
"""
CACHE = """
from transformers import GPT2Config, GPT2LMHeadModel
def build(scale=1.0):
    sizes = dict(n_layer=2, n_head=2, n_embd=16, vocab_size=32, n_positions=16, bos_token_id=0, eos_token_id=0)
    made = GPT2LMHeadModel(GPT2Config(use_cache=True, **sizes))
    made.transformer.wte.weight.data *= scale
    return made
model = L(build)()
data = L(RandomInputs)(shapes={"input_ids": (6,)}, samples=6, batch_size=4, dtype=torch.int64, low=0, high=32)
"""


@pytest.fixture
def job(config):
    def load(method="plain", *overrides, lines=""):
        file = config("trained" if lines else "hard", BODY + lines)
        return Job.load(file, [f"model.method={method}", *overrides])

    return load


def verdicts(comparison):
    return {check.name: check.verdict for check in comparison.checks}


@pytest.mark.parametrize("method", ["plain", "adds", "reuses", "normed", "view"])
def test_such_a_model_is_the_same_as_itself_and_another_one_is_not(job, method):
    lines = TRAIN if method == "normed" else ""
    reference = job(method, lines=lines)

    same = diff(reference, job(method, lines=lines), NO_SPEED)
    other = diff(reference, job(method, "model.scale=1.5", lines=lines), NO_SPEED)

    assert (same.exit_code, verdicts(same)) == (0, {"outputs": "same"})
    assert same.outputs.leaves[0].level == float("-inf")
    assert (other.exit_code, verdicts(other)) == (1, {"outputs": "different"})
    assert same.reference.preparation.mutated == (("inputs",) if method == "adds" else ())


def test_the_outputs_that_the_next_call_overwrites_are_those_of_their_own_call(job):
    assert diff(job("plain"), job("reuses"), NO_SPEED).outputs.leaves[0].level == float("-inf")


def test_what_batch_norm_in_train_mode_keeps_is_reported_and_changes_no_verdict(job):
    timed = Plan(timer=Timer(pairs=6, warmup=1))

    comparison = diff(job("normed", lines=TRAIN), job("normed", lines=TRAIN), timed)

    kept = ("norm.running_mean", "norm.running_var", "norm.num_batches_tracked")
    assert comparison.reference.evaluation.changed == comparison.target.evaluation.changed == kept
    assert f"the target's calls change what the model keeps: {', '.join(kept)}" in comparison.notes
    assert comparison.exit_code == 0


@pytest.mark.parametrize("pairs", [6, 9])
def test_how_often_a_model_that_changes_its_input_is_timed_changes_no_verdict(job, pairs):
    comparison = diff(job("adds"), job("adds"), Plan(timer=Timer(pairs=pairs, warmup=1)))

    assert comparison.exit_code == 0
    assert set(verdicts(comparison)) == {"outputs", "reference timed outputs", "target timed outputs"}
    assert set(verdicts(comparison).values()) == {"same"}
    assert comparison.outputs.leaves[0].level == float("-inf")


def test_dropout_in_train_mode_is_stochastic_not_wrong(job):
    comparison = diff(job("dropout", lines=TRAIN), job("dropout", lines=TRAIN), NO_SPEED)
    other = diff(job("dropout", lines=TRAIN), job("dropout", "model.scale=1.5", lines=TRAIN), NO_SPEED)

    assert (comparison.exit_code, other.exit_code) == (0, 1)
    assert verdicts(comparison) == {"reference repeats": "same", "outputs": "same"}
    assert comparison.outputs.leaves[0].level == float("-inf")
    assert any("the reference is stochastic" in note for note in comparison.notes)


def test_a_reference_that_keeps_a_state_cannot_be_judged_by(job):
    comparison = diff(job("counts"), job("counts"), NO_SPEED)

    assert comparison.exit_code == 2
    assert verdicts(comparison)["reference repeats"] == "unjudged"
    assert "two calls from one seed differ" in comparison.checks[0].found


def test_dropout_in_eval_mode_is_no_randomness(job):
    assert diff(job("dropout"), job("dropout"), NO_SPEED).exit_code == 0
    assert diff(job("dropout"), job("dropout", "model.scale=1.5"), NO_SPEED).exit_code == 1


def test_dropout_in_the_target_alone_is_a_difference_that_is_told(job):
    comparison = diff(job("plain"), job("dropout", lines=TRAIN), NO_SPEED)

    assert comparison.exit_code == 1
    assert any("the target does not repeat itself" in note for note in comparison.notes)


def test_a_model_whose_randomness_is_below_the_tolerance_is_recognised(job):
    comparison = diff(job("faint"), job("faint"), NO_SPEED)

    again = comparison.reference.preparation.again
    assert (again.setting, again.verdict, again.exact) == (AGAIN, "same", False)
    assert 0 < again.leaves[0].max_abs < 1e-6
    assert comparison.exit_code == 0
    for side in ("reference", "target"):
        assert any(f"the {side} does not repeat itself bit for bit" in note for note in comparison.notes)


def test_hugging_face_outputs_with_a_cache_are_compared_leaf_by_leaf(config):
    pytest.importorskip("transformers")
    file = config("cached", CACHE)

    targets = Job.load(file), Job.load(file, ["model.scale=1.01"])
    same, other = diff_all(Job.load(file), targets, NO_SPEED)

    paths = {leaf.path for leaf in same.outputs.leaves}
    assert (same.exit_code, verdicts(same)) == (0, {"outputs": "same"})
    assert "logits" in paths
    assert sum(path.endswith(".keys") for path in paths) == sum(path.endswith(".values") for path in paths) == 2
    assert (other.exit_code, verdicts(other)) == (1, {"outputs": "different"})
    assert same.reference.evaluation.changed == ()


def test_a_model_that_fails_on_its_third_call_only_has_failed(job):
    broken = job("plain", "model.broken=3")

    as_target, as_reference = diff(job("plain"), broken, NO_SPEED), diff(broken, job("plain"), NO_SPEED)

    assert (as_target.exit_code, verdicts(as_target)) == (1, {"target evaluate": "different"})
    assert "call 3 fails" in as_target.target.failure.message
    assert (as_reference.exit_code, verdicts(as_reference)) == (2, {"reference evaluate": "unjudged"})


@pytest.mark.parametrize("method", ["plain", "dropout", "faint", "adds", "reuses", "normed", "view"])
def test_running_and_timing_leave_the_parameters_as_they_were(job, tmp_path, method):
    worker = Worker([job(method)], tmp_path, lambda event: None, 1)
    try:
        worker.prepare()
        model = worker._sides[0].parts.model
        before = state_of(model)
        list(worker.batches())
        evaluation = worker.metrics()
        worker.rerun()
        worker.measure(Timer(pairs=6, warmup=1))
        after = state_of(model)
    finally:
        worker.close()

    own = ("out",) if method == "reuses" else ()
    assert len(before) == 8
    assert changed(before, after) == evaluation.changed == own
    assert model.training


def test_a_reference_that_crashes_when_it_is_run_once_more_is_no_failure(config):
    lines = """
import os
class Dies(Model):
    def plain(self, x):
        if torch.get_num_threads() != 1:
            os.abort()
        return super().plain(x)
model = L(Dies)()
runner = L('libbench.runners.process.Process')(threads=1)
"""
    file = config("dies", BODY + lines)

    comparison = diff(file, file, NO_SPEED)

    (rerun,) = comparison.reference.reruns
    assert (rerun.verdict, rerun.leaves) == ("unjudged", ())
    assert "SIGABRT" in rerun.note
    assert comparison.exit_code == 0


def test_the_worker_puts_the_number_of_threads_back(job, tmp_path):
    import torch

    worker = Worker([job("plain")], Path(tmp_path), lambda event: None, 1)
    try:
        worker.prepare()
        rerun = worker.rerun()
        assert torch.get_num_threads() == 1
    finally:
        worker.close()

    assert rerun.setting == "2 threads instead of 1"
    assert (rerun.verdict, rerun.exact) == ("same", True)

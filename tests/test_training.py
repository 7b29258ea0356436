"""Trainings through a whole comparison: the same, another one, other data, and those that go wrong."""

import json

import pytest
import torch
from training_parts import (
    LABELS,
    Net,
    Odd,
    Points,
    Reordered,
    Transformer,
    cross_entropy,
    job,
    next_token,
    other_after_the_first_batch,
    training,
)

from libbench.compilers.precision import Precision
from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L
from libbench.data import IndexedLoader, RandomInputs
from libbench.diff import Plan, diff, run
from libbench.interfaces import Batch
from libbench.job import Job
from libbench.report.json import from_json, to_json
from libbench.report.text import headline, render, render_result
from libbench.settings import Timer, Tolerance
from libbench.state import state_of
from libbench.worker import Worker
from libbench.workloads.training import IndexedLoss, Training, own_loss

NO_SPEED = Plan(speed=False)
TOKENS = L(RandomInputs)(shapes=(6,), samples=8, batch_size=4, dtype=torch.int64, low=0, high=11)
OPTIMIZERS = {
    "sgd": L(torch.optim.SGD).partial(lr=0.1, momentum=0.9),
    "adam": L(torch.optim.Adam).partial(lr=0.01),
}


def verdicts(comparison):
    return {check.name: check.verdict for check in comparison.checks}


@pytest.fixture
def worker(tmp_path):
    made = []

    def make(*jobs):
        (folder := tmp_path / str(len(made))).mkdir()
        made.append(Worker(jobs, folder, lambda event: None, 1))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("kind", ["net", "transformer"])
def test_a_training_is_the_same_as_itself_step_by_step(kind, optimizer):
    changes = {"optimizer": OPTIMIZERS[optimizer]}
    if kind == "transformer":
        changes |= {"model": L(Transformer)(), "data": TOKENS, "loss": next_token}

    comparison = diff(job(**changes), job(**changes), NO_SPEED)

    assert (comparison.exit_code, verdicts(comparison)) == (0, {"outputs": "same", "loss curve": "same"})
    assert comparison.curve.judged == 12
    assert set(comparison.curve.drift) == {0.0}
    losses = [step.loss for step in comparison.target.curve.steps]
    assert losses[-1] < losses[0]


def test_steps_go_through_the_data_in_as_many_epochs_as_they_need():
    result = run(job(), NO_SPEED)

    steps = result.curve.steps
    assert [step.number for step in steps] == list(range(12))
    assert [step.epoch for step in steps] == [0] * 5 + [1] * 5 + [2] * 2
    assert steps[5].indices == steps[0].indices == (0, 1, 2, 3)
    assert (steps[5].inputs, steps[5].loss != steps[0].loss) == (steps[0].inputs, True)
    assert result.preparation.batches == 12


def test_the_losses_are_those_of_a_loop_written_by_hand():
    result = run(job(optimizer=OPTIMIZERS["adam"]), NO_SPEED)

    torch.manual_seed(0)
    net, points, labels = Net().train(), Points().points, torch.tensor(LABELS)
    optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=0.01)
    losses = []
    for step in range(12):
        first = step % 5 * 4
        loss = torch.nn.functional.cross_entropy(net(points[first : first + 4]), labels[first : first + 4])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert [step.loss for step in result.curve.steps] == losses


def test_a_loss_of_sum_and_count_is_kept_as_such():
    result = run(job(model=L(Transformer)(), data=TOKENS, loss=next_token, steps=1), NO_SPEED)

    (loss,) = result.curve.steps[0].losses
    assert (loss.count, loss.samples, loss.dtype) == (20.0, 4, "float32")
    assert loss.total / loss.count == pytest.approx(2.4, abs=0.6)


def test_the_compiled_training_is_the_same_and_was_compiled():
    comparison = diff(job(), job(compiler=L(TorchCompile)(backend="aot_eager")), NO_SPEED)

    assert comparison.exit_code == 0
    assert comparison.target.evaluation.facts.graphs >= 1
    assert comparison.curve.judged == 12


def test_another_learning_rate_diverges_from_the_first_update_on():
    comparison = diff(job(), job(optimizer=L(torch.optim.SGD).partial(lr=0.2)), NO_SPEED)

    assert (comparison.exit_code, comparison.curve.diverges, comparison.curve.drift[0]) == (1, 1, 0.0)
    assert headline(comparison).startswith("DIFFERENT LOSSES: diverges from step 1: ")
    text = render(comparison)
    assert "DIVERGES from step 1" in text
    assert "likely cause: the losses part with the first update" in text


def test_a_longer_training_is_a_difference():
    comparison = diff(job(), job(steps=10), NO_SPEED)

    assert comparison.exit_code == 1
    assert "12 steps in the reference, 10 in the target" in comparison.curve.reasons


def test_data_in_another_order_are_said_before_any_verdict_on_the_loss():
    shuffled = L(Reordered)(loader=training()["data"], order=[0, 1, 3, 2, 4])

    comparison = diff(job(), job(data=shuffled), NO_SPEED)

    assert (comparison.exit_code, comparison.curve.other_data) == (2, 2)
    assert headline(comparison).startswith(
        "NOT THE SAME DATA: the data were not the same from step 2: the same batches"
    )
    assert (comparison.outputs.batches, comparison.inputs) == (2, None)
    assert "other data from here on" in render(comparison)


def test_the_same_samples_with_other_inputs_are_other_data():
    data = L(IndexedLoader)(dataset=L(Points)(), batch_size=4)
    changed = L(IndexedLoader)(dataset=L(Points)(), batch_size=4, inputs=other_after_the_first_batch)

    comparison = diff(job(data=data), job(data=changed), NO_SPEED)

    assert (comparison.curve.verdict, comparison.curve.other_data, comparison.exit_code) == ("unjudged", 1, 2)
    assert comparison.curve.reasons[0].endswith("step 1: samples 4, 5, 6, 7 with other inputs")


def test_steps_whose_outputs_were_not_kept_still_have_their_losses():
    changes = {"parameters": "outer.*"}

    comparison = diff(job(**changes), job(**changes), Plan(speed=False, spill=300))

    assert (comparison.outputs.batches, comparison.outputs.skipped[0][1]) == (2, 10)
    assert (comparison.curve.judged, comparison.curve.verdict) == (12, "same")


def test_half_precision_drifts_and_is_the_same_where_the_tolerance_allows_for_it():
    half = L(Precision)(dtype=torch.bfloat16)

    strict = diff(job(), job(compiler=half), NO_SPEED)
    tolerant = diff(job(), job(compiler=half, tolerance=Tolerance(dtype="any", rtol=0.02, atol=0.02)), NO_SPEED)

    assert (strict.exit_code, strict.curve.diverges) == (1, 0)
    assert 0 < max(strict.curve.drift) < 0.1
    assert strict.curve.growth is not None
    assert (tolerant.exit_code, tolerant.curve.verdict) == (0, "same")


def test_a_drift_within_what_the_steps_may_add_up_to_is_the_same_though_outputs_would_not_be():
    nearly = L(torch.optim.SGD).partial(lr=0.1001)

    comparison = diff(job(), job(optimizer=nearly, tolerance=Tolerance(rtol=0.0, atol=6e-5)), NO_SPEED)

    (leaf,) = comparison.outputs.leaves
    assert leaf.mismatches > 0
    assert (comparison.curve.verdict, leaf.verdict, comparison.exit_code) == ("same", "same", 0)
    assert "judged as a curve, see there" in leaf.notes


@pytest.mark.parametrize("step", [0, 3])
def test_a_loss_that_becomes_nan_is_named_with_its_step(step):
    comparison = diff(job(loss=L(Odd)(step=99, what="nan")), job(loss=L(Odd)(step=step, what="nan")), NO_SPEED)

    assert (comparison.exit_code, comparison.curve.diverges) == (1, step)
    assert f"the target's loss is NaN from step {step} on" in comparison.curve.reasons


def test_two_losses_that_become_nan_alike_are_the_same_and_it_is_said():
    nan = L(Odd)(step=3, what="nan")

    comparison = diff(job(loss=nan), job(loss=nan), NO_SPEED)

    assert comparison.exit_code == 0
    assert "both losses are NaN or infinite from step 3 on" in render(comparison)
    assert "the loss is NaN or infinite from step 3 on" in render_result(run(job(loss=nan), NO_SPEED))


def test_a_side_that_fails_at_its_third_step_is_named_with_it_and_what_came_before_is_kept():
    comparison = diff(job(loss=L(Odd)(step=99, what="raise")), job(loss=L(Odd)(step=2, what="raise")), NO_SPEED)

    failure = comparison.target.failure
    assert failure.stage == "evaluate"
    assert failure.message == "RuntimeError: the loss gives up (in step 2, batch 2 of epoch 0)"
    assert len(comparison.target.curve.steps) == comparison.curve.judged == 2
    assert (comparison.curve.verdict, comparison.exit_code) == ("same", 1)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("vector", "TypeError: loss must give a scalar tensor, or (sum, count), got a tensor of shape (4,)"),
        ("text", "TypeError: loss must give a scalar tensor, or (sum, count), got 'loss'"),
        ("detached", "ValueError: the loss has no gradient: it does not depend on what is trained, or was detached"),
    ],
)
def test_a_loss_that_cannot_be_trained_says_why(what, message):
    result = run(job(loss=L(Odd)(step=0, what=what)), NO_SPEED)

    assert (result.failure.stage, result.failure.message) == ("evaluate", message)


def test_what_was_trained_is_put_back(worker):
    work = worker(job(optimizer=OPTIMIZERS["adam"]))
    work.prepare()
    model = work._sides[0].parts.model
    before, modes = state_of(model), {module.training for module in model.modules()}

    assert len(list(work.batches())) == 12
    evaluation = work.metrics()

    assert (state_of(model), evaluation.changed) == (before, ())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert modes == {True}


def test_the_evaluation_and_the_rerun_begin_where_the_first_call_began(worker):
    work = worker(job(model=L(Net)(dropout=0.5)))

    (preparation,) = work.prepare()
    first, again = ([output.losses for output in work.batches()] for _ in range(2))

    assert preparation.repeats == "same"
    assert first == again
    assert work.rerun().verdict == "same"


def test_timing_goes_on_from_the_first_step_in_every_round_and_the_parameters_stay(worker):
    work = worker(job(), job())
    work.prepare()
    before = [state_of(side.parts.model) for side in work._sides]

    found = [work.measure(Timer(pairs=6, warmup=2)) for _ in range(2)]

    assert [len(each.clocks[0]["wall"].seconds) for each in found] == [6, 6]
    assert found[0].inner[0] == found[0].inner[1]
    work.close()
    assert [state_of(side.parts.model) for side in work._sides] == before


def test_a_timed_training_says_that_a_call_is_a_step():
    comparison = diff(job(), job(), Plan(timer=Timer(pairs=6, warmup=1)))

    assert comparison.exit_code == 0
    assert comparison.speedups[0].clock == "wall"
    assert any(note.startswith("a call is a training step") for note in comparison.notes)


def test_gradients_and_parameters_are_compared_by_name():
    changes = {"gradients": ["outer.*", "unused"], "parameters": "outer.bias"}

    same = diff(job(**changes), job(**changes), NO_SPEED)
    other = diff(job(**changes), job(**changes, optimizer=L(torch.optim.SGD).partial(lr=0.2)), NO_SPEED)

    assert {leaf.path for leaf in same.outputs.leaves} == {
        "loss", "gradients.outer.weight", "gradients.outer.bias", "gradients.unused", "parameters.outer.bias",
    }  # fmt: skip
    assert same.exit_code == 0
    assert same.outputs.samples == 48
    assert next(leaf for leaf in other.outputs.leaves if leaf.path == "parameters.outer.bias").verdict == "different"


def test_a_glob_without_a_parameter_names_the_nearest():
    result = run(job(gradients="outer.wieght"), NO_SPEED)

    assert "gradients names 'outer.wieght', and the model has no such parameter; did you mean 'outer.weight'?" in (
        result.failure.message
    )


def test_a_saved_training_keeps_its_curve(tmp_path):
    run(job(), Plan(speed=False, save=tmp_path / "saved"))
    (tmp_path / "other").mkdir()
    run(job(optimizer=L(torch.optim.SGD).partial(lr=0.2)), Plan(speed=False, save=tmp_path / "other"))

    live = diff(str(tmp_path / "saved"), job(), NO_SPEED)
    both = diff(str(tmp_path / "saved"), str(tmp_path / "other"), NO_SPEED)

    assert (live.exit_code, live.curve.verdict, live.curve.judged) == (0, "same", 12)
    assert (both.exit_code, both.curve.diverges) == (1, 1)
    kept = json.loads((tmp_path / "saved" / "result.json").read_text())["result"]["curve"]["steps"][3]
    assert (kept["number"], kept["losses"][0]["count"]) == (3, 4.0)


def test_the_curve_is_in_the_json():
    comparison = diff(job(), job(optimizer=L(torch.optim.SGD).partial(lr=0.2)), NO_SPEED)

    document = json.loads(json.dumps(to_json(comparison), allow_nan=False))

    assert document["comparison"]["curve"]["diverges"] == 1
    assert from_json(document) == comparison


def test_a_float64_copy_judges_a_training_in_place_of_the_curve():
    comparison = diff(job(), job(), Plan(speed=False, truth="float64"))

    assert (comparison.exit_code, comparison.truth.verdict) == (0, "same")
    assert "loss curve" not in verdicts(comparison)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"steps": 0}, "steps must be at least 1, got 0"),
        ({"steps": 2.0}, "steps must be an int, got 2.0"),
        ({"loss": 3}, "loss must be a callable that takes outputs and batch, got 3"),
        ({"gradients": 3}, "gradients must be a glob of parameter names, or a list of them, got 3"),
        ({"optimizer": None}, r"as L\(torch.optim.SGD\).partial\(lr=0.1\), got None"),
    ],
)
def test_a_wrong_argument_is_told(changes, message):
    known = {"loss": own_loss, "optimizer": torch.optim.SGD, "steps": 3}

    with pytest.raises((TypeError, ValueError), match=message):
        Training(**{**known, **changes})


@pytest.mark.parametrize(("model", "message"), [
    (L(dict)(), "what is trained must be a torch.nn.Module, got {}"),
    (L(torch.nn.Tanh)(), "Tanh has no parameter that requires a gradient"),
])  # fmt: skip
def test_what_has_nothing_to_train_is_told(model, message):
    assert message in run(job(model=model), NO_SPEED).failure.message


def test_a_models_own_loss_is_found():
    assert own_loss({"loss": 1}, None) == 1
    assert own_loss(torch.tensor(2.0), None) == 2
    with pytest.raises(TypeError, match="the model returned no loss: tuple without 'loss'"):
        own_loss((), None)


def test_targets_are_found_by_index():
    loss = IndexedLoss(function=lambda outputs, wanted: (outputs, wanted.tolist()), targets=LABELS)

    assert loss(None, Batch((4, 0, 2), None, 0)) == (None, [1, 0, 2])
    with pytest.raises(IndexError):
        loss(None, Batch((20,), None, 0))


def test_two_configs_of_a_training_differ_in_what_was_changed():
    config = training(loss=cross_entropy())
    reference, target = (Job.of(config, name) for name in ("reference", "target"))

    assert diff(reference, target, NO_SPEED).changes == ()


def test_a_side_that_trains_by_itself_is_no_reference():
    text = render_result(run(job(), NO_SPEED))

    assert "step  epoch" in text
    assert "reference" not in text

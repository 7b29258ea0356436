"""Whole comparisons of models that draw at random."""

import warnings

import pytest
import torch
from torch.overrides import _get_current_function_mode_stack
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from libbench.compilers.fx import Fx
from libbench.compilers.torch_compile import TorchCompile
from libbench.compilers.torch_script import TorchScript
from libbench.config import LazyCall as L
from libbench.data import RandomInputs
from libbench.devices.cpu import Cpu
from libbench.diff import Plan, diff, run
from libbench.drawing import ask_reference
from libbench.evaluators.regression import Regression
from libbench.interfaces import Compiled
from libbench.job import Job
from libbench.report.headline import headline
from libbench.report.text import render
from libbench.result import CompileFacts
from libbench.runners.local import Local
from libbench.settings import Timer

NO_SPEED = Plan(speed=False)


class Dropped(torch.nn.Module):
    """Gives what is dropped out, and what is not."""

    def __init__(self, rate=0.5, noise=0.0, off=0.0):
        super().__init__()
        self.linear = torch.nn.Linear(6, 5)
        self.rate, self.noise, self.off = rate, noise, off

    def forward(self, x):
        y = self.linear(x)
        return {"kept": y + self.off, "drawn": torch.nn.functional.dropout(y, self.rate) + self.noise}


class Fixed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 5)

    def forward(self, x):
        return self.linear(x) + torch.rand(5)


class Branching(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x - 1


class Undressed(torch.nn.Module):
    """Says whether anything watches its operators."""

    def forward(self, x):
        modes = _get_current_function_mode_stack(), _get_current_dispatch_mode_stack()
        if any(modes):
            raise RuntimeError(f"watched by {modes}")
        return torch.rand(len(x), 6) + torch.nn.functional.dropout(x, 0.5)


class OtherNumbers:
    """A compiler whose code draws other numbers than the model does from the same seed."""

    def compile(self, model, example, method):
        def call(*args):
            torch.rand(3)
            return model(*args)

        return Compiled(call, "other numbers", lambda: CompileFacts(graphs=1))


def config(samples=64, **parts):
    known = {
        "model": L(Dropped)(),
        "data": L(RandomInputs)(shapes=(6,), samples=samples, batch_size=16),
        "runner": L(Local)(threads=1),
    }
    return {**known, **parts}


def verdicts(comparison):
    return {check.name: check.verdict for check in comparison.checks}


def leaves(comparison):
    return {leaf.path: leaf for leaf in comparison.outputs.leaves}


@pytest.mark.parametrize("compiler", [None, L(TorchCompile)(backend="aot_eager")])
def test_who_draws_the_same_numbers_is_judged_by_values(compiler):
    parts = {} if compiler is None else {"compiler": compiler}

    same = diff(config(), config(**parts), NO_SPEED)
    other = diff(config(), config(model=L(Dropped)(noise=1e-3), **parts), NO_SPEED)

    assert (same.exit_code, other.exit_code) == (0, 1)
    assert verdicts(same) == {"reference repeats": "same", "outputs": "same"}
    assert {leaf.level for leaf in same.outputs.leaves} == {float("-inf")}
    assert {leaf.draws for leaf in (*same.outputs.leaves, *other.outputs.leaves)} == {None}
    assert same.target.draws is None
    assert any("the target draws the same numbers from the same seed" in note for note in same.notes)


def test_other_numbers_of_one_distribution_are_the_same_by_distribution():
    comparison = diff(config(), config(compiler=L(OtherNumbers)()), NO_SPEED)

    assert comparison.exit_code == 0
    assert headline(comparison).startswith("SAME OUTPUTS by distribution")
    assert leaves(comparison)["drawn"].draws.calls == (64, 64)
    assert leaves(comparison)["kept"].draws is None
    assert "drawn alike" in render(comparison)
    assert any("judged by its distribution" in note for note in comparison.notes)


@pytest.mark.parametrize("wrong", [{"rate": 0.4}, {"noise": 0.3}, {"off": 1e-3}])
def test_a_wrong_rate_a_shift_and_a_wrong_output_beside_are_found(wrong):
    comparison = diff(config(), config(model=L(Dropped)(**wrong), compiler=L(OtherNumbers)()), NO_SPEED)

    assert comparison.exit_code == 1
    (odd,) = [leaf.path for leaf in comparison.outputs.leaves if leaf.verdict == "different"]
    assert odd == ("kept" if "off" in wrong else "drawn")
    assert ("from another distribution" in headline(comparison)) == (odd == "drawn")


def test_numbers_drawn_while_tracing_are_named_and_found_in_a_single_batch():
    comparison = diff(config(16, model=L(Fixed)()), config(16, model=L(Fixed)(), compiler=L(Fx)()), NO_SPEED)

    line = f"test_drawing.py:{Fixed.forward.__code__.co_firstlineno + 1}"
    assert comparison.exit_code == 1
    assert verdicts(comparison)["target baked in"] == "different"
    assert headline(comparison).startswith(f"BAKED IN: output the same from every seed: aten.rand at {line}")
    assert comparison.target.facts.baked == (f"aten.rand at {line}",)


def test_a_branch_that_tracing_has_fixed_is_named_beside_the_difference():
    traced = {"model": L(Branching)(), "compiler": L(TorchScript)(how="trace")}

    comparison = diff(config(model=L(Branching)()), config(**traced), NO_SPEED)
    unseen = diff(config(16, model=L(Branching)()), config(16, **traced), NO_SPEED)

    line = f"test_drawing.py:{Branching.forward.__code__.co_firstlineno + 1}"
    assert headline(comparison).startswith(f"BAKED IN: tensor to a Python boolean at {line}")
    assert (comparison.exit_code, unseen.exit_code) == (1, 0)
    assert any(f"without a difference here: tensor to a Python boolean at {line}" in note for note in unseen.notes)


def test_metrics_that_differ_by_chance_are_not_judged():
    evaluator = L(Regression)(targets=[[0.0] * 5] * 64)

    class Drawn(Dropped):
        def forward(self, x):
            return super().forward(x)["drawn"]

    parts = {"model": L(Drawn)(), "evaluator": evaluator}
    comparison = diff(config(**parts), config(**parts, compiler=L(OtherNumbers)()), NO_SPEED)

    assert comparison.exit_code == 2
    assert verdicts(comparison)["outputs"] == "same"
    assert {verdict for name, verdict in verdicts(comparison).items() if "metric" in name} == {"unjudged"}
    assert "metrics differ, which may be chance" in headline(comparison)


def test_a_float64_copy_is_no_truth_of_what_is_drawn():
    comparison = diff(config(), config(), Plan(speed=False, truth="float64"))

    assert comparison.exit_code == 2
    assert "its float64 copy draws other numbers" in headline(comparison)


def test_a_saved_side_keeps_what_it_drew(tmp_path):
    run(Job.of(config(), "kept"), Plan(speed=False, save=tmp_path / "kept"))

    right = diff(tmp_path / "kept", config(compiler=L(OtherNumbers)()), NO_SPEED)
    wrong = diff(tmp_path / "kept", config(model=L(Dropped)(rate=0.4), compiler=L(OtherNumbers)()), NO_SPEED)

    assert (right.exit_code, wrong.exit_code) == (0, 1)


def test_a_batch_has_its_own_random_numbers_whatever_was_drawn_before_it():
    class Loader(RandomInputs):
        def __iter__(self):
            batches = list(super().__iter__())
            return iter([*batches[1:], batches[0]])

    moved = {**config(), "data": L(Loader)(shapes=(6,), samples=64, batch_size=16)}
    outputs = diff(config(), config(compiler=L(OtherNumbers)()), NO_SPEED), diff(config(), moved, NO_SPEED)

    assert outputs[0].inputs is not None
    assert leaves(outputs[1])["kept"].verdict == "same"


def test_calls_that_take_too_long_are_not_repeated():
    result = run(Job.of(config(), "slow"), NO_SPEED)
    prepared = result.preparation
    slow = type(prepared)(**{**vars(prepared), "seconds": {"second": 60.0}})
    quick = type(prepared)(**{**vars(prepared), "seconds": {"second": 0.2}})

    asked = [ask_reference(type(result)(**{**vars(result), "preparation": each})) for each in (slow, quick)]

    assert (len(asked[0].seeds), len(asked[1].seeds)) == (0, 25)
    assert "too long" in asked[0].why


def test_nothing_watches_a_model_while_it_is_called_and_timed():
    plan = Plan(timer=Timer(pairs=6, warmup=1), processes=1)

    comparison = diff(config(model=L(Undressed)()), config(model=L(Undressed)()), plan)

    assert comparison.exit_code == 0
    assert comparison.target.failure is None


class Meta(Cpu):
    """A device of this machine that is none of its processors: tensors without values."""

    def put(self, tree):
        if isinstance(tree, torch.nn.Module):
            return tree.to("meta")
        return tree.to("meta")

    def describe(self):
        return {"device": "meta"}


class Elsewhere(torch.nn.Module):
    def __init__(self, place="cpu"):
        super().__init__()
        self.linear = torch.nn.Linear(6, 5)
        self.place = place

    def forward(self, x):
        mask = torch.ones(5)
        return self.linear(x) + mask.to(self.place)


@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_a_tensor_on_another_device_is_named_with_its_line_in_the_failure_or_else_in_a_note(place):
    part = {"model": L(Elsewhere)(place=place), "device": L(Meta)()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison = diff(config(**part), config(**part), NO_SPEED)

    named = f"torch.ones on cpu at test_drawing.py:{Elsewhere.forward.__code__.co_firstlineno + 1}"
    if place == "cpu":
        assert f"(made on another device: {named})" in comparison.reference.failure.message
    else:
        assert comparison.reference.failure is None
        assert f"the target makes tensors on another device: {named}" in comparison.notes

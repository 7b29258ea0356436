"""Outputs that agree and prove nothing: constants, all NaN, what was given, what zeros would pass for."""

import numpy as np
import pytest
import torch
from torch import nn

from libbench.aliases import Held
from libbench.compare import compare
from libbench.diff import diff
from libbench.plan import Plan
from libbench.report.headline import headline
from libbench.report.json import from_json, to_json
from libbench.report.many import finding, verdict_word
from libbench.report.text import render
from libbench.settings import Tolerance

NO_SPEED = Plan(speed=False)


def vacuous(value, tolerance=None, other=None):
    report = compare(value, value if other is None else other, tolerance)
    return [leaf.vacuous for leaf in report.leaves]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (torch.full((2, 3), float("nan")), "nan"),
        (torch.tensor([float("nan"), 1.0, 2.0]), ""),
        (torch.full((2, 3), 0.5), "constant"),
        (torch.full((100_000,), 0.5, dtype=torch.bfloat16), "constant"),
        (torch.full((4,), 1 + 2j), "constant"),
        (torch.tensor([1 + 2j, 1 + 3j]), ""),
        (torch.tensor([float("nan"), 7.0, 7.0]), "constant"),
        (torch.ones(3, dtype=torch.int64), "constant"),
        (torch.tensor([2**60, 2**60 + 1]), ""),
        (torch.zeros(3, dtype=torch.bool), "constant"),
        (torch.tensor([True, False]), ""),
        (torch.tensor([3e-6, -9e-6]), "small"),
        (torch.tensor([3e-6, -2e-5]), ""),
        (torch.tensor([3e-6, -9e-6], dtype=torch.float64), ""),
        (torch.tensor([float("inf"), 1e-6]), ""),
        (torch.empty(0, 3), "empty"),
        (None, "empty"),
        (torch.float32, "constant"),
        (np.array([2.0, 2.0]), "constant"),
        ("text", ""),
        (7, ""),
        (1e-9, "small"),
    ],
)
def test_a_leaf_says_why_its_agreement_proves_nothing(value, why):
    assert vacuous(value) == [why]


def test_one_value_alone_is_not_constant():
    assert vacuous({"loss": torch.tensor(0.25), "count": torch.tensor([3])}) == ["", ""]


def test_what_is_small_depends_on_the_tolerance_that_is_used():
    value = torch.tensor([0.01, 0.02])

    assert vacuous(value, Tolerance(atol=0.05)) == ["small"]
    assert vacuous(value, Tolerance(rtol=0.5, atol=0.009)) == [""]
    assert vacuous(value, Tolerance(rtol=0.6, atol=0.009)) == ["small"]
    assert vacuous(value, Tolerance(rtol=1.0)) == ["small"]


def test_values_of_later_pieces_count():
    value = torch.zeros(300_000)
    value[-1] = 1.0

    assert vacuous(value) == [""]


def test_a_difference_is_never_vacuous():
    assert vacuous(torch.zeros(3), other=torch.ones(3)) == [""]


def test_outputs_that_were_given_are_told_from_those_that_were_written_to():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.count = nn.Parameter(torch.ones(3)), nn.Buffer(torch.zeros(1))

        def forward(self, x, y):
            self.count.add_(1)
            y.mul_(2)
            return {
                "part": x[:1],
                "input": x.view(-1),
                "weight": self.weight,
                "count": self.count,
                "written": y,
                "made": x + 1,
            }

    model, inputs = Model(), (torch.ones(2, 3), torch.ones(3))
    held = Held(inputs, model)
    with torch.inference_mode():
        outputs = model(*inputs)

    assert held.returned(outputs) == ("input", "weight")


def body(lines):
    forward = f"def forward(self, x):\n        y = super().forward(x)\n        {lines}"
    return f"class Odd(torch.nn.Linear):\n    {forward}\nmodel = L(Odd)(4, 3)\n"


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("return y * float('nan')", "output: all of it is NaN"),
        ("return y * 1e-7", "output: it is so small that zeros would pass (atol 1e-05)"),
        ("return x[:], torch.ones(3)", "0: it is an input or a weight, as it was; 1: every value is 1"),
    ],
)
def test_a_comparison_that_proves_nothing_cannot_be_judged_and_says_why(config, lines, why):
    found = diff(config("a", body(lines)), config("b", body(lines)), NO_SPEED)

    assert found.exit_code == 2
    assert found.vacuous
    assert headline(found).startswith(f"CANNOT BE JUDGED: the outputs agree, but prove nothing: {why}")
    assert (verdict_word(found), finding(found, "vacuous")) == ("vacuous", why)
    assert from_json(to_json(found)) == found
    assert to_json(found)["derived"]["vacuous"]


def test_what_proves_nothing_harms_nobody_beside_what_does(config):
    lines = body("return y, torch.ones(4, 7, dtype=torch.int64)")
    found = diff(config("a", lines), config("b", lines), NO_SPEED)

    assert found.exit_code == 0
    text = render(found)
    assert text.startswith("SAME OUTPUTS (vacuous: 1: every value is 1)")
    assert "1: proves nothing: every value is 1" in text


def test_whole_numbers_that_are_constant_may_rightly_be_so_but_are_no_evidence(config):
    lines = body("return torch.ones(4, 7, dtype=torch.int64), x")
    found = diff(config("a", lines), config("b", lines), NO_SPEED)

    assert (found.exit_code, found.vacuous, verdict_word(found)) == (0, True, "vacuous")
    assert headline(found).startswith("SAME OUTPUTS (vacuous: 0: every value is 1; and 1 other reason)")


def test_who_knows_that_an_output_is_constant_may_say_so(config):
    lines = body("return torch.ones(4, 7)")
    lines += "from libbench.settings import Tolerance\ntolerance = L(Tolerance)(vacuous='allow')\n"
    found = diff(config("a", lines), config("b", lines), NO_SPEED)

    assert (found.exit_code, verdict_word(found)) == (0, "same")
    assert render(found).startswith("SAME OUTPUTS (vacuous: output: every value is 1)")


def test_a_truth_judges_small_values(config):
    lines = body("return y * 1e-7")
    found = diff(config("a", lines), config("b", lines), Plan(speed=False, truth="float64"))

    assert found.exit_code == 0
    assert not found.vacuous

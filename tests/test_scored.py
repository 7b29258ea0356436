"""What comparisons that were really made count for in a score."""

import dataclasses
import math

import pytest
import torch
from report_records import comparison, failed, leaf, outputs, speedup
from torch import nn

from libbench.config import LazyCall as L
from libbench.data import RandomInputs
from libbench.diff import Plan, diff
from libbench.drawn import LeafDistribution
from libbench.result import Check, Comparison, Unlike
from libbench.runners.local import Local
from libbench.scored import scored
from libbench.settings import Tolerance


class Fixed(nn.Module):
    """Gives what a function makes of its weights and the input."""

    def __init__(self, gives):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.gives, self.calls = gives, 0

    def forward(self, x):
        self.calls += 1
        return GIVES[self.gives](self.linear(x) + (self.calls if self.gives == "counting" else 0))


def broken(y):
    raise RuntimeError("Error: it cannot be")


class Refusing:
    """A compiler that gives up."""

    def compile(self, model, example, method):
        raise RuntimeError("unsupported operator")


GIVES = {
    "values": lambda y: (y, y.argmax(dim=1)),
    "shifted": lambda y: (y + 1e-3, y.argmax(dim=1)),
    "shifted in float64": lambda y: ((y + 1e-3).double(), y.argmax(dim=1)),
    "far away": lambda y: (y + 1e9, y.argmax(dim=1)),
    "another integer": lambda y: (y, y.argmax(dim=1) + 1),
    "nan": lambda y: (y / 0 * 0, y.argmax(dim=1)),
    "inf": lambda y: (y / 0, y.argmax(dim=1)),
    "narrow": lambda y: (y[:, :2], y.argmax(dim=1)),
    "one": lambda y: (y,),
    "both": lambda y: (y.double(), y.argmax(dim=1)[:2]),
    "counting": lambda y: (y, y.argmax(dim=1)),
    "random": lambda y: (y + torch.rand_like(y), y.argmax(dim=1)),
    "constant": lambda y: (torch.zeros_like(y),),
    "broken": broken,
    "complex": lambda y: torch.complex(y, y),
    "complex, a rounding off": lambda y: torch.complex(y * (1 + 2e-7), y),
    "text": lambda y: "one",
    "other text": lambda y: "two",
    "object": lambda y: (y, iter("a")),
}


def config(gives, **more):
    known = {"data": L(RandomInputs)(shapes=(3,), samples=4, batch_size=4), "runner": L(Local)(threads=1)}
    return {"model": L(Fixed)(gives=gives), **known, **more}


def sample(reference, target, **more):
    return scored(diff(config(reference), config(target, **more), Plan(speed=False)), "a")


@pytest.mark.parametrize(
    ("reference", "target", "first", "error"),
    [
        ("values", "values", -10, None),
        ("values", "shifted", -3, None),
        ("values", "far away", None, "accuracy"),
        ("values", "another integer", None, "accuracy"),
        ("values", "nan", None, "nan"),
        ("nan", "nan", -10, None),
        ("values", "inf", None, "inf"),
        ("values", "shifted in float64", None, "type"),
        ("values", "narrow", None, "shape"),
        ("values", "one", None, "shape"),
        ("values", "both", None, "shape"),
        ("values", "broken", None, "runtime"),
        ("complex", "complex", -10, None),
        ("complex", "complex, a rounding off", None, "accuracy"),
        ("text", "text", -10, None),
        ("text", "other text", None, "accuracy"),
    ],
)
def test_a_target_passes_from_a_level_on_or_has_an_error(reference, target, first, error):
    found = sample(reference, target)

    assert found.passes == (() if first is None else tuple(range(first, 6)))
    assert found.error == error
    assert found.speedup is None
    assert found.doubt in (None, "vacuous")


def test_a_compiler_that_gives_up_is_an_error_of_its_own():
    assert sample("values", "values", compiler=L(Refusing)()).error == "compile"


@pytest.mark.parametrize(
    ("gives", "error", "doubt"),
    [
        ("broken", "reference", "reference"),
        ("counting", None, "stochastic"),
        ("random", None, None),
        ("constant", None, "vacuous"),
        ("object", "unjudged", "unjudged"),
    ],
)
def test_a_reference_that_tells_nothing_of_the_target_makes_the_sample_doubtful(gives, error, doubt):
    found = sample(gives, gives)

    assert (found.doubt, found.error) == (doubt, error)


@pytest.mark.parametrize(("verdict", "passes", "error"), [("same", 16, None), ("different", 0, "accuracy")])
def test_what_is_drawn_passes_everywhere_or_nowhere_by_its_distribution(verdict, passes, error):
    draws = LeafDistribution(
        calls=(64, 64), feature="mean", reference=(0.0, 1.0), target=(0.0, 1.0), score=1.0, limit=4.0, chance=0.5
    )

    found = scored(comparison(outputs=outputs(leaf(verdict=verdict, level=0.5, draws=draws))), "drawn")

    assert (len(found.passes), found.error) == (passes, error)


def test_a_floating_dtype_that_is_allowed_is_judged_by_the_level_of_the_references():
    assert sample("values", "shifted in float64", tolerance=Tolerance(dtype="any")).passes[0] == -3


def test_the_worst_seed_counts():
    made = comparison(outputs=outputs(leaf(grid=dict.fromkeys(("float16", "bfloat16", "float32", "float64"), -7))))
    worse = comparison(outputs=outputs(leaf(grid={"float32": -4})))
    check = Check("seed 1", "same", "the same")

    both = dataclasses.replace(made, seeds=(worse,), checks=(*made.checks, check))

    assert scored(made, "a").passes[0] == -7
    assert scored(both, "a").passes[0] == -4


def test_what_passes_only_beyond_level_1_keeps_its_error():
    made = comparison(outputs=outputs(leaf(grid={"float32": 3})))

    assert scored(made, "a").passes == (3, 4, 5)
    assert scored(made, "a").error == "accuracy"


def test_a_target_that_gives_something_else_while_it_is_timed_passes_nowhere():
    made = comparison(outputs=outputs(leaf(grid={"float32": -7})))
    strayed = dataclasses.replace(made, checks=(*made.checks, Check("target timed outputs", "different", "other")))

    assert scored(strayed, "a").passes == ()
    assert scored(strayed, "a").error == "accuracy"


@pytest.mark.parametrize(
    ("ratios", "speed", "interval"),
    [
        ((speedup(1.83),), "faster", True),
        ((speedup(1.83, None, None, "inconclusive"),), "inconclusive", False),
        ((speedup(9.0, clock="cpu"), speedup(1.83)), "faster", True),
    ],
)
def test_the_point_estimate_by_the_wall_clock_counts(ratios, speed, interval):
    found = scored(comparison(outputs=outputs(leaf(level=-math.inf)), speedups=ratios), "a")

    assert (found.speedup, found.speed, found.interval) == (1.83, speed, interval)


def test_no_speedup_counts_between_sides_that_do_other_work():
    made = comparison(comparability=(Unlike("batch size", "4", "8"),))

    assert scored(made, "a").speedup is None


@pytest.mark.parametrize(
    ("kind", "doubt"), [("exception", None), ("timeout", None), ("unavailable", "unjudged"), ("lost", "unjudged")]
)
def test_a_failure_of_the_place_is_no_evidence(kind, doubt):
    found = scored(failed("compile", kind), "a")

    assert (found.error, found.doubt) == ("compile", doubt)


def test_a_row_that_broke_is_no_evidence():
    made = comparison()
    broken_row = Comparison(made.reference, made.target, checks=(Check("comparison", "unjudged", "x"),), complete=True)

    assert scored(broken_row, "a").error == "unjudged"
    assert scored(broken_row, "a").doubt == "unjudged"

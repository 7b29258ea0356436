"""Where tensors are made and random numbers drawn: the operator and the line of the model."""

import random
import warnings

import numpy as np
import pytest
import torch

from libbench.creation import Drawn, off_device, told_of_numbers, told_of_python

META = torch.device("meta")


def line_of(function, offset=1):
    return f"test_creation.py:{function.__code__.co_firstlineno + offset}"


def draws():
    return torch.rand(2) + torch.empty(2).normal_()


def plain(x):
    return torch.arange(3.0) + torch.full((3,), 0.5)


@pytest.mark.parametrize(
    ("call", "ops"),
    [
        (draws, ["aten.rand", "aten.normal_"]),
        (lambda: torch.nn.Dropout(0.5)(torch.ones(3)), ["aten.bernoulli_"]),
        (lambda: torch.multinomial(torch.ones(3), 1), ["aten.multinomial"]),
        (lambda: plain(None), []),
    ],
)
def test_operators_that_draw_are_named_with_the_line_of_the_model(call, ops):
    with Drawn() as drawn:
        call()

    assert list(drawn.places) == [f"{op} at {line_of(call, call is draws)}" for op in ops]


class Adds(torch.nn.Module):
    def __init__(self, make):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.make = make

    def forward(self, x):
        return self.linear(x) + self.make(x)


def ones(x):
    return torch.ones(3)


def scalar(x):
    return torch.tensor(0.5)


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (ones, ["torch.ones"]),
        (scalar, ["torch.tensor"]),
        (lambda x: torch.rand(3, device=x.device), []),
        (lambda x: torch.zeros_like(x), []),
    ],
)
def test_what_is_made_on_another_device_is_named_with_its_line(make, names):
    model, x = Adds(make).to(META), torch.ones(2, 3, device=META)

    found = off_device(lambda: model(x), model, x)

    assert list(found) == [f"{name} on cpu at {line_of(make)}" for name in names]


def test_all_is_on_its_own_device_where_the_model_is():
    model, x = Adds(ones), torch.ones(2, 3)

    assert off_device(lambda: model(x), model, x) == ()
    assert off_device(ones, ones, 3) == ()


def test_a_model_that_fails_is_no_failure_of_the_look():
    def fails(x):
        made = torch.ones(3)
        raise RuntimeError(f"not today {made}")

    assert off_device(lambda: fails(None), Adds(ones).to(META), 1) == (f"torch.ones on cpu at {line_of(fails)}",)


def test_python_and_numpy_draws_are_told_with_the_line_where_there_is_one():
    def python():
        return random.uniform(0, 1)

    found = []
    for call in (python, np.random.rand, draws):
        baked = []
        with told_of_python(baked, call):
            call()
        found.append(baked)

    assert found == [[f"random.random at {line_of(python)}"], ["numpy.random"], []]


def test_a_tracer_is_told_by_its_warnings_and_others_are_kept_still():
    def branch(x):
        return x + 1 if x.sum() > 0 else x

    def number(x):
        return x * float(x.max())

    found = []
    for call in (branch, number, torch.relu):
        baked = []
        with told_of_numbers(baked):
            warnings.warn("nobody hears this", stacklevel=1)
            torch.jit.trace(call, torch.ones(3), check_trace=False)
        found.append(baked)

    first, second = (f"at {line_of(call)}" for call in (branch, number))
    assert found == [[f"tensor to a Python boolean {first}"], [f"tensor to a Python float {second}"], []]

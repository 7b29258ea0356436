"""Operator by operator: faults that are planted at random places are found where they are."""

import copy
import math
import random
import warnings

import pytest
import torch
from planted import FAULTS, NETS, found_right, net, plant
from torch import nn

from libbench.errors import LibbenchError
from libbench.locate.aligning import align
from libbench.locate.capture import Runnable, capture
from libbench.locate.deviation import error_of, usual
from libbench.locate.operators import ByOperator
from libbench.tree import own_copy


@pytest.fixture(scope="module")
def nets():
    pytest.importorskip("transformers")
    return {name: net(name) for name in NETS}


def runnable(model, *args, **kwargs):
    return Runnable(model, model, lambda: own_copy((args, kwargs)))


def report(reference, target, *args, how="record", **kwargs):
    with torch.inference_mode():
        return ByOperator((runnable(reference, *args, **kwargs), runnable(target, *args, **kwargs)), how=how).report()


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", NETS)
def test_a_planted_fault_is_found_at_its_operator(nets, name, fault):
    model, inputs = nets[name]
    target, planted = plant(model, inputs, fault, random.Random(f"{name} {fault}"))

    found = report(model, target, *inputs)

    assert found.verdict == "located"
    assert found_right(planted, found.culprit), (planted, found.rows[:3])


@pytest.mark.parametrize("name", NETS)
def test_a_uniform_bfloat16_model_has_no_single_culprit(nets, name):
    model, inputs = nets[name]
    low = copy.deepcopy(model).bfloat16()
    cast = [each.bfloat16() if each.is_floating_point() else each for each in inputs]

    with torch.inference_mode():
        found = ByOperator((runnable(model, *inputs), runnable(low, *cast)), how="record").report()

    assert found.verdict == "no single culprit"
    assert 1e-3 < found.usual < 4e-3
    assert found.rows[0].deviation.ratio < 3


@pytest.mark.parametrize("how", ["record", "export"])
def test_a_model_against_itself_has_nothing_to_locate(nets, how):
    model, inputs = nets["transformer"]

    found = report(model, copy.deepcopy(model), *inputs, how=how)

    assert (found.verdict, found.graph, found.why_recorded) == ("same", how, "")
    assert {row.deviation.local for row in found.rows} == {0.0}
    assert {row.deviation.total for row in found.rows} == {0.0}


def test_a_fault_is_found_in_the_exported_graph_too(nets):
    model, inputs = nets["conv"]
    target, planted = plant(model, inputs, "softmax", random.Random(3))

    found = report(model, target, *inputs, how="export")

    assert found.graph == "export"
    assert found_right(planted, found.culprit)


class Branches(nn.Module):
    """Operators that change what they are given, views, several outputs, whole numbers, a branch by value."""

    def __init__(self, order=(0, 1), cast=False, extra=False):
        super().__init__()
        self.arms = nn.ModuleList(nn.Linear(6, 6) for _ in range(2))
        self.order, self.cast, self.extra = order, cast, extra
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x, *, scale=2.0, mask=None):
        self.calls += 1
        arms = dict(zip(self.order, (self.arms[i](x) for i in self.order), strict=True))
        one, two = arms[0], arms[1]
        one[:, :2].mul_(scale)
        values, places = (one + two).topk(3)
        if values.sum() > -1e9:
            values = values.half().float() if self.cast else values
        if self.extra:
            values = values * 1.5
        first, _, last = values.split(1, dim=-1)
        return {"mean": values.mean(), "places": places, "pair": (first - last, mask)}


@pytest.fixture(scope="module")
def branches():
    torch.manual_seed(0)
    return Branches().eval(), torch.randn(4, 6)


def like(model, **changes):
    made = Branches(**changes).eval()
    made.load_state_dict(model.state_dict())
    return made


def test_a_graph_that_cannot_be_exported_is_recorded(branches):
    model, x = branches

    found = report(model, like(model), x, how="export")

    assert (found.verdict, found.graph) == ("same", "record")
    assert found.why_recorded


def test_in_place_changes_and_views_make_no_error_of_their_own(branches):
    model, x = branches

    found = report(model, like(model), x, mask=torch.ones(4), scale=3.0)

    assert found.verdict == "same"
    assert max(row.deviation.total for row in found.rows) == 0.0


def test_branches_in_another_order_are_matched(branches):
    model, x = branches

    found = report(model, like(model, order=(1, 0)), x)

    assert found.verdict == "same"
    assert not any("alone has" in text for text in found.structure)


def test_a_cast_that_the_target_alone_has_is_a_finding_of_structure(branches):
    model, x = branches

    found = report(model, like(model, cast=True), x)

    assert found.verdict == "located"
    assert found.culprit.additional
    assert "topk" in found.culprit.after
    assert (
        sum("the target alone has aten." in text and "values.half().float()" in text for text in found.structure) == 1
    )


def test_what_the_target_lacks_is_a_finding_of_structure(branches):
    model, x = branches

    found = report(like(model, extra=True), model, x)

    assert any("the target has no counterpart of aten.mul" in text for text in found.structure)
    assert found.verdict == "located"


def test_a_constant_of_another_value_does_not_hide_behind_an_operator_that_is_added():
    class Two(nn.Module):
        def __init__(self, added):
            super().__init__()
            self.added = added

        def forward(self, x):
            y = x.softmax(-1)
            return (y * 0.5 if self.added else y) * 0.25 + 1

    found = report(Two(False), Two(True), torch.randn(3, 5))

    assert found.culprit.additional
    assert found.culprit.operator == "aten.mul"
    assert [row.deviation.local for row in found.rows if not row.additional] == [0.0] * 3


class Attention(nn.Module):
    def __init__(self, fused, scale=1.0):
        super().__init__()
        self.into, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.fused, self.scale = fused, scale

    def forward(self, x):
        q, k, v = (each.view(2, 5, 4, 4).transpose(1, 2) for each in self.into(x).chunk(3, -1))
        if self.fused:
            mixed = nn.functional.scaled_dot_product_attention(q, k, v * self.scale)
        else:
            mixed = torch.softmax(q @ k.transpose(-1, -2) / 2, -1) @ v
        return x + self.out(mixed.transpose(1, 2).reshape(2, 5, 16))


@pytest.mark.parametrize(("scale", "verdict"), [(1.0, {"same", "no single culprit"}), (1.01, {"located"})])
def test_one_operator_in_place_of_several_is_judged_by_what_they_give(scale, verdict):
    torch.manual_seed(0)
    model = nn.Sequential(*(Attention(False) for _ in range(3)))
    target = nn.Sequential(*(Attention(True, scale if i == 1 else 1.0) for i in range(3)))
    target.load_state_dict(model.state_dict())

    found = report(model, target, torch.randn(2, 5, 16))

    assert found.verdict in verdict
    assert found.rows[0].deviation.local == pytest.approx(scale - 1, abs=1e-6)
    assert any("the target alone has aten.scaled_dot_product_attention in 1" in text for text in found.structure)
    if found.culprit is not None:
        assert (found.culprit.module, found.culprit.operator) == ("1", "aten.scaled_dot_product_attention")


def test_errors_that_came_in_are_told_from_those_that_are_made():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6))
    target = copy.deepcopy(model)
    target[0].bias.data += 0.1

    found = report(model, target, torch.randn(4, 6))

    first, second, third = sorted(found.rows, key=lambda row: row.position)
    assert first.deviation.local > 0
    assert first.deviation.inherited == 0
    assert second.deviation.local == third.deviation.local == 0
    assert second.deviation.inherited == second.deviation.total > 0
    assert third.deviation.gain == pytest.approx(third.deviation.inherited / second.deviation.total)
    assert found.rows[0].module == "0"


def test_what_a_call_changes_in_the_model_does_not_change_it(branches):
    model, x = branches
    before = float(model.calls)
    graphs = capture((runnable(model, x), runnable(model, x)), "record")
    changed = float(model.calls)

    with torch.inference_mode():
        report(model, model, x)

    assert changed == before + 2  # the recording runs the model; the pass over its operators does not
    assert float(model.calls) == changed + 2
    assert align(*graphs) == {i: i for i in range(len(graphs[0].ops))}


def test_sides_with_other_inputs_cannot_be_run_side_by_side(branches):
    model, x = branches

    with pytest.raises(LibbenchError, match=r"given 1 tensors, the target 2"):
        ByOperator((runnable(model, x), runnable(model, x, mask=x + 1)), how="record")


@pytest.mark.parametrize(
    ("reference", "target", "error"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([3.0, 4.0], [3.0, 4.5], 0.1),
        ([0.0, 0.0], [0.0, 1e-30], math.inf),
        ([math.nan, 1.0], [math.nan, 1.0], 0.0),
        ([math.nan, 1.0], [1.0, 1.0], math.inf),
        ([math.inf, 3.0, 4.0], [math.inf, 3.0, 4.5], 0.1),
        ([math.inf, 1.0], [-math.inf, 1.0], math.inf),
        ([True, False], [True, False], 0.0),
        ([1, 2], [1.0, 2.0], 0.0),
    ],
)
def test_an_error_is_the_difference_over_the_reference(reference, target, error):
    assert error_of(torch.tensor(reference), torch.tensor(target)) == pytest.approx(error)


def test_an_error_speaks_of_values_of_any_dtype_and_of_shapes():
    x = torch.randn(50)

    assert 5e-4 < error_of(x, x.bfloat16()) < 4e-3
    assert error_of(x, x[None]) == math.inf
    assert error_of(x + 1j, x + 1.1j) > 0
    assert error_of(3, 3) == 0.0
    assert error_of(3, 4) == math.inf


def test_exact_zeros_do_not_make_the_usual_error_zero():
    rounding = 6e-8

    assert usual([0.0] * 50 + [1e-2], rounding) == rounding
    assert usual([0.0] * 50 + [1e-3] * 50 + [2e-3], rounding) == 1e-3
    assert usual([], rounding) == rounding


def test_recording_leaves_no_hook_behind(branches):
    model, x = branches
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("error")
        report(model, like(model), x)

    assert not model._forward_hooks
    assert not model._forward_pre_hooks
    assert not any(arm._forward_hooks for arm in model.arms)

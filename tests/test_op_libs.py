"""Kernels of one side in place of torch's: swapped, counted, taken back."""

import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest
import torch
from torch import library
from torch.nn import functional as F

from libbench.diff import Plan, diff, run
from libbench.errors import ConfigError, MissingPackageError, UnavailableError
from libbench.job import Job
from libbench.locate.asking import Question, locate
from libbench.op_libs.flag_gems import FlagGems
from libbench.op_libs.kernels import Kernels
from libbench.report.text import render, render_result
from libbench.settings import Timer

NO_SPEED = Plan(speed=False)
BODY = """
import math, numpy, torch
from libbench.interfaces import Compiled, Evaluator
from libbench.op_libs.kernels import Kernels
from libbench.runners.local import Local

def gelu(self, *, approximate="none"):
    return self * torch.sigmoid(1.702 * self)

def softmax(self, dim, half_to_float):
    shifted = torch.exp(self - self.amax(dim, keepdim=True))
    return shifted / shifted.sum(dim, keepdim=True)

def raising(self, *, approximate="none"):
    raise RuntimeError("no such kernel here")

class Gelus(Evaluator):
    def process(self, batch, outputs):
        return {i: torch.nn.functional.gelu(torch.ones(1)).item() for i in batch.indices}
    def evaluate(self, records):
        return {"gelu": max(records.values())}

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3)
        self.gelu = torch.nn.GELU()
    def forward(self, x):
        return torch.softmax(self.second(self.gelu(self.first(x))), -1)

class InNumpy:
    def compile(self, model, example, method):
        model(example.inputs)
        weights = [each.detach().numpy() for each in model.parameters()]
        def call(x):
            first, bias, second, other = weights
            y = x.numpy() @ first.T + bias
            y = y * numpy.vectorize(lambda v: 0.5 * (1 + math.erf(v / 2**0.5)))(y)
            y = numpy.exp(y @ second.T + other)
            return torch.from_numpy((y / y.sum(-1, keepdims=True)).astype("float32"))
        return Compiled(call, "numpy")

model = L(Net)()
runner = L(Local)(threads=1)
"""
GELU = "op_lib = L(Kernels)(kernels={'aten::gelu': gelu}, name='quick')\n"
BOTH = "op_lib = L(Kernels)(kernels={'aten::gelu': gelu, 'aten::_softmax': softmax, 'aten::relu': 'torch.relu'})\n"


def gelu(self, *, approximate="none"):
    return torch.full_like(self, 7.0)


@pytest.fixture
def job(config):
    def load(lines="", name="plain"):
        return Job.load(config(name, BODY + lines))

    return load


def torchs_own():
    """Tell whether the kernels are torch's."""
    return torch.equal(F.gelu(torch.zeros(3)), torch.zeros(3)) and "aten/gelu/CPU" not in library._impls


# One at a time


def test_a_kernel_takes_the_place_of_torchs_as_long_as_it_is_wanted():
    kernels = Kernels({"aten::gelu": gelu})

    with kernels.active(counted=True):
        assert F.gelu(torch.zeros(3)).tolist() == [7.0, 7.0, 7.0]
    with kernels.active(counted=False):
        assert F.gelu(torch.zeros(3)).tolist() == [7.0, 7.0, 7.0]

    assert torchs_own()
    assert kernels.facts().calls == {"aten::gelu": 1}
    assert kernels.facts().version == "own kernels for CPU"


def test_torchs_kernels_are_back_after_an_exception():
    with pytest.raises(ZeroDivisionError), Kernels({"aten::gelu": gelu}).active(counted=True):
        raise ZeroDivisionError

    assert torchs_own()


def test_torchs_kernels_are_back_where_one_of_several_cannot_be_swapped():
    kernels = Kernels(
        {"aten::gelu": gelu, "aten::linear": lambda input, weight, bias=None: input}, keys=["CPU", "Meta"]
    )

    with pytest.raises(RuntimeError, match="meta kernel"), kernels.active(counted=True):
        pass

    assert torchs_own()


def test_gradients_flow_through_a_kernel_below_autograd():
    def own(self, dim, half_to_float):
        return torch.full_like(self, 0.25)

    x = torch.ones(2, 4, requires_grad=True)
    with Kernels({"aten::_softmax": own}).active(counted=True):
        y = torch.softmax(x, -1)
        y[:, 0].sum().backward()

    assert y[0].tolist() == [0.25] * 4
    assert x.grad[0].tolist() == pytest.approx([0.1875, -0.0625, -0.0625, -0.0625])


@pytest.mark.parametrize(("kernels", "more", "words"), [
    ({"aten::gelo": gelu}, {}, "torch has no operator 'aten::gelo'; did you mean 'aten::gelu'?"),
    ({"softmax.int": gelu}, {}, "torch has no operator 'softmax.int'; did you mean 'aten::softmax.int'?"),
    ({"aten::_softmax_backward": gelu}, {}, "torch has no operator 'aten::_softmax_backward'; did you mean 'aten::"),
    ({"aten::softmax": gelu}, {}, "torch has no operator 'aten::softmax'; there are aten::softmax.int"),
    ({"aten::gelu": gelu}, {"keys": ["CPUU"]}, "torch has no dispatch key 'CPUU'; did you mean 'CPU'?"),
    ({"aten::gelu": gelu}, {"keys": "CPU"}, "keys must be a list of at least one dispatch key, as ['CPU'], got 'CPU'"),
    ({}, {}, "kernels must have at least one operator, as {'aten::gelu': my_gelu}, got {}"),
    ({"aten::relu": gelu, "aten::silu": lambda: 0}, {}, "() cannot be called as aten::silu(Tensor self) -> Tensor is:"),
    ({"aten::softmax.int": lambda self, dim: 0}, {}, "(self, dim) cannot be called as aten::softmax.int("),
])  # fmt: skip
def test_what_cannot_be_swapped_is_told(kernels, more, words):
    with pytest.raises(ValueError) as told:  # noqa: PT011
        Kernels(kernels, **more)

    assert words in str(told.value)


def test_a_kernel_may_be_named_by_text():
    with Kernels({"aten::relu": "torch.nn.functional.silu"}).active(counted=True):
        assert torch.relu(torch.ones(1)).item() == F.silu(torch.ones(1)).item()
    with pytest.raises(ConfigError, match="torch.nn.functional has no 'siluu'"):
        Kernels({"aten::gelu": "torch.nn.functional.siluu"})


# As a part of a side


@pytest.fixture(scope="module")
def swapped(tmp_path_factory):
    """Compare the model with itself with two kernels swapped, both with an evaluator that calls one of them."""
    folder = tmp_path_factory.mktemp("swapped")
    head = "from libbench.config import LazyCall as L\nfrom libbench.data import RandomInputs\n"
    data = "data = L(RandomInputs)(shapes=(4,), samples=10, batch_size=4)\nevaluator = L(Gelus)()\n"
    for name, lines in (("plain", ""), ("swapped", BOTH)):
        (folder / f"{name}.py").write_text(head + BODY + data + lines)
    comparison = diff(folder / "plain.py", folder / "swapped.py", Plan(speed=False, truth="float64"))
    return comparison, torchs_own()


def test_one_side_has_its_kernels_and_the_other_has_torchs(swapped):
    comparison, _ = swapped

    assert comparison.outputs.verdict == "different"
    assert 0.001 < comparison.outputs.leaves[0].max_abs.value < 0.02
    assert comparison.reference.kernels is None
    # The first batch is called twice, of which the first call may compile, and then all three.
    assert comparison.target.kernels.calls == {"aten::gelu": 4, "aten::_softmax": 4, "aten::relu": 0}
    assert comparison.target.preparation.kernels.calls["aten::gelu"] == 1


def test_evaluator_truth_and_this_process_keep_torchs_kernels(swapped):
    comparison, torchs = swapped

    assert torchs
    assert comparison.target.metrics == comparison.reference.metrics == {"gelu": pytest.approx(0.8413447, abs=1e-6)}
    assert comparison.truth_side.kernels is None
    rmse = comparison.truth.leaves[0].rmse
    assert rmse[0] < 1e-6 < 1e-4 < rmse[1]


def test_the_report_says_which_kernels_ran(swapped):
    text = " ".join(render(swapped[0]).split())

    assert "op_lib target: own kernels for CPU; 3 kernels in place of torch's; ran: aten::gelu 4 times" in text
    assert "did not run: aten::relu" in text
    assert "op_lib own kernels for CPU; 3 kernels" in " ".join(render_result(swapped[0].target).split())


def test_a_kernel_that_raises_is_its_sides_failure_and_is_taken_back(job):
    comparison = diff(job(), job("op_lib = L(Kernels)(kernels={'aten::gelu': raising})\n", "raising"), NO_SPEED)

    failure = comparison.target.failure
    assert (failure.stage, failure.message) == ("evaluate", "RuntimeError: no such kernel here")
    assert comparison.exit_code == 1
    assert torchs_own()


def test_an_unknown_operator_fails_the_side_with_the_nearest_name(job):
    result = run(job("op_lib = L(Kernels)(kernels={'aten::gelo': gelu})\n"), NO_SPEED)

    assert result.failure.stage == "instantiate"
    assert "torch has no operator 'aten::gelo'; did you mean 'aten::gelu'?" in result.failure.message


def test_what_is_no_operator_library_is_told(job):
    assert (
        "op_lib must have active(), facts(), got a dict" in run(job("op_lib = L(dict)()\n"), NO_SPEED).failure.message
    )


def test_a_kernel_that_a_compiler_replaces_by_its_own_does_not_run_and_no_speedup_is_claimed(job):
    own = "compiler = L(InNumpy)()\n"

    comparison = diff(job(own), job(own + GELU, "swapped"), Plan(timer=Timer(pairs=8, warmup=1)))

    assert comparison.exit_code == 0
    assert comparison.target.kernels.idle
    text = " ".join(render(comparison).split())
    assert "NO SPEEDUP; NO KERNEL of the target's op_lib ran" in text
    assert "quick for CPU; 1 kernel in place of torch's, of which NONE RAN: aten::gelu" in text


def test_sides_of_other_kernels_are_timed_in_processes_of_their_own_and_those_of_the_same_in_one(job):
    quick = Plan(timer=Timer(pairs=8, warmup=1))

    apart, together = diff(job(), job(GELU, "swapped"), quick), diff(job(GELU), job(GELU), quick)

    assert not any(each.together for each in apart.measurements)
    assert any("each side was timed in its own process: the kernels of one side" in note for note in apart.notes)
    assert apart.speedups[0].ratio > 0
    assert all(each.together for each in together.measurements)
    assert together.target.kernels.calls == {"aten::gelu": 4}
    assert torchs_own()


def test_timed_calls_run_by_the_kernels_of_their_side(job):
    comparison = diff(job(GELU), job(GELU), Plan(timer=Timer(pairs=10, warmup=1)))

    # Outputs of a timed call are compared with those of an untimed one.
    assert comparison.measurements[0].kept == ("same", "same")


def test_a_swapped_kernel_is_located(job):
    plain, swapped = job(), job(GELU, "swapped")

    found, back = locate(plain, swapped, Question(how="record")), locate(swapped, plain, Question(how="record"))

    assert (found.verdict, found.modules.culprit.path) == ("located", "gelu")
    assert found.operators.culprit.operator == back.operators.culprit.operator == "aten.gelu"
    assert (back.modules, back.notes) == (None, ("a reference with an op_lib is looked at by operator only",))
    assert torchs_own()


# FlagGems


def test_flag_gems_says_what_to_install():
    if find_spec("flag_gems") and find_spec("triton"):
        pytest.skip("FlagGems is installed")

    with pytest.raises(MissingPackageError, match="needed for the kernels of FlagGems; install the release"):
        FlagGems()


def test_flag_gems_kernels_are_swapped_and_counted_like_any_other(monkeypatch):
    def enable(lib):
        lib.impl("gelu", gelu, "CPU")
        lib.impl("add.Tensor", lambda self, other, *, alpha=1: self, "CPU")

    monkeypatch.setitem(sys.modules, "triton", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "flag_gems", SimpleNamespace(enable=enable, __version__="3.0"))
    gems = FlagGems()

    with gems.active(counted=True):
        assert F.gelu(torch.zeros(1)).item() == 7.0

    assert torchs_own()
    assert gems.facts().calls == {"aten::gelu": 1, "aten::add.Tensor": 0}
    assert gems.facts().version.startswith("FlagGems 3.0, torch ")


def test_flag_gems_without_a_device_is_unavailable(monkeypatch, tmp_path):
    (tmp_path / "flag_gems.py").write_text("raise RuntimeError('no device with a vendor')\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "triton", SimpleNamespace())
    monkeypatch.delitem(sys.modules, "flag_gems", raising=False)

    with pytest.raises(UnavailableError, match="FlagGems finds no device that it has kernels for: no device with a"):
        FlagGems()

"""Compilers: what they change, what they say they did."""

import os
import subprocess
import sys

import pytest
import torch

from libbench.compilers.eager import Eager
from libbench.compilers.precision import Precision
from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L
from libbench.data import IndexedLoader, RandomInputs
from libbench.diff import Plan, diff
from libbench.interfaces import Batch
from libbench.report.text import render
from libbench.runners.local import Local
from libbench.settings import Timer

EXAMPLE = Batch(indices=(0, 1), inputs=torch.ones(2, 4), number=0)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return torch.relu(self.linear(x))

    def encode(self, x):
        return self.forward(x) + 1


class Broken(Net):
    def forward(self, x):
        y = super().forward(x)
        torch._dynamo.graph_break()
        return y + 1


def config(model=Net, **parts):
    data = L(RandomInputs)(shapes=(4,), samples=10, batch_size=4)
    return {"model": L(model)(), "data": data, **parts}


def compiled(**arguments):
    return L(TorchCompile)(**{"backend": "aot_eager", **arguments})


def test_eager_runs_the_model_itself():
    model = Net()

    found = Eager().compile(model, EXAMPLE, "forward")

    assert found.call is model
    assert found.facts is None


@pytest.mark.parametrize(("model", "graphs", "breaks"), [(Net, 1, 0), (Broken, 2, 1)])
def test_a_compiled_side_says_how_many_graphs_it_has_and_where_they_broke(model, graphs, breaks):
    comparison = diff(config(model), config(model, compiler=compiled(dynamic=True)), Plan(speed=False))

    assert comparison.exit_code == 0
    facts = comparison.target.preparation.facts
    assert (facts.graphs, facts.breaks) == (graphs, breaks)


class Shapes(torch.utils.data.Dataset):
    """Samples that get longer from batch to batch."""

    def __len__(self):
        return 6

    def __getitem__(self, index):
        return torch.ones(3 + index // 2, 4)


def test_code_that_is_compiled_again_for_another_shape_is_counted():
    data = L(IndexedLoader)(dataset=L(Shapes)(), batch_size=2)
    comparison = diff(
        {**config(), "data": data}, {**config(compiler=compiled(dynamic=False)), "data": data}, Plan(speed=False)
    )

    assert comparison.target.preparation.facts.recompiles == 0
    assert comparison.target.evaluation.facts.recompiles == 2
    assert comparison.target.evaluation.facts.graphs == 3
    assert "compiled again 2 times" in render(comparison)


def test_a_second_side_with_the_same_code_is_compiled_again_in_one_process():
    runner = L(Local)(threads=1)
    reference = config(runner=runner)
    for _ in range(2):
        comparison = diff(reference, config(runner=runner, compiler=compiled()), Plan(speed=False))

        assert comparison.target.preparation.facts.graphs >= 1


def test_another_method_than_forward_is_compiled():
    workload = L("libbench.workloads.inference.Inference")(method="encode")
    target = config(workload=workload, compiler=compiled())

    comparison = diff(config(workload=workload), target, Plan(timer=Timer(pairs=6, warmup=1)))

    assert comparison.exit_code == 0
    assert comparison.target.preparation.facts.graphs == 1
    assert comparison.speedups[0].pairs == (6,) * 5


def test_a_model_that_may_not_break_its_graph_fails_in_compile():
    comparison = diff(config(Broken), config(Broken, compiler=compiled(fullgraph=True)), Plan(speed=False))

    assert comparison.target.failure.stage == "compile"
    assert comparison.exit_code == 1


def test_an_unknown_backend_fails_in_compile_and_is_named():
    comparison = diff(config(), config(compiler=compiled(backend="inducter")), Plan(speed=False))

    assert comparison.target.failure.stage == "compile"
    assert "inducter" in comparison.target.failure.message


def test_mode_and_options_together_are_refused():
    with pytest.raises(ValueError, match="mode and options"):
        TorchCompile(mode="default", options={"freezing": True})


def test_inductor_compiles_a_small_model_and_agrees():
    reference = config()

    comparison = diff(reference, config(compiler=L(TorchCompile)(backend="inductor")), Plan(speed=False))

    assert comparison.exit_code == 0
    assert comparison.target.preparation.facts.graphs >= 1
    assert comparison.target.preparation.cold is not None


def test_inductor_without_a_cxx_compiler_is_unavailable(tmp_path):
    script = (
        "from libbench.compilers.torch_compile import TorchCompile\n"
        "from libbench.errors import UnavailableError\n"
        "try: TorchCompile().compile(len, None, 'forward')\n"
        "except UnavailableError as error: print(error)\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "CXX"} | {"PATH": str(tmp_path)}

    found = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True, timeout=120
    )

    assert "needs a C++ compiler" in found.stdout


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_precision_casts_weights_and_floating_inputs_and_leaves_outputs_as_they_come(dtype):
    model = Net()
    call = Precision(dtype).compile(model, EXAMPLE, "forward").call

    assert call(torch.ones(2, 4)).dtype == dtype
    assert model.linear.weight.dtype == dtype


def test_precision_leaves_integer_inputs_alone():
    model = torch.nn.Embedding(5, 3)
    call = Precision(torch.bfloat16).compile(model, EXAMPLE, "forward").call

    assert call(torch.tensor([1, 2])).dtype == torch.bfloat16


def test_autocast_leaves_the_weights_and_chooses_by_operator():
    model = Net()
    call = Precision(torch.bfloat16, autocast=True).compile(model, EXAMPLE, "forward").call

    assert call(torch.ones(2, 4)).dtype == torch.bfloat16
    assert model.linear.weight.dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.int8, "bfloat16", None])
def test_a_precision_that_is_no_floating_dtype_is_refused(dtype):
    with pytest.raises(ValueError, match="floating torch dtype"):
        Precision(dtype)

"""Compilers: what they change, what they say they did."""

import importlib.util
import os
import subprocess
import sys

import pytest
import torch

from libbench.compilers.aot_inductor import AOTInductor
from libbench.compilers.eager import Eager
from libbench.compilers.executorch import ExecuTorch
from libbench.compilers.fx import Fx
from libbench.compilers.iree import Iree
from libbench.compilers.onnx_runtime import OnnxRuntime
from libbench.compilers.openvino import OpenVino
from libbench.compilers.precision import Precision
from libbench.compilers.quantize import Quantize
from libbench.compilers.tensorrt import TensorRT
from libbench.compilers.torch_compile import TorchCompile
from libbench.compilers.torch_script import TorchScript
from libbench.compilers.tvm import Tvm
from libbench.compilers.xla import Xla
from libbench.config import LazyCall as L
from libbench.data import IndexedLoader, RandomInputs
from libbench.diff import Plan, diff
from libbench.errors import MissingPackageError, UnavailableError, UnsupportedError
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


def test_iree_gets_the_operators_that_its_importer_takes():
    pytest.importorskip("iree.turbine")
    normed = {
        "model": L(torch.nn.Sequential)(L(torch.nn.Conv2d)(2, 3, 3), L(torch.nn.BatchNorm2d)(3)),
        "data": L(RandomInputs)(shapes=(2, 5, 5), samples=4, batch_size=2),
    }

    comparison = diff(normed, {**normed, "compiler": L(Iree)()}, Plan(speed=False))

    assert comparison.target.failure is None
    assert comparison.exit_code == 0


def test_a_side_that_torch_has_left_to_python_says_why_nothing_is_compiled():
    lstm = {"model": L(torch.nn.LSTM)(4, 3), "data": L(RandomInputs)(shapes=(2, 4), samples=6, batch_size=3)}

    comparison = diff(lstm, {**lstm, "compiler": compiled()}, Plan(speed=False))

    facts = comparison.target.facts
    assert (facts.graphs, facts.calls) == (0, 0)
    assert "RNN, GRU, or LSTM" in " ".join(facts.notes)
    assert comparison.target.preparation.seconds["imports"] > 0
    assert comparison.target.preparation.compilation < comparison.target.preparation.first_call


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
    assert [m.ran for m in comparison.measurements] == [(None, 1.0)] * 5
    assert "ran in every timed call" in render(comparison)


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


class Dropped(Net):
    def forward(self, x):
        return torch.nn.functional.dropout(super().forward(x) + 1, 0.5)


@pytest.mark.filterwarnings("ignore")  # torch's own, of what it imports
@pytest.mark.parametrize("rng", ["native", "same"])
def test_inductor_draws_its_own_random_numbers_or_those_of_eager_torch(rng):
    here = {"runner": L(Local)(threads=1)}  # where inductor is there already
    target = config(Dropped, compiler=L(TorchCompile)(rng=rng), **here)

    comparison = diff(config(Dropped, **here), target, Plan(speed=False))

    assert comparison.exit_code == 0
    (leaf,) = comparison.outputs.leaves
    assert (leaf.draws is None, leaf.mismatches == 0) == (rng == "same", rng == "same")


@pytest.mark.parametrize("compiler", [TorchCompile, AOTInductor])
def test_another_policy_for_random_numbers_is_refused(compiler):
    with pytest.raises(ValueError, match="rng must be 'native' or 'same', got 'equal'"):
        compiler(rng="equal")


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


class Linears(Net):
    def __init__(self):
        super().__init__()
        self.around = torch.nn.Conv1d(4, 4, 1)

    def forward(self, x):
        return super().forward(self.around(x[..., None])[..., 0])


@pytest.mark.parametrize(
    "compiler",
    [Quantize(), Quantize(by="torchao"), Quantize(by="torchao", weights_only=True)],
    ids=["torch", "torchao", "torchao weights"],
)
def test_quantised_layers_are_counted_and_the_others_named(compiler):
    if compiler.by == "torchao":
        pytest.importorskip("torchao")
    torch.manual_seed(1)  # with some weights nothing is left of any output
    model, twin = Linears().eval(), Linears().eval()
    twin.load_state_dict(model.state_dict())

    found = compiler.compile(model, EXAMPLE, "forward")

    with torch.inference_mode():
        difference = (found.call(torch.ones(2, 4)) - twin(torch.ones(2, 4))).abs().max()
    assert 0 < difference < 0.1
    assert "int8" in found.version
    assert found.facts().notes == ("8-bit weights in 1 of 2 layers",)
    assert found.facts().fallbacks == ("Conv1d (1)",)


def test_a_model_that_is_one_layer_can_be_quantised_and_one_without_any_cannot():
    layer = Quantize().compile(torch.nn.Linear(4, 3), EXAMPLE, "forward")

    assert layer.facts().notes == ("8-bit weights in 1 of 1 layers",)
    with pytest.raises(UnsupportedError, match="Conv1d has no layer that torch quantises"):
        Quantize().compile(torch.nn.Conv1d(4, 4, 1), EXAMPLE, "forward")


@pytest.mark.parametrize(("compiler", "package", "extra"), [
    (OnnxRuntime(), "onnx", "onnx"),
    (OpenVino(), "openvino", "openvino"),
    (Iree(), "iree", "iree"),
    (Tvm(), "tvm", "tvm"),
    (ExecuTorch(), "executorch", "executorch"),
    (Quantize(by="torchao"), "torchao", "torchao"),
    (TensorRT(), "torch_tensorrt", None),
    (Xla(), "torch_xla", None),
])  # fmt: skip
def test_a_package_that_is_not_there_is_named_with_what_installs_it(compiler, package, extra, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Without(package), *sys.meta_path])

    how = rf"libbench\[{extra}\]" if extra else "made for your torch"
    with pytest.raises(MissingPackageError, match=rf"{package}.* is needed for .*{how}"):
        compiler.compile(Net(), EXAMPLE, "forward")


class Without:
    """A finder of modules by which a package is not installed."""

    def __init__(self, package):
        self.package = package

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_a_gpu_compiler_without_a_gpu_is_unavailable(monkeypatch):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    monkeypatch.setitem(sys.modules, "torch_tensorrt", type(sys)("torch_tensorrt"))

    with pytest.raises(UnavailableError, match="TensorRT needs an NVIDIA GPU"):
        TensorRT().compile(Net(), EXAMPLE, "forward")


def test_aot_inductor_without_a_cxx_compiler_is_unavailable(monkeypatch, tmp_path):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(UnavailableError, match="needs a C\\+\\+ compiler"):
        AOTInductor().compile(Net(), EXAMPLE, "forward")


@pytest.mark.parametrize(("make", "words"), [
    (lambda: OnnxRuntime(level="most"), "level must be one of disabled, basic, extended, all, got 'most'"),
    (lambda: OnnxRuntime(providers="CPUExecutionProvider"), "providers must be a list"),
    (lambda: OpenVino(precision="float32"), "precision must be one of f32, f16, bf16 or None, got 'float32'"),
    (lambda: TorchScript(how="compile"), "how must be 'trace' or 'script', got 'compile'"),
    (lambda: Quantize(by="nncf"), "by must be 'torch' or 'torchao', got 'nncf'"),
    (lambda: Quantize(weights_only=True), "weights_only must be False"),
])  # fmt: skip
def test_a_wrong_setting_of_a_compiler_is_told(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_provider_or_a_device_that_is_not_there_is_named_with_those_that_are():
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    with pytest.raises(UnavailableError, match="no provider 'CPUExecutionProvide' here.*did you mean 'CPUExec"):
        OnnxRuntime(providers=["CPUExecutionProvide"]).compile(Net(), EXAMPLE, "forward")
    pytest.importorskip("openvino")
    with pytest.raises(UnavailableError, match="OpenVINO has no device 'NPU' here, only CPU"):
        OpenVino(target="NPU").compile(Net(), EXAMPLE, "forward")


def test_openvino_sends_no_word_of_its_use():
    if importlib.util.find_spec("openvino_telemetry") is None:
        pytest.skip("openvino is not installed")
    script = (
        "import sys\n"
        "from libbench.compilers.openvino import _openvino\n"
        "_openvino()\n"
        "print([name for name in sys.modules if 'openvino_telemetry' in name])\n"
    )

    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)

    assert found.stdout == "[]\n"


@pytest.mark.parametrize("frozen", [False, True])
def test_a_scripted_model_takes_any_batch_size(frozen):
    model = Net().eval()
    found = TorchScript(how="script", frozen=frozen).compile(model, EXAMPLE, "forward")

    for count in (2, 3):
        torch.testing.assert_close(found.call(torch.ones(count, 4)), model(torch.ones(count, 4)))

    assert (found.facts().graphs, found.facts().calls) == (1, 2)
    with pytest.raises(UnsupportedError, match="'encode' only if marked by torch.jit.export"):
        TorchScript(how="script").compile(model, EXAMPLE, "encode")


@pytest.mark.parametrize("interpret", [False, True])
def test_fx_traces_another_method(interpret):
    model = Net()

    found = Fx(interpret=interpret).compile(model, EXAMPLE, "encode")

    assert torch.equal(found.call(torch.ones(3, 4)), model.encode(torch.ones(3, 4)))


class Aborting:
    """A compiler whose machine code ends the process."""

    def compile(self, model, example, method):
        os.abort()


def test_a_compiler_that_aborts_costs_its_side_only():
    comparison = diff(config(), config(compiler=L(Aborting)()), Plan(speed=False))

    failure = comparison.target.failure
    assert (failure.stage, failure.kind) == ("compile", "signal")
    assert "SIGABRT" in failure.message
    assert comparison.exit_code == 1

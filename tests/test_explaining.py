"""What compilers' failures say of the model."""

import importlib.util

import pytest
import torch
from failing_models import Block, Branch, Breaking, Deep, Item, Unusual, line_of

from libbench.compilers.executorch import ExecuTorch
from libbench.compilers.fx import Fx
from libbench.compilers.iree import Iree
from libbench.compilers.onnx_runtime import OnnxRuntime
from libbench.compilers.openvino import OpenVino
from libbench.compilers.torch_compile import TorchCompile
from libbench.compilers.torch_export import TorchExport
from libbench.compilers.torch_script import TorchScript
from libbench.compilers.tvm import Tvm
from libbench.errors import UnsupportedError
from libbench.explaining import explanation
from libbench.interfaces import Batch

EXAMPLE = Batch((0, 1, 2), torch.linspace(-1, 1, 12).reshape(3, 4), 0)
LONG = 600.0


@pytest.fixture(autouse=True)
def _nothing_left():
    yield
    torch.compiler.reset()


def failure(compiler, model):
    """Give what a compiler raises, in `compile` or in the first call."""
    try:
        with torch.no_grad():
            compiler.compile(model, EXAMPLE, "forward").call(EXAMPLE.inputs)
    except Exception as error:
        return error
    raise AssertionError("it did not fail")


@pytest.mark.parametrize(
    ("compiler", "package", "cdist", "others"),
    [
        (OnnxRuntime, "onnxruntime", "aten._cdist_forward", ["aten.randperm", "aten.searchsorted"]),
        (OpenVino, "openvino", None, ["aten.randperm", "aten.searchsorted"]),
        (Tvm, "tvm", "aten._cdist_forward", ["aten.randperm", "aten.searchsorted"]),
        (Iree, "iree", "aten._cdist_forward", ["aten.randperm", "aten.searchsorted"]),
        (ExecuTorch, "executorch", None, ["aten.searchsorted"]),
    ],
)
def test_all_operators_that_a_compiler_does_not_take_are_named_with_line_and_count(compiler, package, cdist, others):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")

    found = explanation(failure(compiler(), Unusual()), LONG)

    assert isinstance(found, UnsupportedError)
    lines = {"aten.randperm": line_of("randperm"), "aten.searchsorted": line_of("searchsorted")}
    wanted = {(name, lines[name], 1) for name in others} | ({(cdist, line_of("cdist"), 2)} if cdist else set())
    told = {(each.what, each.source.rpartition("/")[2].partition(": ")[0], each.count) for each in found.faults}
    assert told == wanted
    for name, line, _ in wanted:
        assert f"{name} at {line}" in str(found)


def test_an_operator_is_named_with_the_module_that_it_stands_in():
    found = failure(OnnxRuntime(), Deep(Unusual))

    assert {each.module for each in found.faults} == {"head.1"}


def test_where_no_time_is_left_what_is_named_is_said_not_to_be_all():
    found = explanation(failure(OnnxRuntime(), Unusual()), 0.0)

    assert str(found).endswith("and perhaps others")
    assert [each.what for each in found.faults] == ["aten.randperm"]


@pytest.mark.parametrize("compiler", [TorchExport, Fx, lambda: TorchCompile("aot_eager", fullgraph=True)])
@pytest.mark.parametrize(("model", "line"), [(Branch, "if x.sum()"), (Item, ".item()")])
def test_code_that_depends_on_values_is_told_with_its_line(compiler, model, line):
    found = explanation(failure(compiler(), Deep(model)), LONG)

    (fault,) = found.faults
    assert (fault.kind, fault.count) == ("branch", 1)
    assert line in fault.source
    assert f"data-dependent code at {line_of(line)}: " in str(found)
    assert "\n" not in str(found)


def test_what_a_compiler_says_of_other_code_is_told_with_the_line():
    found = explanation(failure(TorchCompile("aot_eager", fullgraph=True), Breaking()), LONG)

    (fault,) = found.faults
    assert fault.kind == "code"
    assert "torch.compile cannot compile it" in str(found)
    assert line_of("graph_break()") in str(found)


def test_an_error_that_is_not_about_what_a_compiler_takes_stays_as_it_is():
    error = ValueError("wrong")

    assert explanation(error, LONG) is error


def test_a_traced_model_tells_at_which_line_its_way_is_fixed():
    found = TorchScript().compile(Deep(Branch), EXAMPLE, "forward")

    assert found.facts().baked == (f"tensor to a Python boolean at {line_of('if x.sum()').partition(': ')[0]}",)


def test_a_graph_break_is_told_with_its_line_and_reason():
    found = TorchCompile("aot_eager").compile(Breaking(), EXAMPLE, "forward")

    found.call(EXAMPLE.inputs)

    (note,) = found.facts().notes
    assert note.startswith(f"a graph ends at {line_of('graph_break()')}: ")
    assert "graph_break" in note.partition(": ")[2]


def test_an_operator_without_a_kernel_for_its_dtype_is_told_with_its_line_and_the_compilers_words():
    example = Batch((0,), EXAMPLE.inputs.to(torch.bfloat16), 0)

    with pytest.raises(UnsupportedError, match="ONNX cannot take aten.linear at ") as raised:
        OnnxRuntime().compile(Block().to(torch.bfloat16), example, "forward")

    (fault,) = raised.value.faults
    assert line_of("torch.relu(self.linear(x))") in fault.source
    assert "NOT_IMPLEMENTED" in fault.why


def test_an_operator_that_a_backend_of_torch_compile_names_is_told():
    def backend(graph, inputs):
        raise RuntimeError("no lowering of\n target: aten.relu.default")

    found = explanation(failure(TorchCompile(backend), Block()), LONG)

    assert str(found) == "torch.compile cannot take aten.relu"

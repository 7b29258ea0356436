"""What compilers make of small models that take and give what is hard for them."""

import importlib.util

import pytest
import torch
from compiler_kinds import KINDS, Plain, rows

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
from libbench.interfaces import Batch, feed
from libbench.reruns import compare_runs
from libbench.tree import fingerprint, snapshot

ALL = tuple(KINDS)
SOME = ("everything", "last batch", "bfloat16", "stateful", "object")
"""For compilers that take seconds for each graph."""
COMPILERS = {
    "torch.export": (TorchExport, ALL, "torch"),
    "torch.jit.trace": (TorchScript, ALL, "torch"),
    "torch.fx": (Fx, ALL, "torch"),
    "torch.fx by node": (lambda: Fx(interpret=True), ALL, "torch"),
    "torch.compile": (lambda: TorchCompile("aot_eager"), SOME, "torch"),
    "ONNX Runtime": (OnnxRuntime, SOME, "onnxruntime"),
    "OpenVINO": (lambda: OpenVino(precision="f32"), (*SOME, "whole numbers"), "openvino"),
    "IREE": (Iree, SOME, "iree"),
    "TVM": (Tvm, SOME, "tvm"),
    "ExecuTorch": (ExecuTorch, SOME, "executorch"),
}
CASES = [(name, kind) for name, (_, kinds, _) in COMPILERS.items() for kind in kinds]
BOX = "the model gives compiler_kinds.Box, whose contents no graph of tensors can hold"
NOT_THE_SAME = {
    **{(name, "object"): BOX for name in COMPILERS if name != "torch.compile"},
    **{
        (name, "stateful"): f"{told} does not keep what a call changes in the model: offset"
        for name, told in {
            "ONNX Runtime": "ONNX",
            "OpenVINO": "OpenVINO",
            "IREE": "IREE",
            "TVM": "TVM",
            "ExecuTorch": "ExecuTorch",
        }.items()
    },
    **{
        (name, kind): f"torch.fx does not record what a call changes in place: {what}"
        for name in ("torch.fx", "torch.fx by node")
        for kind, what in {"everything": "target", "in place": "x", "stateful": "offset"}.items()
    },
    ("torch.fx", "options"): "negate has been specialized to have value True",
    ("torch.fx by node", "options"): "negate has been specialized to have value True",
    ("ONNX Runtime", "bfloat16"): "ONNX cannot take aten.mul at compiler_kinds.py:",
    ("OpenVINO", "whole numbers"): "values differ",  # it computes int64 in 32 bits
}
"""Where a compiler does not do as the model does, what is said of it."""


@pytest.fixture(autouse=True)
def _nothing_left():
    yield
    torch.compiler.reset()


def compiled(compiler, model, inputs, method="forward"):
    return compiler.compile(model, Batch((0,), inputs, 0), method)


def outcome(name, kind):
    """Say what comes of a kind of model: nothing where all is as the model's own, else why or how not."""
    make, _, package = COMPILERS[name]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    (model, calls), (twin, expected) = KINDS[kind](), KINDS[kind]()
    try:
        call = compiled(make(), model, calls[0]).call
    except UnsupportedError as error:
        return str(error)
    kept = []
    with torch.inference_mode():
        for ours, theirs in zip(calls, expected, strict=True):
            try:
                found = feed(call, ours)
            except AssertionError as error:
                return str(error)
            kept.append((snapshot(feed(twin, theirs)), found))
    # Not before the last call, which may have overwritten what an earlier one gave.
    for wanted, found in kept:
        verdict = compare_runs("compiled", wanted, snapshot(found))
        if verdict.verdict == "different":
            return verdict.note
    return (
        "" if fingerprint(calls) == fingerprint(expected) else "the inputs were not changed as the model changes them"
    )


@pytest.mark.parametrize(("name", "kind"), CASES, ids=[f"{name}-{kind}" for name, kind in CASES])
def test_a_compiled_model_gives_and_changes_what_the_model_does_or_it_is_said_why_not(name, kind):
    found, wanted = outcome(name, kind), NOT_THE_SAME.get((name, kind), "")

    assert wanted in found
    assert bool(found) == bool(wanted)
    assert "\n" not in found or "torch.fx" in name


def test_a_graph_for_another_batch_size_serves_all_and_is_counted():
    found = compiled(TorchExport(), Plain(), rows(4))

    for count in (4, 3, 4, 2, 7):
        assert found.call(rows(count)).shape == (count, 3)

    facts = found.facts()
    assert (facts.graphs, facts.recompiles, facts.calls) == (2, 1, 5)


@pytest.mark.parametrize(("dynamic", "graphs"), [(False, 3), (True, 1)])
def test_graphs_may_be_asked_to_be_of_one_shape_or_of_any(dynamic, graphs):
    found = compiled(TorchExport(dynamic=dynamic), Plain(), rows(4))

    for count in (4, 3, 2):
        found.call(rows(count))

    assert found.facts().graphs == graphs


def test_a_batch_of_one_gets_a_graph_of_its_own():
    found = compiled(TorchExport(dynamic=True), Plain(), rows(4))

    assert torch.equal(found.call(rows(1)), Plain()(rows(1)))
    assert found.facts().graphs == 2


def test_another_method_is_compiled():
    found = compiled(TorchExport(), Plain(), rows(4), "encode")

    assert torch.equal(found.call(rows(4)), Plain().encode(rows(4)))


def test_what_a_compiler_raises_is_told_in_one_line_with_the_line_of_the_model():
    class Branching(Plain):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(UnsupportedError, match=r"^torch.export cannot take .* at test_traced.py:\d+: return x if"):
        compiled(TorchExport(), Branching(), rows(4))

"""Where a compiled side parts from what it is without its compiler: piece by piece."""

import json
import runpy
from contextlib import ExitStack
from itertools import pairwise

import pytest
import torch
from planted_compilers import WIDTHS, EditedOnnx, Layers
from torch import nn

from libbench.compilers.onnx_runtime import OnnxRuntime
from libbench.compilers.openvino import OpenVino
from libbench.compilers.torch_compile import TorchCompile
from libbench.config import LazyCall as L
from libbench.data import RandomInputs
from libbench.interfaces import Adjustable
from libbench.job import Job
from libbench.locate.asking import Question, locate
from libbench.locate.compiling import BySegment
from libbench.locate.exporting import export
from libbench.locate.pieces import Limits
from libbench.locate.recording import given_of, record
from libbench.locate.segments import Piece, Segment, cuts_of, run
from libbench.locate.taking import runnable
from libbench.report.json import located_from_json, located_to_json
from libbench.report.located import located_headline, render_located
from libbench.side import Side
from libbench.workloads.inference import Inference

BODY = """
import torch
from planted_compilers import Chain, Edited, EditedOnnx, Layers, WrongLowering
from libbench.compilers.openvino import OpenVino
from libbench.config import LazyCall as L
from libbench.data import RandomInputs
from libbench.runners.local import Local

model = L(Layers)()
data = L(RandomInputs)(shapes=(4,), samples=8, batch_size=4)
runner = L(Local)(threads=1)
"""
SHORT = "model = L(Chain)()\n"


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sides")

    def load(compiler="", lines=""):
        text = BODY + lines + (f"compiler = {compiler}\n" if compiler else "")
        file = folder / f"side{abs(hash(text))}.py"
        file.write_text(text)
        return Job.load(file)

    return load


@pytest.fixture(scope="module")
def together(job, tmp_path_factory):
    """Give what is found of a fault of two operators, and the folder that shows it again."""
    folder = tmp_path_factory.mktemp("together") / "again"
    return locate(job(), job("L(Edited)(edit='swapped', width=7)"), Question(reproduce=folder)), folder


def place(text):
    """Give the operator and the module of a row's first or last operator."""
    return text.partition(" at ")[0]


def shown_again(folder, capsys):
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(folder / "reproduce.py"), run_name="__main__")
    return ended.value.code, capsys.readouterr().out.partition(":")[0]


@pytest.mark.parametrize(("name", "width"), [("sigmoid", 9), ("softmax", 7)])
def test_an_operator_that_is_compiled_wrongly_in_one_place_is_found_there(job, name, width):
    found = locate(job(), job(f"L(Edited)(edit='scaled', name='{name}', width={width})"))

    layer = f"layers.{WIDTHS.index(width)}"
    wanted = f"aten.{name} in {layer}"
    assert (found.verdict, found.exit_code) == ("located", 1)
    assert place(found.segments.culprit.first) == wanted
    assert found.segments.culprit.names == (wanted.partition(" ")[0],)
    assert found.segments.alike == 0
    assert found.cost.compiles < 20


def test_what_is_changed_in_place_is_found_with_what_made_it(job):
    found = locate(job(), job("L(Edited)(edit='scaled', name='relu', width=7)"))

    assert found.segments.culprit.names == ("aten.add", "aten.relu_")
    assert not found.segments.together


def test_an_operator_that_is_compiled_wrongly_everywhere_is_found_with_how_often(job):
    found = locate(job(), job("L(Edited)(edit='scaled', name='sigmoid')"))

    assert found.segments.culprit.names == ("aten.sigmoid",)
    assert 2 <= found.segments.alike < len(WIDTHS)
    assert "that have such" in located_headline(found)


def test_a_fault_of_two_operators_together_is_found_although_each_is_right(together, capsys):
    found, folder = together

    culprit = found.segments.culprit
    assert found.segments.together
    assert culprit.names == ("aten.sub", "aten.tanh")
    assert place(culprit.first) == "aten.sub in layers.2"
    assert located_headline(found).startswith("LOCATED: 2 operators from aten.sub in layers.2")
    assert shown_again(folder, capsys) == (1, "DIFFERENT")


def test_the_fault_of_a_compiled_reference_is_found_in_the_reference(job):
    found = locate(job("L(Edited)(edit='scaled', name='sigmoid')", lines=SHORT), job(lines=SHORT))

    assert found.segments.side == "reference"
    assert found.segments.culprit.names == ("aten.sigmoid",)


@pytest.mark.filterwarnings("ignore:.torch.jit.script_method. is deprecated")
def test_a_lowering_of_inductor_that_is_wrong_is_found_with_what_helps(job):
    found = locate(job(lines=SHORT), job("L(WrongLowering)(wrong='sigmoid')", lines=SHORT))

    assert found.segments.culprit.names == ("aten.sigmoid",)
    assert [row.setting for row in found.segments.settings if row.gone] == [
        "compiler.options={fallback_by_default: true}"
    ]


def test_an_edited_node_of_an_onnx_file_is_found(job):
    pytest.importorskip("onnxruntime")

    found = locate(job(lines=SHORT), job("L(EditedOnnx)(edit='epsilon', width=6, optimised=True)", lines=SHORT))

    assert place(found.segments.culprit.first) == "aten.layer_norm in norm"
    assert [(row.setting, row.gone) for row in found.segments.settings] == [
        ("compiler.level=extended", False), ("compiler.level=basic", False), ("compiler.level=disabled", True),
    ]  # fmt: skip


def test_a_lower_precision_throughout_has_no_single_culprit_and_goes_away_with_float32(job):
    pytest.importorskip("openvino")

    found = locate(job(lines=SHORT), job("L(OpenVino)(precision='bf16')", lines=SHORT))

    assert found.verdict == "no single culprit"
    assert found.reason.endswith("the difference goes away with compiler.precision=f32")


def test_compiling_stops_at_a_limit_and_says_so(job, monkeypatch):
    sides = job(), job("L(Edited)(edit='scaled', name='tanh', width=6)")
    limited = lambda *args: BySegment(*args, limits=Limits(compiles=9))  # noqa: E731
    monkeypatch.setattr("libbench.locate.locating.BySegment", limited)

    found = locate(*sides)

    assert found.cost.compiles == 9
    assert "nothing more was compiled after 9 compilations" in found.notes
    assert found.segments.culprit.stop - found.segments.culprit.start > 1


def test_limits_are_above_nothing():
    with pytest.raises(ValueError, match="above 0"):
        Limits(seconds=0)


def test_what_is_found_comes_back_from_json_and_is_printed(together):
    found, _ = together

    assert located_from_json(json.loads(json.dumps(located_to_json(found), allow_nan=False))) == found
    for verbose in (False, True):
        lines = render_located(found, verbose=verbose, width=90).splitlines()
        assert max(map(len, lines)) <= 90
        assert any("sub, tanh" in line for line in lines)


def test_what_a_compiler_can_leave_out_is_an_override_of_its_config():
    options = {"max_fusion_size": 1, "freezing": True}
    kinds = [
        TorchCompile(),
        TorchCompile(mode="max-autotune"),
        TorchCompile(options=options),
        OnnxRuntime(level="basic"),
    ]

    assert all(isinstance(each, Adjustable) for each in kinds)
    said = [[text for text, _ in each.milder()] for each in kinds]
    assert said[0][0] == "compiler.options={max_fusion_size: 1}"
    assert said[0][-1] == "compiler.backend=aot_eager"
    assert said[1][0] == "compiler.mode=null compiler.options={max_fusion_size: 1}"
    assert said[2][0] == "compiler.options.use_pre_grad_passes=false"
    assert said[3] == ["compiler.level=disabled"]
    assert [text for text, _ in OpenVino().milder()] == ["compiler.precision=f32"]
    assert list(OpenVino("f32").milder()) == list(TorchCompile("aot_eager").milder()) == []
    (_, milder), *_ = EditedOnnx("epsilon", 3).milder()
    assert (type(milder), milder.level, milder.width) == (EditedOnnx, "extended", 3)


class InPlace(nn.Module):
    """Changes in place: of what it has made, through a view, of an input, and of a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        y = x * 2
        self.calls += 1
        view = y[:, :2]
        z = y.sin()
        view.add_(1)
        first, second = torch.chunk(torch.relu_(z + y * self.calls), 2, -1)
        return first - second, y


@pytest.mark.parametrize("capture", [export, record])
def test_pieces_in_a_row_give_what_the_model_gives_wherever_it_may_be_cut(capture):
    with torch.inference_mode():
        for model, x in ((InPlace(), torch.randn(3, 4)), (Layers().eval(), torch.randn(3, 4))):
            graph = capture(model, model, (x,), {})
            given, cuts = given_of(((x,), {})), cuts_of(graph)
            pieces = [Piece(Segment(graph, *both)) for both in pairwise(cuts)]
            outputs = run(graph, given, watched=pieces)
            for piece in pieces:
                piece.call = piece.segment.module()
                found = piece.call(*piece.inputs)
                assert all(map(torch.equal, found, piece.wanted))

            assert len(pieces) > 2
            assert all(map(torch.equal, outputs, run(graph, given, called=pieces)))


def test_what_is_changed_in_place_is_not_cut_from_what_made_it():
    with torch.inference_mode():
        graph = record(InPlace(), InPlace(), (torch.randn(3, 4),), {})
    names = [op.name for op in graph.ops]

    barred = set(range(len(names))) - set(cuts_of(graph))
    assert barred >= set(range(names.index("aten.mul") + 1, names.index("aten.add_", names.index("aten.sin")) + 1))


class Repeats(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x)

    def repeat(self, x):
        return self(self(x))


def test_a_method_of_a_model_that_was_compiled_in_place_is_called_as_it_is_written(tmp_path):
    job = Job.of({
        "model": L(Repeats)(), "data": L(RandomInputs)(shapes=(4,), samples=2, batch_size=2),
        "workload": L(Inference)(method="repeat"), "compiler": L(TorchCompile)(backend="aot_eager"),
    })  # fmt: skip
    with ExitStack() as life:
        side = Side(job, 0, tmp_path, lambda event: None, life)
        side.prepare()
        calls = side.compiled.facts().calls
        for plain, more in ((True, 0), (False, 2)):
            call = runnable(side, side.first(), plain)
            args, kwargs = call.inputs()
            with torch.inference_mode():
                call.call(*args, **kwargs)
            assert side.compiled.facts().calls == calls + more

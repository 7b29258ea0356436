import contextlib
import traceback

import pytest
import torch

from libbench.diff import Plan, diff
from libbench.job import Job, run_problems
from libbench.samples.graph import GraphSample
from libbench.samples.source import rewritten
from tests.samples_by_hand import CODE, METAS, write

HEAD = "import torch\nfrom torch import device\nclass GraphModule(torch.nn.Module):\n    def forward(self, L_x_):\n"
CONFIG = """
from libbench.config import LazyCall as L
from libbench.samples.graph import GraphSample

model = L(GraphSample)(path={path!r})
"""


def body(*lines):
    return HEAD + "".join(f"        {line}\n" for line in lines)


@pytest.fixture
def sample(tmp_path):
    return write(tmp_path / "sample")


def test_weights_belong_to_the_module_and_only_inputs_are_fed(sample):
    model = GraphSample(sample, seed=0)
    batch = next(iter(model.own_batches))

    assert list(batch.inputs) == ["L_x_"]
    assert [name for name, _ in model.named_parameters()] == ["graph.L_self_parameters_w_"]
    (out,) = model(**batch.inputs)
    weight = model.get_parameter("graph.L_self_parameters_w_")
    torch.testing.assert_close(out, batch.inputs["L_x_"] @ weight.T * torch.tensor([1.0, 2.0, 3.0]))


def test_all_can_be_fed_by_argument_with_the_same_outputs(sample):
    bound, fed = GraphSample(sample, seed=0), GraphSample(sample, seed=0, weights="arguments")
    inputs = next(iter(fed.own_batches)).inputs

    assert sorted(inputs) == sorted(METAS)
    assert not list(fed.parameters())
    assert torch.equal(fed(**inputs)[0], bound(**next(iter(bound.own_batches)).inputs)[0])


def test_the_seed_is_the_one_that_torch_was_seeded_with(sample):
    torch.manual_seed(5)

    assert torch.equal(
        GraphSample(sample).graph.L_self_parameters_w_, GraphSample(sample, 5).graph.L_self_parameters_w_
    )


@pytest.mark.parametrize(
    "line",
    [
        'y = L_x_.to(device(type="cuda", index=0))',
        'y = L_x_.to(torch.device("cuda:0"))',
        'y = L_x_.to("cuda:1", torch.float32)',
        "y = L_x_.cuda()",
        "y = L_x_.cuda(0, non_blocking=True)",
        "y = L_x_.cpu()",
        'y = torch.zeros(3, device="cuda:0")',
        "y = torch.zeros(3, device=0)",
        'y = torch.zeros(3, device=device("cpu"))',
    ],
)
def test_every_spelling_of_a_device_becomes_the_one_that_is_asked_for(tmp_path, line):
    file = tmp_path / "model.py"
    file.write_text(body(line, "return (y,)"))
    space = {}
    exec(rewritten(file, "meta", ()), space)

    (y,) = space["GraphModule"]()(torch.zeros(3))

    assert y.device.type == "meta"


def test_a_model_that_is_moved_runs_where_it_is(sample):
    model = GraphSample(sample, seed=0).to("meta")

    assert model(L_x_=torch.zeros(2, 4, device="meta"))[0].device.type == "meta"


def test_a_traceback_shows_the_lines_of_the_file(tmp_path):
    code = CODE.replace("add = linear + zeros", "add = linear + zeros.view(4)")
    model = GraphSample(write(tmp_path / "sample", code))
    with pytest.raises(RuntimeError) as error:
        model(**next(iter(model.own_batches)).inputs)

    last = traceback.extract_tb(error.value.__traceback__)[-1]
    assert last.filename == str(tmp_path / "sample" / "model.py")
    assert last.line == "add = linear + zeros.view(4)"


def test_annotations_are_what_the_file_says_and_no_text(tmp_path):
    code = body("return (L_x_,)").replace("L_x_)", "L_x_: torch.Tensor)")
    made = write(tmp_path / "sample", code=code)

    assert GraphSample(made, seed=0).graph.forward.__annotations__ == {"L_x_": torch.Tensor}


@pytest.mark.parametrize("end", ["return (L_x_,)", "raise ValueError"])
def test_modes_are_as_before_whatever_a_graph_switches(tmp_path, end):
    code = body(
        "torch._C._set_grad_enabled(False)",
        'entered = torch.amp.autocast_mode._enter_autocast("cuda", torch.bfloat16, True, False)',
        end,
    )
    model = GraphSample(write(tmp_path / "sample", code, {"L_x_": METAS["L_x_"]}))
    before = torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()
    with contextlib.suppress(ValueError):
        model(L_x_=torch.zeros(2, 4))

    assert torch.is_grad_enabled()
    assert not torch.is_autocast_enabled("cpu")
    assert (torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()) == before
    assert torch.autocast_increment_nesting() == 1
    torch.autocast_decrement_nesting()


def test_a_size_is_fed_as_a_whole_number(tmp_path):
    code = "import torch\nclass GraphModule(torch.nn.Module):\n    def forward(self, s0: torch.SymInt, L_x_):\n"
    metas = {"s0": "shape = []\n\tdtype = 'torch.int64'\n\tdata = [4]", "L_x_": METAS["L_x_"]}
    model = GraphSample(write(tmp_path / "sample", code + "        return (L_x_.view(s0, 2),)\n", metas))

    assert model(**next(iter(model.own_batches)).inputs)[0].shape == (4, 2)


@pytest.mark.parametrize(
    "wrong", [{"weights": "Bound"}, {"inputs": "numpy"}, {"seed": -1}, {"seed": 1.5}, {"batches": 0}]
)
def test_a_wrong_argument_is_refused(sample, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        GraphSample(sample, **wrong)


def test_a_sample_is_compared_without_naming_data(sample, tmp_path):
    file = tmp_path / "sample.py"
    file.write_text(CONFIG.format(path=str(sample)))
    target = tmp_path / "compiled.py"
    target.write_text(
        "from .sample import *\nfrom libbench.compilers.torch_compile import TorchCompile\n"
        'compiler = L(TorchCompile)(backend="aot_eager")\n'
    )

    comparison = diff(file, target, Plan(speed=False))

    assert run_problems(Job.load(file).config, "sample", build=False) == []
    assert comparison.exit_code == 0
    assert comparison.outputs.batches == 2
    assert comparison.target.preparation.facts.graphs == 1


def test_two_of_one_process_share_weights_as_long_as_nobody_writes_to_them(sample):
    first, second = GraphSample(sample, seed=1), GraphSample(sample, seed=1)
    names = ("L_self_parameters_w_", "L_self_buffers_running_var_")

    assert [getattr(first.graph, n).data_ptr() == getattr(second.graph, n).data_ptr() for n in names] == [True, True]
    with torch.no_grad():
        first.graph.L_self_parameters_w_.mul_(2)
    third, other = GraphSample(sample, seed=1), GraphSample(sample, seed=2)

    assert [getattr(first.graph, n).data_ptr() == getattr(third.graph, n).data_ptr() for n in names] == [False, True]
    assert not torch.equal(third.graph.L_self_parameters_w_, other.graph.L_self_parameters_w_)
    assert torch.equal(third.graph.L_self_parameters_w_, first.graph.L_self_parameters_w_ / 2)


def test_weights_that_were_cast_are_not_lent(sample):
    first = GraphSample(sample, seed=1).double()

    assert GraphSample(sample, seed=1).graph.L_self_parameters_w_.dtype is torch.float32
    assert first._weights.values == {}

import json
import shutil
from pathlib import Path

import pytest
import torch

from configs.common.graphs import MODELS
from libbench.config import instantiate
from libbench.errors import LibbenchError
from libbench.samples.extracting import extract
from libbench.samples.finding import find_samples
from libbench.samples.graph import GraphSample
from libbench.samples.hashing import graph_difference, graph_hash
from libbench.samples.reading import read_sample
from tests.samples_by_hand import CODE, METAS, write

SAMPLES = Path(__file__).parent.parent / "configs" / "samples"


class Broken(torch.nn.Module):
    """A graph, something that no graph holds, and another graph."""

    def forward(self, x):
        y = x * 2
        torch._dynamo.graph_break()
        return y + 1


class Two(torch.nn.Module):
    """Two breaks between layers of one weight, and more from the second call on."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.later = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4), False
        self.b.weight = self.a.weight

    def forward(self, x):
        x = torch.relu(self.a(x))
        torch._dynamo.graph_break()
        x = torch.sigmoid(self.b(x)) + self.a(x)
        torch._dynamo.graph_break()
        x = x.cumsum(-1)
        if self.later:
            x = x.sin()
        self.later = True
        return x


class Sized(torch.nn.Module):
    """Sizes that go into shapes and values."""

    def forward(self, x):
        return (x * x.shape[0]).reshape(x.shape[0] * 3, -1)


class Changing(torch.nn.Module):
    def forward(self, x):
        return x.add_(1)


def test_there_are_twelve_samples_and_they_are_small():
    files = [file for file in SAMPLES.rglob("*") if file.is_file()]

    assert [path.name for path in find_samples(SAMPLES)] == sorted(MODELS)
    assert sum(file.stat().st_size for file in files) < 2**20


@pytest.mark.parametrize("name", MODELS)
def test_a_model_gives_the_sample_that_is_kept(name, tmp_path):
    model, *inputs = (instantiate(each) for each in MODELS[name])

    (folder,) = extract(model.eval(), tuple(inputs), tmp_path / name, name=name)

    assert graph_hash(folder) == graph_hash(SAMPLES / name) == (SAMPLES / name / "graph_hash.txt").read_text()


@pytest.mark.parametrize("name", MODELS)
def test_a_sample_that_is_kept_runs_and_gives_values_that_say_something(name):
    model = GraphSample(SAMPLES / name, seed=0)

    for batch in model.own_batches:
        for output in model(**batch.inputs):
            assert output.unique().numel() > 1
            assert not output.isnan().any()
            assert output.abs().max() > 1e-3


def test_a_sample_computes_what_its_model_does(tmp_path):
    model = torch.nn.Linear(4, 3)
    inputs = torch.rand(2, 4)
    (folder,) = extract(model, (inputs,), tmp_path / "linear", name="linear")

    sample = GraphSample(folder, seed=0)
    (outputs,) = sample(**next(iter(sample.own_batches)).inputs)

    # Small tensors are kept whole, to six decimals.
    torch.testing.assert_close(outputs, model(inputs), rtol=0, atol=1e-5)


def test_every_graph_of_a_model_that_breaks_is_a_sample(tmp_path):
    written = extract(Broken(), (torch.zeros(3),), tmp_path / "broken", name="broken")

    assert [path.name for path in written] == ["subgraph_0", "subgraph_1"]
    assert [path.name for path in find_samples(tmp_path / "broken")] == ["subgraph_0", "subgraph_1"]


def test_every_graph_of_two_calls_is_written_and_one_that_comes_again_once(tmp_path):
    written = extract(Two(), (torch.rand(2, 4),), tmp_path / "two", name="two")

    called = [read_sample(each).operators & {"relu", "sigmoid", "cumsum", "sin"} for each in written]
    assert called == [{"relu"}, {"sigmoid"}, {"cumsum"}, {"cumsum", "sin"}]
    # Of two layers that share it, the weight is one argument.
    assert len([each for each in read_sample(written[1]).arguments if each.kind == "parameter"]) == 3
    assert len(extract(Two(), (torch.rand(2, 4),), tmp_path / "one", name="two", calls=1)) == 3


def test_sizes_are_symbols_when_they_are_asked_for(tmp_path):
    (folder,) = extract(Sized(), (torch.rand(5, 12),), tmp_path / "sized", name="sized", dynamic=True)

    space = {}
    exec((folder / "input_tensor_constraints.py").read_text(), space)
    assert sorted(space["dynamic_dim_constraint_symbol2example_value"].values()) == [5, 12]
    ((symbols, name),) = space["dynamic_dim_constraint_input_shapes"]
    assert symbols == list(space["dynamic_dim_constraint_symbol2example_value"])
    assert json.loads((folder / "graph_net.json").read_text())["dynamic"] is True
    sample = read_sample(folder)
    assert name == "L_args_0_"
    assert sorted(each.kind for each in sample.arguments) == ["input", "size", "size"]
    model = GraphSample(folder)
    x = torch.rand(4, 6)
    sizes = dict(zip([each.name for each in sample.arguments if each.kind == "size"], (4, 6), strict=True))
    assert torch.equal(model(L_args_0_=x, **sizes)[0], Sized()(x))


def test_a_graph_of_fixed_sizes_says_so(tmp_path):
    (folder,) = extract(Sized(), (torch.rand(5, 12),), tmp_path / "sized", name="sized")

    assert json.loads((folder / "graph_net.json").read_text())["dynamic"] is False
    assert (folder / "input_tensor_constraints.py").read_text() == ""


def test_inputs_are_kept_as_they_were_before_the_call(tmp_path):
    (folder,) = extract(Changing(), (torch.zeros(3),), tmp_path / "changing", name="changing")

    assert [meta.data for meta in read_sample(folder).metas.values()] == [(0.0, 0.0, 0.0)]


def test_a_folder_that_exists_is_not_written_over(tmp_path):
    with pytest.raises(LibbenchError, match="exists already"):
        extract(torch.nn.Linear(4, 3), (torch.zeros(2, 4),), tmp_path, name="linear")


def test_the_hash_knows_what_is_done_and_not_what_it_is_called(tmp_path):
    one = write(tmp_path / "one")
    renamed = write(tmp_path / "renamed", CODE.replace("linear", "l0").replace("nn.l0", "nn.linear"))
    other = write(tmp_path / "other", CODE.replace("linear + zeros", "linear - zeros"))
    wider = write(tmp_path / "wider", metas={**METAS, "L_x_": METAS["L_x_"].replace("[2, 4]", "[3, 4]")})

    assert graph_hash(one) == graph_hash(renamed)
    assert len({graph_hash(folder) for folder in (one, other, wider)}) == 3
    assert graph_difference(one, renamed) == ""
    assert graph_difference(one, other) == "add = linear + zeros became add = linear - zeros"
    assert graph_difference(one, wider) == "L_x_ (2, 4) torch.float32 became L_x_ (3, 4) torch.float32"


def test_the_hash_knows_one_function_by_all_its_names_and_nothing_of_checks_of_sizes(tmp_path):
    one = write(tmp_path / "one")
    public = write(tmp_path / "public", CODE.replace("torch._C._nn.linear", "torch.nn.functional.linear"))
    check = "        ok = zeros.size(0) >= 0\n        torch._check(ok)\n        add ="
    checked = write(tmp_path / "checked", CODE.replace("        add =", check))
    operator = write(tmp_path / "operator", CODE.replace("torch.zeros", "torch.ops.aten.zeros.default"))

    assert graph_hash(one) == graph_hash(public) == graph_hash(checked)
    assert graph_hash(one) != graph_hash(operator)


def test_the_command_extracts_what_a_config_builds(libbench, config, tmp_path):
    code, out, err = libbench("sample", "extract", config("a"), "-o", tmp_path / "out", "model.out_features=5")

    assert (code, out, err) == (0, f"{tmp_path / 'out'}\n", "")
    assert json.loads((tmp_path / "out" / "graph_net.json").read_text())["framework"] == "torch"
    shapes = {meta.shape for meta in read_sample(tmp_path / "out").metas.values()}
    assert shapes == {(4, 4), (5, 4), (5,)}


def test_the_command_validates_each_sample_and_says_which_does_not_run(libbench, tmp_path):
    shutil.copytree(SAMPLES / "in_place", tmp_path / "good")
    write(tmp_path / "bad", CODE.replace("linear + zeros", "linear.view(7)"))
    write(tmp_path / "broken", CODE.replace("= linear + zeros", "= linear + zeros; torch._dynamo.graph_break()"))

    code, out, _ = libbench("sample", "validate", tmp_path)

    assert code == 2
    assert f"same       {tmp_path / 'good'}" in out
    assert f"failed     {tmp_path / 'bad'}: RuntimeError: shape '[7]' is invalid" in out
    assert f"different  {tmp_path / 'broken'}: it gives 2 graphs; in the first, " in out


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        (["--dtype", "bfloat16"], ["bfloat16"]),
        (["--op", "index_add"], ["messages"]),
        (["--op", "topk", "--max-size", "4KB"], ["integers"]),
        (["--source", "nobody"], []),
        (["--source", "libbench"], sorted(MODELS)),
    ],
)
def test_the_command_lists_the_samples_that_are_asked_for(libbench, flags, names):
    code, out, err = libbench("sample", "list", SAMPLES, *flags)

    assert (code, out.split(), err) == (0, names, "")

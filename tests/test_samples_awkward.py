"""Graph samples of every kind that is awkward to read, to draw or to run; most are a few lines, written by hand."""

import pytest
import torch

from libbench.samples.drawing import by_name, draw
from libbench.samples.extracting import extract
from libbench.samples.graph import GraphSample
from libbench.samples.literals import read_classes
from libbench.samples.reading import TensorMeta, read_sample
from tests.samples_by_hand import write

HEAD = "import torch\nfrom torch import device\nclass GraphModule(torch.nn.Module):\n    def forward(self, {}):\n"
FLOATS = "shape = [2, 4]\n\tdtype = 'torch.float32'\n\tmean = 0.0\n\tstd = 1.0"


@pytest.fixture
def outputs(tmp_path):
    """Write a sample of these lines, run it on what is drawn for it, and give its outputs."""

    def run(metas, *lines, **annotations):
        names = ", ".join(f"{n}: {annotations[n]}" if n in annotations else n for n in metas)
        code = HEAD.format(names) + "".join(f"        {line}\n" for line in lines)
        model = GraphSample(write(tmp_path / "sample", code, metas), seed=0)
        with torch.no_grad():
            return model(**next(iter(model.own_batches)).inputs)

    return run


def scalar(value, dtype="float64"):
    return f"shape = []\n\tdtype = 'torch.{dtype}'\n\tdevice = 'cpu'\n\tmean = None\n\tstd = None\n\tdata = [{value}]"


def test_descriptions_that_mix_devices_are_all_on_one(outputs):
    metas = {"L_x_": FLOATS + "\n\tdevice = 'cuda:0'", "L_self_buffers_y_": FLOATS + "\n\tdevice = 'cpu'"}

    assert outputs(metas, "return (L_x_ + L_self_buffers_y_,)")[0].device.type == "cpu"


def test_an_epsilon_is_a_double_that_the_graph_turns_into_a_number(outputs):
    metas = {"L_x_": FLOATS, "L_self_modules_n_eps": scalar(1e-5)}
    lines = (
        "item = L_self_modules_n_eps.item()",
        "return (torch.nn.functional.layer_norm(L_x_, (4,), None, None, item),)",
    )

    assert outputs(metas, *lines)[0].std(-1, correction=0).tolist() == pytest.approx([1.0, 1.0], abs=1e-3)


def test_an_epsilon_that_is_kept_as_0_is_small_and_not_0(outputs):
    metas = {"L_x_": "shape = [2]\n\tdtype = 'torch.float32'\n\tdata = [0.0, 0.0]", "L_self_n_eps": scalar("0.000000")}

    (out,) = outputs(metas, "item = L_self_n_eps.item()", "return (L_x_ / (L_x_ + item),)")

    assert out.tolist() == [0.0, 0.0]
    assert draw(TensorMeta("L_self_dropout_p", (), torch.float64, data=(0.0,)), 0).item() == 0.0


@pytest.mark.parametrize("size", [4, 0])
def test_a_size_that_nothing_was_known_of_is_a_whole_number_all_the_same(outputs, size):
    metas = {"s0": scalar(size, "int64"), "L_x_": FLOATS}

    (out,) = outputs(metas, "return (torch.ones(s0),)", s0="torch.SymInt")

    assert out.shape == (size,)


def test_an_index_is_used_as_it_is_kept_so_that_shapes_that_depend_on_it_are_right(outputs):
    edges = "shape = [2, 3]\n\tdtype = 'torch.int64'\n\tdata = [0, 1, 2, 0, 2, 2]"

    (out,) = outputs(
        {"L_edge_index_": edges}, "mask = L_edge_index_[0] != L_edge_index_[1]", "return (L_edge_index_[:, mask],)"
    )

    assert out.tolist() == [[1], [2]]


def test_tokens_stay_in_the_range_of_their_embedding(outputs):
    metas = {
        "L_tokens_": "shape = [20, 20]\n\tdtype = 'torch.int64'\n\tmin_val = 0\n\tmax_val = 6",
        "L_self_parameters_table_": "shape = [7, 3]\n\tdtype = 'torch.float32'\n\tmean = 0.0\n\tstd = 1.0",
    }

    assert outputs(metas, "return (torch.nn.functional.embedding(L_tokens_, L_self_parameters_table_),)")[0].shape == (
        20,
        20,
        3,
    )


@pytest.mark.parametrize(
    "mask", [{"dtype": torch.bool}, {"dtype": torch.int64, "min_val": 0, "max_val": 1}], ids=["bool", "0 and 1"]
)
def test_no_row_of_a_mask_covers_everything_whichever_way_it_is_meant(mask):
    drawn = draw(TensorMeta("mask", (3, 500, 2), **mask), 0).bool()

    assert drawn.any(-1).all()
    assert (~drawn).any(-1).all()
    assert draw(TensorMeta("mask", (64, 1), **mask), 0).bool().float().mean().item() == pytest.approx(0.5, abs=0.2)


def test_variances_are_well_above_0_whatever_is_known_of_them():
    for known in ({"mean": 1.0, "std": 3.0, "min_val": 0}, {"mean": 4.0, "std": 8.0}, {"mean": 0.0, "std": 0.0}):
        drawn = draw(TensorMeta("L_self_buffers_running_var_", (10_000,), torch.float32, **known), 0)

        assert drawn.min() > 0.001 * drawn.mean()
        if known["mean"]:
            assert drawn.mean().item() == pytest.approx(known["mean"], rel=0.2)
            assert drawn.std().item() == pytest.approx(known["std"], rel=0.5)


def test_values_set_in_place_reach_no_weight_and_no_input_of_the_next_call(tmp_path):
    code = (
        HEAD.format("L_x_")
        + "        y = L_x_.clone()\n        y[(slice(None), 0)] = 7.0\n        return (y.relu_(),)\n"
    )
    model = GraphSample(write(tmp_path / "sample", code, {"L_x_": FLOATS}), seed=0)
    inputs = next(iter(model.own_batches)).inputs

    first, second = model(**inputs)[0].clone(), model(**inputs)[0]

    assert first[:, 0].tolist() == [7.0, 7.0]
    assert torch.equal(first, second)


def test_a_graph_without_any_floating_value_is_a_sample(outputs):
    metas = {
        "L_x_": "shape = [70]\n\tdtype = 'torch.int32'\n\tmin_val = -3\n\tmax_val = 3",
        "L_self_buffers_mask_": "shape = [70]\n\tdtype = 'torch.bool'",
    }

    (out,) = outputs(metas, "return (L_x_ * L_self_buffers_mask_,)")

    assert out.dtype is torch.int32
    assert out.unique().numel() > 3


def test_a_graph_of_thousands_of_arguments_is_one_that_runs(tmp_path):
    names = [f"L_self_modules_{number}_parameters_w_" for number in range(2250)]
    lines = [f"        v{at + 1} = v{at} + {name}\n" for at, name in enumerate(names)]
    code = HEAD.format(", ".join(["v0", *names])) + "".join(lines) + f"        return (v{len(names)},)\n"
    metas = {"v0": FLOATS, **dict.fromkeys(names, "shape = [4]\n\tdtype = 'torch.float32'\n\tdata = [1, 2, 3, 4]")}
    model = GraphSample(write(tmp_path / "sample", code, metas), seed=0)
    inputs = next(iter(model.own_batches)).inputs

    assert len(list(model.parameters())) == 2250
    torch.testing.assert_close(model(**inputs)[0], inputs["v0"] + 2250 * torch.arange(1.0, 5.0))


def test_a_graph_with_the_inner_parts_of_vmap_is_written_and_runs(tmp_path):
    def model(x):
        return torch.vmap(lambda row: row.sin().sum())(x)

    x = torch.rand(3, 4)
    (folder,) = extract(model, (x,), tmp_path / "vmap", name="vmap")

    assert "_add_batch_dim" in read_sample(folder).operators
    sample = GraphSample(folder)
    (out,) = sample(**next(iter(sample.own_batches)).inputs)
    torch.testing.assert_close(out, model(x), rtol=0, atol=1e-5)


def test_a_break_in_the_middle_of_a_graph_changes_nothing_about_its_outputs(outputs):
    metas = {"L_x_": FLOATS, "L_count_": scalar(2, "int64")}

    (out,) = outputs(metas, "count = L_count_.item()", "return (L_x_[:, :count],)")

    assert out.shape == (2, 2)


def test_names_that_are_alike_but_for_their_separators_are_drawn_apart(tmp_path):
    metas = {"L_a_b_c_": FLOATS, "L_a_bc_": FLOATS}
    code = HEAD.format("L_a_b_c_, L_a_bc_") + "        return (L_a_b_c_ - L_a_bc_,)\n"
    drawn = by_name(read_sample(write(tmp_path / "sample", code, metas)), 0)

    assert not torch.equal(drawn["L_a_b_c_"], drawn["L_a_bc_"])


@pytest.mark.parametrize(
    "text",
    [
        'class A:\n    name = "a"\n    data = [\n        1,\n        -2.5e-3,\n    ]\n',
        "class A(object):\n\tname = 'a'\n\tdata = [1, 2,]\n\n\nclass B:\n\tstd = float('nan')\n\tmin_val = -inf\n",
        "'''Of A.'''\nclass A:\n    '''It.'''\n    name = 'a'  # its name\n    shape = ()\n    data = complex(1, -2)\n",
        'class A:\n    name = "x = [1]"\n    data = [[], [0]]\n    shape = [\n    1]\n',
        "class A:\n    pass\n",
        "class A: name = 'a'\n",
        "",
    ],
)
def test_descriptions_are_the_same_values_however_they_are_laid_out(tmp_path, text):
    file = tmp_path / "weight_meta.py"
    file.write_text(text)
    space = {"inf": float("inf")}
    exec(text, space)
    classes = [vars(space[name]) for name in ("A", "B") if name in space]
    listed = [{k: list(v) if isinstance(v, tuple) else v for k, v in each.items() if k[:2] != "__"} for each in classes]

    assert repr([dict(values) for _, values in read_classes(file)]) == repr(listed)

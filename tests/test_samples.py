import numpy as np
import pytest
import torch

from libbench.samples.drawing import as_graphnet, by_name, draw
from libbench.samples.errors import SampleError
from libbench.samples.finding import find_samples, read_list
from libbench.samples.reading import TensorMeta, read_sample
from tests.samples_by_hand import CODE, METAS, write


@pytest.fixture
def written(tmp_path):
    """Write a graph sample by hand; give its folder."""
    return lambda name="sample", code=CODE, metas=METAS: write(tmp_path / name, code, metas)


def test_a_sample_tells_what_belongs_to_the_model_and_what_a_call_brings(written):
    sample = read_sample(written())

    assert [each.kind for each in sample.arguments] == ["input", "parameter", "buffer"]
    assert sample.dtypes == ("float32",)
    assert sample.nbytes == 4 * (8 + 12 + 3)
    assert {"linear", "zeros", "sqrt"} <= sample.operators


def test_values_are_read_in_every_spelling_and_without_running_them(written):
    text = (
        "shape = [2]\n\tdtype = 'torch.float32'\n\tstd = float('nan')\n\tmean = -inf\n\tdata = [float('-inf'), -1e-3]"
    )
    meta = read_sample(written(metas={**METAS, "L_x_": text})).metas["L_x_"]

    assert np.isnan(meta.std)
    assert meta.mean == -np.inf
    assert meta.data == (-np.inf, -1e-3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("shape = [2]\n\tdtype = print('run')", "weight_meta.py:4: wanted a plain value, got \"print('run')\""),
        ("shape = [2]\n\tdtyp = 'torch.float32'", "weight_meta.py:1: 'dtype' is missing; did you mean 'dtyp'?"),
        (
            "shape = [2]\n\tdtype = 'torch.float31'",
            "weight_meta.py:1: dtype must be one of torch's, got 'torch.float31'",
        ),
        ("shape = [-2]\n\tdtype = 'torch.int8'", "weight_meta.py:1: shape must be a list of sizes, got [-2]"),
        ("shape = [2]\n\tdtype = 'torch.int8'\n\tdata = [1]", "data must be a flat list of 2 values, got 1 values"),
        ("shape = [2]\n\tdtype = 'torch.int8'\n\tmean = 'x'", "mean must be a number or None, got 'x'"),
    ],
)
def test_a_wrong_description_is_an_error_with_file_and_line(written, text, said):
    with pytest.raises(SampleError) as error:
        read_sample(written(metas={"L_x_": text}))

    assert said in str(error.value)


def test_an_argument_that_is_described_nowhere_is_an_error(written):
    with pytest.raises(SampleError, match=r"model.py:7: weight_meta.py describes no 'L_x_'"):
        read_sample(written(metas={name: METAS[name] for name in list(METAS)[1:]}))


def test_samples_are_found_at_any_depth_but_never_below_one(written, tmp_path):
    for name in ("b/deep/one", "b/deep/one/inner", "a"):
        written(name)

    assert [str(path.relative_to(tmp_path)) for path in find_samples(tmp_path)] == ["a", "b/deep/one"]


def test_a_list_names_samples_by_relative_path_and_may_have_comments(written, tmp_path):
    written("b/one")
    (tmp_path / "list.txt").write_text("# first\n\nb/one\n")

    assert read_list(tmp_path / "list.txt", tmp_path) == [tmp_path / "b/one"]

    (tmp_path / "list.txt").write_text("# first\nb/one\nb/two\n")
    with pytest.raises(SampleError, match=r"list.txt:3: no graph sample at '.*b/two'"):
        read_list(tmp_path / "list.txt", tmp_path)


def test_a_tensor_depends_on_its_own_name_only(written):
    one = by_name(read_sample(written("one")), 3)
    code = CODE.replace("L_x_", "L_y_")
    metas = {"L_y_": METAS["L_x_"], **{name: METAS[name] for name in reversed(METAS) if name != "L_x_"}}
    other = by_name(read_sample(written("other", code, metas)), 3)

    assert torch.equal(one["L_self_parameters_w_"], other["L_self_parameters_w_"])
    assert not torch.equal(one["L_x_"], other["L_y_"])
    assert one["L_self_buffers_running_var_"].tolist() == [1.0, 4.0, 9.0]


def test_later_batches_have_other_inputs_and_the_same_weights(written):
    sample = read_sample(written())
    first, second, again = by_name(sample, 0), by_name(sample, 0, 1), by_name(sample, 0)

    assert not torch.equal(first["L_x_"], second["L_x_"])
    assert torch.equal(first["L_x_"], again["L_x_"])
    assert torch.equal(first["L_self_parameters_w_"], second["L_self_parameters_w_"])


def test_integers_are_drawn_from_their_whole_range_and_no_further():
    drawn = draw(TensorMeta("i", (1000,), torch.int64, min_val=-2, max_val=2), 0)

    assert sorted(set(drawn.tolist())) == [-2, -1, 0, 1, 2]
    assert draw(TensorMeta("i", (3,), torch.int32), 0).tolist() == [0, 0, 0]


def test_bools_are_drawn_by_a_fair_coin():
    share = draw(TensorMeta("b", (10000,), torch.bool), 0).float().mean()

    assert 0.45 < share < 0.55


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_floating_values_have_the_recorded_mean_and_std(dtype):
    drawn = draw(TensorMeta("f", (100, 100), dtype, mean=2.0, std=0.5), 0)

    assert drawn.dtype == dtype
    assert drawn.double().mean().item() == pytest.approx(2.0, abs=0.05)
    assert drawn.double().std().item() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("std", [0.0, None, float("nan"), float("inf")])
def test_no_tensor_is_constant_but_a_scalar(std):
    assert draw(TensorMeta("w", (64,), torch.float32, mean=1.0, std=std), 0).std() > 0
    assert draw(TensorMeta("w", (), torch.float64, mean=1.0, std=std), 0).item() == 1.0


def test_limits_hold_and_variances_are_above_0_and_a_mean_that_is_no_number_is_none():
    assert draw(TensorMeta("v", (1000,), torch.float32, mean=0.0, std=1.0, min_val=0), 0).min() > 0
    drawn = draw(TensorMeta("v", (1000,), torch.float16, mean=float("-inf"), std=1e9), 0)
    assert torch.isfinite(drawn).all()


def test_graphnets_own_numbers_come_from_one_generator_in_the_order_of_names(written):
    found = as_graphnet(read_sample(written()), 123)

    numpy = np.random.RandomState(123)
    weight, inputs = numpy.randn(3, 4) * 0.25 * 0.2 - 0.5, numpy.randn(2, 4) * 1.0 * 0.2
    assert torch.equal(found["L_self_parameters_w_"], torch.from_numpy(weight).float())
    assert torch.equal(found["L_x_"], torch.from_numpy(inputs).float())


def test_a_variance_is_not_below_0_and_an_epsilon_not_0_whatever_is_kept_of_them():
    variance = TensorMeta("L_bn_buffers_running_var_", (1000,), torch.float32, mean=1.0, std=5.0)
    eps = TensorMeta("L_self_modules_norm_eps", (), torch.float64, data=(0.0,))
    larger = TensorMeta("L_self_modules_norm_eps", (), torch.float64, data=(1e-5,))

    assert draw(variance, 0).min() > 0
    assert 0 < draw(eps, 0).item() < 5e-7
    assert draw(larger, 0).item() == 1e-5

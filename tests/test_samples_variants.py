import pytest
import torch
from torch import nn

from libbench.errors import LibbenchError
from libbench.interfaces import Batch
from libbench.samples.finding import find_samples
from libbench.samples.reading import read_sample
from libbench.samples.variants import Variant, parse_shapes, variants

BATCH = Batch((0, 1), (torch.arange(12.0).view(2, 6), torch.tensor([[0, 1, 2], [3, 4, 5]])), 0, 0)


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6))
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))

    def forward(self, x, index):
        return x * self.weight, index + self.count


def test_floating_tensors_of_model_and_inputs_are_cast_and_no_others():
    model = Pair()

    x, index = Variant(dtype="bfloat16").apply(model, BATCH)

    assert (x.dtype, index.dtype) == (torch.bfloat16, torch.int64)
    assert (model.weight.dtype, model.count.dtype) == (torch.bfloat16, torch.int64)


def test_a_batch_that_grows_repeats_its_samples_and_one_that_shrinks_keeps_the_first():
    grown, index = Variant(batch=3).apply(Pair(), BATCH)
    shrunk, _ = Variant(batch=1).apply(Pair(), BATCH)

    assert torch.equal(grown, BATCH.inputs[0][[0, 1, 0]])
    assert index.shape == (3, 3)
    assert torch.equal(shrunk, BATCH.inputs[0][:1])


def test_a_shape_is_that_of_the_input_of_its_name_whose_values_stay_in_range():
    x, index = Variant(shapes={"index": (1, 7)}).apply(Pair(), BATCH)

    assert x is BATCH.inputs[0]
    assert index.tolist() == [[0, 1, 2, 0, 1, 2, 0]]
    assert Variant(shapes={"y": (3,)}).apply(Pair(), Batch((0,), {"y": torch.ones(1)}, 0, 0))["y"].shape == (3,)


def test_every_combination_has_a_name_of_its_own_and_several_inputs_change_in_step():
    found = variants(["float16", "float64"], {"x": [(1, 6), (2, 6)], "index": [(1, 3), (2, 3)]}, [4])

    assert [each.label for each in found] == [
        f"{dtype}-x_{n}x6-index_{n}x3-batch_4" for dtype in ("float16", "float64") for n in (1, 2)
    ]
    assert [Variant.of(each.plain()) for each in found] == found
    assert [each.label for each in variants([], {}, [])] == [""]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: Variant(dtype="int8"), "wanted a floating dtype of torch, as bfloat16, got 'int8'"),
        (lambda: Variant(batch=0), "batch: sizes must be at least 1, got 0"),
        (lambda: variants([], {"x": [(1,)], "y": [(1,), (2,)]}, []), "in step"),
        (lambda: parse_shapes("x=1x"), "wanted NAME=SIZExSIZE"),
    ],
)
def test_what_cannot_be_is_refused(wrong, said):
    with pytest.raises(ValueError, match=said):
        wrong()


@pytest.mark.parametrize(
    ("variant", "model", "said"),
    [
        (Variant(shapes={"indx": (1, 3)}), Pair(), "no input 'indx' is a tensor; did you mean 'index'"),
        (Variant(shapes={"x": (3,)}), Pair(), r"x has the shape \(2, 6\), which cannot become 3"),
        (Variant(dtype="float16"), print, "only a module can be cast"),
        (Variant(batch=3), Pair(), "no input has a row for each of the batch's samples, 9"),
    ],
)
def test_what_the_model_has_no_place_for_is_an_error(variant, model, said):
    batch = Batch(tuple(range(9)), BATCH.inputs, 0, 0) if variant.batch else BATCH
    with pytest.raises(LibbenchError, match=said):
        variant.apply(model, batch)


def test_the_command_writes_a_folder_for_each_variant_and_goes_on_after_one_that_cannot_be(libbench, config, tmp_path):
    flags = ("--dtype", "bfloat16", "--shape", "input=3x4,3x5")
    code, out, err = libbench("sample", "extract", config("a"), "-o", tmp_path / "out", *flags)

    assert code == 2
    assert out == f"{tmp_path / 'out' / 'bfloat16-input_3x4'}\n"
    assert err.startswith("libbench: bfloat16-input_3x5: ")
    (sample,) = map(read_sample, find_samples(tmp_path / "out"))
    assert sample.dtypes == ("bfloat16",)
    assert (3, 4) in {sample.metas[each.name].shape for each in sample.arguments if each.fed}


def test_a_flag_that_is_written_wrongly_is_an_error_before_anything_is_run(libbench, config, tmp_path):
    for flags in (["--dtype", "int8"], ["--batch", "1,x"], ["--shape", "x"], ["--split", "1"]):
        code, _, err = libbench("sample", "extract", config("a"), "-o", tmp_path / "out", *flags)

        assert (code, "wan" in err, not (tmp_path / "out").exists()) == (2, True, True), (flags, err)

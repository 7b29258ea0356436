import pytest
import torch
from torch import nn

from libbench.samples.cutting import Split
from libbench.samples.extracting import extract
from libbench.samples.graph import GraphSample
from libbench.samples.reading import read_sample


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(6, 6), nn.LayerNorm(6)

    def forward(self, x):
        return x + torch.relu(self.norm(self.linear(x)))


class Net(nn.Module):
    """Two blocks of one weight, something that is no tensor between, values set in place, and a head."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.head = Block(), Block(), nn.Linear(6, 4)
        self.two.linear.weight = self.one.linear.weight

    def forward(self, x):
        x = self.two(self.one(x))
        left, right = x.chunk(2, -1)
        left[:, 0] = 0.0
        return self.head(torch.cat((right, left), -1)), x


def run_of(folder):
    """Run a sample with the values that it keeps, which are all of these small tensors."""
    model = GraphSample(folder, seed=0).eval()
    with torch.no_grad():
        return model(**next(iter(model.own_batches)).inputs)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("cut") / "net"
    return extract(Net().eval(), (torch.rand(5, 6),), folder, name="net", split=Split(3))


def test_a_graph_is_cut_into_parts_that_take_what_those_before_give(parts):
    fed = [{each.name for each in read_sample(part).arguments if each.fed} for part in parts]

    assert [each.name for each in parts] == ["part_0", "part_1", "part_2"]
    assert fed[0] == {"L_args_0_"}
    assert all(fed)


def test_the_last_part_gives_what_the_whole_model_does(parts):
    torch.manual_seed(0)
    with torch.no_grad():
        expected, _ = Net().eval()(torch.rand(5, 6))

    # A part keeps the inputs that those before it gave.
    torch.testing.assert_close(run_of(parts[-1])[0], expected, rtol=0, atol=1e-4)


def test_modules_are_parts_of_their_own(tmp_path):
    parts = extract(Net().eval(), (torch.rand(2, 6),), tmp_path / "net", name="net", split=Split.parse("modules"))

    owners = [{name.split("_modules_")[1] for name in read_sample(each).metas if "_modules_" in name} for each in parts]
    assert owners == [{"one"}, {"one", "two"}, set(), {"head_parameters_weight_", "head_parameters_bias_"}]


def test_a_graph_is_cut_into_no_more_parts_than_it_can_be(tmp_path):
    (whole,) = extract(nn.ReLU(), (torch.rand(3),), tmp_path / "relu", name="relu", split=Split(5))

    assert whole == tmp_path / "relu"


@pytest.mark.parametrize(("text", "split"), [("3", Split(3)), ("modules", Split()), ("modules:2", Split(None, 2))])
def test_a_split_is_read_from_text_and_written_as_one(text, split):
    assert Split.parse(text) == split
    assert Split.parse(str(split)) == split


@pytest.mark.parametrize("text", ["1", "0", "module", "modules:0", "2.5", ""])
def test_other_text_is_none(text):
    with pytest.raises(ValueError, match="wanted how many parts"):
        Split.parse(text)

"""Which rank reads what, and how a loss was put together: each mistake that is planted is named."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from libbench.alignment import loss_mistake, ratio_named, rounds_of
from libbench.runners.distributed import Distributed

PLANTED = """
import torch.distributed as dist
from libbench.interfaces import Batch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        {built}
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        x = x.clone()
        {done}
        return self.linear(x)


def shifted(x):
    every = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(every, x)
    return every[(dist.get_rank() + 1) % len(every)]


class Split:
    # Data that split themselves, as a distributed sampler does.
    def __init__(self, world, rank=None):
        self.world, self.rank = world, rank

    def __iter__(self):
        rank = dist.get_rank() if self.rank is None else self.rank
        for number in range(4):
            index = number * self.world + rank
            yield Batch((index,), torch.full((1, 4), float(index)), number)


model = L(Model)()
runner = L('libbench.runners.distributed.Distributed')(nproc={world}, split={split!r})
"""


def planted(built="pass", done="pass", world=2, split="batches", more=""):
    return PLANTED.format(built=built, done=done, world=world, split=split) + more


def found_by(libbench, config, **settings):
    code, out, err = libbench("ranks", config("planted", planted(**settings)))
    lines = out.splitlines()
    return code, lines[0] if lines else err, [line for line in lines if line.startswith("rank ")]


@pytest.mark.parametrize("split", ["batches", "samples"])
def test_ranks_that_read_their_own_data_are_aligned(libbench, config, split):
    code, verdict, lines = found_by(libbench, config, split=split)

    first = {"batches": ("0, 1, 2, 3", "4, 5, 6, 7"), "samples": ("0, 2", "1, 3")}[split]
    assert (code, verdict) == (0, "ALIGNED")
    assert lines == [
        f"rank 0  is fed samples {first[0]} first",
        "rank 0  gives the outputs of its own data",
        f"rank 1  is fed samples {first[1]} first",
        "rank 1  gives the outputs of its own data",
    ]


def test_a_missing_sampler_is_named(libbench, config):
    code, verdict, lines = found_by(libbench, config, split="own", more="data = L(Split)(world=2, rank=0)\n")

    assert (code, verdict) == (1, "NOT ALIGNED")
    assert "rank 1  WRONG: reads the data of rank 0: it is fed the same samples, as without a sampler" in lines


def test_data_that_split_themselves_are_aligned(libbench, config):
    code, _, lines = found_by(libbench, config, split="own", more="data = L(Split)(world=2)\n")

    assert code == 0, lines
    assert "rank 1  is fed samples 1 first" in lines


def test_a_model_that_computes_what_another_rank_was_fed_is_named(libbench, config):
    code, _, lines = found_by(libbench, config, done="dist.broadcast(x, 0)")

    assert code == 1
    assert "rank 0  gives the outputs of its own data" in lines
    assert "rank 1  WRONG: gives the outputs of the data of rank 0" in lines


def test_ranks_in_another_order_are_named_one_by_one(libbench, config):
    more = "data = L(RandomInputs)(shapes=(4,), samples=12, batch_size=4)\n"

    code, _, lines = found_by(libbench, config, done="x = shifted(x)", world=3, more=more)

    assert code == 1
    assert [line for line in lines if "WRONG" in line] == [
        f"rank {rank}  WRONG: gives the outputs of the data of rank {(rank + 1) % 3}" for rank in range(3)
    ]


def test_outputs_that_mix_the_data_of_ranks_are_named_unless_all_run_the_same(libbench, config):
    mixed = "gives outputs that depend on the data of several ranks"

    assert f"rank 1  WRONG: {mixed}" in found_by(libbench, config, done="dist.all_reduce(x)")[2]
    code, _, lines = found_by(libbench, config, done="dist.all_reduce(x)", split="same")
    assert code == 0
    assert f"rank 1  {mixed}" in lines


def test_weights_that_differ_from_rank_to_rank_are_named(libbench, config):
    code, _, lines = found_by(libbench, config, built="torch.manual_seed(dist.get_rank())")

    assert code == 1
    (wrong,) = [line for line in lines if "WRONG" in line]
    assert wrong.startswith("rank 1  WRONG: gives other outputs than rank 0 for the same data (output: 12 of 12")


def test_too_few_batches_to_tell_are_not_a_pass(libbench, config):
    more = "data = L(RandomInputs)(shapes=(4,), samples=4, batch_size=4)\n"

    code, verdict, lines = found_by(libbench, config, more=more)

    assert (code, verdict) == (2, "CANNOT BE TOLD")
    assert "rank 0  not told: cannot be fed as many different full batches of one form as there are ranks" in lines


def test_a_side_that_fails_is_told_in_one_line(libbench, config):
    code, out, err = libbench("ranks", config("planted", planted(done="raise KeyError('gone')")))

    assert (code, out) == (2, "")
    assert "planted failed" in err.splitlines()[-1]
    assert "KeyError: 'gone'" in err.splitlines()[-1]


def test_a_config_without_ranks_is_told(libbench, config):
    code, _, err = libbench("ranks", config("one"))

    assert code == 2
    assert err.splitlines()[-1] == "libbench: one runs on no ranks: its runner must be Distributed, got Process"


def test_every_part_is_fed_to_all_then_in_order_then_moved_on_by_one():
    assert rounds_of(3) == ((0, 0, 0), (1, 1, 1), (2, 2, 2), (0, 1, 2), (1, 2, 0))
    assert Distributed().nproc == 2


PARTS = [(6.0, 3), (10.0, 1)]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (16 / 4, ""),
        ((2 + 10) / 2, "the mean of the ranks' means: ratio 1.5"),
        (2 + 10, "the sum of the ranks' means: ratio 3"),
        (16.0, "the sum over all samples, not their mean: ratio 4 = count"),
        (8.0, "the mean of the ranks' sums: ratio 2 = world size"),
        (16 / 3, "the sum of all ranks over the count of one: ratio 1.33333"),
        (6 / 4, "the sum of one rank over the count of all: ratio 0.375"),
        (2.0, "the mean of rank 0 alone: ratio 0.5 = 1 / world size"),
        (10.0, "the mean of rank 1 alone: ratio 2.5"),
        (3.3, "no mistake that is known: ratio 0.825"),
    ],
)
def test_a_loss_that_was_put_together_wrongly_is_explained(found, said):
    assert loss_mistake(found, PARTS) == (f"{said} to the right loss" if said else "")


@given(
    st.lists(st.tuples(st.floats(0.1, 100), st.integers(1, 50)), min_size=2, max_size=8),
    st.sampled_from(["sum", "mean"]),
)
def test_a_sum_of_ranks_in_place_of_their_mean_has_the_world_size_for_a_ratio(parts, kind):
    # Equal counts, where the mean of means is right and only the sum of means is wrong.
    equal = [(total, 7) for total, _ in parts]
    means = [total / 7 for total, _ in equal]
    found = math.fsum(means) / (len(means) if kind == "mean" else 1)

    assert loss_mistake(found, equal) == (
        "" if kind == "mean" else f"the sum of the ranks' means: ratio {len(parts)} = world size to the right loss"
    )


@given(st.lists(st.tuples(st.floats(0.1, 100), st.integers(1, 50)), min_size=2, max_size=8))
def test_the_mean_of_means_of_unequal_ranks_is_always_named_and_the_right_loss_never(parts):
    total, count = math.fsum(each for each, _ in parts), sum(count for _, count in parts)
    means = math.fsum(each / own for each, own in parts) / len(parts)
    assume(not math.isclose(means, total / count, rel_tol=1e-4))

    assert loss_mistake(total / count, parts) == ""
    assert loss_mistake(means, parts).startswith("the mean of the ranks' means: ratio ")


def test_a_rank_that_has_counted_nothing_is_told():
    assert loss_mistake(1.0, [(1.0, 2), (0.0, 0)]) == "a rank has counted nothing"


def test_a_ratio_is_named_by_what_it_is_made_of():
    assert ratio_named(2.0, 2) == "ratio 2 = world size"
    assert ratio_named(0.25, 4) == "ratio 0.25 = 1 / world size"
    assert ratio_named(8.0, 2, count=8) == "ratio 8 = count"
    assert ratio_named(1.7, 2) == "ratio 1.7"


def test_a_rank_that_dies_is_named_with_the_stage(libbench, config):
    dies = """
        import os
        class Dies(torch.nn.Linear):
            def forward(self, x):
                return os.kill(os.getpid(), 9) if os.environ["RANK"] == "1" else super().forward(x)
        model = L(Dies)(in_features=4, out_features=3)
        runner = L("libbench.runners.distributed.Distributed")(nproc=2)
    """

    code, out, err = libbench("ranks", config("dies", dies))

    assert (code, out) == (2, "")
    assert "dies failed in evaluate: rank 1: killed by SIGKILL" in err


def test_a_training_that_averages_gradients_is_aligned(libbench, config):
    training = """
        from torch.nn.parallel import DistributedDataParallel
        from libbench.workloads.training import IndexedLoss, Training
        model = L(DistributedDataParallel)(module=model)
        loss = L(IndexedLoss)(function=torch.nn.functional.cross_entropy, targets=[0, 1, 2, 1, 0, 2, 1, 0, 1, 2])
        sgd = L(torch.optim.SGD).partial(lr=0.5)
        workload = L(Training)(loss=loss, optimizer=sgd, steps=4, gradients="*", parameters="*")
        runner = L("libbench.runners.distributed.Distributed")(nproc=2)
    """

    code, out, _ = libbench("ranks", config("training", training))

    assert out.startswith("ALIGNED")
    assert code == 0

"""A training on several ranks beside one in one process: loss curves, and what makes them part."""

import pytest
import torch
from test_distributed import BLOCK, runner

from libbench.diff import Plan, diff, diff_all, run
from libbench.job import Job
from libbench.report.text import headline, render
from libbench.settings import Tolerance

NO_SPEED = Plan(speed=False)
TRAINING = """
from libbench.workloads.training import Training


def square(outputs, batch):
    # A sum over samples and their number.
    return outputs["hidden"].square().mean(dim=(1, 2)).sum(), len(batch.indices)


data = L(RandomInputs)(shapes=(6, 32), samples=24, batch_size={batch_size})
workload = L(Training)(loss=square, optimizer=L(torch.optim.SGD).partial(lr=0.05), steps=6)
"""


def config_of(config, name, batch_size, lines=""):
    return Job.load(config(name, BLOCK + TRAINING.format(batch_size=batch_size) + lines))


def parallel(wrapper, **settings):
    return f"model = L({wrapper})(module=block())\n" + runner(**settings)


def verdicts(comparison):
    return {check.name: check.verdict for check in comparison.checks}


def test_data_parallel_sharded_and_tensor_parallel_trainings_follow_the_curve_of_one_process(config):
    reference = config_of(config, "one", 8)
    targets = [
        config_of(config, "batches", 4, parallel("DistributedDataParallel", split="batches")),
        config_of(config, "samples", 8, parallel("DistributedDataParallel", split="samples")),
        config_of(config, "sharded", 4, parallel("sharded", split="batches")),
        config_of(config, "tensor", 8, parallel("tensor_parallel", split="same")),
    ]

    comparisons = diff_all(reference, targets, NO_SPEED)

    for comparison, ranks in zip(comparisons, (2, 2, 2, 1), strict=True):
        assert comparison.target.failure is None, comparison.target.failure
        assert verdicts(comparison)["loss curve"] == "same"
        assert comparison.curve.judged == 6
        assert comparison.target.curve.ranks == ranks
        assert comparison.curve.drift[-1] < 1e-5
        if comparison.outputs.batches:
            (loss,) = comparison.outputs.leaves
            assert (loss.verdict, loss.mismatches) == ("same", 0)
            assert "differ" not in headline(comparison)
        losses = [step.loss for step in comparison.target.curve.steps]
        assert all(later < sooner for sooner, later in zip(losses[:3], losses[3:], strict=True))
        assert comparison.exit_code == 0, verdicts(comparison)


def test_gradients_that_are_means_of_means_are_named_as_the_cause(config):
    # Of three samples one rank has two; the mean of both ranks' gradients is not that of the three samples.
    comparison = diff(
        config_of(config, "one", 3),
        config_of(config, "ranks", 3, parallel("DistributedDataParallel", split="samples")),
        NO_SPEED,
    )

    assert verdicts(comparison)["loss curve"] == "different"
    assert comparison.curve.diverges == 1
    assert "a mean of means" in comparison.curve.causes[0]
    assert comparison.exit_code == 1


def test_a_batch_with_fewer_samples_than_ranks_is_no_step(config):
    result = run(config_of(config, "ranks", 1, parallel("DistributedDataParallel", split="samples")), NO_SPEED)

    assert "batch 0 has too few samples for 2 ranks" in result.failure.message


@pytest.mark.parametrize("split", ["batches", "samples"])
def test_no_step_is_made_on_padding(config, split):
    more = parallel("DistributedDataParallel", split=split)

    result = run(
        Job.load(config("ranks", BLOCK + TRAINING.format(batch_size=5) + more), ["workload.steps=5"]), NO_SPEED
    )

    assert result.failure is None
    # Five batches, the last of 4 samples; by turns, the fifth has no partner, and a new epoch begins.
    counted = {"batches": [10, 10, 10, 10, 10], "samples": [5, 5, 5, 5, 4]}[split]
    assert [len(step.indices) for step in result.curve.steps] == counted
    assert all(len(set(step.indices)) == len(step.indices) for step in result.curve.steps)


LEARNER = """
from torch.nn.parallel import DistributedDataParallel
from libbench.data import IndexedLoader
from libbench.workloads.training import Training

VOCABULARY, LENGTH = 11, 6


class Texts:
    # Tokens of random texts; of every other one only the first two are followed by a token that counts.
    def __init__(self, samples, uneven):
        generator = torch.Generator().manual_seed(3)
        self.tokens = torch.randint(0, VOCABULARY, (samples, LENGTH), generator=generator)
        self.counts = torch.ones(samples, LENGTH - 1, dtype=torch.bool)
        if uneven:
            self.counts[1::2, 2:] = False

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return self.tokens[index]


class Learner(torch.nn.Module):
    def __init__(self, width=16, head=4):
        super().__init__()
        self.head = head
        self.embed = torch.nn.Embedding(VOCABULARY, width)
        self.before, self.between = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (torch.nn.Linear(width, width) for _ in range(4))
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)
        self.out = torch.nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        y = self.before(x)
        q, k, v = (each(y).unflatten(-1, (-1, self.head)).transpose(1, 2) for each in (self.q, self.k, self.v))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2)
        x = x + self.o(y)
        return self.out(x + self.down(torch.nn.functional.gelu(self.up(self.between(x)))))


class NextToken:
    def __init__(self, texts, kind="counted"):
        self.texts, self.kind = texts, kind

    def __call__(self, logits, batch):
        indices = torch.tensor(batch.indices)
        losses = torch.nn.functional.cross_entropy(
            logits[:, :-1].transpose(1, 2), self.texts.tokens[indices][:, 1:], reduction="none"
        )[self.texts.counts[indices]]
        return {"counted": (losses.sum(), len(losses)), "mean": losses.mean(), "sum": losses.sum()}[self.kind]


UNEVEN = False
KIND = "counted"
texts = L(Texts)(samples=12, uneven=UNEVEN)
model = L(Learner)()
data = L(IndexedLoader)(dataset=texts, batch_size=4)
workload = L(Training)(loss=L(NextToken)(texts=texts, kind=KIND), optimizer=L(torch.optim.SGD).partial(lr=0.1), steps=6)
"""

RANKS = "runner = L('libbench.runners.distributed.Distributed')(nproc=2, split={split!r}, timeout=120)\n"
DATA_PARALLEL = "model = L(DistributedDataParallel)(module=L(Learner)())\n" + RANKS.format(split="samples")


@pytest.fixture
def compared(config):
    def compare(target, **words):
        text = LEARNER
        for name, value in words.items():
            text = text.replace(f"{name} = ", f"{name} = {value!r} or ", 1)
        reference = config("one", text)
        return diff(reference, config("other", text + target), Plan(speed=False))

    return compare


def test_ranks_that_average_gradients_whatever_they_count_are_told_to_take_a_mean_of_means(compared):
    found = compared(DATA_PARALLEL, UNEVEN=True)

    assert found.exit_code == 1
    assert found.curve.diverges == 1
    assert any("a mean of means" in cause for cause in found.curve.causes)
    assert "a mean of means" in render(found)


def test_a_loss_that_is_a_mean_of_each_rank_is_a_mean_of_means_from_the_first_step_on(compared):
    found = compared(DATA_PARALLEL.replace("model =", "workload.loss.kind = 'mean'\nmodel =", 1), UNEVEN=True)

    assert found.curve.diverges == 0
    assert any("a mean of means" in cause for cause in found.curve.causes)


def test_a_sum_where_a_mean_is_meant_is_told_by_the_number_it_is_off_by(compared):
    found = compared("workload.loss.kind = 'sum'\n")

    assert found.curve.diverges == 0
    assert any("times the reference's" in cause for cause in found.curve.causes)


def test_a_step_of_two_ranks_has_their_losses_and_the_outputs_of_both_are_compared(config):
    found = diff(config("a", LEARNER + DATA_PARALLEL), config("b", LEARNER + DATA_PARALLEL), Plan(speed=False))

    assert found.exit_code == 0
    assert found.outputs.batches == 6
    step = found.target.curve.steps[0]
    assert [loss.samples for loss in step.losses] == [2, 2]
    assert sorted(step.indices) == [0, 1, 2, 3]
    assert torch.tensor(step.loss) == pytest.approx(sum(loss.total for loss in step.losses) / 20)
    assert found.tolerance == Tolerance()

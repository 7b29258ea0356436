"""A training on several ranks beside one in one process: loss curves, and what makes them part."""

import pytest
from test_distributed import BLOCK, runner

from libbench.diff import Plan, diff, diff_all, run
from libbench.job import Job

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

"""The configs in `configs/`, and what holds for every config that comes with libbench."""

from pathlib import Path

import pytest
import torch

from libbench.config import LazyCall as L
from libbench.config import LazyConfig, validate
from libbench.diff import Plan, diff
from libbench.job import Job
from libbench.runners.local import Local

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "configs").glob("*.py"))
ALL = [*EXAMPLES, *sorted(ROOT.glob("projects/*/configs/*.py"))]


def compared(reference, target):
    torch.compiler.reset()  # what another test has compiled would be taken instead
    configs = [LazyConfig.load(ROOT / "configs" / f"{name}.py") for name in (reference, target)]
    for config in configs:
        config.runner = L(Local)(threads=1)
    return diff(*configs, Plan(speed=False))


@pytest.mark.parametrize("file", ALL, ids=lambda file: f"{file.parents[1].name}/{file.stem}")
def test_this_config_makes_a_job_and_every_call_in_it_is_right(file):
    job = Job.load(file)

    assert validate(job.config) == []
    assert Job.from_ticket(job.ticket()).digest == job.digest


@pytest.mark.parametrize("name", [file.stem for file in EXAMPLES])
def test_this_example_is_exactly_the_same_as_itself(name):
    comparison = compared(name, name)

    assert comparison.outputs.samples == (2 if name.startswith("graph_") else 64)
    assert comparison.outputs.leaves[0].level == float("-inf")
    assert comparison.exit_code == 0


def test_an_encoder_that_is_traced_gives_bit_equal_outputs():
    comparison = compared("encoder_eager", "encoder_aot_eager")

    assert comparison.target.preparation.facts.graphs == 1
    assert comparison.outputs.leaves[0].max_abs.value == 0
    assert comparison.exit_code == 0


def test_an_encoder_with_more_heads_gives_other_outputs():
    comparison = compared("encoder_eager", "encoder_more_heads")

    assert [change.path for change in comparison.changes] == ["model.nhead"]
    assert comparison.exit_code == 1

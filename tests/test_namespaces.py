"""Configs in two namespaces: what is run, and where."""

import pytest

from libbench.config import LazyConfig, digest, freeze
from libbench.diff import Plan, diff
from libbench.errors import ConfigError
from libbench.job import PARTS, Job
from libbench.runners.process import Process

SPACES = """
import torch
from libbench.config import LazyCall as L
from libbench.data import RandomInputs

execution = dict(
    model=L(torch.nn.Linear)(4, 3),
    data=L(RandomInputs)(shapes=(4,), samples=10, batch_size=4),
)
strategy = dict(runner_type="process", timeout=60, threads=1)
"""


@pytest.fixture
def spaces(tmp_path):
    def write(more="", name="spaces"):
        (tmp_path / f"{name}.py").write_text(SPACES + more)
        return tmp_path / f"{name}.py"

    return write


def test_execution_becomes_the_parts_and_strategy_the_runner(spaces):
    job = Job.load(spaces(), ["runner.threads=2", "model.out_features=5"])

    runner = job.build("runner")["runner"]
    assert isinstance(runner, Process)
    assert (runner.timeout, runner.threads) == (60, 2)
    assert job.build("model")["model"].out_features == 5
    assert not {"execution", "strategy"} & set(job.config)


def test_it_runs_and_a_runners_settings_are_all_that_differs(spaces):
    found = diff(spaces(), spaces("strategy['timeout'] = 99\n", "other"), Plan(speed=False))

    assert found.exit_code == 0
    assert [change.path for change in found.changes] == ["runner.timeout"]


def test_a_machine_and_its_port_are_an_address_and_reach_no_other_part(spaces):
    more = "strategy = dict(runner_type='remote', machine='10.0.0.7', port=6380, resources=dict(A=1))\n"
    here, there = Job.load(spaces()), Job.load(spaces(more, "there"))

    assert freeze(there.config.runner).target == "libbench.runners.ray.Ray"
    assert dict(there.config.runner) | {"_target_": ""} == {
        "_target_": "", "address": "10.0.0.7:6380", "resources": {"A": 1},
    }  # fmt: skip
    assert all(digest(here.config[part]) == digest(there.config[part]) for part in ("model", "data", "device"))


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("strategy['runner_type'] = 'proces'\n", r"strategy\.runner_type .* got 'proces'.*did you mean 'process'"),
        ("strategy['tiemout'] = 5\n", r"tiemout.*did you mean 'timeout'"),
        ("execution['runner'] = None\n", r"execution\.runner .* belongs to strategy"),
        ("execution['modle'] = execution.pop('model')\n", r"no part 'modle'.*did you mean 'model'"),
        ("execution = [1]\n", "execution .* must be a dict"),
        ("strategy = dict(runner_type='ray', machine='10.0.0.7')\n", "has a machine and no port"),
        ("data = None\n", r"execution\.data .* belongs into one namespace"),
    ],
)
def test_a_mistake_is_told_with_its_namespace(spaces, more, words):
    with pytest.raises(ConfigError, match=words):
        Job.load(spaces(more))


def test_a_config_that_assigns_its_model_may_use_the_names_for_itself(config):
    job = Job.load(config("a", "execution = dict(steps=3)\nstrategy = 'greedy'"))

    assert job.config.execution == {"steps": 3}
    assert job.config.strategy == "greedy"


def test_the_config_commands_understand_it(spaces, libbench):
    assert libbench("config", "validate", spaces())[0] == 0
    assert "runner.timeout" in libbench("config", "show", spaces())[1]
    assert "execution" in LazyConfig.load(spaces(), values=PARTS)

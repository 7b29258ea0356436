"""Several ranks as one side: the same as one process, and a finding when one of them fails."""

import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import torch

from libbench.diff import Plan, diff, diff_all, run
from libbench.errors import UnavailableError
from libbench.group import open_store
from libbench.job import Job
from libbench.report.text import render, render_result
from libbench.runners.distributed import Distributed

ROOT = Path(__file__).parent.parent
NO_SPEED = Plan(speed=False)
TIMER = "from libbench.settings import Timer\ntimer = L(Timer)(pairs=12, warmup=1, budget=2)\n"

BLOCK = """
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel


class Block(torch.nn.Module):
    def __init__(self, width=32, head=8):
        super().__init__()
        self.head = head
        self.before, self.between = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (torch.nn.Linear(width, width) for _ in range(4))
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.before(x)
        q, k, v = (each(y).unflatten(-1, (-1, self.head)).transpose(1, 2) for each in (self.q, self.k, self.v))
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2)
        x = x + self.o(y)
        return {"hidden": x + self.down(torch.nn.functional.gelu(self.up(self.between(x))))}


def mesh():
    return init_device_mesh("cpu", (dist.get_world_size(),))


def tensor_parallel(module, **output):
    plan = {name: ColwiseParallel() for name in ("q", "k", "v", "up")} | {"o": RowwiseParallel()}
    return parallelize_module(module, mesh(), plan | {"down": RowwiseParallel(**output)})


def in_parts(module):
    # The outputs stay where they are: a part of each on every rank.
    from torch.distributed.tensor import Shard, distribute_tensor

    module.register_forward_hook(lambda m, a, out: {"hidden": distribute_tensor(out["hidden"], mesh(), [Shard(2)])})
    return module


def sharded(module):
    return fully_shard(module, mesh=mesh())


def block():
    return L(Block)()


model = block()
data = L(RandomInputs)(shapes=(6, 32), samples=10, batch_size=4)
"""

MODEL = """
import os, signal, time
import torch.distributed as dist


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)
        self.rank, self.calls = int(os.environ["RANK"]), 0

    def forward(self, x):
        self.calls += 1
        y = self.linear(x)
        if self.rank == 1:
            {body}
        dist.all_reduce(torch.ones(1))
        return y


model = L(Model)()
"""


def runner(**settings):
    listed = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return f"runner = L('libbench.runners.distributed.Distributed')({listed})\n"


def model(body):
    return MODEL.format(body=body)


def parts_of(comparison):
    return {check.name: check.verdict for check in comparison.checks}


@pytest.fixture
def nothing_left():
    """What a test starts is gone when it is over."""
    yield
    # Every child leads a group of its own; the fork server, which stays, does not.
    family = psutil.Process().children(recursive=True)
    _, alive = psutil.wait_procs([each for each in family if os.getpgid(each.pid) == each.pid], timeout=5)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []


@pytest.mark.parametrize(
    ("samples", "batch_size", "settings", "batches"),
    [
        (7, 3, {"nproc": 2}, 3),
        (1, 1, {"nproc": 3}, 1),
        # Of all batches only the last, of one sample, has the same samples on a rank.
        (5, 2, {"nproc": 4, "split": "samples"}, 1),
        (5, 2, {"nproc": 2, "split": "same"}, 3),
        (4, 2, {"nproc": 1, "split": "samples"}, 2),
    ],
)
def test_metrics_are_exactly_those_of_one_process(config, samples, batch_size, settings, batches):
    evaluator = (
        "from libbench.evaluators.accuracy import Accuracy\nevaluator = L(Accuracy)(labels=[0, 2, 1, 1, 0, 2, 2])\n"
    )
    sets = [f"data.samples={samples}", f"data.batch_size={batch_size}"]
    reference = Job.load(config("one", evaluator), sets)
    target = Job.load(config("ranks", evaluator + runner(**settings)), sets)

    comparison = diff(reference, target, NO_SPEED)

    assert comparison.exit_code == 0
    assert comparison.target.metrics == comparison.reference.metrics
    assert comparison.target.evaluation.missing == 0
    assert comparison.outputs.batches == batches
    assert comparison.outputs.verdict == "same"
    assert comparison.target.environment["world size"] == settings["nproc"]


def test_data_parallel_sharded_and_tensor_parallel_models_are_the_same_as_in_one_process(config):
    ways = {
        "ddp": "model = L(DistributedDataParallel)(module=block())\n" + runner(split="batches"),
        "fsdp": "model = L(sharded)(module=block())\n" + runner(split="same"),
        "tensor": "model = L(tensor_parallel)(module=block())\n" + runner(split="same"),
        "parts": "model = L(in_parts)(module=block())\n" + runner(split="same"),
    }
    evaluator = (
        "from libbench.evaluators.regression import Regression\n"
        "evaluator = L(Regression)(targets=L(torch.zeros)(10, 6, 32), output='hidden')\n"
    )
    files = {name: config(name, BLOCK + evaluator + text) for name, text in ways.items()}

    targets = [Job.load(file) for file in files.values()]
    comparisons = diff_all(Job.load(config("one", BLOCK + evaluator)), targets, NO_SPEED)

    for comparison in comparisons:
        assert comparison.target.failure is None, comparison.target.failure
        assert comparison.exit_code == 0, render(comparison)
        assert comparison.outputs.batches == 3
        assert comparison.outputs.leaves[0].shapes == ((4, 6, 32), (4, 6, 32))
        assert {metric.verdict for metric in comparison.metrics} == {"same"}
        assert [each.name for each in comparison.comparability] == ["world size"]


def test_two_sides_on_the_same_ranks_are_timed_call_by_call(config):
    lines = TIMER + runner(processes=1)

    comparison = diff(config("a", lines), config("b", lines))

    (measurement,) = comparison.measurements
    assert measurement.together
    assert len(measurement.clocks[0]["wall"].seconds) == 12
    assert set(measurement.kept) <= {"same", ""}
    assert len(measurement.null) == 2
    assert comparison.exit_code == 0


def test_a_side_on_ranks_is_timed_against_one_in_a_process(config):
    process = "from libbench.runners.process import Process\nrunner = L(Process)(processes=1)\n"

    comparison = diff(config("one", TIMER + process), config("ranks", TIMER + runner(processes=1)))

    (measurement,) = comparison.measurements
    assert not measurement.together
    assert len(measurement.clocks[1]["wall"].seconds) >= 12
    assert "each side was timed in its own process: the sides name different runners" in comparison.notes


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("self.calls == 4 and os.kill(os.getpid(), signal.SIGKILL)", "signal", "rank 1: killed by SIGKILL"),
        ("self.calls == 4 and os._exit(3)", "exception", "rank 1: its process ended by itself with exit code 3"),
        ("x[:, self.calls]", "exception", "rank 1: IndexError: index 4 is out of bounds"),
    ],
)
def test_a_rank_that_fails_while_others_wait_for_it_is_named(config, nothing_left, body, kind, words):
    job = Job.load(config("bad", model(body) + runner(nproc=3)), ["data.samples=40"])
    begin = time.monotonic()

    result = run(job, NO_SPEED)

    assert (result.failure.stage, result.failure.kind) == ("evaluate", kind)
    assert result.failure.message.startswith(words)
    assert result.preparation is not None
    assert time.monotonic() - begin < 60


def test_a_rank_that_is_killed_while_it_is_timed_is_named_with_its_side(config, nothing_left):
    bad = model("self.calls == 30 and os.kill(os.getpid(), signal.SIGKILL)")

    comparison = diff(config("good", runner()), config("bad", bad + runner()), Plan(budget=5.0))

    assert comparison.outputs.verdict == "same"
    assert (comparison.target.failure.stage, comparison.target.failure.kind) == ("measure", "signal")
    assert comparison.target.failure.message.startswith("rank 1: killed by SIGKILL")
    assert comparison.reference.failure is None


def test_a_collective_that_one_rank_leaves_out_ends_at_the_limit_and_says_who_waits_where(config, nothing_left):
    job = Job.load(config("bad", model("return y") + runner(timeout=4)))

    result = run(job, NO_SPEED)

    assert result.failure.kind == "timeout"
    assert "no end after 4 s: rank 0 is still at work, rank 1 is done with it" in result.failure.message
    assert "all_reduce" in result.failure.traceback


def test_two_runs_at_once_do_not_meet(config):
    job = Job.load(config("ranks", runner()))

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda _: run(job, NO_SPEED), range(2)))

    assert [result.failure for result in found] == [None, None]
    assert all(result.evaluation is not None for result in found)


def test_a_port_that_is_taken_is_an_error_that_names_it(config, libbench):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, _, err = libbench("run", config("ranks", runner(port=port)), "--no-speed")

    assert code == 2
    assert err.splitlines()[-1] == f"libbench: port {port} of 127.0.0.1 cannot be had: Address already in use"


def test_a_port_is_held_from_the_moment_on_in_which_it_is_chosen_and_on_this_machine_alone():
    store = open_store(None)

    with pytest.raises(UnavailableError, match=f"port {store.port} of 127.0.0.1"):
        open_store(store.port)
    mine = [each.laddr for each in psutil.Process().net_connections() if each.status == psutil.CONN_LISTEN]
    assert ("127.0.0.1", store.port) in mine
    assert {address.ip for address in mine} == {"127.0.0.1"}


def test_ranks_listen_on_this_machine_alone_and_know_their_place(config):
    lines = f"""
    {runner()}
    import os, psutil
    from libbench.interfaces import Evaluator

    class Looks(Evaluator):
        def __init__(self):
            names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR")
            self.place = [os.environ[name] for name in names] + [str(torch.distributed.get_rank())]
        def process(self, batch, outputs):
            listening = [c.laddr.ip for c in psutil.Process().net_connections() if c.status == "LISTEN"]
            return {{i: (" ".join(self.place), listening) for i in batch.indices}}
        def evaluate(self, records):
            places = {{place for place, _ in records.values()}}
            assert places == {{"0 0 2 2 127.0.0.1 0", "1 1 2 2 127.0.0.1 1"}}, places
            addresses = [address for _, listening in records.values() for address in listening]
            return {{"inside": addresses.count("127.0.0.1"), "outside": len(set(addresses) - {{"127.0.0.1"}})}}

    evaluator = L(Looks)()
    """

    result = run(Job.load(config("looks", lines)), NO_SPEED)

    assert result.failure is None, result.failure
    assert result.metrics["inside"] > 0
    assert result.metrics["outside"] == 0


def test_a_rank_that_gives_other_outputs_where_all_run_the_same_is_named(config):
    odd = model("return y + 1").replace("dist.all_reduce(torch.ones(1))", "pass")

    comparison = diff(config("one"), config("odd", odd + runner(nproc=3, split="same")), NO_SPEED)

    assert parts_of(comparison) == {"outputs": "same", "target ranks": "different"}
    (found,) = comparison.target.evaluation.odd_ranks
    assert found.startswith("rank 1 gave other outputs than rank 0 in batch 0: output: 12 of 12 values")
    assert "ODD RANKS: the target's rank 1 gave other outputs" in render(comparison)
    assert comparison.exit_code == 1


def test_data_that_do_not_split_themselves_although_they_should_are_told(config):
    result = run(Job.load(config("own", runner(split="own"))), NO_SPEED)

    assert result.evaluation.odd_ranks == ("rank 1 reads the data of rank 0: the data do not split themselves",)
    assert "rank 1 reads the data of rank 0" in render_result(result)


@pytest.mark.skipif(torch.cuda.is_available(), reason="nccl may work here")
def test_nccl_without_a_device_is_told_in_one_line(config, libbench):
    code, out, _ = libbench("run", config("ranks", runner(backend="nccl")), "--no-speed")

    assert code == 2
    assert "backend 'nccl' needs 2 CUDA devices, one for each rank, but torch" in " ".join(out.split())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"nproc": 0}, "nproc must be an int of at least 1, got 0"),
        ({"nproc": 2.0}, "nproc must be an int of at least 1, got 2.0"),
        ({"backend": "mpi"}, "backend must be one of 'gloo', 'nccl', got 'mpi'"),
        ({"split": "rows"}, "split must be one of 'batches', 'samples', 'same', 'own', got 'rows'"),
        ({"port": 70000}, "port must be an int from 1 to 65535, or None, got 70000"),
        ({"timeout": 0}, "timeout must be above 0 seconds, got 0"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
        ({"processes": 0}, "processes must be at least 1, got 0"),
    ],
)
def test_a_setting_that_makes_no_sense_is_told(settings, words):
    with pytest.raises(ValueError, match=words):
        Distributed(**settings)


def test_no_ranks_are_an_error_in_one_line(config, libbench):
    code, _, err = libbench("run", config("none", runner(nproc=0)), "--no-speed")

    assert code == 2
    assert "nproc must be an int of at least 1, got 0" in err.splitlines()[-1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_rank_outlives_the_command_that_started_it(config, tmp_path, number):
    marks = tmp_path / "marks"
    marks.mkdir()
    body = model(f"open({str(marks)!r} + '/in', 'w').close()\n            time.sleep(600)")
    file = config("hangs", body + runner())
    tool = subprocess.Popen([sys.executable, ROOT / "tools" / "run.py", file], stderr=subprocess.PIPE)
    while not list(marks.iterdir()):
        assert tool.poll() is None
        time.sleep(0.05)
    family = psutil.Process(tool.pid).children(recursive=True)

    tool.send_signal(number)
    tool.communicate(timeout=60)

    assert tool.returncode == (130 if number == signal.SIGINT else -number)
    assert len(family) >= 3
    _, alive = psutil.wait_procs(family, timeout=10)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []

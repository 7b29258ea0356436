"""The runner Ray: a cluster of this machine, one of two nodes, and all that can be wrong with one."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

import psutil
import pytest

pytest.importorskip("ray", reason="the runner Ray needs the extra 'ray'")

from libbench.config import difference
from libbench.diff import Plan, diff
from libbench.errors import LibbenchError
from libbench.job import SIDE_PARTS, Job
from libbench.pair import stages
from libbench.report.json import from_json
from libbench.report.many import verdict_word
from libbench.result import SideFailed
from libbench.rowfile import read_rows
from libbench.runners.ray import Ray, connecting, link, spares
from libbench.runners.ray.placing import Node, Places, Want
from libbench.timing import runner_of

TOKEN = "of-the-tests-0123456789abcdef"
TESTS = Path(__file__).parent
WITHIN = 60.0
NODES = 'one={"CPU": 1, "A": 1}', 'two={"CPU": 1, "B": 1, "C": 1}', 'three={"CPU": 1, "C": 1}'


@pytest.fixture(scope="module", autouse=True)
def no_cluster_is_left():
    yield
    link.disconnect()


@pytest.fixture(scope="module")
def local():
    """Give what has the cluster of this machine."""
    return link.relay_of(None)


class Nodes:
    """A cluster on the loopback interface, node by node."""

    def __init__(self, folder, *nodes, **environment):
        cleared = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
        own = {
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "PYTHONPATH": f"{TESTS.parent}:{TESTS}",
            # A node that is gone is known to be after 1.5 seconds, and not after 15.
            "RAY_health_check_period_ms": "300",
        }
        self._log = folder.with_suffix(".log").open("w")
        self._process = subprocess.Popen(
            [sys.executable, str(TESTS / "ray_nodes.py"), str(folder), *nodes],
            env={**cleared, **own, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self.address = self._process.stdout.readline().strip()

    def lose(self, pid):
        """Kill the node that a process runs on; all that runs there ends a little later."""
        self._process.stdin.write(f"{pid}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "gone\n"
        assert gone(pid)

    def close(self):
        self._process.communicate()
        self._log.close()


@pytest.fixture
def short_folder():
    """Give a folder whose name leaves room for that of a socket."""
    with tempfile.TemporaryDirectory(prefix="lb-", ignore_cleanup_errors=True) as folder:
        yield Path(folder) / "ray"


@pytest.fixture(scope="module")
def nodes():
    """Give a cluster of three nodes, one of which has an A and another a B; it wants a token."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(prefix="lb-") as folder:
        patch.setenv("RAY_AUTH_TOKEN", TOKEN)
        secret = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
        cluster = Nodes(Path(folder) / "ray", *NODES, **secret)
        yield cluster
        link.disconnect()
        cluster.close()


def eventually(true):
    end = time.monotonic() + WITHIN
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.05)
    return False


def gone(pid):
    return eventually(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


FEW = "from libbench.settings import Timer\ntimer = L(Timer)(pairs=20)"


def job(config, name="a", lines="", runner="L(Ray)()"):
    return Job.load(config(name, f"from libbench.runners.ray import Ray\nrunner = {runner}\n{FEW}\n{lines}"))


def opened(job, folder, watch=lambda event: None):
    folder.mkdir(parents=True, exist_ok=True)
    return closing(runner_of(job).open(job, folder=folder, watch=watch))


def run(job, folder):
    outputs = []
    results = list(stages(job, folder, lambda event: None, outputs.append))
    return results[-1], outputs


def files_of(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.glob("**/0*") if p.is_file()}


EVALUATED = """
from libbench.evaluators.regression import Regression
evaluator = L(Regression)(targets=[[0.1, 0.2, 0.3]] * 10)
"""
SLOW = """
from ray_models import Slow
model = L(Slow)(file={file!r})
"""


def test_outputs_and_metrics_are_those_of_a_child_process_bit_by_bit(config, tmp_path, local):
    there = job(config, "there", EVALUATED)
    here = Job.load(config("here", EVALUATED))

    (away, batches), (ours, known) = run(there, tmp_path / "there"), run(here, tmp_path / "here")

    assert away.failure is None
    assert batches == known
    assert away.metrics == ours.metrics
    assert files_of(tmp_path / "there") == files_of(tmp_path / "here") != {}


def test_a_comparison_is_timed_in_one_place_with_both_sides(config, local):
    reference, target = job(config, "a"), job(config, "b", "model.bias = False")

    comparison = diff(reference, target, Plan(processes=1), watch=lambda name, event: None)

    assert [m.together for m in comparison.measurements] == [True]
    assert comparison.measurements[0].null
    assert [check.name for check in comparison.checks if check.verdict == "different"] == ["outputs"]


def test_sides_of_two_runners_alternate_in_the_place_of_one(config, local):
    """The second session must not wait for what the first one has."""
    reference, target = job(config, "a", runner="L(Ray)(timeout=500)"), job(config, "b")

    comparison = diff(reference, target, Plan(processes=1), watch=lambda name, event: None)

    assert comparison.exit_code == 0
    assert [m.together for m in comparison.measurements] == [False]


def test_the_runners_own_settings_reach_no_part_of_the_model_side(config):
    own = {"address": "127.0.0.1:6379", "resources": {"A": 1}, "timeout": 77.5, "num_cpus": 1, "retries": 0}
    plain, placed = Job.load(config("a", FEW)), job(config, "b", runner=f"L(Ray)(**{own!r})")

    assert {change.part for change in difference(plain.config, placed.config)} == {"runner"}
    for part, built in placed.build(*(each for each in SIDE_PARTS if placed.config.get(each) is not None)).items():
        assert not {"address", "resources", "timeout", "num_cpus", "retries"} & set(vars(built)), part
    assert vars(placed.build("runner")["runner"])["timeout"] == 77.5


def test_a_model_that_crashes_is_a_finding_with_its_signal_and_is_not_tried_again(config, tmp_path, local):
    result, batches = run(job(config, lines="from ray_models import Crashes\nmodel = L(Crashes)()"), tmp_path / "out")

    assert (result.failure.stage, result.failure.kind) == ("evaluate", "signal")
    assert "SIGSEGV" in result.failure.message
    assert "Segmentation fault" in result.failure.traceback
    assert [batch.number for batch in batches] == [0]


def test_what_hangs_is_ended_with_all_that_it_started(config, tmp_path, local):
    result, _ = run(
        job(config, lines="from ray_models import Hangs\nmodel = L(Hangs)()", runner="L(Ray)(timeout=3)"),
        tmp_path / "out",
    )

    assert result.failure.kind == "timeout"
    assert "in forward" in result.failure.traceback
    assert gone(int(re.search(r"started (\d+)", (tmp_path / "out" / "log.txt").read_text())[1]))


def test_a_killed_process_of_rays_is_one_failure_and_leaves_nothing(config, tmp_path, local):
    flag = tmp_path / "go"
    slow = job(config, lines=SLOW.format(file=str(flag)))
    found = []
    with opened(slow, tmp_path / "out") as session:
        family = psutil.Process(session.link.pid).children(recursive=True)
        asking = threading.Thread(target=lambda: found.append(raised(session.prepare)))
        asking.start()
        time.sleep(0.2)

        psutil.Process(session.link.pid).kill()
        asking.join(WITHIN)

    assert [(failed.failure.kind, failed.side) for failed in found] == [("signal", 0)]
    assert len(family) >= 2
    assert all(gone(each.pid) for each in family)


def unlike(comparison):
    """Name what differs, but for how busy the machine was."""
    return [each.name for each in comparison.comparability if each.name != "load"]


def raised(call):
    try:
        call()
    except SideFailed as failed:
        return failed


def test_what_finds_no_place_waits_for_one_and_says_so(config, tmp_path, local):
    first, second = job(config, "a", runner="L(Ray)(timeout=30)"), job(config, "b", runner="L(Ray)(timeout=30)")
    told, results = [], []

    def go():
        with opened(second, tmp_path / "second", told.append) as session:
            results.append(session.prepare())

    with opened(first, tmp_path / "first") as session:
        thread = threading.Thread(target=go)
        thread.start()
        assert eventually(lambda: told)
        session.prepare()
        assert not results
    thread.join(WITHIN)

    assert told[0].note == "waiting for a place"
    assert len(results) == 1


def test_sessions_of_one_kind_follow_one_another_in_one_process_of_rays(config, tmp_path, local):
    pids = []
    for number, runner in enumerate(["L(Ray)()", "L(Ray)()", "L(Ray)(timeout=50)", "L(Ray)(num_cpus=1)"]):
        with opened(job(config, str(number), runner=runner), tmp_path / str(number)) as session:
            session.prepare()
            pids.append(session.link.pid)

    assert pids[0] == pids[1] == pids[2]
    assert pids[3] != pids[0]
    assert gone(pids[0])


def test_a_place_whose_process_has_ended_meanwhile_is_not_used(config, tmp_path, local):
    pids = []
    for number in range(2):
        with opened(job(config), tmp_path / str(number)) as session:
            session.prepare()
            pids.append(session.link.pid)
        psutil.Process(pids[-1]).kill()

    assert pids[0] != pids[1]


def test_what_no_node_has_is_an_error_at_once(config, libbench, local):
    file = config("a", "from libbench.runners.ray import Ray\nrunner = L(Ray)(resources={'A': 1}, num_gpus=3)")

    code, _, err = libbench("run", file)

    assert code == 2
    assert re.search(r"libbench: no node of the Ray cluster has 1 CPU, 3 GPU, 1 A \(.*: \d+ CPU, 0 GPU, 0 A\)", err)
    assert "Traceback" not in err


def test_the_cluster_of_this_machine_listens_on_the_loopback_interface_alone(local):
    processes = [psutil.Process(local.child.pid), *psutil.Process(local.child.pid).children(recursive=True)]

    listening = {c.laddr.ip for p in processes for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN}

    assert listening
    assert listening <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def test_nothing_of_it_is_left_when_it_is_ended(local):
    processes = psutil.Process(local.child.pid).children(recursive=True)
    assert "raylet" in [each.name() for each in processes]

    link.disconnect()

    assert all(gone(each.pid) for each in processes)
    assert not local.folder.exists()


def test_nothing_of_it_is_left_when_the_process_that_used_it_is_killed(config, tmp_path):
    lines = "from libbench.runners.ray import Ray\nrunner = L(Ray)()" + SLOW.format(file=str(tmp_path / "never"))
    saved = tmp_path / "saved"
    script = "import sys; from libbench.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "run", str(config("a", lines)), "--save", str(saved)]
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    user = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths}, stderr=subprocess.PIPE, text=True)
    for line in user.stderr:
        if "evaluate" in line:
            break
    family = psutil.Process(user.pid).children(recursive=True)
    raylet = next(each for each in family if each.name() == "raylet")
    folder = re.search(r"/\S+/libbench-ray-\w+", " ".join(raylet.cmdline()))[0]

    user.kill()
    user.communicate()

    shutil.rmtree(folder, ignore_errors=True)  # what a killed process cannot do itself
    assert all(gone(each.pid) for each in family)


def node(name, cpus=4.0, free=None, **resources):
    total = {"CPU": cpus, **resources}
    return Node(name, name, total, total if free is None else {**total, "CPU": free})


def want(group="one", cpus=None, gpus=0.0, alone=False, spread=False, **resources):
    return Want(group, cpus, gpus, resources, alone, spread)


def test_what_wants_all_cores_gets_the_node_that_has_most_to_spare():
    place = Places().choose(want(), [node("a", free=1.0), node("b", free=4.0)])

    assert (place.node, place.options["num_cpus"]) == ("b", 4.0)


def test_a_group_stays_on_its_node_unless_it_lacks_something_or_may_spread():
    places, both = Places(), [node("a", A=1.0), node("b", B=1.0)]
    places.leave(places.take(want(), "b", None))

    assert places.choose(want(cpus=1), both).node == "b"
    assert places.choose(want(A=1.0), both).node == "a"
    assert places.choose(want(cpus=1, spread=True), both).node is None
    assert places.choose(want(group="two", cpus=1), both).node is None


def test_what_times_takes_all_cores_though_it_asks_for_few():
    place = Places().choose(want(cpus=1, alone=True, gpus=1.0), [node("a", GPU=2.0)])

    assert place.options == {"num_cpus": 4.0, "num_gpus": 1.0, "resources": {}}


def test_the_second_session_of_a_group_takes_nothing_more_and_sees_the_same_devices():
    places = Places()
    held = places.take(want(gpus=1.0), "a", "3")

    shared = places.choose(want(gpus=1.0), [node("a", GPU=1.0)])
    assert (shared.options, shared.shared.devices) == ({"num_cpus": 0, "num_gpus": 0}, "3")

    places.leave(held)
    assert places.choose(want(gpus=1.0), [node("a", GPU=1.0)]).shared is None


def test_a_place_is_kept_for_a_moment_and_given_back_after_long_use(monkeypatch):
    monkeypatch.setattr(spares, "LINGER", 0.05)
    ended = []
    kept = spares.Spares(ended.append)
    idle, used = spares.Spare("idle", "k", {"node": "a"}), spares.Spare("used", "k", {"node": "a"}, born=-1e9)

    kept.put(used)
    assert ended == ["used"]
    kept.put(idle)
    assert kept.take("other", "a") is kept.take("k", "b") is None
    assert kept.take("k", "a") is idle
    kept.put(idle)
    assert eventually(lambda: ended == ["used", "idle"])
    assert kept.take("k", None) is None


def test_those_who_choose_at_one_time_go_to_different_nodes():
    places, both = Places(), [node("a"), node("b")]

    first, second = (places.choose(want(group=group), both) for group in ("one", "two"))
    assert {first.node, second.node} == {"a", "b"}

    places.arrived(first)
    assert places.choose(want(group="three"), both).node == first.node


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"address": "ray://here"}, "address must be 'host:port' of a Ray cluster's head, got 'ray://here'"),
        ({"address": "10.0.0.1"}, "address must be"),
        ({"timeout": 0}, "timeout must be above 0 seconds, got 0"),
        ({"num_cpus": 0}, "num_cpus must be at least 1, got 0"),
        ({"num_gpus": -1}, "num_gpus must not be negative, got -1"),
        ({"resources": {"A": -1}}, "A must not be negative, got -1"),
        ({"retries": -1}, "retries must not be negative, got -1"),
        ({"ship": "/nowhere"}, "ship must be a folder, got '/nowhere'"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Ray(**given)


def test_an_address_where_nobody_listens_is_an_error_in_one_line(config, libbench):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    file = config("a", f"from libbench.runners.ray import Ray\nrunner = L(Ray)(address={address!r})")

    code, _, err = libbench("run", file)

    assert code == 2
    assert err.splitlines()[-1] == f"libbench: no Ray cluster can be reached at {address}: Connection refused"


def test_an_address_that_never_answers_is_an_error(monkeypatch):
    monkeypatch.setattr(connecting, "PROBE", 1.0)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(full.getsockname())

        with pytest.raises(LibbenchError, match=r"no Ray cluster can be reached at .*: no answer within 1 s"):
            link.relay_of(f"127.0.0.1:{full.getsockname()[1]}")

        for each in waiting:
            each.close()


def test_what_listens_but_is_no_cluster_is_an_error():
    wanted = pytest.raises(LibbenchError, match="does not answer as the head of a Ray cluster")
    with socket.create_server(("127.0.0.1", 0)) as silent, wanted:
        link.relay_of(f"127.0.0.1:{silent.getsockname()[1]}")


def on(nodes, **more):
    """Give the runner of a node of the cluster, as a line of a config."""
    return f"L(Ray)(address={nodes.address!r}, processes=1, **{more!r})"


def test_a_wrong_token_and_none_are_refused(nodes, monkeypatch, tmp_path):
    monkeypatch.setattr(link, "_relays", {})
    monkeypatch.setenv("RAY_AUTH_TOKEN", "another")
    with pytest.raises(LibbenchError, match="wants another token than the one in RAY_AUTH_TOKEN"):
        link.relay_of(nodes.address)

    monkeypatch.delenv("RAY_AUTH_TOKEN")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(LibbenchError, match="wants a token: set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH"):
        link.relay_of(nodes.address)


def test_sides_that_want_different_nodes_get_them_and_no_interval(config, nodes):
    reference = job(config, "a", runner=on(nodes, resources={"A": 1}))
    target = job(config, "b", runner=on(nodes, resources={"B": 1}))

    comparison = diff(reference, target, Plan(), watch=lambda name, event: None)

    sides = comparison.reference, comparison.target
    assert [side.environment["node"].split()[0] for side in sides] == ["one", "two"]
    assert unlike(comparison) == ["node"]
    assert comparison.exit_code == 0
    assert [(s.low, s.high, s.verdict) for s in comparison.speedups] == [(None, None, "inconclusive")] * 2
    assert "different machines" in comparison.speedups[0].note


def test_both_sides_of_one_comparison_run_on_one_node(config, nodes):
    reference = job(config, "a", runner=on(nodes, resources={"B": 1}))
    target = job(config, "b", runner=on(nodes))

    comparison = diff(reference, target, Plan(speed=False))

    assert comparison.reference.environment["node"] == comparison.target.environment["node"]
    assert unlike(comparison) == []


def test_two_processes_that_use_one_place_of_a_cluster_both_get_their_turn(config, nodes, tmp_path):
    runner = on(nodes, resources={"A": 1})
    lines = f"from libbench.runners.ray import Ray\nrunner = {runner}"
    script = "import sys; from libbench.cli.main import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", script, "run", "--no-speed", config("a", lines)]

    with opened(job(config, "b", runner=runner), tmp_path / "here") as session:
        other = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        waited = next(line for line in other.stderr if "waiting for a place" in line)
        session.prepare()
        numbers = [output.number for output in session.batches()]
    told = other.communicate(timeout=2 * WITHIN)

    assert waited
    assert numbers == [0, 1, 2]
    assert other.returncode == 0, told


def test_a_config_is_sent_along_where_nodes_do_not_have_it(config, nodes, tmp_path):
    folder = tmp_path / "project"
    (folder / "configs").mkdir(parents=True)
    (folder / "net.py").write_text(
        "import torch\n\n\nclass Net(torch.nn.Module):\n"
        "    def forward(self, x):\n        print(__file__)\n        return x\n"
    )
    file = folder / "configs" / "a.py"
    file.write_text(
        config("base2").parent.joinpath("base.py").read_text()
        + "from ..net import Net\nfrom libbench.runners.ray import Ray\nmodel = L(Net)()\n"
        + f"runner = {on(nodes, ship=str(folder))}\n"
    )

    result, batches = run(Job.load(file), tmp_path / "out")

    assert result.failure is None
    assert len(batches) == 3
    there = (tmp_path / "out" / "log.txt").read_text().split()[0]
    assert there.endswith("/net.py")
    assert not there.startswith(str(folder))


def test_another_version_and_an_open_cluster_that_others_can_reach_are_refused(short_folder, monkeypatch):
    monkeypatch.setattr(link, "_relays", {})
    cluster = Nodes(short_folder, RAY_AUTH_MODE="disabled")
    try:
        with monkeypatch.context() as patch:
            patch.setattr(link, "probe", lambda address: False)
            with pytest.raises(LibbenchError, match="takes commands from anybody; start it with RAY_AUTH_MODE=token"):
                link.relay_of(cluster.address)
        put = "c.internal_kv_put(b'CLUSTER_METADATA', b'{\"ray_version\": \"2.1.0\"}', True, b'cluster')"
        code = f"from ray._raylet import GcsClient; c = GcsClient(address={cluster.address!r}); {put}"
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "RAY_AUTH_MODE": "disabled"})
        with pytest.raises(LibbenchError, match=r"runs Ray 2\.1\.0, this process Ray 2\.\d+"):
            link.relay_of(cluster.address)
    finally:
        cluster.close()


LISTED = "from ray_models import Numbered\nmodel = L(Numbered)(number=0)"


def swept(libbench, config, nodes, folder, count, first, act):
    """Run a list of pairs on two nodes; act on the first process that holds; give each row's word and facts."""
    acted = []

    def wait_and_act():
        assert eventually(lambda: list(folder.glob("at-*")))
        acted.append(act(int(next(folder.glob("at-*")).read_text())))

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    lines = f"from libbench.runners.ray import Ray\nrunner = {on(nodes, resources={'C': 1})}\n{LISTED}"
    code, _, _ = libbench(
        *("sweep", "--ref", config("a", lines), "--no-speed", "--jobs", 3, "--to", folder / "rows.jsonl"),
        *("--tgt-set", "model.number=" + ",".join(map(str, range(count))), f"model.first={first}"),
        *(f"model.folder={folder}", f"model.until={folder / 'until'}"),
    )
    thread.join()
    rows = {row["row"]: from_json(row) for row in read_rows(folder / "rows.jsonl")}
    numbered = {int(re.search(r"number=(\d+)", name)[1]): row for name, row in rows.items()}
    return code, {number: verdict_word(row) for number, row in numbered.items()}, numbered, acted[0]


def right(count):
    return {number: "DIFFERENT" if number % 3 == 1 else "same" for number in range(count)}


def test_of_twenty_rows_one_loses_its_process_of_rays_and_nineteen_are_right(libbench, config, nodes, tmp_path):
    def kill(pid):
        post = next(each for each in psutil.Process(pid).parents() if each.name().startswith("ray::Post"))
        family = [post, *post.children(recursive=True)]
        post.kill()
        (tmp_path / "until").touch()
        return family

    code, words, rows, family = swept(libbench, config, nodes, tmp_path, 20, 11, kill)

    (lost,) = (number for number, word in words.items() if word == "FAILED")
    assert words == {**right(20), lost: "FAILED"}
    assert rows[lost].target.failure.kind == "signal"
    assert code == 1
    assert len(family) >= 3
    assert all(gone(each.pid) for each in family)


def test_a_node_that_is_taken_away_amid_a_list_costs_no_row(libbench, config, nodes, tmp_path):
    """It takes one of the three nodes away."""

    def lose(pid):
        nodes.lose(pid)
        (tmp_path / "until").touch()

    _, words, rows, _ = swept(libbench, config, nodes, tmp_path, 9, 4, lose)

    assert words == right(9)
    assert any(", then " in row.target.environment["node"] for row in rows.values())


def test_a_lost_node_is_left_for_another_and_the_last_one_is_a_failure(config, nodes, tmp_path):
    """The last of the tests that need both nodes, since it takes them away."""
    told = []
    expected, _ = run(Job.load(config("here", EVALUATED)), tmp_path / "here")

    with opened(job(config, "a", EVALUATED, on(nodes)), tmp_path / "out", told.append) as session:
        session.prepare()
        node = session.link.nodes[0]
        batches = session.batches()
        first = next(batches)
        nodes.lose(session.link.pid)
        numbers = [first.number, *(output.number for output in batches)]
        metrics = session.metrics().metrics
        told_of = session.environment()["node"]

    assert session.link.nodes[1] != node
    assert told_of == f"{node}, then {session.link.nodes[1]}"
    assert numbers == [0, 1, 2]
    assert metrics == expected.metrics
    assert files_of(tmp_path / "out") == files_of(tmp_path / "here")
    assert "on another node" in [event.note for event in told]

    with opened(job(config, "b", runner=on(nodes, retries=0)), tmp_path / "last") as session:
        session.prepare()
        nodes.lose(session.link.pid)
        with pytest.raises(SideFailed) as failed:
            list(session.batches())
    assert failed.value.failure.kind == "lost"

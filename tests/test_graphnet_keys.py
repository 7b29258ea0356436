"""The keys of GraphNet's configs, and the jobs that they become."""

import base64
import json
import re
import shlex
from pathlib import Path

import pytest

from libbench.config import difference, digest, freeze
from libbench.errors import ConfigError
from libbench.graphnet.arguments import diff_arguments, perf_arguments
from libbench.graphnet.compilers import ABSENT, COMPILERS
from libbench.graphnet.jobs import job_of
from libbench.graphnet.kept import file_name
from libbench.graphnet.keys import Args, check_and_complete_args, meanings, read_config
from libbench.job import Job
from libbench.settings import Timer

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "from_graphnet.md").read_text()
SAMPLE = ROOT / "configs" / "samples" / "attention"


def job(**keys):
    return job_of(check_and_complete_args({"device": "cpu", **keys}, "config"), SAMPLE, "config")


def test_what_graphnet_leaves_out_has_its_defaults():
    args = check_and_complete_args({}, "config")

    assert (args.model_path, args.output_path, args.op_lib, args.model_path_prefix, args.backend_config) == (None,) * 5
    assert (args.seed, args.compiler, args.device) == (123, "inductor", "cuda")
    assert (args.warmup, args.trials, args.log_prompt) == (3, 5, "graph-net-bench-log")


def test_base64_plain_json_and_a_file_are_the_same(tmp_path):
    keys = {"compiler": "nope", "seed": 7}
    text = json.dumps(keys)
    coded = base64.encodebytes(text.encode()).decode()
    for name, content in (("plain.json", text), ("coded", coded)):
        (tmp_path / name).write_text(content)

    for given in (text, coded, coded.replace("\n", ""), str(tmp_path / "plain.json"), str(tmp_path / "coded")):
        assert read_config(given, "config") == keys
    for given in (None, "", "None", "null"):
        assert read_config(given, "config") == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nope.json", "config must be a JSON object, base64 of one, or a file with one, got 'nope.json'"),
        ("{seed: 1}", "config is no JSON: .* got '{seed: 1}'"),
        ("[1]", "config must be a JSON object, got '\\[1\\]'"),
        (base64.b64encode(b"7").decode(), "config must be a JSON object, got '7'"),
        ("/" * 5000, "config must be a JSON object, base64 of one"),
    ],
)
def test_a_text_that_is_no_config_is_told(text, words):
    with pytest.raises(ConfigError, match=words):
        read_config(text, "config")


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"sead": 1}, "config has no key 'sead'; did you mean 'seed'\\?; there are model_path, "),
        ({"trials": 0}, "config: trials must be at least 1, got 0"),
        ({"warmup": -1}, "config: warmup must be at least 0, got -1"),
        ({"seed": "1"}, "config: seed: wanted a whole number, got '1'"),
        ({"seed": True}, "config: seed: wanted a whole number, got True"),
        ({"compiler": None}, "config: compiler: wanted text, got None"),
        ({"log_prompt": "a\nb"}, "config: log_prompt must be one line"),
        ({"inputs": "random"}, "config: inputs: wanted one of 'drawn', 'graphnet', got 'random'"),
        ({"runner_type": "grpc"}, "config: runner_type: wanted one of 'local', 'process', 'remote', 'ray', got 'grpc'"),
        ({"machine": "10.0.0.7"}, "config: machine wants the runner_type 'remote', got 'process'"),
        ({"runner_type": "remote", "machine": "a"}, "the runner_type 'remote' wants a machine and a port"),
        ({"runner_type": "local", "memory": 10**9}, "config: memory is a limit of a process"),
        ({"execution": {"trials": 1, "timeout": 5}}, "execution.timeout of config belongs to strategy"),
        ({"execution": {}, "strategy": {"seed": 5}}, "strategy.seed of config belongs to execution"),
        ({"execution": {}, "seed": 5}, "config has namespaces, and 'seed' belongs into one: execution"),
        ({"execution": [1]}, "execution of config must be a dict, got \\[1\\]"),
    ],
)
def test_a_wrong_key_or_value_is_told(keys, words):
    with pytest.raises(ConfigError, match=words):
        check_and_complete_args(keys, "config")


def test_both_forms_say_the_same():
    flat = {"compiler": "nope", "trials": 9, "runner_type": "process", "timeout": 60.0, "memory": 10**9}
    spaces = {
        "execution": {"compiler": "nope", "trials": 9},
        "strategy": {"runner_type": "process", "timeout": 60.0, "memory": 10**9},
    }

    assert check_and_complete_args(flat, "a") == check_and_complete_args(spaces, "b")


def test_a_config_becomes_a_job_as_a_config_file_says_it(config):
    lines = """
        from libbench.compilers.torch_compile import TorchCompile
        from libbench.devices.cpu import Cpu
        from libbench.runners.process import Process
        from libbench.samples.graph import GraphSample
        from libbench.settings import Timer

        model = L(GraphSample)(path="PATH", inputs="graphnet", weights="bound", batches=1)
        data = None
        compiler = L(TorchCompile)(backend="inductor", mode="max-autotune")
        device = L(Cpu)()
        timer = L(Timer)(least=7, warmup=2, budget=0.5)
        runner = L(Process)(threads=None, timeout=600.0, memory=None, processes=1)
        seed = 5
    """
    file = config("same", lines.replace("PATH", str(SAMPLE)))

    made = job(backend_config={"mode": "max-autotune"}, trials=7, warmup=2, seed=5, inputs="graphnet")

    assert difference(made.config, Job.load(file).config) == ()


def test_trials_are_the_least_that_are_made():
    assert job(trials=7).build("timer")["timer"] == Timer(least=7, warmup=3, budget=0.5)


def test_a_machine_and_its_port_are_those_of_a_cluster():
    made = job(runner_type="remote", machine="10.0.0.7", port=6380, resources={"A": 1})

    runner = freeze(made.config.runner)
    assert runner.target == "libbench.runners.ray.Ray"
    assert runner.kwargs["address"] == "10.0.0.7:6380"
    assert runner.kwargs["resources"] == {"A": 1}


def test_settings_of_a_compiler_may_be_base64():
    coded = base64.b64encode(b'{"fullgraph": true}').decode()

    assert digest(job(backend_config=coded).config) == digest(job(backend_config={"fullgraph": True}).config)
    assert digest(job(backend_config="").config) == digest(job().config)


@pytest.mark.parametrize("name", COMPILERS)
def test_this_compiler_is_one_of_ours(name):
    assert freeze(job(compiler=name).config.compiler).target == COMPILERS[name].target


def test_a_compiler_of_ones_own_goes_by_its_path():
    assert job(compiler="graphnet_parts.Broken", backend_config={"after": 3}).build("compiler")["compiler"].after == 3


def test_an_operator_library_goes_by_its_name_or_its_path():
    assert freeze(job(op_lib="flaggems").config.op_lib).target == "libbench.op_libs.flag_gems.FlagGems"
    assert freeze(job(op_lib="graphnet_parts.Broken").config.op_lib).target == "graphnet_parts.Broken"
    assert job(op_lib="default").config.op_lib is job().config.op_lib is None


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"compiler": "inductr"}, "there is no 'inductr'; did you mean 'inductor'\\?; there are nope, eager, inductor"),
        (
            {"compiler": "BladeDISC"},
            "'BladeDISC' is not available here \\(BladeDISC\\); there are nope, eager, inductor",
        ),
        ({"compiler": "mine.compilers.Missing"}, "mine"),
        ({"backend_config": {"mod": "default"}}, "TorchCompile has no parameter 'mod'; did you mean 'mode'\\?"),
        ({"backend_config": {"backend": "eager"}}, "backend_config.backend of config is what .* says already"),
        ({"backend_config": "{"}, "backend_config of config is no JSON"),
        ({"op_lib": "flag_gem"}, "op_lib of config: there is no 'flag_gem'; did you mean 'flaggems'\\?; there are def"),
        ({"device": "xpu"}, "device of config must be 'cpu', 'cuda' or 'cuda:0', got 'xpu'"),
    ],
)
def test_what_there_is_not_is_told_with_what_there_is(keys, words):
    with pytest.raises(ConfigError, match=words):
        job(**keys)


def test_every_compiler_of_graphnet_is_known():
    theirs = {
        "tvm", "flagtree", "xla", "inductor", "tensorrt", "bladedisc", "nope", "pass_mgr", "unstable_to_stable",
        "range_decomposer_validator", "graph_variable_renamer_validator", "magi_compiler",
    }  # fmt: skip

    assert theirs <= COMPILERS.keys() | ABSENT.keys()


@pytest.mark.parametrize("read", [diff_arguments, perf_arguments])
def test_the_page_lists_every_flag(read, capsys):
    with pytest.raises(SystemExit):
        read(["--help"])

    flags = set(re.findall(r"--[a-z-]+", capsys.readouterr().out.partition("options:")[2].partition("keys of")[0]))
    assert "--model-path-list" in flags
    assert {flag for flag in flags - {"--help"} if f"`{flag}" not in PAGE} == set()


def test_the_commands_of_the_page_can_be_run():
    commands = [shlex.split(line)[1:] for line in PAGE.splitlines() if line.startswith("python ")]
    tools = {"tools/eval_backend_diff.py": diff_arguments, "tools/eval_backend_perf.py": perf_arguments}

    for tool, *flags in commands:
        if tool not in tools:
            continue
        read = tools[tool](flags)
        for text in (getattr(read, name, None) for name in ("config", "reference_config", "target_config")):
            job_of(check_and_complete_args(read_config(text, "config"), "config"), read.model_path, "config")
        assert read.model_path.is_dir()
    assert len(commands) == 4
    assert file_name("configs/samples/attention") in commands[3][2]


def test_the_help_and_the_page_list_every_key(capsys):
    with pytest.raises(SystemExit):
        diff_arguments(["--help"])
    shown = capsys.readouterr().out

    for key, (default, meaning) in meanings().items():
        assert f"  {key} ({default!r}): " in shown
        assert f"| `{key}` | `{json.dumps(default)}` | {meaning} |" in PAGE
    assert set(meanings()) == set(Args.__dataclass_fields__)
    rows = re.findall(r"^\| `(\w+)` \| `[^|]*` \|", PAGE.partition("## Keys")[2].partition("\n## ")[0], re.MULTILINE)
    assert rows == list(meanings())

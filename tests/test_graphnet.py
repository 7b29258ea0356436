"""GraphNet's command lines: exit codes, the log, and what the original gets wrong."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from samples_by_hand import CODE, write

from libbench.graphnet.eval_backend_diff import main as diff
from libbench.graphnet.eval_backend_perf import main as perf
from libbench.graphnet.kept import Kept, file_name
from libbench.saved import SavedSide

ROOT = Path(__file__).parent.parent
HERE = {"device": "cpu", "runner_type": "local", "budget": 0.05, "trials": 2, "warmup": 1}
EAGER = {**HERE, "compiler": "nope"}
LAST = "return (add * L_self_buffers_running_var_.sqrt(),)"


def spoilt(**changes):
    return {**HERE, "compiler": "graphnet_parts.Spoilt", "backend_config": changes}


def broken(**how):
    return {**HERE, "compiler": "graphnet_parts.Broken", "backend_config": how}


@pytest.fixture
def sample(tmp_path):
    return write(tmp_path / "samples" / "timm" / "net")


@pytest.fixture
def run(capsys, tmp_path):
    """Compare; give the exit code, the rows as JSON, the log and what was told."""

    def compare(path, reference, target, *flags):
        to, log = tmp_path / "rows.jsonl", tmp_path / "bench.log"
        files = ["--to", str(to), "--log", str(log)]
        which = "--model-path-list" if Path(path).is_file() else "--model-path"
        sides = ["--reference-config", json.dumps(reference), "--target-config", json.dumps(target)]
        code = diff([which, str(path), *sides, *files, *map(str, flags)])
        told = capsys.readouterr()
        rows = [json.loads(line) for line in to.read_text().splitlines()] if to.exists() else []
        return code, rows, log.read_text().splitlines() if log.exists() else [], told.err

    return compare


def said(log, tag):
    """Give what the log says after a tag."""
    return [line.partition(f"{tag} ")[2] for line in log if tag in line]


def test_the_log_says_what_was_run_and_what_came_out(run, sample):
    code, rows, log, told = run(sample, {**EAGER, "seed": 7}, {**EAGER, "seed": 7})

    assert code == 0
    assert all(line.startswith("graph-net-bench-log [") for line in log)
    assert log[0] == f"graph-net-bench-log [Processing] {sample}"
    assert [line.split("[Config] ")[1].partition(":")[0] for line in log[1:10]] == [
        "model", "seed", "device", "hardware", "op_lib", "compiler", "warmup", "trials", "compile_framework_version",
    ]  # fmt: skip
    assert said(log, "[Config] seed:") == ["7"]
    assert said(log, "[Config] model:") == ["net"]
    assert said(log, "[Result][status]") == ["eager:success compiled:success"]
    assert said(log, "[Datatype][eager]:") == said(log, "[Datatype][compiled]:") == ["float32"]
    assert said(log, "[DataType]") == ["eager:['float32'] compiled:['float32'] match:True"]
    assert said(log, "[Shape]")[2:] == ["eager:[[2, 3]] compiled:[[2, 3]] match:True"]
    assert said(log, "[Correctness][equal]:") == ["1"]
    assert said(log, "[Correctness][all_close_atol_1.00E-05_rtol_1.30E-06]:") == ["1"]
    assert sum("all_close" in line for line in log) == 64
    assert float(said(log, "[Speedup][e2e]:")[0]) == rows[0]["comparison"]["speedups"][0]["ratio"]
    eager = json.loads(said(log, "[Performance][eager]:")[0])["e2e"]
    assert eager["min"] <= eager["median"] <= eager["max"]
    assert "\n".join(log) in told


def test_each_output_has_a_flag_a_size_and_a_mean_in_the_order_of_the_outputs(run, tmp_path):
    outputs = "(" + "".join(f"add * {10**i}," for i in range(3)) + "torch.arange(4)," * 8 + ")"
    path = write(tmp_path / "several", CODE.replace(LAST, f"return {outputs}"))

    code, rows, log, _ = run(path, EAGER, spoilt(times=1 + 2**-12), "--no-speed")

    assert code == 1
    assert said(log, "[Datatype][eager]:") == [" ".join(["float32"] * 3 + ["int64"] * 8)]
    assert said(log, "[Correctness][equal]:") == [" ".join("0" * 3 + "1" * 8)]
    sizes, means = (
        list(map(float, said(log, f"[Correctness][{name}]:")[0].split())) for name in ("max_diff", "mean_diff")
    )
    assert sizes[1] == pytest.approx(10 * sizes[0], rel=1e-3)
    assert all(0 < mean < size for mean, size in zip(means[:3], sizes[:3], strict=True))
    assert sizes[3:] == means[3:] == [0.0] * 8
    leaves = {leaf["path"]: leaf for leaf in rows[0]["comparison"]["outputs"]["leaves"]}
    flags = said(log, "[Correctness][all_close_atol_1.00E-02_rtol_4.42E-03]:")[0].split()
    assert flags[:3] == [str(int(leaves[str(i)]["grid"]["float32"] <= -2)) for i in range(3)]


def test_what_differs_between_the_configs_is_the_targets(run, sample):
    _, _, log, _ = run(sample, EAGER, {**spoilt(times=1), "trials": 4}, "--no-speed")

    assert said(log, "[Config] compiler:") == ["nope", "graphnet_parts.Spoilt"]
    assert said(log, "[Config] trials:") == ["2", "4"]
    assert said(log, "[Config] warmup:") == ["1"]


def test_without_times_the_speedup_counts_as_one(run, sample):
    _, _, log, _ = run(sample, EAGER, EAGER, "--no-speed")

    assert said(log, "[Speedup][e2e]:") == ["1"]
    assert "counts as 1" in said(log, "[Result][untimed]:")[0]


@pytest.mark.parametrize("stage", ["compile", "evaluate"])
def test_a_target_that_fails_shows_in_the_exit_code(run, sample, stage):
    code, rows, log, _ = run(sample, EAGER, broken() if stage == "compile" else broken(after=2))

    assert code == 1
    assert rows[0]["comparison"]["target"]["failure"]["stage"] == stage
    assert said(log, "[Result][status]") == ["eager:success compiled:failed"]
    assert said(log, "[Datatype][eager]:") == ["float32"]
    assert bool(said(log, "[Datatype][compiled]:")) == (stage == "evaluate")
    assert f"target at {stage}: RuntimeError" in said(log, "[Result][error]")[0]
    assert not said(log, "[Correctness]")


def test_a_reference_that_fails_shows_in_the_exit_code(run, sample):
    code, _, log, _ = run(sample, broken(), EAGER)

    assert code == 2
    assert said(log, "[Result][status]") == ["eager:failed"]
    assert not said(log, "[Datatype]")


@pytest.mark.parametrize(
    ("changes", "words", "match"),
    [({"more": 1}, "only in the target", "[Shape]"), ({"dtype": "float64"}, "dtype float32", "[DataType]")],
)
def test_another_count_or_dtype_is_a_failed_check_and_the_rest_is_compared(run, tmp_path, changes, words, match):
    path = write(tmp_path / "two", CODE.replace(LAST, "return (add, torch.arange(4))"))

    code, rows, log, _ = run(path, EAGER, spoilt(**changes, add=1), "--no-speed")

    assert code == 1
    leaves = {leaf["path"]: leaf for leaf in rows[0]["comparison"]["outputs"]["leaves"]}
    assert any(words in reason for leaf in leaves.values() for reason in leaf["reasons"])
    assert leaves["1"]["mismatches"] == 4
    assert said(log, match)[-1].endswith("match:False")
    assert said(log, "[Correctness][equal]:")[0].split()[1] == "0"


def test_different_seeds_are_an_error(run, sample):
    code, rows, _, told = run(sample, EAGER, {**EAGER, "seed": 1})

    assert (code, rows) == (2, [])
    assert "inputs differ: reference draws them with seed 123, target with seed 1" in told


@pytest.mark.parametrize(("key", "value"), [("op_lib", "flagems"), ("trials", 0), ("sead", 1)])
def test_a_key_that_cannot_be_meant_is_an_error(run, sample, key, value):
    code, rows, log, told = run(sample, EAGER, {**EAGER, key: value})

    assert (code, rows, log) == (2, [], [])
    assert key in told


def test_dropout_in_the_graph_is_stochastic_and_judged_from_one_seed(run, tmp_path):
    path = write(tmp_path / "dropout", CODE.replace(LAST, "return (torch.nn.functional.dropout(add, 0.5, True),)"))

    code, rows, _, _ = run(path, EAGER, EAGER, "--no-speed")

    assert code == 0
    checks = {check["name"]: check for check in rows[0]["comparison"]["checks"]}
    assert checks["reference repeats"]["verdict"] == "same"
    assert "stochastic" in checks["reference repeats"]["found"]


def test_a_list_is_relative_to_the_prefix_and_may_begin_with_a_comment(run, tmp_path):
    for name in ("a/b_c", "a_b/c"):
        write(tmp_path / "root" / name)
    (tmp_path / "list.txt").write_text("# two of them\n\na/b_c\na_b/c\n")
    prefix = {"model_path_prefix": str(tmp_path / "root")}

    code, rows, log, _ = run(tmp_path / "list.txt", {**EAGER, **prefix}, EAGER, "--no-speed")

    assert code == 0
    assert [row["sample"]["path"] for row in rows] == ["a/b_c", "a_b/c"]
    assert said(log, "[Processing]") == [str(tmp_path / "root" / name) for name in ("a/b_c", "a_b/c")]


def test_one_crash_or_hang_costs_its_row_and_a_list_is_gone_on_with(run, tmp_path):
    codes = {
        "1_dies": CODE.replace(LAST, "import os; os.kill(os.getpid(), 9)"),
        "2_hangs": CODE.replace(LAST, "import time; time.sleep(60)"),
        "3_warns": CODE.replace(LAST, f"import warnings; warnings.warn('Error: all_close'); {LAST}"),
    }
    for name, code in codes.items():
        write(tmp_path / "root" / name, code)
    config = {**EAGER, "runner_type": "process", "threads": 1}
    ask = [tmp_path / "root", config, config, "--no-speed", "--timeout", 3]
    write(tmp_path / "root" / "4_plain")

    code, rows, log, _ = run(*ask)

    assert code == 2
    failures = [row["comparison"]["reference"]["failure"] for row in rows]
    assert [failure and failure["kind"] for failure in failures] == ["signal", "timeout", None, None]
    assert said(log, "[Result][status]") == ["eager:failed"] * 2 + ["eager:success compiled:success"] * 2
    assert sum("Error:" in line for line in log) == 2

    cut = (tmp_path / "rows.jsonl").read_bytes()
    (tmp_path / "rows.jsonl").write_bytes(cut[: cut.rindex(b"\n", 0, -1) + 100])
    code, again, full, told = run(*ask)

    assert "3 of 4 rows were done before" in told
    assert [row["key"] for row in again] == [row["key"] for row in rows]
    assert (code, full) == (2, log)


def test_perf_keeps_a_side_and_its_log_for_each_sample(capsys, tmp_path):
    for name in ("a/b_c", "a_b/c"):
        write(tmp_path / "root" / name)
    out = tmp_path / "out"

    code = perf(["--model-path", str(tmp_path / "root"), "--config", json.dumps(EAGER), "--output-path", str(out)])

    assert code == 0
    sides = sorted(out.glob("*.side"))
    assert len(sides) == 2
    assert all(SavedSide.load(side).result.timings for side in sides)
    logs = [file.read_text() for file in sorted(out.glob("*.log"))]
    assert [re.search(r"\[Processing\] (.*)", log)[1] for log in logs] == [
        str(tmp_path / "root" / name) for name in ("a/b_c", "a_b/c")
    ]
    assert all("[Result][status] eager:success" in log and '[Performance][eager]: {"e2e"' in log for log in logs)
    assert "".join(logs) in capsys.readouterr().err


def test_a_side_that_fails_leaves_nothing_of_an_earlier_run(capsys, libbench, sample, tmp_path):
    out, flags = tmp_path / "out", ["--model-path", str(sample), "--output-path", str(tmp_path / "out")]

    codes = [perf([*flags, "--config", json.dumps({**config, "trials": 1})]) for config in (EAGER, broken())]

    assert codes == [0, 2]
    (side,) = out.glob("*.side")
    assert SavedSide.load(side).result.failure.stage == "compile"
    assert "eager:failed" in next(out.glob("*.log")).read_text()
    capsys.readouterr()
    assert libbench("diff", "--ref", side, "--tgt", side)[0] == 2


def test_two_runs_at_once_do_not_write_to_one_place(capsys, sample, tmp_path):
    flags = ["--model-path", str(sample), "--config", json.dumps(EAGER), "--output-path", str(tmp_path)]

    with Kept(tmp_path, str(sample)):
        assert perf(flags) == 2
    assert "is being written by another run" in capsys.readouterr().err


def test_what_is_no_saved_side_is_left_alone(capsys, sample, tmp_path):
    kept = tmp_path / "out" / f"{file_name(str(sample))}.side" / "mine.txt"
    kept.parent.mkdir(parents=True)
    kept.touch()
    flags = ["--model-path", str(sample), "--config", json.dumps(EAGER), "--output-path", str(tmp_path / "out")]

    assert perf(flags) == 2
    assert kept.exists()
    assert "holds what is no saved side" in capsys.readouterr().err


def test_no_two_paths_have_one_name():
    paths = ["a/b_c", "a_b/c", "a/b/c", "a%2Fb", "a/b", "a b", "/a/b", "x" * 300, "x" * 299 + "y"]

    assert len({file_name(path) for path in paths}) == len(paths)
    assert max(len(file_name(path)) for path in paths) <= 200


@pytest.mark.parametrize("name", ["eval_backend_diff", "eval_backend_perf"])
def test_a_command_is_a_tool_and_needs_no_torch_to_explain_itself(name, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(ROOT / "tools" / f"{name}.py"), run_name="__main__")
    tool = capsys.readouterr().out
    code = f"import sys; sys.modules['torch'] = None; import libbench.graphnet.{name} as m; m.main()"
    module = subprocess.run(
        [sys.executable, "-c", code, "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert ended.value.code == 0
    assert tool.startswith(f"usage: {name} ")
    assert module.stdout.partition("\n")[2].split() == tool.partition("\n")[2].split()


def test_nothing_to_run_is_told(capsys):
    configs = ["--reference-config", "", "--target-config", ""]

    assert diff(configs) == 2
    assert "nothing to run: give --model-path, or --model-path-list" in capsys.readouterr().err

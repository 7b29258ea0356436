"""GraphNet's own programs read the same logs, and give the same scores.

Its checkout comes from a folder that `LIBBENCH_PEERS` names.
"""

import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from bench_logs import Told, log_of

from libbench.benchlog import samples_of
from libbench.scores import LEVELS, Scoring
from libbench.scoring import score

FOLDER = Path(os.environ.get("LIBBENCH_PEERS", "")).resolve()
FOUND = sorted(FOLDER.glob("*/graph_net_bench")) if os.environ.get("LIBBENCH_PEERS") else []

pytestmark = pytest.mark.skipif(not FOUND, reason="LIBBENCH_PEERS names no folder with a checkout of GraphNet in it")

ASKED = [(errors, power, penalty) for errors in LEVELS for power, penalty in ((0.0, 0.1), (0.7, 0.25))]
THEIRS = """
import contextlib, json, sys
from graph_net_bench import analysis_util
from graph_net_bench.calculate_es_scores import calculate_es_scores_for_log_file_or_dir
from graph_net_bench.positive_tolerance_interpretation_manager import get_positive_tolerance_interpretation

found = []
with contextlib.redirect_stdout(sys.stderr):
    runs = analysis_util.scan_all_folders(sys.argv[1])
    for errors, power, penalty in json.loads(sys.argv[2]):
        # Its two ways disagree on a failing reference under mismatch_extended, and it stops then.
        how = dict(interpretation_type=errors, negative_speedup_penalty=power, fpdb=penalty)
        how["enable_aggregation_mode"] = errors == "default"
        es = calculate_es_scores_for_log_file_or_dir(sys.argv[1], **how)
        rule = get_positive_tolerance_interpretation(errors)
        s = {run: analysis_util.calculate_scores(x, rule, p=power, b=penalty, type="St") for run, x in runs.items()}
        found.append({run: {"s": s[run], "es": es[run]} for run in runs})
print(json.dumps(found))
"""
PLOTTED = """
import argparse, contextlib, json, sys
from graph_net_visual import plot_ESt

drawn, draw = {}, plot_ESt.plot_ES_results
plot_ESt.plot_ES_results = lambda scores, args: drawn.update(scores) or draw(scores, args)
how = dict(negative_speedup_penalty=0.0, fpdb=0.1, interpretation_type="default", enable_aggregation_mode=True)
with contextlib.redirect_stdout(sys.stderr):
    plot_ESt.main(argparse.Namespace(benchmark_path=sys.argv[1], output_dir=sys.argv[2], **how))
print(json.dumps(drawn))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    chance = random.Random(20261201)
    for number in range(12):
        told = [_random(chance, f"samples/timm/net{i}") for i in range(chance.choice((1, 2, 5, 40)))]
        (folder / f"random{number}.log").write_text(log_of(told, chance))
    own = FOUND[0].parent / "graph_net" / "test" / "data_calculate_es_scores" / "evaluation.log"
    if own.is_file():
        (folder / "own.log").write_bytes(own.read_bytes())
    return folder


def _random(chance, path):
    outputs = tuple(_output(chance) for _ in range(chance.choice((1, 1, 2, 3))))
    failed = chance.choice(("", "", "", "", "reference", "compile", "runtime", "shape", "type"))
    return Told(path, outputs, chance.lognormvariate(0.2, 0.6), failed)


def _output(chance):
    dtype = chance.choice(("float32", "float32", "float16", "bfloat16", "float64", "int64", "bool", "complex64"))
    levels = (float("-inf"), float("inf"))
    if "float" in dtype:
        levels = (float("-inf"), -9.0, -7.0, -6.0, -5.0, -5.0, -3.0, 0.0, 1.0, 2.0, 4.0, 5.0, float("inf"))
    return dtype, chance.choice(levels)


@pytest.fixture(scope="module")
def theirs(folder):
    return dict(zip(ASKED, _run(THEIRS, folder, json.dumps(ASKED)), strict=True))


def _run(code, *arguments):
    """Run lines beside a checkout of GraphNet; give what they print."""
    path = os.pathsep.join([str(FOUND[0].parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "MPLBACKEND": "agg"}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("asked", ASKED)
def test_graphnet_gives_the_same_scores_of_a_log(folder, theirs, asked):
    errors, power, penalty = asked
    settings = Scoring(errors=errors, power=power, penalty=penalty, draws=0)

    for file in sorted(folder.iterdir()):
        ours = score(samples_of(file.read_text().splitlines()), settings)
        for key in ("s", "es"):
            wanted = {int(level): value for level, value in theirs[asked][file.stem][key].items()}
            assert {point.level: getattr(point, key) for point in ours.points} == pytest.approx(wanted, rel=1e-9)


def test_graphnet_gives_the_same_aggregate(folder, theirs):
    name = "random3"
    weights = _run(
        "import json; from graph_net_bench.aggregate_es_scores import get_weights; print(json.dumps(get_weights()))"
    )
    scores = theirs["default", 0.0, 0.1][name]["es"]
    wanted = sum(weights[level] * math.log10(es) for level, es in scores.items())

    ours = score(samples_of((folder / f"{name}.log").read_text().splitlines()), Scoring(draws=0))
    assert ours.aggregate == pytest.approx(wanted, rel=1e-9)


def test_graphnet_plots_the_same_scores(folder, tmp_path):
    pytest.importorskip("matplotlib")
    drawn = _run(PLOTTED, folder, tmp_path)

    assert (tmp_path / "ESt_result.png").is_file()
    for file in sorted(folder.iterdir()):
        ours = score(samples_of(file.read_text().splitlines()), Scoring(draws=0))
        wanted = {int(level): value for level, value in drawn[file.stem].items()}
        assert {point.level: point.es for point in ours.points} == pytest.approx(wanted, rel=1e-9)

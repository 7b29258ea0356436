"""GraphNet's own programs read the same logs, and give the same scores.

Its checkout comes from a folder that `LIBBENCH_PEERS` names.
"""

import json
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logs")
    chance = random.Random(20261201)
    for number in range(30):
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
    command = [sys.executable, "-c", THEIRS, str(folder), json.dumps(ASKED)]
    environment = os.environ | {"PYTHONPATH": str(FOUND[0].parent)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(zip(ASKED, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("asked", ASKED)
def test_graphnet_gives_the_same_scores_of_a_log(folder, theirs, asked):
    errors, power, penalty = asked
    settings = Scoring(errors=errors, power=power, penalty=penalty, draws=0)

    for file in sorted(folder.iterdir()):
        ours = score(samples_of(file.read_text().splitlines()), settings)
        for key in ("s", "es"):
            wanted = {int(level): value for level, value in theirs[asked][file.stem][key].items()}
            assert {point.level: getattr(point, key) for point in ours.points} == pytest.approx(wanted, rel=1e-9)


def test_graphnet_gives_the_same_aggregate(folder, theirs, tmp_path):
    run = "random3"
    scores = theirs["default", 0.0, 0.1][run]["es"]
    (tmp_path / "es.json").write_text(json.dumps(scores))
    command = [sys.executable, "-m", "graph_net_bench.aggregate_es_scores", "--sample-id", "1"]
    command += ["--es-scores-json-file-path", str(tmp_path / "es.json")]
    command += ["--output-json-file-path", str(tmp_path / "aggregate.json")]
    environment = os.environ | {"PYTHONPATH": str(FOUND[0].parent)}
    subprocess.run(command, capture_output=True, check=True, env=environment)

    wanted = json.loads((tmp_path / "aggregate.json").read_text())["score"]
    ours = score(samples_of((folder / f"{run}.log").read_text().splitlines()), Scoring(draws=0))
    assert ours.aggregate == pytest.approx(wanted, rel=1e-9)

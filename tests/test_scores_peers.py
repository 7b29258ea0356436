"""GraphNet's own programs read the same logs, and give the same scores.

Its checkout comes from a folder that `LIBBENCH_PEERS` names.
"""

import json
import random

import pytest
from bench_logs import ABSENT, ASKED, FOUND, Told, by_graphnet, log_of, scores_by_graphnet

from libbench.benchlog import samples_of
from libbench.scores import Scoring
from libbench.scoring import score

pytestmark = pytest.mark.skipif(not FOUND, reason=ABSENT)


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
    return scores_by_graphnet(folder)


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
    command = ["-m", "graph_net_bench.aggregate_es_scores", "--sample-id", "1"]
    command += ["--es-scores-json-file-path", str(tmp_path / "es.json")]
    command += ["--output-json-file-path", str(tmp_path / "aggregate.json")]
    by_graphnet(*command)

    wanted = json.loads((tmp_path / "aggregate.json").read_text())["score"]
    ours = score(samples_of((folder / f"{run}.log").read_text().splitlines()), Scoring(draws=0))
    assert ours.aggregate == pytest.approx(wanted, rel=1e-9)

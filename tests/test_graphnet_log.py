"""The log gives the scores of the records that it is written from, here and by GraphNet's own programs."""

import json
from dataclasses import replace

import pytest
import test_scores_peers as peer
from samples_by_hand import CODE, write

from libbench.benchlog import samples_of
from libbench.diff import Plan, diff
from libbench.graphnet.jobs import job_of
from libbench.graphnet.keys import check_and_complete_args
from libbench.graphnet.log import Told, comparison_lines
from libbench.measured import Speedup
from libbench.result import Check
from libbench.scored import scored
from libbench.scores import Scoring
from libbench.scoring import score

HERE = {"device": "cpu", "runner_type": "local"}
LAST = "return (add * L_self_buffers_running_var_.sqrt(),)"
EAGER = {"compiler": "nope"}


def spoilt(**changes):
    return {"compiler": "graphnet_parts.Spoilt", "backend_config": changes}


CASES = {
    "equal": (EAGER, EAGER),
    "rounding": (EAGER, spoilt(times=1 + 2**-22)),
    "a little off": (EAGER, spoilt(times=1.001)),
    "far off": (EAGER, spoilt(times=1.9)),
    "off in every way": (EAGER, spoilt(times=-1e6)),
    "integers": (EAGER, spoilt(add=1)),
    "nan": (EAGER, spoilt(put="nan")),
    "inf": (EAGER, spoilt(put="inf")),
    "nan and far off": (EAGER, spoilt(put="nan", times=5)),
    "nan on both sides": (spoilt(put="nan"), spoilt(put="nan")),
    "dtype": (EAGER, spoilt(dtype="bfloat16")),
    "shape": (EAGER, spoilt(flat=True)),
    "shape and dtype": (EAGER, spoilt(flat=True, dtype="float64")),
    "count": (EAGER, spoilt(more=2)),
    "fewer": (spoilt(more=1), EAGER),
    "does not compile": (EAGER, {"compiler": "graphnet_parts.Broken"}),
    "breaks": (EAGER, {"compiler": "graphnet_parts.Broken", "backend_config": {"after": 2}}),
    "reference breaks": ({"compiler": "graphnet_parts.Broken"}, EAGER),
}


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory):
    returned = "add, add.half(), add.double(), torch.arange(4), add.bfloat16(), add > 0, torch.complex(add, add)"
    sample = write(tmp_path_factory.mktemp("log") / "sample", CODE.replace(LAST, f"return ({returned})"))
    empty = write(tmp_path_factory.mktemp("log") / "empty", CODE.replace(LAST, "return ()"))
    found = {name: _compared(sample, *sides) for name, sides in CASES.items()}
    found["nothing is returned"] = _compared(empty, EAGER, EAGER)
    for number, (name, comparison) in enumerate(found.items()):
        ratio = 0.7 + 0.1 * number
        fast = Speedup("wall", ratio, ratio - 0.01, ratio + 0.01, "faster", 1.0, 1 / ratio, (30,))
        found[name] = replace(comparison, speedups=(fast,))
    found["untimed"] = replace(found["rounding"], speedups=())
    odd = replace(found["equal"].reference, environment={"processor": "A RuntimeError:\nnot all_close of it"})
    found["odd texts"] = replace(found["equal"], reference=odd)
    strayed = Check("target timed outputs", "different", "others")
    found["strayed"] = replace(found["rounding"], checks=(*found["rounding"].checks, strayed))
    return found


def _compared(sample, *sides):
    jobs = [job_of(check_and_complete_args({**HERE, **side}, "config"), sample, "config") for side in sides]
    return diff(*jobs, Plan(speed=False))


def _log(name, comparison):
    told = Told(name.replace(" ", "_"), "net", (check_and_complete_args({}, "a"), check_and_complete_args({}, "b")))
    return list(comparison_lines(told, comparison))


@pytest.fixture(scope="module")
def logs(comparisons):
    return {name: _log(name, comparison) for name, comparison in comparisons.items()}


def test_all_that_can_be_wrong_is_among_the_cases(comparisons):
    errors = {scored(comparison, name).error for name, comparison in comparisons.items()}

    assert errors == {
        None, "accuracy", "nan", "inf", "type", "shape", "runtime", "compile", "reference", "unjudged",
    }  # fmt: skip


def test_each_block_counts_for_what_its_record_counts_for(comparisons, logs):
    for errors, power, penalty in peer.ASKED:
        settings = Scoring(errors=errors, power=power, penalty=penalty, draws=0)
        for name, comparison in comparisons.items():
            ours, read = (score(each, settings) for each in ([scored(comparison, name)], samples_of(logs[name])))
            assert [(p.s, p.es) for p in read.points] == [(p.s, p.es) for p in ours.points], (name, errors)


def test_a_line_with_error_stands_only_where_a_side_failed(comparisons, logs):
    for name, comparison in comparisons.items():
        failed = bool(comparison.reference.failure or comparison.target.failure)
        assert any("Error:" in line or "Exception:" in line for line in logs[name]) == failed, name


@peer.pytestmark
def test_graphnets_scores_of_the_log_are_those_of_the_records(comparisons, logs, tmp_path):
    groups = {"all": list(logs), **{f"one{i}": [name] for i, name in enumerate(logs)}}
    for stem, names in groups.items():
        (tmp_path / f"{stem}.log").write_text("".join(f"{line}\n" for name in names for line in logs[name]))

    found = peer._run(peer.THEIRS, tmp_path, json.dumps(peer.ASKED))

    for (errors, power, penalty), theirs in zip(peer.ASKED, found, strict=True):
        settings = Scoring(errors=errors, power=power, penalty=penalty, draws=0)
        for stem, names in groups.items():
            ours = score([scored(comparisons[name], name) for name in names], settings)
            for key in ("s", "es"):
                wanted = {int(level): value for level, value in theirs[stem][key].items()}
                assert {p.level: getattr(p, key) for p in ours.points} == pytest.approx(wanted, rel=1e-6), names


@peer.pytestmark
def test_graphnets_plot_of_the_log_shows_our_scores(comparisons, logs, tmp_path):
    (tmp_path / "run.log").write_text("".join(f"{line}\n" for block in logs.values() for line in block))

    drawn = peer._run(peer.PLOTTED, tmp_path / "run.log", tmp_path / "plots")

    ours = score([scored(comparison, name) for name, comparison in comparisons.items()], Scoring(draws=0))
    wanted = {int(level): value for level, value in drawn["run"].items()}
    assert {point.level: point.es for point in ours.points} == pytest.approx(wanted, rel=1e-6)
    assert (tmp_path / "plots" / "ESt_result.png").is_file()

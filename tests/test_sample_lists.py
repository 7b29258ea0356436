"""Lists of graph samples: what is named, what a row says of its sample, what does not stop a list."""

import json
import shutil
from pathlib import Path

import pytest

from libbench.report.headline import headline
from libbench.report.json import from_json
from libbench.report.many import verdict_word
from libbench.rowfile import read_rows, sample_of
from libbench.samples.errors import SampleError
from libbench.samples.finding import read_list
from tests.samples_by_hand import CODE, write

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "configs" / "samples"
EAGER = '"""Everything by default."""\n'


@pytest.fixture
def eager(tmp_path):
    file = tmp_path / "eager.py"
    file.write_text(EAGER)
    return file


def words(path):
    return {row["row"]: verdict_word(from_json(row)) for row in read_rows(path)}


def test_the_samples_that_come_along_are_the_same_and_each_row_says_which_it_is(libbench, eager, tmp_path):
    listed, to = tmp_path / "list.txt", tmp_path / "rows.jsonl"
    listed.write_text("# three of them\n\nsamples/attention\n  samples/integers\nsamples/several  \n")

    code, out, err = libbench(
        *("diff", "--ref", ROOT / "configs" / "graph_eager.py", "--tgt", eager, "--no-speed", "--seed", 7),
        *("--sample-list", listed, "--prefix", SAMPLES.parent, "--to", to),
    )

    assert (code, words(to)) == (0, dict.fromkeys(["samples/attention", "samples/integers", "samples/several"], "same"))
    assert "3 rows · 3 same" in out
    assert err == f"{ROOT}/configs/graph_eager.py: every sample takes the place of its model\n"
    record = sample_of(next(read_rows(to)))
    assert (record.path, record.name, record.source, record.tag, record.seed) == (
        "samples/attention", "attention", "libbench", None, 7,
    )  # fmt: skip
    assert record.hash == (SAMPLES / "attention" / "graph_hash.txt").read_text()
    assert len(record.files) == 64


def test_the_list_is_gone_on_with_and_a_sample_that_was_edited_is_run_again(libbench, eager, tmp_path):
    to = tmp_path / "rows.jsonl"
    for name in ("conv", "complex"):
        shutil.copytree(SAMPLES / name, tmp_path / "root" / name)
    asked = ("sweep", "--ref", eager, "--no-speed", "--samples", tmp_path / "root", "--to", to)
    assert libbench(*asked)[0] == 0
    assert "2 of 2 rows were done before" in libbench(*asked)[2]

    meta = tmp_path / "root" / "conv" / "weight_meta.py"
    meta.write_text(meta.read_text() + "\n")

    code, _, err = libbench(*asked)
    assert code == 0
    assert "1 of 2 rows were done before" in err


def test_samples_whose_names_collide_when_flattened_are_rows_of_their_own(libbench, eager, tmp_path):
    to = tmp_path / "rows.jsonl"
    write(tmp_path / "root" / "a" / "b_c")
    write(tmp_path / "root" / "a_b" / "c", CODE.replace("linear + zeros", "linear + zeros + 1"))
    write(tmp_path / "root" / "a_b" / "c" / "below")

    assert libbench("diff", "--ref", eager, "--no-speed", "--samples", tmp_path / "root", "--to", to)[0] == 0

    rows = list(read_rows(to))
    assert [row["sample"]["path"] for row in rows] == ["a/b_c", "a_b/c"]
    largest = [from_json(row).outputs.leaves[0].max_abs.reference for row in rows]
    assert largest[0] != largest[1]


RUIN = """
        import os
        os.kill(os.getpid(), 9)
"""
WAIT = """
        import time
        time.sleep(90)
"""
DROPOUT = "        add = torch.nn.functional.dropout(linear + zeros, 0.5, True)\n"


def test_a_sample_that_crashes_hangs_is_damaged_or_random_costs_its_row_and_no_other(libbench, eager, tmp_path):
    root, to = tmp_path / "root", tmp_path / "rows.jsonl"
    begin = "        linear ="
    write(root / "a_crash", CODE.replace(begin, RUIN + begin))
    write(root / "b_hang", CODE.replace(begin, WAIT + begin))
    write(root / "c_no_python", "class GraphModule(:\n")
    write(root / "d_dropout", CODE.replace("        add = linear + zeros\n", DROPOUT))
    write(root / "e_nothing", CODE.replace("return (", "return (0 * "))
    write(root / "f_good", CODE.replace("import torch\n", "import torch, warnings\nwarnings.warn('Error: none')\n", 1))

    code, out, _ = libbench("diff", "--ref", eager, "--samples", root, "--no-speed", "--to", to, "--timeout", 8)

    assert code == 2
    assert words(to) == {
        "a_crash": "not judged", "b_hang": "not judged", "c_no_python": "not judged", "d_dropout": "same",
        "e_nothing": "vacuous", "f_good": "same",
    }  # fmt: skip
    told = [headline(from_json(row)) for row in read_rows(to)]
    for text, said in zip(told, ("killed by SIGKILL", "no end after 8 s", "no Python", "SAME", "0"), strict=False):
        assert said in text
    assert "6 rows · 2 same · 1 vacuous · 3 not judged" in out
    assert "outputs agree, of the same random numbers" in out
    assert sample_of(next(read_rows(to))).source == "by hand"


def test_each_of_several_targets_is_a_row(libbench, eager, tmp_path):
    to = tmp_path / "rows.jsonl"

    code, _, _ = libbench(
        *("diff", "--ref", eager, "--no-speed", "--samples", SAMPLES / "complex", "--to", to),
        *("--tgt-set", "model.weights=bound,arguments"),
    )

    assert code == 0
    assert [row["row"] for row in read_rows(to)] == ["complex model.weights=bound", "complex model.weights=arguments"]
    assert {row["sample"]["path"] for row in read_rows(to)} == {"complex"}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--sample-list", "absent.txt"], "absent.txt cannot be read"),
        (["--sample-list", "empty.txt"], "no graph sample in empty.txt"),
        (["--sample-list", "wrong.txt", "--prefix", SAMPLES], "wrong.txt:2: no graph sample at"),
        (["--sample-list", "wrong.txt", "--prefix", SAMPLES], "did you mean 'attention'?"),
        (["--sample-list", "folder.txt", "--prefix", SAMPLES.parent], "there is one at"),
        (["--samples", "empty"], "no graph sample below empty"),
        (["--samples", SAMPLES.parent / "sample"], "is no folder; did you mean 'samples'?"),
        (["--samples", SAMPLES, "--prefix", "x"], "leave it out with --samples"),
        (["--prefix", SAMPLES], "--prefix is what the paths of a --sample-list begin with"),
        (["--samples", SAMPLES, "--ref-set", "seed=1"], "inputs differ: eager [seed=1] draws them with seed 1, eager"),
        (["--samples", SAMPLES, "--tgt-set", "model.seed=1"], "with seed 0, eager [model.seed=1] with seed 1"),
        (["--samples", SAMPLES, "--tgt-set", "model.inputs=graphnet"], "with seed 0 as graphnet"),
        (["--samples", SAMPLES, "--json", "x.json"], "--json is for one comparison"),
        (["--to", "rows.jsonl"], "--to is for rows of graph samples"),
        (["--samples", SAMPLES, "--tgt", "."], ". is a saved side"),
    ],
)
def test_what_is_wrong_with_a_list_is_said_in_a_line_before_anything_runs(
    libbench, eager, tmp_path, monkeypatch, flags, said
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.txt").write_text("# nothing\n\n")
    (tmp_path / "wrong.txt").write_text("conv\natention\n")
    (tmp_path / "folder.txt").write_text("samples\n")

    code, out, err = libbench("diff", "--ref", eager, "--no-speed", *flags)

    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_configs_with_a_model_and_data_are_overridden_and_told(libbench, config, tmp_path):
    code, out, err = libbench("diff", "--ref", config("a"), "--no-speed", "--samples", SAMPLES / "complex")

    assert code == 0
    assert err == f"{tmp_path}/a.py: every sample takes the place of its model, data\n"
    assert "1 row · 1 same" in out


def test_a_sample_that_is_named_twice_is_an_error(tmp_path):
    listed = tmp_path / "list.txt"
    listed.write_text("conv\n./conv\n")

    with pytest.raises(SampleError, match=r"list.txt:2: './conv' is named in line 1 already"):
        read_list(listed, SAMPLES)


def test_the_json_of_a_row_is_that_of_a_comparison(libbench, eager, tmp_path):
    to = tmp_path / "rows.jsonl"
    libbench("diff", "--ref", eager, "--no-speed", "--samples", SAMPLES / "complex", "--to", to)

    (line,) = to.read_text().splitlines()
    assert list(json.loads(line))[:3] == ["key", "row", "sample"]
    assert from_json(json.loads(line)).reference.job.config.count("GraphSample") == 1

"""Sweeps: how values are spelled out, and how a sweep is run on either side."""

import json

import pytest
from report_records import failed, side

from libbench.config import LazyConfig, expand
from libbench.errors import ConfigError
from libbench.report.text import render_many, render_results
from libbench.result import JobRecord

COUNTING = """
import pathlib
class Counted(torch.nn.Linear):
    def __init__(self, in_features, out_features, log):
        super().__init__(in_features, out_features)
        with pathlib.Path(log).open("a") as file:
            file.write(f"{out_features}\\n")
"""


def test_without_a_sweep_there_is_one_list_as_it_was_written():
    assert expand([]) == ((),)
    assert expand(["a=1", "b='x,y'", "+c=[1,2]", "~d"]) == (("a=1", "b='x,y'", "+c=[1,2]", "~d"),)


def test_a_sweep_is_the_product_of_all_swept_overrides_and_the_last_changes_fastest():
    found = expand(["a=1,2", "b=3", "+c=x,y"])

    assert found == (
        ("a=1", "b=3", "+c=x"),
        ("a=1", "b=3", "+c=y"),
        ("a=2", "b=3", "+c=x"),
        ("a=2", "b=3", "+c=y"),
    )


@pytest.mark.parametrize(
    ("override", "lines"),
    [
        ("a=choice(x,y)", ["a=x", "a=y"]),
        ("a=range(1,4)", ["a=1", "a=2", "a=3"]),
        ("a=range(0,1,0.5)", ["a=0.0", "a=0.5"]),
        ("a=sort(3,1,2)", ["a=1", "a=2", "a=3"]),
        ("a=null, true", ["a=null", "a=true"]),
        ("a='x,y',\"z\"", ["a='x,y'", 'a="z"']),
        ("a=[1,2],[3]", ["a=[1,2]", "a=[3]"]),
        ("a={k:1,l:2},{k:3}", ["a={k:1,l:2}", "a={k:3}"]),
        ("a=${b.c},2", ["a=${b.c}", "a=2"]),
        ("a=x\\,y,z", ["a=x\\,y", "a=z"]),
        ("a=007,1.10,1e-3", ["a=007", "a=1.10", "a=1e-3"]),
    ],
)
def test_every_form_of_a_sweep_gives_its_values_as_they_were_written(override, lines):
    assert expand([override]) == tuple((line,) for line in lines)


def test_zipped_sweeps_go_in_step_and_what_is_not_swept_stays():
    assert expand(["a=1,2", "b=3", "c=x,y"], zip=True) == (("a=1", "b=3", "c=x"), ("a=2", "b=3", "c=y"))


def test_an_exclusion_leaves_out_the_combinations_that_have_all_of_it():
    assert expand(["a=1,2", "c=x,y"], exclude=["a=1,c=y"]) == (("a=1", "c=x"), ("a=2", "c=x"), ("a=2", "c=y"))
    assert expand(["a=1,2", "c=x,y"], exclude=["a=1", "c=x"]) == (("a=2", "c=y"),)
    assert expand(["a=[1,2],'x,y',3"], exclude=["a=[1,2]", 'a="x,y"']) == (("a=3",),)


def test_an_exclusion_may_mean_the_key_of_one_side():
    overrides, sides = ["a=1,2", "a=1,2", "b=3"], ["ref", "tgt", ""]

    assert expand(overrides, exclude=["a=1"], sides=sides) == (("a=2", "a=2", "b=3"),)
    assert expand(overrides, exclude=["ref.a=1", "ref.a=2,tgt.a=2"], sides=sides) == (("a=2", "a=1", "b=3"),)
    assert expand(["a=1,2", "a=1"], exclude=["tgt.a=1"], sides=["tgt", "ref"]) == (("a=2", "a=1"),)
    assert expand(["a=1,2", "a=1"], exclude=["a=1"], sides=["tgt", "ref"]) == (("a=2", "a=1"),)
    with pytest.raises(ConfigError, match=r"names 'ref.b', which is not swept; did you mean 'ref.a'\?"):
        expand(overrides, exclude=["ref.b=3"], sides=sides)


@pytest.mark.parametrize(
    ("overrides", "how", "words"),
    [
        (["a=1,2", "b=1,2,3"], {"zip": True}, ["'a=1,2' has 2", "'b=1,2,3' has 3"]),
        (["a=1"], {"zip": True}, ["nothing is swept"]),
        (["a=1"], {"exclude": ["a=1"]}, ["nothing is swept"]),
        (["width=1,2"], {"exclude": ["widht=1"]}, ["'widht', which is not swept", "did you mean 'width'"]),
        (["a=1,2"], {"exclude": ["a=3"]}, ["'a=3' leaves nothing out"]),
        (["a=1,2"], {"exclude": ["a"]}, ["KEY=VALUE", "'a'"]),
        (["a=1,2"], {"exclude": ["a=1,2"]}, ["KEY=VALUE", "'a=1,2'"]),
        (["a=1,2"], {"exclude": ["a=1", "a=2"]}, ["leaves none of the 2"]),
        (["a=interval(0,1)"], {}, ["does not list its values", "range"]),
        (["a=glob(*)"], {}, ["does not list its values", "choice"]),
        (["a=range(3,1)"], {}, ["has no value"]),
        (["a=range(1000000000)"], {}, ["more than 10,000 values"]),
        (["a=range(999)", "b=range(999)"], {}, ["998,001 combinations"]),
        (["a"], {}, ["KEY=VALUE", "'a'"]),
    ],
)
def test_a_sweep_that_cannot_be_is_refused_with_the_reason(overrides, how, words):
    with pytest.raises(ConfigError) as caught:
        expand(overrides, **how)

    assert [word for word in words if word not in str(caught.value)] == []


def test_a_sweep_outside_of_one_is_refused_and_the_flag_for_it_named():
    with pytest.raises(ConfigError, match="--tgt-set"):
        LazyConfig.apply_overrides({"lr": 0.5}, ["lr=0.1,0.2"])


def test_swept_targets_get_a_row_each_and_their_reference_runs_once(libbench, config, tmp_path):
    log, file = tmp_path / "log", tmp_path / "found.json"
    counted = config("counted", f"{COUNTING}\nmodel = L(Counted)(4, 3, {str(log)!r})")

    code, out, err = libbench(
        *("diff", "--ref", counted, "--tgt-set", "model.out_features=3,2", "data.samples=8", "--no-speed"),
        *("--set", "data.batch_size=4", "--json", file),
    )

    assert code == 1
    assert sorted(log.read_text().split()) == ["2", "3", "3"]
    documents = json.loads(file.read_text())["comparisons"]
    assert [each["comparison"]["target"]["job"]["overrides"] for each in documents] == [
        ["data.batch_size=4", "model.out_features=3", "data.samples=8"],
        ["data.batch_size=4", "model.out_features=2", "data.samples=8"],
    ]
    assert "2 targets against" in out
    rows = out.split("2 targets against")[1]
    assert rows.index("model.out_features=2") < rows.index("model.out_features=3")
    assert "model.out_features=2 data.samples=8]: evaluate" in err


def test_a_swept_reference_is_a_group_with_its_own_targets(libbench, config, tmp_path):
    save = tmp_path / "saved"

    code, out, _ = libbench(
        *("diff", "--ref", config("a"), "--ref-set", "model.out_features=2,3", "--tgt-set", "model.out_features=2,3"),
        *("--exclude", "ref.model.out_features=3", "--exclude", "ref.model.out_features=2,tgt.model.out_features=3"),
        *("--no-speed", "--save", save),
    )
    assert code == 0
    assert out.startswith("SAME OUTPUTS")
    assert "against" not in out

    code, out, _ = libbench(
        *("diff", "--ref", config("a"), "--set", "model.out_features=2,3", "--tgt", config("b"), "--tgt", config("c")),
        *("--no-speed", "--save", tmp_path / "many"),
    )
    assert code == 0
    assert out.count("2 targets against") == 2
    assert out.count("2 same") == 2
    written = json.loads((tmp_path / "many" / "comparison.json").read_text())["comparisons"]
    assert len(written) == 4
    assert sorted(each.name for each in (tmp_path / "many").iterdir()) == ["comparison.json", "group-1", "group-2"]


def test_a_mistake_in_the_last_combination_is_found_before_the_first_runs(libbench, config, tmp_path):
    log = tmp_path / "log"
    counted = config("counted", f"{COUNTING}\nmodel = L(Counted)(4, 3, {str(log)!r})")

    code, _, err = libbench("diff", "--ref", counted, "--set", "model.out_features=3,x", "--no-speed")

    assert code == 2
    assert "'model.out_features=x'" in err
    assert not log.exists()


def test_a_swept_run_prints_a_row_for_each_combination_and_writes_all(libbench, config, tmp_path):
    file = tmp_path / "found.json"

    code, out, _ = libbench(
        *("run", config("a"), "data.samples=8,12", "--tgt-set", "model.out_features=2,5", "--zip"),
        *("--no-speed", "--json", file, "--save", tmp_path / "saved"),
    )

    assert code == 0
    assert out.count("RAN") == 2
    last = out[out.index("2 configs") :]
    assert last.index("data.samples=8 model.out_features=2") < last.index("data.samples=12 model.out_features=5")
    assert last.rstrip().endswith("2 ran")
    documents = json.loads(file.read_text())["results"]
    assert [each["result"]["job"]["overrides"][0] for each in documents] == ["data.samples=8", "data.samples=12"]
    assert (tmp_path / "saved" / "config-2" / "outputs").is_dir()


def test_a_run_of_which_one_combination_fails_exits_with_two_and_runs_the_others(libbench, config):
    code, out, _ = libbench("run", config("a"), "model.in_features=4,5,4", "--no-speed")

    assert code == 2
    assert "FAILED in evaluate" in out[out.index("3 configs") :]
    assert out.rstrip().endswith("2 ran · 1 failed")


def test_a_name_too_long_for_a_table_has_an_override_a_line():
    overrides = tuple(f"model.blocks.{number}.width=128" for number in range(3))
    job = JobRecord(f"eager [{' '.join(overrides)}]", "/configs/eager.py", overrides, 0, "ab" * 32, "")

    texts = [render_results([side(job=job), side(job=job)]), render_many([failed(target=side(job=job))])]

    for text in texts:
        lines = [line.split()[0] for line in text.splitlines() if line.startswith("  ")]
        assert [line for line in lines if "=" in line] == list(overrides) * (len(lines) // 4)
        assert "/configs/eager.py" in lines

"""Records of saved sides, judged again without the model."""

import json

import pytest

from libbench.diff import Plan, diff, run
from libbench.job import Job
from libbench.recordfiles import load_records
from libbench.report.json import from_json, result_from_json

MODEL = """
from libbench.evaluators.accuracy import Accuracy
class Noisy(torch.nn.Linear):
    def __init__(self, by=0.0):
        super().__init__(4, 3)
        self.by = by
    def forward(self, x):
        x = super().forward(x)
        return {"logits": x + self.by * x.flip(1)}
def labels():
    return [0, 1, 2, 1, 0, 2, 1, 0, 1, 2]
model = L(Noisy)()
evaluator = L(Accuracy)(labels=L(labels)(), topk=[1])
"""
OTHER = """
# Neither model nor data are needed.
from libbench.config import LazyCall as L
from libbench.interfaces import Evaluator
from libbench.settings import Tolerance
class Places(Evaluator):
    def process(self, batch, outputs): raise RuntimeError("nothing is run")
    def evaluate(self, records):
        assert self.folder is None and list(records) == list(range(10))
        return {"mean place": sum(records.values()) / len(records)}
    def compare_records(self, reference, target):
        yield f"{sum(reference[i] != target[i] for i in reference)} places moved"
evaluator = L(Places)()
tolerance = Tolerance(metrics={"mean place": 5.0})
"""


@pytest.fixture
def saved(config, tmp_path):
    def make(name, lines=MODEL, overrides=()):
        folder = tmp_path / f"saved-{name}"
        run(Job.load(config(name, lines), overrides), Plan(speed=False, save=folder))
        return folder

    return make


@pytest.fixture
def other(tmp_path):
    file = tmp_path / "other.py"
    file.write_text(OTHER)
    return file


def test_the_sides_own_evaluator_gives_the_same_metrics_and_an_override_others(libbench, saved, tmp_path):
    folder = saved("a")
    first = json.loads((folder / "result.json").read_text())["result"]["evaluation"]["metrics"]

    code, out, _ = libbench("evaluate", folder, "evaluator.topk=[1,3]", "--json", tmp_path / "found.json")

    found = result_from_json(json.loads((tmp_path / "found.json").read_text()))
    assert code == 0
    assert found.metrics == {**first, "top3": 1.0}
    assert "top3  1.000" in out.replace("top3   ", "top3  ")


def test_the_model_is_not_needed_any_more(libbench, saved, other, tmp_path):
    folder = saved("a")
    for file in ("a.py", "base.py"):
        (tmp_path / file).unlink()

    code, out, _ = libbench("evaluate", folder, "--evaluator", other)

    assert code == 0
    assert "mean place" in out


def test_two_saved_sides_are_judged_by_the_evaluator_that_is_named(libbench, saved, other, tmp_path):
    reference, target = saved("a"), saved("b", MODEL, ["model.by=3.0"])

    own = libbench("evaluate", target, "--ref", reference)
    code, out, _ = libbench(
        "evaluate", target, "--ref", reference, "--evaluator", other, "--json", tmp_path / "found.json"
    )

    assert own[0] == 1
    assert "DIFFERENT METRICS" in own[1]
    assert "right in the reference only" in own[1]
    assert code == 0
    assert "SAME METRICS" in out
    assert "places moved" in out
    comparison = from_json(json.loads((tmp_path / "found.json").read_text()))
    assert [(check.name, check.verdict) for check in comparison.checks] == [("metric mean place", "same")]
    assert comparison.outputs is None


def test_a_side_whose_evaluator_failed_at_the_end_can_be_judged_by_a_better_one(libbench, saved, other):
    broken = MODEL + "class Broken(Accuracy):\n    def evaluate(self, records): raise ZeroDivisionError\n"
    folder = saved("a", broken + "evaluator = L(Broken)(labels=L(labels)())\n")

    code, out, _ = libbench("evaluate", folder, "--evaluator", other)

    assert code == 2
    assert "mean place" in out
    assert "ZeroDivisionError" in out


@pytest.mark.parametrize(
    ("lines", "arguments", "says"),
    [
        ("", [], "assigns no 'evaluator'; name a config that does with --evaluator"),
        ("", ["--evaluator", "OTHER"], "has no records.jsonl: the side was run without an evaluator"),
        (MODEL, ["evaluator.topq=[1]"], "did you mean 'topk'?"),
    ],
)
def test_what_cannot_be_judged_says_so_in_one_line(libbench, saved, other, lines, arguments, says):
    folder = saved("a", lines)

    code, _, err = libbench("evaluate", folder, *[str(other) if each == "OTHER" else each for each in arguments])

    assert (code, err.strip().count("\n")) == (2, 0)
    assert says in err


def test_the_records_of_both_sides_are_compared_by_index_in_a_comparison(config, saved):
    target = config("b", MODEL + "model.by = 3.0\n")

    for reference in (config("a", MODEL), saved("c")):
        comparison = diff(reference, target, Plan(speed=False))

        assert [note for note in comparison.notes if "right in the reference only" in note]


def test_what_an_evaluator_fails_to_say_of_the_records_is_a_note(config):
    failing = MODEL + (
        "class Failing(Accuracy):\n    def compare_records(self, reference, target): return 1 / 0\n"
        "evaluator = L(Failing)(labels=L(labels)())\n"
    )
    file = config("a", failing)

    comparison = diff(file, file, Plan(speed=False))

    assert [metric.verdict for metric in comparison.metrics] == ["same"]
    assert comparison.notes == ("Failing.compare_records failed: ZeroDivisionError: division by zero",)


FILMS = (
    MODEL
    + """
class Films(Accuracy):
    def process(self, batch, outputs):
        if batch.number == 0:
            (self.folder / "first.txt").write_text(str(batch.indices))
        return super().process(batch, outputs)
    def evaluate(self, records):
        (self.folder / "film.txt").write_text(" ".join(map(str, records)))
        return super().evaluate(records)
evaluator = L(Films)(labels=L(labels)())
"""
)


def test_what_an_evaluator_writes_and_its_records_are_kept_with_each_side(saved, config, tmp_path):
    alone = saved("a", FILMS)
    diff(config("b", FILMS), config("c", FILMS), Plan(speed=False, save=tmp_path / "both"))

    for folder in (alone / "outputs", tmp_path / "both" / "reference", tmp_path / "both" / "target"):
        assert (folder / "files" / "first.txt").read_text() == "(0, 1, 2, 3)"
        assert (folder / "files" / "film.txt").read_text() == "0 1 2 3 4 5 6 7 8 9"
        assert list(load_records(folder)) == list(range(10))


def test_an_override_of_what_is_not_judged_is_refused(libbench, saved):
    code, out, err = libbench("evaluate", saved("a"), "data.samples=4")

    assert (code, out) == (2, "")
    assert "'data.samples=4' changes nothing: only evaluator and tolerance are built" in err


def test_an_override_of_what_the_evaluator_stands_for_counts(libbench, saved):
    folder = saved("a", MODEL + "best = 1\nevaluator.topk = ['${best}']\n")

    code, out, err = libbench("evaluate", folder, "best=3")

    assert (code, err) == (0, "")
    assert "top3  1.000" in out.replace("top3   ", "top3  ")


def test_samples_without_a_record_are_told_when_a_side_runs_and_when_it_is_judged_again(libbench, config, tmp_path):
    some = """
        from libbench.interfaces import Evaluator
        class Some(Evaluator):
            def process(self, batch, outputs): return {i: 1 for i in batch.indices if i % 2}
            def evaluate(self, records): return {"n": len(records)}
        evaluator = L(Some)()
    """

    ran = libbench("run", config("some", some), "--no-speed", "--save", tmp_path / "saved")
    judged = libbench("evaluate", tmp_path / "saved")

    assert "5 samples without a record" in ran[1]
    assert "5 samples without a record" in judged[1]

"""Where two sides part: by module, as a whole, and on the command line."""

import copy
import json
import random
import runpy
from pathlib import Path

import pytest
import torch
from planted import FAULTS, net, plant

from libbench.errors import LibbenchError
from libbench.job import Job
from libbench.locate.asking import Question, locate
from libbench.locate.capture import Runnable
from libbench.locate.inside import inside
from libbench.locate.modules import ByModule
from libbench.locate.reproducing import write_module
from libbench.report.charts.located import located_charts
from libbench.report.json import located_from_json, located_to_json
from libbench.report.located import located_headline, render_located
from libbench.tree import own_copy

RECORD = Question(how="record")
BODY = """
import os
import torch
from torch import nn
from libbench.runners.local import Local
from libbench.compilers.precision import Precision
from libbench.workloads.inference import Inference

class Inner(nn.Module):
    def __init__(self, eps=1e-5, slope=0.1, drop=0.0):
        super().__init__()
        self.linear, self.norm = nn.Linear(8, 8), nn.LayerNorm(8, eps=eps)
        self.slope, self.drop = slope, drop
    def forward(self, x, *, again=False):
        y = nn.functional.leaky_relu(self.norm(self.linear(x)), self.slope)
        y = nn.functional.dropout(y, self.drop, self.training)
        return {"y": y, "again": again}

class Outer(nn.Module):
    def __init__(self, first, second, broken="", extra=False, changes=False):
        super().__init__()
        self.first, self.second, self.broken, self.changes = first, second, broken, changes
        self.extra = nn.Identity() if extra else None
    def forward(self, x):
        if self.broken:
            raise RuntimeError(self.broken)
        y = self.first(x)["y"]
        for _ in range(2):
            y = y - self.second(y, again=True)["y"]
        if self.extra is not None:
            y = self.extra(y)
        return (y, y.mean(-1))

def function(x):
    return torch.sigmoid(x) * 2

class Double(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x) * 2.001

def fixed(scale=1.0):
    return Double() if scale != 1.0 else torch.nn.Sequential(torch.nn.Sigmoid())

model = L(Outer)(first=L(Inner)(), second=L(Inner)())
data = L(RandomInputs)(shapes=(8,), samples=10, batch_size=4)
runner = L(Local)(threads=1)
"""


@pytest.fixture
def job(config):
    def load(*overrides, lines=""):
        return Job.load(config(f"sides{abs(hash(lines)) if lines else ''}", BODY + lines), overrides)

    return load


def found_of(reference, target, question=RECORD):
    return locate(reference, target, question)


def shown_again(folder, capsys):
    """Run a reproducer; give its exit code and the first word that it prints."""
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(folder / "reproduce.py"), run_name="__main__")
    return ended.value.code, capsys.readouterr().out.partition(":")[0]


def by_module(reference, target, *inputs, folder=Path("unused"), limit=2**30, cast=None):
    sides = [
        Runnable(model, model, lambda inputs=given: own_copy((inputs, {})))
        for model, given in ((reference, inputs), (target, cast or inputs))
    ]
    with torch.inference_mode():
        return ByModule(tuple(sides), folder, limit).report()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found_at_its_module(fault):
    for name in ("conv", "recurrent"):
        model, inputs = net(name)
        target, planted = plant(model, inputs, fault, random.Random(f"{name} {fault}"))

        found = by_module(model, target, *inputs)

        assert (found.verdict, found.culprit.path) == ("located", planted.module)


def test_a_uniform_bfloat16_model_has_no_single_module():
    model, inputs = net("transformer")

    found = by_module(model, copy.deepcopy(model).bfloat16(), *inputs)

    assert found.verdict == "no single culprit"
    assert {row.dtypes for row in found.rows} == {("float32", "bfloat16")}


def test_outputs_that_there_is_no_room_for_go_to_disk_and_change_nothing(tmp_path):
    model, inputs = net("conv")
    target, _ = plant(model, inputs, "epsilon", random.Random(1))

    near = by_module(model, target, *inputs)
    far = by_module(model, target, *inputs, folder=tmp_path / "spilled", limit=1000)

    assert near == far
    assert (tmp_path / "spilled").is_dir()
    assert not list((tmp_path / "spilled").glob("*.safetensors"))


def test_a_module_that_is_called_again_has_a_row_for_each_call(job):
    found = found_of(job(), job("model.second.eps=0.1"))

    calls = [(row.path, row.call) for row in found.modules.rows if row.path == "second.norm"]
    assert sorted(calls) == [("second.norm", 0), ("second.norm", 1)]
    assert found.modules.culprit.path == "second.norm"
    assert found.operators.inside == "second.norm"
    assert found.operators.culprit.operator == "aten.layer_norm"


def test_the_row_of_a_module_says_where_it_is_written_and_what_built_it(job):
    found = found_of(job(), job("model.second.slope=0.3"))

    row = found.modules.culprit
    assert (row.path, row.config, row.kind, row.own) == ("second", "model.second", ("Inner", "Inner"), True)
    file, line = row.source.rsplit(":", 1)
    assert "def forward(self, x, *, again=False)" in Path(file).read_text().splitlines()[int(line) - 1]
    assert row.shapes == ((4, 8), (4, 8))
    outer = next(each for each in found.modules.rows if each.path == "")
    assert outer.deviation.local > 0
    assert not outer.own
    assert found.operators.culprit.operator == "aten.leaky_relu"
    assert "leaky_relu(self.norm" in found.operators.culprit.source


def test_sides_whose_outputs_agree_have_nothing_to_locate(job):
    found = found_of(job(), job("model.second.drop=0.5"))

    assert (found.verdict, found.exit_code, found.modules, found.operators) == ("same", 0, None, None)


def test_the_first_batch_that_differs_is_looked_at(job):
    lines = """
class Late(Inner):
    def forward(self, x, *, again=False):
        out = super().forward(x, again=again)
        return {**out, "y": out["y"] * 1.01} if len(x) < 4 else out
target = L(Late)()
"""
    late = "model = L(Outer)(first=L(Late)(), second=L(Inner)())\n"

    found = found_of(job(lines=lines), job(lines=lines + late))

    assert (found.batch, found.indices) == (2, (8, 9))
    assert found.modules.culprit.path == "first"


def test_modules_of_one_side_alone_are_named(job):
    found = found_of(job(), job("model.extra=True", "model.first.slope=0.2"))

    assert "the target alone calls extra, a Identity" in found.modules.structure
    assert found.modules.culprit.path == "first"


def test_another_model_is_said_to_be_one(job):
    sigmoid, double = ("model = L(fixed)()\n", "model = L(fixed)(scale=2.0)\n")

    found = found_of(job(lines=sigmoid), job(lines=double))

    assert "(model)" not in found.modules.structure
    assert "the model is a Sequential in the reference, a Double in the target" in found.modules.structure
    assert found.operators.culprit.operator == "aten.mul"
    assert found.operators.culprit.additional


def test_a_model_that_is_no_module_is_looked_at_by_operator(job):
    plain = "model = L(function).partial()\n"
    low = job(lines=plain + "compiler = L(Precision)(dtype=torch.bfloat16)\n")

    found = found_of(job(lines=plain), low)

    assert found.modules is None
    assert found.operators.operators[0] == 2


def test_autocast_is_entered_where_the_target_enters_it(job):
    found = found_of(job(), job(lines="compiler = L(Precision)(dtype=torch.bfloat16, autocast=True)\n"))

    assert found.verdict == "no single culprit"
    linear = next(row for row in found.modules.rows if row.path == "first.linear")
    assert linear.dtypes == ("float32", "bfloat16")
    assert linear.deviation.ratio < 3
    assert not any("could not be run" in note for note in found.notes)


def test_a_stochastic_side_is_recognised_first(job):
    train = "workload = L(Inference)(mode='train')\n"
    steady, random_ = job(lines=train), job("model.first.drop=0.5", lines=train)

    for sides in ((random_, steady), (steady, random_)):
        found = found_of(*sides)
        assert found.verdict == "unjudged"
        assert found.exit_code == 2
        assert "is stochastic" in found.reason


def test_a_side_that_fails_cannot_be_judged(job):
    found = found_of(job(), job("model.broken=no luck"))

    assert (found.verdict, found.exit_code) == ("unjudged", 2)
    assert "the target failed in evaluate: RuntimeError: no luck" in found.reason


SPOILS = """
from libbench.interfaces import Compiled
from libbench.result import CompileFacts
class Spoils:
    def __init__(self, pieces):
        self.pieces = pieces
    def compile(self, model, example, method):
        by = 1.01 if self.pieces or isinstance(model, Outer) else 1.0
        def run(*args):
            return tuple(by * each for each in model(*args))
        return Compiled(run, "spoils", lambda: CompileFacts(graphs=1))
"""


def test_what_comes_with_compiling_is_not_blamed_on_the_model(job):
    found = found_of(job(), job(lines=SPOILS + "compiler = L(Spoils)(pieces=True)\n"))

    assert (found.verdict, found.exit_code) == ("no single culprit", 1)
    assert (found.modules, found.operators) == (None, None)
    assert found.segments.error == pytest.approx(0.01, rel=1e-3)
    assert found.reason == "no piece stands out by itself"


def test_what_comes_with_how_a_compiler_reads_the_model_is_in_no_piece(job):
    found = found_of(job(), job(lines=SPOILS + "compiler = L(Spoils)(pieces=False)\n"))

    assert found.verdict == "no single culprit"
    assert "comes with how the model is read" in found.reason
    assert [row.deviation.total for row in found.segments.rows] == [0.0]


def test_steps_of_a_training_are_refused(job):
    lines = """
class Steps(Inference):
    steps = 2
    def restart(self):
        pass
    def loss(self):
        pass
workload = L(Steps)()
"""
    found = found_of(job(lines=lines), job("model.first.eps=0.1", lines=lines))

    assert found.verdict == "unjudged"
    assert "not steps that change it: the reference has a Steps" in found.reason


@pytest.mark.parametrize(("override", "what"), [("data.batch_size=5", "samples"), ("data.seed=3", "inputs")])
def test_sides_with_other_data_cannot_be_judged(job, override, what):
    found = found_of(job(), job(override, "model.first.eps=0.1"))

    assert found.exit_code == 2
    assert f"batch 0 of the target has other {what} than the reference's" in found.reason


def test_a_model_that_changes_its_input_in_place_is_looked_at_as_ever(job):
    lines = """
class Adds(Inner):
    def forward(self, x, *, again=False):
        x.add_(1)
        return super().forward(x, again=again)
model = L(Outer)(first=L(Adds)(), second=L(Inner)())
"""
    found = found_of(job(lines=lines), job("model.second.slope=0.3", lines=lines))
    other = found_of(job(), job(lines=lines))

    assert found.modules.culprit.path == "second"
    assert {row.deviation.local for row in found.modules.rows if row.path.startswith("first")} == {0.0}
    first = next(row for row in other.modules.rows if row.path == "first")
    assert first.changed == ("0",)
    assert first.own


def test_weights_that_differ_are_named(job):
    lines = """
def shifted(by):
    torch.manual_seed(3)
    made = Inner()
    made.norm.bias.data += by
    return made
model = L(Outer)(first=L(shifted)(by=0.0), second=L(Inner)())
"""
    found = found_of(job(lines=lines), job("model.first.by=0.5", lines=lines))

    assert found.weights == ("first.norm.bias differs: relative error inf",)
    assert found.operators.culprit.operator == "aten.layer_norm"


def test_everything_comes_back_from_json(job):
    found = found_of(job(), job("model.first.eps=0.1"))

    document = json.loads(json.dumps(located_to_json(found), allow_nan=False))

    assert located_from_json(document) == found
    assert document["schema"] == "libbench.located"
    assert document["derived"] == {"headline": located_headline(found), "exit_code": 1}


def test_the_report_fits_its_width_and_begins_with_the_verdict(job):
    found = found_of(job(), job("model.first.eps=0.1"))

    for verbose in (False, True):
        lines = render_located(found, verbose=verbose, width=90).splitlines()
        assert lines[0].startswith("LOCATED: aten.layer_norm in first.norm")
        assert max(map(len, lines)) <= 90


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sides")
    text = "import torch\nfrom libbench.config import LazyCall as L\nfrom libbench.data import RandomInputs\n" + BODY
    (folder / "one.py").write_text(text.replace("runner = L(Local)(threads=1)\n", ""))
    (folder / "two.py").write_text("from .one import *\nmodel.second.eps = 0.1\n")
    (folder / "dies.py").write_text("from .one import *\nmodel.broken = 'no'\n")
    return folder


def test_the_command_prints_writes_and_leaves_what_shows_the_finding_again(libbench, sides, tmp_path, capsys):
    one, two = sides / "one.py", sides / "two.py"
    asked = ("--graph", "record", "--json", tmp_path / "a.json", "--reproduce", tmp_path / "again")

    code, out, _ = libbench("locate", "--ref", one, "--tgt", two, *asked)

    assert code == 1
    assert out.startswith("LOCATED: aten.layer_norm in second.norm")
    assert json.loads((tmp_path / "a.json").read_text())["located"]["verdict"] == "located"
    script = (tmp_path / "again" / "reproduce.py").read_text()
    assert {line.split()[1].split(".")[0] for line in script.splitlines() if line.startswith(("import", "from"))} == {
        "libbench", "pathlib", "sys", "torch",
    }  # fmt: skip
    assert shown_again(tmp_path / "again", capsys) == (1, "DIFFERENT")


def test_diff_locates_what_differs_when_it_is_asked(libbench, sides, tmp_path):
    one, two, json_file = sides / "one.py", sides / "two.py", tmp_path / "a.json"

    code, out, _ = libbench("diff", "--ref", one, "--tgt", two, "--no-speed", "--locate", "--json", json_file)

    assert code == 1
    assert out.startswith("DIFFERENT OUTPUTS")
    assert "\nLOCATED: aten.layer_norm in second.norm" in out
    assert json.loads(json_file.read_text())["comparison"]["located"]["verdict"] == "located"


def test_the_errors_along_the_graph_are_drawn(job):
    found = found_of(job(), job("model.first.eps=0.1"), Question(how="record", whole=True))
    (chart,) = located_charts(found)

    assert len(found.operators.errors) == found.operators.operators[1]
    at = found.operators.culprit.position
    crosses = [mark for mark in chart.marks if getattr(mark, "cross", False)]
    assert [(mark.xs, mark.ys) for mark in crosses] == [((at,), (found.operators.errors[at][0],))]
    assert chart.y.log
    assert list(located_charts(found_of(job(), job()))) == []


def test_plots_of_what_is_located_are_files(libbench, sides, tmp_path):
    pytest.importorskip("matplotlib")
    asked = ("--graph", "record", "--plots", tmp_path / "plots", "--set", "runner.threads=1")

    code, _, err = libbench("locate", "--ref", sides / "one.py", "--tgt", sides / "two.py", *asked)

    assert code == 1
    assert "2 plots" in err
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == ["located.png", "located.svg"]


def test_what_cannot_be_asked_is_said_in_one_line(libbench, sides, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    asked = ("locate", "--ref", sides / "one.py", "--tgt", sides / "two.py")

    code, _, err = libbench(*asked, sides / "dies.py", "--reproduce", tmp_path / "x")
    full, _, full_err = libbench(*asked, "--reproduce", tmp_path / "full")

    assert (code, full) == (2, 2)
    assert "--reproduce writes what is found of one target, got 2" in err
    assert "is not an empty folder" in full_err


def test_a_saved_side_cannot_be_located(libbench, sides, tmp_path):
    saved = tmp_path / "saved"
    libbench("run", sides / "one.py", "--no-speed", "--save", saved)

    code, _, err = libbench("locate", "--ref", saved, "--tgt", sides / "two.py")

    assert code == 2
    assert "is a saved side, and nothing can be located in what is not run" in err


def test_a_question_says_how_operators_are_found():
    with pytest.raises(ValueError, match="'export' or 'record', got 'guess'"):
        Question(how="guess")


def test_several_ranks_are_refused(job):
    lines = "from libbench.runners.distributed import Distributed\nrunner = L(Distributed)(nproc=2)\n"

    with pytest.raises(LibbenchError, match="on several ranks"):
        locate(job(lines=lines), job("model.first.eps=0.1", lines=lines), RECORD)


def test_the_reproducer_of_a_module_shows_the_same(job, tmp_path, capsys):
    reference, other = job(), job("model.second.slope=0.3")
    found = found_of(reference, other)
    built = [each.build("model")["model"].eval() for each in (reference, other)]
    runnables = tuple(Runnable(each, each, lambda: own_copy(((torch.ones(4, 8),), {}))) for each in built)

    with torch.inference_mode():
        key = (found.modules.culprit.path, 0)
        write_module(tmp_path / "again", found.modules.culprit, inside(runnables, key), (reference, other))

    assert shown_again(tmp_path / "again", capsys) == (1, "DIFFERENT")

"""`libbench config`: what is printed, and the exit codes."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from libbench.config import LazyConfig, difference

ROOT = Path(__file__).parent.parent


@pytest.fixture
def run(libbench, monkeypatch, tmp_path, config):
    """Give what a command prints, after its exit code."""
    config("a")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        code, out, err = libbench("config", *arguments)
        return code, out.splitlines(), err

    return run


def test_every_value_is_shown_by_its_path(run):
    assert run("show", "a.py", "model.bias=false", "+own.x=[1,2]") == (
        0,
        [
            "model = torch.nn.Linear(...)",
            "model.in_features = 4",
            "model.out_features = 3",
            "model.bias = False",
            "data = libbench.data.RandomInputs(...)",
            "data.shapes = (4,)",
            "data.samples = 10",
            "data.batch_size = 4",
            "own.x = [1, 2]",
        ],
        "",
    )


def test_flags_and_overrides_may_stand_in_any_order(run):
    one = run("show", "--where", "a.py", "model.bias=false", "+x=1")

    assert run("show", "a.py", "model.bias=false", "--where", "+x=1") == one
    assert run("show", "a.py", "model.bias=false", "+x=1", "--where") == one


def test_origins_and_defaults_are_shown_where_they_are_asked_for(run):
    _, lines, _ = run("show", "a.py", "model.bias=false", "--where", "--defaults")

    notes = {line.partition(" = ")[0]: line.rpartition("  # ")[2] for line in lines}
    wanted = {
        "model": "base.py:6",
        "model.in_features": "base.py:6",
        "model.bias": "override 'model.bias=false'",
        "model.dtype": "default",
        "compiler": "default",
    }
    assert notes == notes | wanted
    assert {line.index("  #") for line in lines} == {lines[0].index("  #")}
    assert not any("default" in line for line in run("show", "a.py", "--where")[1])


def test_shared_nodes_derived_values_and_required_ones_are_told(run, tmp_path):
    (tmp_path / "b.py").write_text(
        "from types import SimpleNamespace as NS\nfrom torch import nn\n"
        "from libbench.config import LazyCall as L, derive\n"
        "a = L(NS)(x=2)\nb = [a, (1, a)]\nc = derive(lambda cfg: cfg.a.x + 1)\nd = '${c}'\ne = L(nn.Linear).partial()\n"
    )

    assert run("show", "b.py", "--defaults")[1][:9] == [
        "a = types.SimpleNamespace(...)",
        "a.x = 2",
        "b.0 = the instance of a",
        "b.1.0 = 1",
        "b.1.1 = the instance of a",
        "c = 3 (derived by <lambda b.py:6>)",
        "d = 3 (from ${c})",
        "e = torch.nn.Linear.partial()",
        "e.in_features = ???                 # default",
    ]


def test_validate_lists_every_mistake_at_once(run, tmp_path):
    assert run("validate", "a.py") == (0, ["no mistakes"], "")
    (tmp_path / "b.py").write_text(
        "from libbench.config import LazyCall as L\nmodle = L('torch.nn.Lineer')()\nx = '${y}'\nseed = -1\n"
        "z = L('torch.nn.Linear')(in_feature=1)\n"
    )

    code, lines, _ = run("validate", "b.py", "z.out_feature=3", "nothing=1", "x=2")

    assert code == 2
    wanted = [
        "did you mean 'out_features'", "no 'nothing'", "no part 'modle'", "no 'model'", "seed must be",
        "torch.nn.Lineer", "no parameter 'in_feature'", "'in_features', 'out_features'", "assigns no 'data'",
    ]  # fmt: skip
    assert [word for word in wanted if not any(word in line for line in lines)] == []
    assert len(lines) == len(wanted)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("data = None", "assigns no 'data', on whose batches the model is run"),
        ("timer = L('libbench.settings.Timer')(pairs=0)", "pairs must be at least 1, got 0"),
        ("tolerance = L('libbench.settings.Timer')()", "tolerance of c.py must be a Tolerance, got Timer"),
        ("runner = L('libbench.runners.process.Process')(timeout=0)", "timeout"),
    ],
)
def test_validate_refuses_what_a_run_would_refuse(run, tmp_path, line, words):
    (tmp_path / "c.py").write_text(f"from .a import *\nfrom libbench.config import LazyCall as L\n{line}\n")

    code, lines, _ = run("validate", "c.py")

    assert (code, len(lines)) == (2, 1)
    assert words in lines[0]


def test_the_exit_code_of_a_difference_is_that_of_what_counts(run):
    code, lines, _ = run("diff", "--ref", "a.py", "--tgt-set", "model.out_features=5")
    assert (code, lines[0].split()[:3]) == (1, ["config", "1", "of"])
    assert "model.out_features" in lines[1]
    assert run("diff", "--ref", "a.py", "--tgt", "a.py")[0] == 0
    assert run("diff", "--ref", "a.py", "--tgt-set", "model.bias=true")[:2] == (0, ["config       no difference"])
    assert run("diff", "--ref", "a.py", "--tgt-set", "model.bias=true", "-v")[1][1:] != []
    code, _, err = run("diff", "--ref", "a.py", "--tgt", "nothing.py")
    assert (code, "no config file" in err) == (2, True)


def test_a_part_that_one_side_leaves_at_its_default_is_compared_with_it(run, config):
    config("eager", "from libbench.compilers.eager import Eager\ncompiler = L(Eager)()")
    config("compiled", "from libbench.compilers.torch_compile import TorchCompile\ncompiler = L(TorchCompile)()")

    assert run("diff", "--ref", "a.py", "--tgt", "eager.py")[0] == 0
    code, lines, _ = run("diff", "--ref", "a.py", "--tgt", "compiled.py")
    assert (code, "Eager()" in lines[1]) == (1, True)


def test_the_difference_is_written_as_json(run, tmp_path):
    changes = ["model.out_features=5", "model.bias=true"]

    run("diff", "--ref", "a.py", "--tgt-set", *changes, "--json", "d.json", "--as-overrides")

    document = json.loads((tmp_path / "d.json").read_text())
    assert document["schema"] == "libbench.changes"
    assert document["overrides"] == changes
    assert [(each["path"], each["kind"], each["counted"]) for each in document["changes"]] == [
        ("model.out_features", "changed", True),
        ("model.bias", "default", False),
    ]


def test_the_overrides_that_are_printed_make_the_difference(run, config):
    config("b", "model.out_features = 8\nmodel.bias = False\nwords = 'a b, c'\ndata.shapes = (4, 5)")

    code, lines, err = run("diff", "--ref", "a.py", "--tgt", "b.py", "--as-overrides")

    overrides = shlex.split(" ".join(lines))
    assert (code, err) == (1, "")
    assert len(overrides) == 4
    after = LazyConfig.apply_overrides(LazyConfig.load("a.py"), overrides)
    assert difference(after, LazyConfig.load("b.py")) == ()
    assert run("diff", "--ref", "a.py", "--ref-set", *overrides, "--tgt", "b.py")[0] == 0


def test_what_no_override_can_make_is_trouble(run, config):
    config("b", "model.out_features = 8\nown = lambda: 1\nown = [own]")

    code, lines, err = run("diff", "--ref", "a.py", "--tgt", "b.py", "--as-overrides")

    assert (code, lines) == (2, ["model.out_features=8"])
    assert err.startswith("no override can make this: own (added): - -> [<lambda ")


@pytest.mark.parametrize("form", ["yaml", "json", "py"])
def test_a_config_is_saved_with_its_overrides(run, form):
    assert run("save", "a.py", "model.bias=false", "--to", f"b.{form}") == (0, [], "")

    assert run("diff", "--ref", "a.py", "--tgt", f"b.{form}", "--ref-set", "model.bias=false")[0] == 0


def test_what_cannot_be_saved_is_told_and_nothing_is_written(run, config, tmp_path):
    config("b", "own = [lambda: 1]")

    for file in ("b.yaml", "b.json", "c.py"):
        code, _, err = run("save", "b.py", "--to", file)
        assert (code, "<lambda b.py" in err, "at own.0" in err) == (2, True, True)
        assert not (tmp_path / file).exists()
    code, _, err = run("save", "a.py", "--to", "a.txt")
    assert (code, ".yaml, .yml, .json, .py" in err) == (2, True)


def test_a_strangers_file_imports_only_what_is_allowed(run):
    run("save", "a.py", "--to", "a.json")

    assert run("show", "a.json", "--allow", "torch", "--allow", "libbench")[0] == 0
    code, _, err = run("show", "a.json", "--allow", "torch")
    assert (code, "not allowed; allowed are torch (at data)" in err) == (2, True)
    code, _, err = run("show", "a.py", "--allow", "torch")
    assert (code, "runs whatever is in it" in err) == (2, True)


def test_the_script_and_the_help_need_neither_torch_nor_rich():
    code = (
        "import sys; from libbench.cli.main import main\n"
        "try:\n    main(['config', 'diff', '--help'])\n"
        "except SystemExit:\n    sys.exit('torch' in sys.modules or 'rich' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode == 0
    )

    shown = subprocess.run(
        [sys.executable, "tools/config.py", "show", "configs/encoder_more_heads.py"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "model.nhead = 8\n" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("show a.py", 0),
        ("validate a.py +model.x=1 model.y=2 model.z=3", 2),
        ("diff --ref a.py --ref-set model.bias=false data.samples=3 --tgt-set seed=3", 1),
        ("diff --ref a.py --tgt-set model.bias=false data.samples=3 --as-overrides", 1),
    ],
)
@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_a_reader_that_has_gone_does_not_change_the_exit_code(run, arguments, wanted, reader):
    command = f"{sys.executable} {ROOT}/tools/config.py {arguments}"
    piped = f"({command} | {reader}; exit ${{PIPESTATUS[0]}})"
    found = subprocess.run(["bash", "-c", piped], capture_output=True, text=True, timeout=60)

    assert (found.returncode, found.stderr) == (wanted, "")
    assert len(found.stdout.splitlines()) == (reader == "head -1")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "2>/dev/full"])
def test_a_closed_stream_does_not_change_the_exit_code(run, closed):
    command = f"{sys.executable} {ROOT}/tools/config.py diff --ref a.py --tgt-set model.bias=false {closed}"

    assert subprocess.run(["bash", "-c", command], capture_output=True, timeout=60).returncode == 1


def test_an_output_that_cannot_be_written_is_told(run):
    command = f"{sys.executable} {ROOT}/tools/config.py show a.py >/dev/full"
    found = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)

    assert (found.returncode, found.stderr) == (2, "libbench: OSError: [Errno 28] No space left on device\n")

"""The workflow of docs/ci.md does what the page says: its commands are run, with the files that it names."""

import json
import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from libbench.cli.arguments import parser_of
from libbench.cli.main import main

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "ci.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
(WORKFLOW,) = [yaml.safe_load(text) for language, text in BLOCKS if language == "yaml"]
STEPS = {step["name"]: step for step in WORKFLOW["jobs"]["benchmark"]["steps"] if "name" in step}
LIST = next(text for language, text in BLOCKS if not language)
OTHERS = [line for language, text in BLOCKS if language == "sh" for line in text.splitlines()]

CONFIG = """
import torch
from libbench.config import LazyCall as L
from libbench.data import RandomInputs
from libbench.runners.process import Process

class Stack(torch.nn.Sequential):
    def __init__(self, layers):
        own = [torch.nn.Linear(64, 64) for _ in range(layers)]
        super().__init__(*own, *(torch.nn.Identity() for _ in range(0)))

model = L(Stack)(layers=2)
data = L(RandomInputs)(shapes=(64,), samples=8, batch_size=8)
timer = L("libbench.settings.Timer")(budget=0.4)
runner = L(Process)(processes=2)
"""


def arguments(line, run_id):
    """Give what a command of the page is run with, as the shell of a workflow would."""
    words = shlex.split(line.replace("$GITHUB_RUN_ID", run_id).replace("$GITHUB_STEP_SUMMARY", f"summary-{run_id}.md"))
    assert words[0] == "python"
    assert (ROOT / words[1]).is_file()
    return [Path(words[1]).stem, *words[2:]]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Run the workflow twice, on the second day with more code behind the same config; give folder and exit codes."""
    folder = tmp_path_factory.mktemp("work")
    configs = folder / "projects" / "mine" / "configs"
    configs.mkdir(parents=True)
    (configs.parent / "watched.txt").write_text(LIST)
    (configs / "eager.py").write_text(CONFIG)
    codes = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for run_id, extra in (("101", "0"), ("102", "60")):
            (configs / "variant.py").write_text(CONFIG.replace("range(0)", f"range({extra})"))
            codes[run_id] = [main(arguments(STEPS[name]["run"], run_id)) for name in ("Compare", "Judge")]
    return folder, codes


def test_the_first_run_has_nothing_to_be_judged_by_and_the_second_is_judged(work):
    folder, codes = work
    document = json.loads((folder / "results" / "history.json").read_text())
    (trend,) = document["history"]["trends"]

    assert codes["101"] == [0, 2]
    # How fast it is on this machine at this moment is not for a test to say; that it is judged by the run before, is.
    assert codes["102"] in ([0, 0], [0, 1])
    assert [Path(entry["source"]).name for entry in trend["entries"]] == ["101.jsonl", "102.jsonl"]
    assert trend["outcome"]["verdict"] == "alike"
    assert Path(trend["speed"]["baseline"]["source"]).name == "101.jsonl"
    assert len(trend["speed"]["baseline"]["logs"]) == 2
    assert document["derived"]["exit_code"] == codes["102"][1] == (trend["speed"]["verdict"] == "slower")
    assert trend["speed"]["unlike"] == []


def test_the_workflow_leaves_what_servers_read(work):
    folder, _ = work
    rows, pairs = (ElementTree.parse(folder / "results" / name).getroot() for name in ("pairs.xml", "history.xml"))

    assert [case.get("name") for case in rows.iter("testcase")] == ["variant"]
    assert [case.get("name") for case in pairs.iter("testcase")] == ["outcome", "speed"]
    text = (folder / "summary-102.md").read_text()
    assert text.startswith(("### NO REGRESSION", "### REGRESSION: eager"))
    assert "| eager -\\> variant | 2 | same |" in text


def test_the_first_judgement_is_left_out_where_nothing_was_kept_and_only_good_runs_are_kept(work):
    restore, save = (
        next(step for step in WORKFLOW["jobs"]["benchmark"]["steps"] if step.get("uses", "").startswith(uses))
        for uses in ("actions/cache/restore@", "actions/cache/save@")
    )

    assert f"steps.{restore['id']}.outputs.cache-matched-key != ''" in STEPS["Judge"]["if"]
    assert restore["with"]["key"] == save["with"]["key"]
    assert restore["with"]["key"].startswith(restore["with"]["restore-keys"])
    assert restore["with"]["path"] == save["with"]["path"] == "history"
    # A step with neither of these runs only where those before it went well.
    assert [word for word in ("cancelled", "always", "failure") if word in save["if"]] == []


@pytest.mark.parametrize("line", OTHERS)
def test_the_other_commands_of_the_page_run(work, monkeypatch, capsys, line):
    folder, _ = work
    monkeypatch.chdir(folder)
    Path("accepted.jsonl").write_bytes(Path("history/101.jsonl").read_bytes())

    code = main(arguments(line, "103"))

    out, err = capsys.readouterr()
    assert code in (0, 1, 2 if "--strict" in line else 0)
    assert "eager -" in out
    assert err == ""


def test_the_page_names_only_flags_that_there_are():
    parser = parser_of()
    for step in STEPS.values():
        parser.parse_args(arguments(step["run"], "1"))

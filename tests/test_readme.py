"""The README's code is real: it is written to files and run."""

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from libbench.cli.arguments import parser_of
from libbench.diff import Plan, diff, run
from libbench.job import Job

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = {re.match(r"# (\S+\.py)\n", text)[1]: text for language, text in FENCED.findall(README) if language == "python"}
CONFIGS = [file for file in FILES if "/configs/" in file]
COMMANDS = [
    line
    for language, text in FENCED.findall(README)
    if language == "sh"
    for line in text.splitlines()
    if line.startswith("python ")
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for file, text in FILES.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("file", CONFIGS)
def test_this_config_is_the_same_as_itself(folder, file):
    comparison = diff(file, file, Plan(speed=False))

    assert comparison.reference.failure is None
    assert comparison.outputs.batches == 4
    assert {check.verdict for check in comparison.checks} == {"same"}
    assert comparison.exit_code == 0


def test_the_compiler_that_is_added_tells_what_it_has_compiled(folder):
    result = run(Job.load("projects/mine/configs/exported.py"), Plan(speed=False))

    assert result.preparation.compiler.startswith("torch.export, torch ")
    assert result.preparation.facts.graphs == 1


def test_the_evaluator_that_is_added_gives_its_metric(folder):
    comparison = diff("projects/mine/configs/spread.py", "projects/mine/configs/spread.py", Plan(speed=False))

    assert [report.name for report in comparison.metrics] == ["spread"]
    assert comparison.reference.metrics["spread"] > 0


def test_the_changed_config_differs_in_what_the_readme_changes(folder):
    comparison = diff("projects/mine/configs/plain.py", "projects/mine/configs/wide.py", Plan(speed=False))

    assert [change.path for change in comparison.changes] == ["model.out_features"]
    assert comparison.exit_code == 1


def test_the_lines_for_use_from_python_run(folder):
    exec(compile(FILES["compare.py"], "compare.py", "exec"), {})


@pytest.mark.parametrize("line", COMMANDS)
def test_this_command_is_understood_and_names_files_that_are_there(line):
    _, tool, *arguments = shlex.split(line)
    command = Path(tool).stem

    parsed = parser_of().parse_args([command, *arguments])

    assert (ROOT / tool).is_file()
    if command == "config":
        files = [parsed.config] if "config" in parsed else [parsed.ref, parsed.tgt]
    elif command == "evaluate":
        files = [parsed.folder, parsed.ref or parsed.folder, parsed.evaluator or parsed.folder]
    elif command == "sample":
        files = [parsed.config] if "config" in parsed else []
    elif command == "compare":
        files = [parsed.reference, parsed.target]
    elif command == "history":
        files = []  # what an earlier command writes
    elif command == "sweep":
        files = [parsed.list or parsed.ref]
    elif command in ("score", "report"):
        files = parsed.results
    else:
        files = [parsed.config] if "config" in parsed else [parsed.ref, *(parsed.tgt or [])]
    there = [*FILES, *re.findall(r"--(?:save|to) (\S+)", README)]
    assert [file for file in files if str(file) not in there and not (ROOT / file).is_file()] == []


def test_the_tables_name_every_flag_and_no_other():
    rows = [line.split("|")[1] for line in README.splitlines() if line.startswith("| `-")]
    named = set(re.findall(r"(?<!\w)--?[a-z][a-z-]*", " ".join(rows)))

    assert named == _flags() - {"-h", "--help"}


def _flags() -> set[str]:
    return {flag for command in _commands(parser_of()) for a in command._actions for flag in a.option_strings} - {
        "--version"
    }


def _commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _commands(command)

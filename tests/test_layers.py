"""The floors of the house: who may import whom."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

FLOORS = (
    "errors tree optional records settings findings drawn located faults",
    "config",
    "interfaces job namespaces sampled result measured decisive judge methods noise distribution pick curves drift "
    "causes tokens",
    "worker side timed reruns pool parts measure occupied speed interval compare plainfiles filekinds data several "
    "child serve preload state truth environment conversation group shares rank ranks merging alignment evaluation "
    "composed recordfiles images stepping post aliases traced flat skeleton inductor swapping "
    "features creation codelines explaining lacking attempts imported",
    "diff sweep history entry rows rowfile pair plan checks comparability matching saved snapshots timing remarks "
    "stages drawing trusted truths metrics reevaluate trainings vacuous scores scoring scored benchlog categories "
    "narrowing locate",
    "compilers devices evaluators op_libs runners workloads samples report",
    "cli configs graphnet",
)
"""Modules and packages of libbench, the lowest floor first. A new one is put where it belongs."""

PLUG_INS = ("compilers", "devices", "evaluators", "op_libs", "runners", "workloads")
"""Packages whose files never import one another."""

OUTSIDE = ("tools", "configs", "projects", "tests")
"""Folders that import libbench and that nothing imports, but for their own files."""

IMPORTED_AS = {"hydra-core": "hydra", "pyyaml": "yaml"}
"""Import names of the requirements that are imported by another name."""


def trespasses(root: Path) -> list[str]:
    """Give what breaks a rule under `root`, as `file:line: what`."""
    found = []
    for folder in ("libbench", "tools", "configs", "projects"):
        for file in sorted((root / folder).rglob("*.py")):
            tree = ast.parse(file.read_text(), str(file))
            place = file.relative_to(root)
            found += [f"{place}:{line}: {what}" for line, what in _judged(root, place, tree)]
    return found


def _judged(root: Path, place: Path, tree: ast.Module) -> Iterator[tuple[int, str]]:
    module = place.with_suffix("").parts
    name = module[:-1] if module[-1] == "__init__" else module
    if name[0] == "libbench" and len(name) > 1 and _floor(name) is None:
        yield 1, f"{name[1]} stands on no floor; put it on one in tests/test_layers.py"
        return
    for line, wanted in _imports(root, place, tree):
        verdict = _verdict(name, wanted)
        if verdict:
            yield line, verdict
    if name[0] == "libbench":
        yield from _heavy(tree)
        if name[1:2] != ("cli",):
            yield from _prints(tree)


def _verdict(name: tuple[str, ...], wanted: tuple[str, ...]) -> str | None:
    text = ".".join(wanted)
    if wanted[0] in OUTSIDE:
        own = 2 if wanted[0] == "projects" else 1
        if wanted[0] == "tools" or name[:own] != wanted[:own]:
            return f"imports {text}, which nobody may import"
    if name[0] != "libbench" or wanted[0] != "libbench":
        return None
    here, there = _floor(name), _floor(wanted)
    if there is None:
        return f"imports {text}, which stands on no floor"
    if here is None or there > here:
        return f"imports {text}, which stands on a higher floor"
    if there == here and {name[1], wanted[1]} & set(PLUG_INS) and name[:3] != wanted[:3]:
        return f"imports {text}, another plug-in"
    return None


def _floor(name: tuple[str, ...]) -> int | None:
    """Give the floor of a module of libbench, from 0; -1 for `libbench` itself, which imports none of its modules."""
    if len(name) == 1:
        return -1
    return next((i for i, floor in enumerate(FLOORS) if name[1] in floor.split()), None)


def _imports(root: Path, place: Path, tree: ast.AST) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Give every import as the dotted name of a module, wherever in the file it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, tuple(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            start = place.parts[: len(place.parts) - node.level] if node.level else ()
            base = (*start, *(node.module.split(".") if node.module else ()))
            for alias in node.names:
                inner = root.joinpath(*base, alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").is_file()
                yield node.lineno, (*base, alias.name) if is_module or not base else base


def _heavy(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Find packages that are imported with the module although libbench does not require them."""
    for node in _at_import(tree):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [str(node.module)]
        for name in names:
            top = name.split(".")[0]
            if top not in sys.stdlib_module_names and top not in _required():
                yield node.lineno, f"imports {top} at the top, which is optional; use libbench.optional.need"


def _at_import(tree: ast.AST) -> Iterator[ast.AST]:
    """Give the nodes that run when the module is imported."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        yield node
        yield from _at_import(node)


def _required() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = [requirement.partition(">")[0] for requirement in project["dependencies"]]
    return {"libbench", *(IMPORTED_AS.get(name, name) for name in names)}


def _prints(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield node.lineno, "prints; only libbench.cli does"


def test_every_module_imports_only_what_stands_below_it():
    found = trespasses(ROOT)

    assert not found, "\n".join(found)


def test_contributing_shows_the_same_floors():
    lines = (ROOT / "CONTRIBUTING.md").read_text().splitlines()
    rows = [set(re.findall(r"`(\w+)/?`", line.split("|")[1])) for line in lines if line.startswith("| `")]

    assert rows[1:] == [set(floor.split()) for floor in reversed(FLOORS)]


def test_every_floor_holds_only_modules_that_are_there():
    names = [name for floor in FLOORS for name in floor.split()]
    there = {path.stem for path in (ROOT / "libbench").iterdir() if path.suffix == ".py" or path.is_dir()}

    assert len(names) == len(set(names))
    assert set(names) - there == set()


@pytest.mark.parametrize(
    ("file", "source", "finding"),
    [
        ("libbench/errors.py", "from libbench.job import Job", "libbench/errors.py:1: imports libbench.job, which"),
        (
            "libbench/errors.py",
            "def f():\n    import libbench.job",
            "errors.py:2: imports libbench.job, which",
        ),
        ("libbench/errors.py", "from . import job", "libbench/errors.py:1: imports libbench.job, which stands on a h"),
        (
            "libbench/tree/files.py",
            "from ..cli.main import main",
            "libbench.cli.main, which stands on a higher",
        ),
        ("libbench/__init__.py", "from libbench.diff import diff", "imports libbench.diff, which stands on a higher"),
        ("libbench/newcomer.py", "", "newcomer stands on no floor"),
        ("libbench/job.py", "import libbench.newcomer", "imports libbench.newcomer, which stands on no floor"),
        ("libbench/runners/ssh.py", "from libbench.runners.local import Local", "another plug-in"),
        ("libbench/runners/ssh.py", "from libbench.devices.cpu import Cpu", "another plug-in"),
        ("libbench/report/text.py", "from libbench.devices.cpu import Cpu", "another plug-in"),
        ("libbench/runners/ssh.py", "import sklearn.metrics", "imports sklearn at the top, which is optional"),
        ("libbench/runners/ssh.py", "try:\n    import ray\nexcept ImportError:\n    pass", "imports ray at the top"),
        ("libbench/runners/ssh.py", "print(1)", "prints; only libbench.cli does"),
        ("libbench/cli/main.py", "from tools import diff", "imports tools, which nobody may import"),
        ("libbench/cli/main.py", "import projects.digits.model", "imports projects.digits.model, which nobody may"),
        ("tools/run.py", "import tools.diff", "imports tools.diff, which nobody may import"),
        ("projects/one/data.py", "from projects.two import data", "imports projects.two, which nobody may import"),
        ("projects/one/configs/a.py", "from ...two.data import D", "imports projects.two.data, which nobody may"),
    ],
)
def test_an_import_from_the_wrong_floor_is_found(tmp_path, file, source, finding):
    for name in (file, "libbench/job.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / file).write_text(source)

    assert any(finding in found for found in trespasses(tmp_path))


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("libbench/cli/main.py", "from libbench.report.text import render\nprint(render)"),
        ("libbench/report/text.py", "from libbench.report.words import Word"),
        ("libbench/runners/ssh.py", "from libbench import child\nfrom libbench import __version__"),
        ("libbench/runners/ssh.py", "import os.path, torch.nn, hydra\ndef f():\n    import ray"),
        ("libbench/runners/ssh.py", "if typing.TYPE_CHECKING:\n    import ray"),
        ("projects/one/configs/a.py", "from ..data import D\nfrom .common import model\nimport sklearn, libbench.cli"),
        ("configs/a.py", "from configs.common.digits import model\nfrom .common.digits import model"),
    ],
)
def test_an_import_from_below_is_no_finding(tmp_path, file, source):
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(source)

    assert trespasses(tmp_path) == []


@pytest.mark.parametrize("module", ["config", "cli.arguments", "cli.config", "cli.main"])
def test_this_module_is_there_before_torch_is(module):
    code = f"import sys, libbench.{module}; sys.exit('torch' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0

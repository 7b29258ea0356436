"""What compilers make of operators that make tensors or draw at random, and the table of it in the documentation."""

import re
from pathlib import Path

import pytest

from libbench.config import LazyCall as L
from libbench.config import LazyConfig
from libbench.diff import Plan, diff, diff_all
from libbench.drawing import drawn_apart
from libbench.job import Job
from libbench.report.headline import headline
from libbench.report.many import verdict_word
from libbench.runners.local import Local
from projects.creation_ops.models import MODELS, creates

ROOT = Path(__file__).parent.parent.parent
PROJECT = ROOT / "projects" / "creation_ops"
WORDS = {"same": "same", "alike": "alike", "baked": "BAKED IN", "different": "DIFFERENT", "no": "FAILED"}
QUICK = ("fx", "trace", "script")
OPS = ("rand", "dropout", "generator", "random.random", "branch")
"""Those that tell compilers apart; the command in the documentation asks all."""


def job(config, op):
    loaded = LazyConfig.load(PROJECT / "configs" / f"{config}.py")
    loaded.model.op, loaded.runner = op, L(Local)(threads=1)
    return Job.of(loaded, config)


def table():
    """Give the table of the documentation: cells by op and config, without emphasis."""
    text = (ROOT / "docs" / "compilers.md").read_text()
    lines = text.partition("<!-- creation ops: begin -->\n")[2].partition("<!-- creation ops: end -->")[0].splitlines()
    head, _, *rows = ([cell.strip().strip("*`") for cell in line.strip("|").split("|")] for line in lines)
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


@pytest.mark.parametrize("op", OPS)
def test_the_table_says_what_is_found(op):
    cells = table()[op]
    found = diff_all(job("eager", op), [job(config, op) for config in QUICK], Plan(speed=False))

    for config, comparison in zip(QUICK, found, strict=True):
        word = "alike" if drawn_apart(comparison.outputs) and comparison.exit_code == 0 else cells[config]
        assert (cells[config], verdict_word(comparison)) == (word, WORDS[cells[config]]), headline(comparison)


def test_a_number_drawn_while_tracing_is_named_with_its_line():
    comparison = diff(job("eager", "rand"), job("fx", "rand"), Plan(speed=False))

    line = next(
        n for n, text in enumerate((PROJECT / "models.py").read_text().splitlines(), 1) if "torch.rand(8)" in text
    )
    said = f"BAKED IN: output the same from every seed: aten.rand at models.py:{line}"
    assert headline(comparison).startswith(said)
    assert said in (PROJECT / "README.md").read_text()


def test_the_table_and_the_list_name_every_op_and_every_config():
    pairs = [line.split() for line in (PROJECT / "pairs.txt").read_text().splitlines() if not line.startswith("#")]
    configs = {file.stem for file in (PROJECT / "configs").glob("*.py")} - {"eager"}

    assert list(table()) == list(MODELS)
    assert {tuple(cells) for cells in table().values()} == {tuple(next(iter(table().values())))}
    assert set(next(iter(table().values()))) == configs == {Path(pair[1]).stem for pair in pairs}
    assert {pair[2] for pair in pairs} == {f"model.op={','.join(MODELS)}"}
    assert {cell for cells in table().values() for cell in cells.values()} == set(WORDS)


def test_an_unknown_op_is_refused_and_the_known_ones_are_named():
    with pytest.raises(ValueError, match=re.escape("op must be one of arange, full,")):
        creates("rnad")

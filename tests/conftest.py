"""What all tests share. It is set before torch is imported, so that child processes have it, too."""

import os
import tempfile
import textwrap
from pathlib import Path

import hypothesis
import pytest

# More threads than one are slower, and far less steady, where other work is going on.
os.environ["OMP_NUM_THREADS"] = "1"


def _own_folder() -> Path:
    """Give a folder that stays from run to run and that nobody else can have put code into."""
    folder = Path(tempfile.gettempdir()) / f"libbench-tests-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.lstat().st_uid != os.getuid() or folder.is_symlink():
        raise RuntimeError(f"{folder} belongs to somebody else; inductor's cache cannot lie there")
    return folder


# One model is compiled once for all tests, and not again in the next run.
os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(_own_folder() / "inductor"))

# A busy machine makes an example slow, not wrong.
hypothesis.settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("unhurried")

BASE = """
import torch
from libbench.config import LazyCall as L
from libbench.data import RandomInputs

model = L(torch.nn.Linear)(in_features=4, out_features=3)
data = L(RandomInputs)(shapes=(4,), samples=10, batch_size=4)
"""


@pytest.fixture
def config(tmp_path):
    """Write a config file that imports everything of a small base.py and adds some lines."""
    (tmp_path / "base.py").write_text(BASE)

    def write(name, lines=""):
        file = tmp_path / f"{name}.py"
        file.write_text("from .base import *\n" + textwrap.dedent(lines))
        return file

    return write


@pytest.fixture
def libbench(capsys):
    """Run a command line in this process; give its exit code, its standard output and its standard error."""
    from libbench.cli.main import main

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run

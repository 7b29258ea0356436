"""What the tests of all projects share."""

import pytest

from libbench.config import LazyCall as L
from libbench.config import LazyConfig
from libbench.diff import Plan, diff_all
from libbench.job import Job
from libbench.runners.local import Local


def _job(file, change):
    config = LazyConfig.load(file)
    change(config)
    config.runner = L(Local)(threads=1)
    if file.stem == "inductor":
        # Traced by the same torch.compile, without half a minute of C++.
        getattr(config.compiler, "compiler", config.compiler).backend = "aot_eager"
    return Job.of(config, file.stem)


@pytest.fixture(scope="session")
def against_eager():
    """Compare a project's `eager.py` with every config of the same calls, itself included; give these by name.

    `change` is called with each config, to make it smaller.
    """

    def compare(project, change=lambda config: None):
        files = sorted(f for f in (project / "configs").glob("*.py") if not f.stem.startswith(("training", "steps")))
        reference = _job(project / "configs" / "eager.py", change)
        found = diff_all(reference, [_job(file, change) for file in files], Plan(speed=False))
        return dict(zip([file.stem for file in files], found, strict=True))

    return compare

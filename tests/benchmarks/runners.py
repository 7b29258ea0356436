"""What a runner costs beside the worker in this process: to open and prepare a side, per batch, its metrics, to close.

Prints the seconds of each step for a tiny model and for outputs of 100 MB, and what they are above those of `Local`.
The first session of a runner, which starts what later ones find ready, has a row of its own.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import torch
from config_bench.table import Row, finish

from libbench.job import Job
from libbench.timing import runner_of

STEPS = "open and prepare", "a batch", "metrics", "close"
RUNNERS = {
    "Local": "libbench.runners.local.Local",
    "Process": "libbench.runners.process.Process",
    "Distributed(nproc=1)": "libbench.runners.distributed.Distributed",
    "Distributed(nproc=2)": "libbench.runners.distributed.Distributed",
    "Ray": "libbench.runners.ray.Ray",
}
SIDES = {
    "tiny": (50, 7, "L(torch.nn.Linear)(256, 8)", "256", "L(Regression)(targets=[[0.0] * 8] * 50)"),
    "100 MB": (4, 3, "L(torch.nn.Upsample)(scale_factor=25_000)", "1, 1000", "None"),
}
"""Of each kind of side: batches, sessions, the model, the shape of a sample, and the evaluator."""
CONFIG = """
import torch
from libbench.config import LazyCall as L
from libbench.data import RandomInputs
from libbench.evaluators.regression import Regression
from {module} import {kind}

model = {model}
data = L(RandomInputs)(shapes=({shape},), samples={batches}, batch_size=1)
evaluator = {evaluator}
runner = L({kind})({settings})
"""


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for size in SIDES for row in _rows(Path(folder), size)]
    finish("runners", rows, [f"torch {torch.__version__}"])


def _rows(folder: Path, size: str) -> Iterator[Row]:
    known: list[float] = []
    for name in RUNNERS:
        first, *later = (_session(folder, size, name) for _ in range(1 + SIDES[size][1]))
        middle = [statistics.median(step) for step in zip(*later, strict=True)]
        known = known or middle
        steps = zip(STEPS, middle, known, strict=True)
        found = [(f"{size}: {step}", seconds, local) for step, seconds, local in steps]
        if size == "tiny":
            found.insert(0, (f"{size}: {STEPS[0]}, the first time", first[0], known[0]))
        for what, seconds, local in found:
            print(f"{what}, {name}: {_text(seconds)}", flush=True)
            if name != "Local":
                yield Row(f"{what}, {name}", _text(seconds), f"Local {_text(local)}", seconds - local, unit=" s")


def _session(folder: Path, size: str, name: str) -> tuple[float, ...]:
    """Run one side in a session of its own; give the seconds of each step."""
    batches, _, model, shape, evaluator = SIDES[size]
    module, _, kind = RUNNERS[name].rpartition(".")
    settings = ", ".join(filter(None, ["threads=1", name.partition("(")[2].rstrip(")")]))
    facts = {"model": model, "shape": shape, "batches": batches, "evaluator": evaluator}
    file = folder / "side.py"
    file.write_text(CONFIG.format(module=module, kind=kind, settings=settings, **facts))
    job = Job.load(file)
    with tempfile.TemporaryDirectory(dir=folder) as place:
        times = [time.perf_counter()]
        with closing(runner_of(job).open(job, folder=Path(place), watch=lambda event: None)) as session:
            session.prepare()
            times.append(time.perf_counter())
            found = sum(1 for _ in session.batches())
            times.append(time.perf_counter())
            session.metrics()
            times.append(time.perf_counter())
        times.append(time.perf_counter())
    if found != batches:
        raise SystemExit(f"{name} gave {found} batches and not {batches}")
    steps = [end - begin for begin, end in itertools.pairwise(times)]
    steps[1] /= batches
    return tuple(steps)


def _text(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


if __name__ == "__main__":
    main()

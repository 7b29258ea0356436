"""What comparing outputs costs: CPU time beside a C loop that reads both sides once, beside peers, and memory.

Prints ratios to the loop for each detail, for a small output, and for the peers at three sizes, with their bars.
"""

from __future__ import annotations

import ctypes
import logging
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from config_bench.peers import add_needs
from config_bench.table import Row, finish
from config_bench.timing import in_pairs, median_seconds

from libbench.compare import OutputComparison, compare
from libbench.compare.rule import Detail
from libbench.tree import snapshot

BARS: dict[Detail, float] = {"verdict": 2.5, "level": 3.5, "grid": 5.0, "full": 7.0}
SIZES = 1_000, 1_000_000, 100_000_000
LEAST_MEMORY = 4e9
"""Free bytes without which the largest size is a tenth of it."""
LOOP = """
#include <stddef.h>
#include <stdint.h>
uint32_t loop(const uint32_t *a, const uint32_t *b, size_t n) {
    uint32_t all = 0;
    for (size_t i = 0; i < n; i++) all += a[i] ^ b[i];
    return all;
}
"""
"""Whole numbers, because a compiler may not vectorise a sum of floats: reading is all that this loop waits for."""

Pair = tuple[torch.Tensor, torch.Tensor]
NO_COMPILER = "no C compiler"


def main() -> None:
    """Measure and print."""
    add_needs()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "Sparse|.*quantiz")
    sizes = [*SIZES[:2], SIZES[2] if _free() >= LEAST_MEMORY else SIZES[2] // 10]
    with tempfile.TemporaryDirectory() as folder:
        loop = _loop(Path(folder))
        rows = [*_memory(sizes[-1]), *_details(sizes[-1], loop), *_whole(sizes[1] * 4), *_small(), *_peers(sizes)]
    versions = [f"{name} {metadata.version(name)}" for name in ("torch", "numpy")]
    finish("compare", rows, versions)


def _loop(folder: Path) -> Callable[[torch.Tensor, torch.Tensor], Any] | None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("g++") or shutil.which("clang")
    if compiler is None:
        return None
    source, library = folder / "loop.c", folder / "loop.so"
    source.write_text(LOOP)
    subprocess.run([compiler, "-x", "c", "-O3", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    function = ctypes.CDLL(str(library)).loop
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    return lambda one, two: function(one.data_ptr(), two.data_ptr(), one.numel())


def _cases(size: int) -> Iterator[tuple[str, Pair]]:
    reference = torch.randn(size, generator=torch.Generator().manual_seed(0))
    yield "equal", (reference, reference.clone())
    steps = torch.randint(-3, 4, (size,), dtype=torch.int32, generator=torch.Generator().manual_seed(1))
    yield "few ULPs off everywhere", (reference, (steps.add_(reference.view(torch.int32))).view(torch.float32))
    del steps
    yield "all mismatch", (reference, reference * 1.01 + 0.01)
    yield "five percent more", (reference, reference * 1.05)
    yield "other random numbers", (reference, torch.randn(size, generator=torch.Generator().manual_seed(2)))


def _whole(size: int) -> Iterator[Row]:
    for dtype in (torch.int64, torch.int32, torch.uint8):
        reference = torch.arange(size).to(dtype)
        target = reference + 1
        found = median_seconds(lambda: compare(reference, target), 5) / size * 1e9  # noqa: B023
        name = str(dtype).removeprefix("torch.")
        yield Row(f"full, all mismatch, {size:,} {name}", f"{found:.3g} ns", "per element", found, unit=" ns")


def _details(size: int, loop: Callable[..., Any] | None) -> Iterator[Row]:
    for case, (reference, target) in _cases(size):
        for detail in get_args(Detail):
            what = f"{detail}, {case}, {size:,} float32"
            if loop is None:
                yield Row(what, "-", "C loop", None, BARS[detail], note=NO_COMPILER)
                continue
            pairs = in_pairs(
                lambda: compare(reference, target, detail=detail),  # noqa: B023
                lambda: loop(reference, target),  # noqa: B023
                5,
            )
            ours, theirs = (f"{_median(side) / size * 1e9:.3g} ns" for side in (pairs.ours, pairs.theirs))
            yield Row(what, ours, f"C loop {theirs} per element", pairs.ratio, BARS[detail])


def _small() -> Iterator[Row]:
    reference = torch.randn(4)
    target = reference + 1e-6
    sides = snapshot(reference), snapshot(target)
    comparison = OutputComparison()
    found = median_seconds(lambda: comparison.add(*sides), 9)
    yield Row("add, one leaf of 4 float32", f"{found * 1e6:.3g} us", "full", found * 1e6, 20.0, unit=" us")
    found = median_seconds(lambda: compare(reference, target), 9)
    how = "full, with snapshots and report"
    yield Row("compare, one leaf of 4 float32", f"{found * 1e6:.3g} us", how, found * 1e6, unit=" us")


def _peers(sizes: list[int]) -> Iterator[Row]:
    for size in sizes:
        _, pair = next(_cases(size))
        what = f"full, equal, {size:,} float32"
        for name, call in _calls(*pair):
            if isinstance(call, str):
                yield Row(what, "-", name, None, note=call)
                continue
            scale = 64 if name.startswith("64") else 1
            repeat = 9 if size < 10**6 else 3 if size < 10**8 else 1
            pairs = in_pairs(lambda: compare(*pair), call, repeat)  # noqa: B023
            other = _median(pairs.theirs) * scale
            memory = f", {_peak(call) / 1e6:,.0f} MB more" if size == sizes[-1] else ""
            ours = _median(pairs.ours)
            yield Row(what, f"{ours * 1e3:.3g} ms", f"{name} {other * 1e3:.3g} ms{memory}", pairs.ratio / scale)


def _calls(reference: torch.Tensor, target: torch.Tensor) -> Iterator[tuple[str, Callable[[], Any] | str]]:
    yield "torch.testing.assert_close", lambda: torch.testing.assert_close(target, reference, equal_nan=True)
    yield "torch.allclose", lambda: torch.allclose(target, reference, equal_nan=True)
    yield "64 x torch.allclose (one, scaled)", lambda: torch.allclose(target, reference, equal_nan=True)
    arrays = reference.numpy(), target.numpy()
    yield "numpy.allclose", lambda: np.allclose(arrays[1], arrays[0], equal_nan=True)
    try:
        yield f"Polygraphy {metadata.version('polygraphy')}", _polygraphy(*arrays)
    except (ImportError, metadata.PackageNotFoundError):
        yield "Polygraphy", "neither installed nor in LIBBENCH_PEERS"


def _polygraphy(*arrays: np.ndarray[Any, Any]) -> Callable[[], Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from polygraphy.comparator import CompareFunc, IterationResult
        from polygraphy.logger import G_LOGGER

        G_LOGGER.module_severity = logging.CRITICAL
        function = CompareFunc.simple(rtol=1.3e-6, atol=1e-5)
    results = [
        IterationResult(outputs={"output": array}, runner_name=name) for array, name in zip(arrays, "ab", strict=True)
    ]
    return lambda: function(*results)


def _memory(size: int) -> Iterator[Row]:
    compare(torch.zeros(2, 2), torch.zeros(2, 2))
    for what, make in _heavy(size):
        pair = make()
        found = _peak(lambda: compare(*pair)) / 1e6  # noqa: B023
        yield Row(f"memory of full, {what}", f"{found:,.3g} MB", "resident", found, 20.0, unit=" MB")


def _heavy(size: int) -> Iterator[tuple[str, Callable[[], Pair]]]:
    some = size // 10

    def mismatch() -> Pair:
        return next(pair for case, pair in _cases(size) if case == "all mismatch")

    def sparse(shift: int) -> torch.Tensor:
        ends, places = torch.tensor([0, some]), torch.arange(some) + shift
        return torch.sparse_csr_tensor(ends, places, torch.rand(some), (1, size), check_invariants=False)

    def quantised() -> torch.Tensor:
        scales, zeros = torch.full((1000,), 0.01), torch.zeros(1000)
        return torch.quantize_per_channel(torch.rand(some // 1000, 1000), scales, zeros, 1, torch.quint8)

    yield f"all mismatch, {size:,} float32", mismatch
    yield f"CSR of other places, {some:,} float32", lambda: (sparse(0), sparse(1))
    yield f"by channel, {some:,} quint8", lambda: (quantised(), quantised())


def _peak(call: Callable[[], Any]) -> float:
    """Give how many bytes more than before are resident at the highest point of a call."""
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    call()
    return _resident("VmHWM") - before


def _resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def _free() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))


def _median(seconds: tuple[float, ...]) -> float:
    return float(np.median(seconds))


if __name__ == "__main__":
    main()

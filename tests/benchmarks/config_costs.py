"""What else the config layer costs: importing it, its memory, a difference, a long list.

Prints ratios to `import omegaconf`, bytes per node beside the peers, and CPU seconds, with their bars.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from config_bench.peers import Peer, add_needs, all_peers
from config_bench.table import Row, finish
from config_bench.timing import median_seconds
from config_bench.trees import write

from libbench.config import LazyCall, LazyConfig, difference, instantiate

COUNT = 10_000
STATEMENTS = {
    "import libbench.config": "import libbench.config",
    "import of what a config file uses": "from libbench.config import LazyCall, LazyConfig, instantiate",
}
STARTED = (
    "import sys, time; begin = time.process_time(); {}; print(time.process_time() - begin, 'torch' in sys.modules)"
)


def main() -> None:
    """Measure and print."""
    add_needs()
    peers = dict(all_peers())
    with tempfile.TemporaryDirectory() as folder:
        rows = [*_imports(), *_memory(Path(folder), peers), *_seconds(Path(folder))]
    finish("config_costs", rows, [f"{name} {peer.version}" for name, peer in peers.items() if isinstance(peer, Peer)])


def _imports() -> Iterator[Row]:
    for what, statement in STATEMENTS.items():
        _started(statement)
        ratios, ours, theirs = [], [], []
        for _ in range(11):
            mine, torch = _started(statement)
            other, _ = _started("import omegaconf")
            ours.append(mine)
            theirs.append(other)
            ratios.append(mine / other)
            if torch:
                raise SystemExit(f"{statement} imports torch")
        told = f"import omegaconf {statistics.median(theirs) * 1e3:.3g} ms"
        yield Row(what, f"{statistics.median(ours) * 1e3:.3g} ms", told, statistics.median(ratios), 1.2)


def _started(statement: str) -> tuple[float, bool]:
    """Give the CPU seconds of a statement in a fresh interpreter, and whether torch is there after it."""
    command = [sys.executable, "-c", STARTED.format(statement)]
    # An installed package has its bytecode; a checkout has it after the first import, unless the shell forbids it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    text = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split()
    return float(text[0]), text[1] == "True"


def _memory(folder: Path, peers: dict[str, Peer | str]) -> Iterator[Row]:
    what = f"memory of a loaded config, {COUNT:,} nodes, per node"
    own = _bytes(LazyConfig.load, write(folder, "libbench", 10), write(folder, "libbench", COUNT))
    for name, peer in peers.items():
        if isinstance(peer, str):
            yield Row(what, f"{own / COUNT:,.0f} B", name, None, note=peer)
            continue
        other = _bytes(peer.load, peer.write(folder, 10), peer.write(folder, COUNT))
        yield Row(what, f"{own / COUNT:,.0f} B", f"{peer.name} {other / COUNT:,.0f} B", own / other)


def _bytes(load: Callable[[Path], Any], warmup: Path, file: Path) -> int:
    """Give the bytes that the config of a file keeps allocated."""
    load(warmup)
    gc.collect()
    tracemalloc.start()
    try:
        made = load(file)
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
        del made
        return size
    finally:
        tracemalloc.stop()


def _seconds(folder: Path) -> Iterator[Row]:
    file = write(folder, "libbench", COUNT)
    one, two = LazyConfig.load(file), LazyConfig.load(file)
    two.model.children[3].children[3].width = 4
    (change,) = difference(one, two)
    found = median_seconds(lambda: difference(one, two), 5)
    yield _absolute(f"difference of two configs, {COUNT:,} nodes", f"1 change, at {change.path}", found, 1.0)
    long = list(range(100_000))
    found = median_seconds(lambda: instantiate(LazyCall(SimpleNamespace)(v=long)), 5)
    yield _absolute("a list argument, 100,000 ints", "recorded and instantiated", found, 0.2)


def _absolute(what: str, how: str, seconds: float, bar: float) -> Row:
    return Row(what, f"{seconds * 1e3:.3g} ms", how, seconds, bar, unit=" s")


if __name__ == "__main__":
    main()

"""From a config file to what it describes: libbench beside detectron2, Hydra, fiddle and the bare Python calls.

Prints ratios of CPU time at 10, 500 and 10,000 nodes, with their bars, and how the time grows with nodes and depth.
"""

from __future__ import annotations

import functools
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from config_bench.peers import Peer, add_needs, all_peers
from config_bench.table import Row, finish
from config_bench.timing import Pairs, in_pairs, in_stages, median_seconds
from config_bench.trees import SIZES, bare, count_of, write

from libbench.config import LazyConfig, instantiate

PAIRS = {10: 15, 500: 9, 10_000: 3}
INNER = {10: 20, 500: 1, 10_000: 1}
LOAD_BARS = {500: 0.45, 10_000: 0.25}
BUILD_BAR = 35.0
GROWTH_BAR = 1.5
"""Time per node, or per level, that grows by less than this is called linear."""


def main() -> None:
    """Measure and print."""
    add_needs()
    peers = dict(all_peers())
    with tempfile.TemporaryDirectory() as folder:
        rows = [*_against_peers(Path(folder), peers), *_against_python(Path(folder)), *_growth(Path(folder))]
    finish("config_build", rows, [f"{name} {peer.version}" for name, peer in peers.items() if isinstance(peer, Peer)])


def _load(file: Path) -> Any:
    return LazyConfig.load(file).model


def _against_peers(folder: Path, peers: dict[str, Peer | str]) -> Iterator[Row]:
    for name, peer in peers.items():
        for count in SIZES:
            bar = LOAD_BARS.get(count) if name == "detectron2" else None
            whole, built = f"load and instantiate, {count:,} nodes", f"instantiate, {count:,} nodes"
            if isinstance(peer, str):
                yield Row(whole, "-", name, None, bar, note=peer)
                yield Row(built, "-", name, None, note=peer)
                continue
            ours, theirs = write(folder, "libbench", count), peer.write(folder, count)
            together, alone, made = in_stages(
                (functools.partial(_load, ours), instantiate),
                (functools.partial(peer.load, theirs), peer.build),
                PAIRS[count],
                INNER[count],
            )
            if [count_of(each) for each in made] != [count, count]:
                raise SystemExit(f"{whole}: libbench and {name} do not build the same")
            yield _row(whole, peer.name, together, bar)
            yield _row(built, peer.name, alone, None)


def _row(what: str, name: str, pairs: Pairs, bar: float | None) -> Row:
    ours, theirs = (_time(statistics.median(side)) for side in (pairs.ours, pairs.theirs))
    return Row(what, ours, f"{name} {theirs}", pairs.ratio, bar)


def _against_python(folder: Path) -> Iterator[Row]:
    for count in SIZES:
        cfg = _load(write(folder, "libbench", count))
        what = f"instantiate, {count:,} nodes"
        yield _row(what, "bare calls", in_pairs(functools.partial(instantiate, cfg), bare(count), 15), BUILD_BAR)


def _growth(folder: Path) -> Iterator[Row]:
    for shape, small, large, what in (("tree", 500, 10_000, "node"), ("chain", 50, 400, "level")):
        files = [write(folder, "libbench", count, shape) for count in (small, large)]
        each = [
            median_seconds(lambda file=file: instantiate(_load(file)), 5) / count
            for file, count in zip(files, (small, large), strict=True)
        ]
        told = f"{_time(each[0])} with {small:,}"
        yield Row(f"time per {what} with {large:,}", _time(each[1]), told, each[1] / each[0], GROWTH_BAR)


def _time(seconds: float) -> str:
    for below, factor, unit in ((1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if seconds < below:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


if __name__ == "__main__":
    main()

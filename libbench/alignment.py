"""Whether the ranks of a group do what they should: which data each one reads, and how a loss was put together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from libbench.drift import some
from libbench.group import Split
from libbench.reruns import compare_runs
from libbench.tree import load_snapshot

CLOSE = 1e-5
"""Two losses are one where they differ by no more than this share of the larger."""


@dataclass(frozen=True)
class Probe:
    """What a rank was fed and what it gave.

    Attributes:
        folder: where its outputs lie, a snapshot by the number of the round.
        rounds: for each round, which part each rank was fed; the first ones feed one part to all, part by part, then
            each rank has its own, then the next one's.
        fed: of the first turns of a real run, the dataset indices and the fingerprint of the inputs, without padding.
        distinct: whether every part differed from every other, and all ranks could be fed all of them.
    """

    folder: str
    rounds: tuple[tuple[int, ...], ...]
    fed: tuple[tuple[tuple[int, ...], str], ...]
    distinct: bool


def rounds_of(world: int) -> tuple[tuple[int, ...], ...]:
    """Give the rounds of a probe, each with the part that each rank is fed."""
    in_order = tuple(range(world))
    return (*((part,) * world for part in in_order), in_order, (*in_order[1:], 0))


@dataclass(frozen=True)
class Found:
    """What was found of one rank.

    Attributes:
        text: such as "reads its own data".
        right: whether that is as it should be; None where it cannot be told.
    """

    rank: int
    text: str
    right: bool | None


def alignment(probes: Sequence[Probe], split: Split) -> tuple[Found, ...]:
    """Say of each rank what it was fed, which rank's data its outputs come from, and whether it is like rank 0.

    Args:
        probes: one for each rank, in their order.
        split: how the data are meant to be split. Where all run the same, outputs may come from anywhere.
    """
    found: list[Found] = []
    for rank, probe in enumerate(probes):
        found += _fed(rank, probes, split)
        found += _like_rank_0(rank, probes)
        if not probe.distinct:
            found.append(
                Found(rank, "cannot be fed as many different full batches of one form as there are ranks", None)
            )
        elif len(probes) > 1:
            text, own = _reads(rank, probe, len(probes))
            found.append(Found(rank, text, True if split == "same" else own))
    return tuple(found)


def _fed(rank: int, probes: Sequence[Probe], split: Split) -> list[Found]:
    here = probes[rank].fed
    if split == "same":
        return [] if here == probes[0].fed else [Found(rank, "is fed other data than rank 0", False)]
    if not here:
        return [Found(rank, "has no data of its own: there are fewer batches than ranks", None)]
    twin = next((other for other in range(rank) if probes[other].fed == here), None)
    if twin is None:
        return [Found(rank, f"is fed samples {some(here[0][0])} first", True)]
    return [Found(rank, f"reads the data of rank {twin}: it is fed the same samples, as without a sampler", False)]


def _like_rank_0(rank: int, probes: Sequence[Probe]) -> list[Found]:
    """Compare what ranks give that are all fed one part."""
    for number in range(len(probes)):
        sides = [load_snapshot(Path(probe.folder), number) for probe in (probes[0], probes[rank])]
        again = compare_runs("another rank", *sides)
        if again.verdict == "different":
            return [Found(rank, f"gives other outputs than rank 0 for the same data ({again.note})", False)]
    return []


def _reads(rank: int, probe: Probe, world: int) -> tuple[str, bool | None]:
    """Tell whose data a rank's outputs come from, by what it gives where all are fed one part."""
    folder = Path(probe.folder)
    alone = [load_snapshot(folder, part) for part in range(world)]
    if any(compare_runs("", alone[0], other).verdict != "different" for other in alone[1:]):
        return "gives the same for parts that differ: where it reads from cannot be told", None
    like = [
        {part for part in range(world) if compare_runs("", alone[part], given).verdict != "different"}
        for given in (load_snapshot(folder, number) for number in (world, world + 1))
    ]
    in_order, moved_on = probe.rounds[-2:]
    sources = [other for other in range(world) if in_order[other] in like[0] and moved_on[other] in like[1]]
    if rank in sources:
        return "gives the outputs of its own data", True
    if sources:
        return f"gives the outputs of the data of rank {sources[0]}", False
    return "gives outputs that depend on the data of several ranks", False


def loss_mistake(found: float, parts: Sequence[tuple[float, float]]) -> str:
    """Name the mistake by which a loss was put together from ranks; empty where there is none.

    Args:
        found: the loss that is reported for all ranks.
        parts: for each rank the sum of its losses and their count. The right loss is the sum of all sums over the sum
            of all counts.

    Returns:
        Such as "the mean of the ranks' means: ratio 1.2 to the right loss", or that no known mistake explains it.
    """
    sums, counts = [each for each, _ in parts], [count for _, count in parts]
    total, count, world = math.fsum(sums), math.fsum(counts), len(parts)
    if not count or not all(counts):
        return "a rank has counted nothing"
    right = total / count
    if _close(found, right):
        return ""
    means = [each / own for each, own in parts]
    known: Mapping[str, float] = {
        "the mean of the ranks' means": math.fsum(means) / world,
        "the sum of the ranks' means": math.fsum(means),
        "the sum over all samples, not their mean": total,
        "the mean of the ranks' sums": total / world,
        "the sum of all ranks over the count of one": total / counts[0],
        "the sum of one rank over the count of all": sums[0] / count,
        **{f"the mean of rank {rank} alone": mean for rank, mean in enumerate(means)},
    }
    named = next((name for name, value in known.items() if _close(found, value)), "no mistake that is known")
    return f"{named}: {ratio_named(found / right if right else math.inf, world, count)} to the right loss"


def ratio_named(ratio: float, world: int, count: float | None = None) -> str:
    """Say a ratio with the number that it is made of, as "ratio 2 = world size".

    Args:
        ratio: of a loss or a gradient on several ranks to that of one process.
        world: how many ranks there are.
        count: of what the loss is a mean over; None where it is not known.
    """
    known = {"world size": world, "1 / world size": 1 / world}
    if count:
        known |= {"count": count, "1 / count": 1 / count, "count / world size": count / world}
    name = next((name for name, value in known.items() if value != 1 and _close(ratio, value)), None)
    return f"ratio {ratio:.6g}" + (f" = {name}" if name else "")


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=CLOSE)

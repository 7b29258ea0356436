"""What an output is like, in a few numbers that are taken of it, so that its values need not be kept."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch

from libbench.drawn import PLACE, Draws, LeafDraws
from libbench.tree import Snapshot, join

LARGEST = 2**18
"""Of an output with more values, some that stand equally far apart are looked at, about so many."""
PLACES = 32
"""So many places' own values are features, too: what is other place by place may be alike in the whole."""
NEXT_TO_NOTHING = 1e-4
"""The share of the mean size up to which a value counts as zero."""
QUANTILES = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)


def draws_of(calls: Sequence[Mapping[str, Mapping[str, float]]], wanted: Collection[str] = ()) -> Draws:
    """Put the features of several calls together.

    Args:
        calls: the features of each, by path.
        wanted: paths that are kept even where all calls agree in all features.
    """
    leaves = []
    for path in dict.fromkeys(path for call in calls for path in call):
        names = dict.fromkeys(name for call in calls for name in call.get(path, {}))
        found = {name: tuple(call.get(path, {}).get(name, math.nan) for call in calls) for name in names}
        if path in wanted or any(len(set(map(str, values))) > 1 for values in found.values()):
            leaves.append(LeafDraws(path=path, features=found))
    return Draws(calls=len(calls), leaves=tuple(leaves))


def features(taken: Snapshot) -> dict[str, dict[str, float]]:
    """Give the features of every output, by path and by name; none of what has no plain numbers.

    Whole numbers and booleans count as numbers, complex ones as two.
    """
    found = {path: _features(values) for path, leaf in taken.leaves.items() if (values := _values(leaf)) is not None}
    for path, number in _numbers(taken.structure, ""):
        found[path or "output"] = _features(torch.tensor([number], dtype=torch.float64, device="cpu"))
    return found


def _values(leaf: torch.Tensor) -> torch.Tensor | None:
    if leaf.is_meta or leaf.is_quantized or leaf.layout is not torch.strided:
        return None
    flat = (torch.view_as_real(leaf) if leaf.is_complex() else leaf).reshape(-1)
    try:
        return flat[:: (len(flat) // LARGEST) | 1].double() if len(flat) > LARGEST else flat.double()
    except (RuntimeError, NotImplementedError):  # dtypes below a byte
        return None


def _features(values: torch.Tensor) -> dict[str, float]:
    found = {"size": float(len(values))}
    # An odd step does not fall on the same column of every row.
    places = range(0, len(values), max(1, len(values) // PLACES) | 1)[:PLACES]
    found |= {f"{PLACE}{place}": float(values[place]) for place in places}
    finite = values.isfinite()
    kept = values[finite] if not finite.all() else values
    found["share that is not finite"] = 1 - len(kept) / max(1, len(values))
    if not len(kept):
        return found
    mean, std = kept.mean(), kept.std(correction=0)
    apart = kept - mean
    # In the unit of the values, so that noise from rounding stays as small as it is.
    along = (apart[1:] * apart[:-1]).mean() / std if len(kept) > 1 and std > 0 else torch.zeros(())
    found |= {"mean": float(mean), "standard deviation": float(std), "likeness of neighbours": float(along)}
    # What one side rounds to zero may be a little more on the other.
    nothing = NEXT_TO_NOTHING * kept.abs().mean()
    found["share of zeros"] = float((kept.abs() <= nothing).double().mean())
    if len(kept) > 1:
        found["share of equal neighbours"] = float(((kept[1:] - kept[:-1]).abs() <= nothing).double().mean())
    found["mean with fixed signs"] = float((kept * _signs(len(kept))).mean())
    quantiles = torch.quantile(kept, torch.tensor(QUANTILES, dtype=torch.float64, device="cpu"))
    return found | {f"{at:.0%} quantile": float(value) for at, value in zip(QUANTILES, quantiles, strict=True)}


@lru_cache(maxsize=8)
def _signs(count: int) -> torch.Tensor:
    """Give 1 or -1 for each place, always the same: by them a shift shows that the mean does not."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 2, (count,), generator=generator, device="cpu").double() * 2 - 1


def _numbers(node: Mapping[str, Any], path: str) -> Iterator[tuple[str, float]]:
    """Give the plain numbers of a structure by path, those apart that are complex or too large."""
    if node["kind"] == "number" and isinstance(node["value"], int | float):
        yield path, float(node["value"])
    for key, child in node.get("items", ()):
        yield from _numbers(child, join(path, key))

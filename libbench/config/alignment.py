"""Align two lists, so that an item inserted in front is one difference and not one for every item after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

_MANY = 2000
"""Beyond this many items that differ, items are compared place by place."""
_ALIKE = 1000
"""What pairing two alike items is worth, where pairing two others is worth 1."""


@dataclass(frozen=True)
class Pairing:
    """An item of one list with its counterpart in the other; None where it has none."""

    ours: int | None
    theirs: int | None
    moved: bool = False


def aligned(
    ours: Sequence[Any],
    theirs: Sequence[Any],
    content: Callable[[Any], int],
    alike: Callable[[Any, Any], bool],
) -> list[Pairing]:
    """Pair the items of two lists, in order.

    Args:
        ours: the reference's list.
        theirs: the target's.
        content: gives equal numbers for equal items.
        alike: tells whether two unequal items may be one item, changed.
    """
    if not ours and not theirs:
        return []
    ours_sums, theirs_sums = [content(each) for each in ours], [content(each) for each in theirs]
    changed_in_place = len(ours) == len(theirs) and _numbers(ours) and _numbers(theirs)
    if ours_sums == theirs_sums or (changed_in_place and sorted(ours_sums) != sorted(theirs_sums)):
        return [Pairing(index, index) for index in range(len(ours))]
    start = _common(ours_sums, theirs_sums)
    stop = _common(ours_sums[start:][::-1], theirs_sums[start:][::-1])
    our_end, their_end = len(ours) - stop, len(theirs) - stop
    pairs = [Pairing(index, index) for index in range(start)]
    if max(our_end, their_end) - start > _MANY:
        middle = _by_place(range(start, our_end), range(start, their_end))
    else:
        middle = []
        matcher = SequenceMatcher(None, ours_sums[start:our_end], theirs_sums[start:their_end], autojunk=False)
        for tag, a, b, c, d in matcher.get_opcodes():
            here, there = range(start + a, start + b), range(start + c, start + d)
            equal = tag == "equal"
            middle += _by_place(here, there) if equal else _gap(here, there, ours, theirs, alike)
        middle = _with_moves(middle, ours_sums, theirs_sums)
    pairs += middle
    return pairs + [Pairing(our_end + index, their_end + index) for index in range(stop)]


def _numbers(items: Sequence[Any]) -> bool:
    """Tell whether there is nothing but numbers: a shape, or widths, whose places have a meaning each."""
    return all(type(item) in (bool, int, float) for item in items)


def _common(one: list[int], two: list[int]) -> int:
    count = 0
    for a, b in zip(one, two, strict=False):
        if a != b:
            break
        count += 1
    return count


def _by_place(here: range, there: range) -> list[Pairing]:
    both = [Pairing(a, b) for a, b in zip(here, there, strict=False)]
    left = [Pairing(a, None) for a in here[len(there) :]]
    return both + left + [Pairing(None, b) for b in there[len(here) :]]


def _gap(
    here: range, there: range, ours: Sequence[Any], theirs: Sequence[Any], alike: Callable[[Any, Any], bool]
) -> list[Pairing]:
    """Pair the items of two stretches without equal ones: alike ones first, then any that stand side by side."""
    rows, columns = len(here), len(there)
    if rows * columns > 40_000:
        return _by_place(here, there)
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    gain = [[_ALIKE if alike(ours[a], theirs[b]) else 1 for b in there] for a in here]
    for a in range(rows - 1, -1, -1):
        for b in range(columns - 1, -1, -1):
            best[a][b] = max(best[a + 1][b + 1] + gain[a][b], best[a + 1][b], best[a][b + 1])
    pairs, a, b = [], 0, 0
    while a < rows and b < columns:
        if best[a][b] == best[a + 1][b + 1] + gain[a][b]:
            pairs.append(Pairing(here[a], there[b]))
            a, b = a + 1, b + 1
        elif best[a + 1][b] >= best[a][b + 1]:
            pairs.append(Pairing(here[a], None))
            a += 1
        else:
            pairs.append(Pairing(None, there[b]))
            b += 1
    pairs += [Pairing(index, None) for index in here[a:]]
    return pairs + [Pairing(None, index) for index in there[b:]]


def _with_moves(pairs: list[Pairing], ours: list[int], theirs: list[int]) -> list[Pairing]:
    """Join an item that is gone in one place and there in another into one that moved."""
    gone: dict[int, list[int]] = {}
    for each in pairs:
        if each.theirs is None and each.ours is not None:
            gone.setdefault(ours[each.ours], []).append(each.ours)
    moved: dict[int, int] = {}
    for each in pairs:
        if each.ours is None and each.theirs is not None and gone.get(theirs[each.theirs]):
            moved[each.theirs] = gone[theirs[each.theirs]].pop(0)
    taken = set(moved.values())
    joined = []
    for each in pairs:
        if each.theirs is None and each.ours in taken:
            continue
        if each.ours is None and each.theirs in moved:
            each = Pairing(moved[each.theirs], each.theirs, moved=True)
        joined.append(each)
    return joined

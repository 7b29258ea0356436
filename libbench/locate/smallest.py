"""The smallest set of differences that flips a verdict, found by few runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from libbench.decisive import Outcome

Taken = frozenset[int]
Test = Callable[[Taken], Outcome]


@dataclass(frozen=True)
class Smallest:
    """A set that flips the verdict.

    Attributes:
        members: the set.
        checked: whether each of its members was left out, and none of these sets flips the verdict.
        rest: what all others come to without these; None where that was not run, or where there are no others.
        apart: the smallest set without any of these that was seen to flip the verdict, too; empty where none was.
    """

    members: Taken
    checked: bool
    rest: Outcome | None
    apart: Taken


def bound_of(count: int) -> int:
    """Give how many runs a search among so many differences takes at most, where all of them can be judged.

    It is k + 2 log2 k, rounded down.
    """
    return math.floor(count + 2 * math.log2(count)) if count else 0


class Search:
    """Looks for a smallest set that flips the verdict, which none of the differences does not and all of them do.

    First by halves: the shortest start of the list that flips the verdict ends in a member, since without it the start
    does not; with that one taken, the same is asked of what comes before it. This takes log2 k runs for each member
    (QuickXplain, Junker, AAAI 2004, goes by halves, too). As soon as another round could lead past the bound, those
    that are left are left out one by one, which takes a run for each. Both count on it that more differences never
    undo what fewer do; so each member of what is found is left out once more, as long as the bound has room.

    Where that does not hold, or a set cannot be judged, the bound is for that part alone, and what is found is made
    smaller by delta debugging with unresolved outcomes (Zeller and Hildebrandt, TSE 28, 2002), which takes up to
    m^2 + 3m runs for m members, and by leaving out two of them where neither can be left out alone, since the config
    could not be built. A set that cannot be judged never counts as one that flips the verdict.

    Args:
        count: how many differences there are, at least 1.
        test: gives what comes of some of them, by position.

    Attributes:
        runs: how many sets were asked of.
        known: what came of each.
    """

    def __init__(self, count: int, test: Test) -> None:
        self._test = test
        self._all = frozenset(range(count))
        self._bound = bound_of(count)
        self._odd = False
        self.runs = 0
        self.known: dict[Taken, Outcome] = {frozenset(): "holds", self._all: "flips"}

    def found(self) -> Smallest:
        """Give a set of which no member can be left out."""
        members = self._checked(self._narrowed())
        if self._odd or "unresolved" in self.known.values():
            self._odd = True
            members = self._checked(self._smaller(members))
        rest = self._all - members
        outcome = self._ask(rest) if rest and self._affordable(rest) else None
        outer = [each for each, outcome in self.known.items() if outcome == "flips" and not each & members]
        return Smallest(
            members,
            checked=all(members - {each} in self.known for each in members),
            rest=outcome,
            apart=min(outer, key=lambda each: (len(each), sorted(each)), default=frozenset()),
        )

    def _ask(self, taken: Iterable[int]) -> Outcome:
        taken = frozenset(taken)
        if taken not in self.known:
            self.runs += 1
            self.known[taken] = self._test(taken)
        return self.known[taken]

    def _flips(self, taken: Iterable[int]) -> bool:
        return self._ask(taken) == "flips"

    def _affordable(self, taken: Taken) -> bool:
        return taken in self.known or self.runs < self._bound or self._odd

    def _room(self, cost: int, left: int) -> bool:
        """Tell whether so many runs, and then one for each of those that are left, stay within the bound."""
        return self.runs + cost + left <= self._bound

    def _narrowed(self) -> Taken:
        """Give a small set that flips the verdict, by as many runs as the bound has."""
        fixed: list[int] = []
        left = sorted(self._all)
        while left:
            alone = bool(fixed) and self._may_ask_alone(len(left))
            if alone and self._flips(fixed):
                return frozenset(fixed)
            # So many of those that are left are too few; -1: none at all may do.
            low, high = -1 if fixed and not alone else 0, len(left)
            if not self._room((high - low - 1).bit_length(), high - 1):
                return self._one_by_one(fixed, left)
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (low, middle) if self._flips([*fixed, *left[:middle]]) else (middle, high)
            if high == 0:
                break
            fixed.append(left[high - 1])
            left = left[: high - 1]
        return frozenset(fixed)

    def _may_ask_alone(self, left: int) -> bool:
        """Tell whether it may be asked, before the next round, if the members found so far do by themselves.

        Halving tells it, too, in more runs where it is so. It may where there is room for it before the round after
        the next as well, or where none but it comes before those that are left are left out one by one.
        """
        again = self._room(1 + (left - 1).bit_length() + 1, left - 1)
        return again or (self._room(1, left) and not self._room(left.bit_length(), left - 1))

    def _one_by_one(self, fixed: Iterable[int], left: Iterable[int]) -> Taken:
        members = frozenset([*fixed, *left])
        for each in left:
            if self._flips(members - {each}):
                members -= {each}
        return members

    def _checked(self, members: Taken) -> Taken:
        """Leave each member out; give a smaller set where that flips the verdict, against all that was counted on."""
        for each in sorted(members):
            fewer = members - {each}
            if self._affordable(fewer) and self._flips(fewer):
                self._odd = True
                return self._checked(fewer)
        return members

    def _smaller(self, members: Taken) -> Taken:
        """Make a set smaller where not all can be judged: by delta debugging, and by what hangs together."""
        while True:
            members = self._by_delta(members)
            fewer = next((each for each in self._without_some(members) if self._flips(each)), None)
            if fewer is None:
                return members
            members = fewer

    def _without_some(self, members: Taken) -> Iterator[Taken]:
        """Give a set without those that can only be left out together: without all of them, and without any two."""
        open_ = [each for each in sorted(members) if self._ask(members - {each}) == "unresolved"]
        if len(open_) > 1:
            yield members - frozenset(open_)
            yield from (members - {*pair} for pair in combinations(open_, 2))

    def _by_delta(self, members: Taken) -> Taken:
        """Make a set smaller by parts of it, and by what is left without a part: Zeller's ddmin."""
        count = 2
        while len(members) > 1:
            parts = list(_parts(sorted(members), count))
            smaller = next((part for part in parts if self._flips(part)), None)
            if smaller is not None:
                members, count = smaller, 2
                continue
            smaller = next((members - part for part in parts if self._flips(members - part)), None)
            if smaller is not None:
                members, count = smaller, max(count - 1, 2)
            elif count == len(members):
                break
            else:
                count = min(2 * count, len(members))
        return members


def _parts(members: list[int], count: int) -> Iterator[Taken]:
    """Cut a list in so many parts, as even as can be."""
    for number in range(count):
        yield frozenset(members[number * len(members) // count : (number + 1) * len(members) // count])

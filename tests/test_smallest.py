"""The smallest set of differences that flips a verdict, and how many runs it takes to find it."""

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from libbench.locate.smallest import Search, bound_of


def search(count, outcome):
    """Look for a set; give what was found and the search."""
    asked = []

    def test(taken):
        asked.append(taken)
        return outcome(taken)

    made = Search(count, test)
    found = made.found()
    assert len(asked) == len(set(asked)) == made.runs
    return found, made


def flips_with(*sets):
    """Give what flips as soon as it has all of one of some sets."""
    return lambda taken: "flips" if any(each <= taken for each in map(frozenset, sets)) else "holds"


@st.composite
def planted(draw):
    count = draw(st.integers(1, 60))
    return count, frozenset(draw(st.sets(st.integers(0, count - 1), min_size=1)))


@given(planted())
def test_any_planted_set_is_found_exactly_within_the_bound(plant):
    count, members = plant

    found, made = search(count, flips_with(members))

    assert found.members == members
    assert made.runs <= bound_of(count) <= count + 2 * math.log2(count)


@given(planted(), st.data())
def test_what_is_found_of_several_causes_is_one_of_them_within_the_bound(plant, data):
    count, first = plant
    others = data.draw(st.lists(st.sets(st.integers(0, count - 1), min_size=1), max_size=3))
    flips = flips_with(first, *others)

    found, made = search(count, flips)

    assert flips(found.members) == "flips"
    assert all(flips(found.members - {each}) == "holds" for each in found.members)
    assert made.runs <= bound_of(count)


@given(st.integers(1, 10), st.randoms(use_true_random=False))
def test_no_member_of_what_is_found_can_be_left_out_whatever_comes_of_the_others(count, random):
    everything = frozenset(range(count))
    table = {}

    def outcome(taken):
        return table.setdefault(taken, random.choice(["flips", "holds", "unresolved"]))

    found, made = search(count, outcome)

    assert found.members == everything or table[found.members] == "flips"
    assert all(made.known.get(found.members - {each}) != "flips" for each in found.members)
    assert made.runs <= bound_of(count) + 2 * count**2 + 3 * count


@pytest.mark.parametrize("pair", [*combinations(range(12), 2)])
def test_of_twelve_differences_two_that_matter_together_take_thirteen_runs_at_most(pair):
    found, made = search(12, flips_with(pair))

    assert (found.members, found.checked, found.rest, found.apart) == (frozenset(pair), True, "holds", frozenset())
    assert {frozenset({each}) for each in pair} <= made.known.keys()
    assert made.runs <= 13
    assert bound_of(12) == 19


def test_one_of_many_is_found_in_about_as_many_runs_as_halving_takes():
    runs = []
    for member in range(100):
        found, made = search(100, flips_with({member}))
        assert found.members == {member}
        runs.append(made.runs)

    # Halving takes 7; one more is for the member by itself, one for all others.
    assert sum(runs) / len(runs) < 10
    assert max(runs) <= 2 * 7 + 1


@given(st.permutations(range(12)), st.integers(1, 3))
def test_dependent_differences_that_cannot_be_built_apart_are_no_part_of_the_finding(order, pairs):
    culprit, *rest = order
    together = [frozenset(rest[2 * number : 2 * number + 2]) for number in range(pairs)]

    def outcome(taken):
        if any(len(each & taken) == 1 for each in together):
            return "unresolved"
        return "flips" if culprit in taken else "holds"

    found, _ = search(12, outcome)

    assert outcome(found.members) == "flips"
    assert found.members == {culprit}


@given(st.permutations(range(12)))
def test_two_that_matter_together_are_found_among_others_that_can_only_be_left_out_together(order):
    first, second, *rest = order

    def outcome(taken):
        if len({*rest[:2]} & taken) == 1 or len({*rest[2:4]} & taken) == 1:
            return "unresolved"
        return "flips" if {first, second} <= taken else "holds"

    found, _ = search(12, outcome)

    assert found.members == {first, second}


def test_a_set_that_cannot_be_judged_never_counts_as_one_that_flips():
    found, _ = search(4, lambda taken: "holds" if not taken & {2, 3} else "unresolved")

    assert found.members == {0, 1, 2, 3}


def test_two_sets_of_which_each_suffices_are_noticed():
    found, made = search(12, flips_with({2, 4}, {7, 9}))

    assert found.members == {2, 4}
    assert found.rest == "flips"
    assert {7, 9} <= found.apart
    assert not found.apart & found.members
    assert made.runs <= bound_of(12)

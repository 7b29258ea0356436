"""Configs between two others."""

import pytest
from config_kinds import A, B
from hypothesis import given
from hypothesis import strategies as st
from test_config_properties import SOME, trees

from libbench.config import LazyCall as L
from libbench.config import clone, difference, digest, instantiate, thaw
from libbench.config.between import Between


def counted(one, two):
    return [change for change in difference(one, two) if change.counted]


def paths(reference, target):
    return [place.path for place in Between(reference, target).places]


@SOME
@given(trees(), trees(), st.data())
def test_with_none_of_the_places_it_is_the_reference_and_with_all_the_target(one, two, data):
    between = Between(one, two)
    every = range(len(between.places))

    assert counted(one, between.mixed(())) == []
    assert {each.path for each in counted(between.mixed(every), two)} <= {each.path for each in between.left}
    some = data.draw(st.sets(st.sampled_from(every))) if between.places else set()
    assert digest(between.mixed(some)) == digest(Between(one, two).mixed(some))


@pytest.mark.parametrize(
    ("reference", "target", "places"),
    [
        (1, 2, ["v"]),
        (L(A)(n=1, m=1), L(A)(n=2, m=2), ["v.n", "v.m"]),
        (L(A)(n=1), L(B)(n=2, m=1), ["v"]),
        (L(A)(n=1), L(A).partial(n=1), ["v"]),
        (L(A)(n=1), L(A)(m=1), ["v.n", "v.m"]),
        (None, L(A)(n=1), ["v"]),
        ([1, 2], [3, 4], ["v"]),
        ([1, 2], (1, 2), ["v"]),
        ((1, (2,)), (3, (4,)), ["v.0", "v.1"]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 2, "d": 2}}, ["v.a.b", "v.a.c", "v.a.d"]),
        ([L(A)(n=1)], [L(B)(), L(A)(n=2)], ["v.0", "v.0.n -> v.1.n"]),
        ([L(A)(n=1), L(A)(n=2)], [L(A)(n=2), L(A)(n=1)], ["v"]),
        (L(list)(L(A)(n=1)), L(list)(L(A)(n=2)), ["v.0.n"]),
    ],
)
def test_each_kind_of_difference_is_so_many_places(reference, target, places):
    assert paths({"v": reference, "w": 1}, {"v": target, "w": 1}) == places


def test_a_difference_in_a_shared_node_is_one_place_and_stays_shared():
    def cfg(n):
        inner = L(A)(n=n, k=n)
        return {"a": L(A)(inner=inner), "b": [inner]}

    between = Between(cfg(1), cfg(2))

    assert [place.path for place in between.places] == ["a.inner.n", "a.inner.k"]
    built = instantiate(thaw(between.mixed([1])))
    assert built["a"].inner is built["b"][0]
    assert (built["b"][0].n, built["b"][0].k) == (1, 2)


def test_one_instance_in_place_of_two_is_a_place_of_its_own():
    inner = L(A)(n=1)
    apart, together = {"a": inner, "b": clone(inner), "c": 1}, {"a": inner, "b": inner, "c": 2}

    for one, two in ((apart, together), (together, apart)):
        between = Between(one, two)
        assert [place.path for place in between.places] == ["b", "c"]
        shared = [built["a"] is built["b"] for built in (instantiate(thaw(between.mixed(n))) for n in ([], [0], [1]))]
        assert shared == [one is together, two is together, one is together]


def test_a_new_part_that_uses_a_node_of_the_reference_gets_that_instance_with_its_own_differences():
    def cfg(n, new):
        model = L(A)(n=n)
        return {"model": model, "judge": L(B)(model=model) if new else None}

    between = Between(cfg(1, False), cfg(2, True))

    assert [place.path for place in between.places] == ["model.n", "judge"]
    built = instantiate(thaw(between.mixed([1])))
    assert built["judge"].model is built["model"]
    assert built["model"].n == 1


def test_an_item_is_put_where_the_target_has_it():
    items = [L(A)(n=number) for number in range(4)]
    between = Between({"v": items[1:3]}, {"v": items[:1] + items[2:]})

    numbers = [[each.n for each in instantiate(thaw(between.mixed(taken)))["v"]] for taken in ([], [0], [1], [0, 1])]
    assert len(between.places) == 2
    assert numbers[0] == [1, 2]
    assert numbers[-1] == [0, 2, 3]


def test_what_makes_no_difference_is_no_place():
    reference = {"a": 1, "b": "${a}", "c": L(complex)(real=1.0)}
    target = {"a": 1, "b": 1, "c": L(complex)(real=1.0, imag=0)}

    assert paths(reference, target) == []

"""Comparing, held against the plainest way of computing the same in float64."""

import math

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from libbench.compare import OutputComparison, compare, floats, grid
from libbench.compare.levels import family
from libbench.compare.ranking import TOP
from libbench.settings import Tolerance
from libbench.tree import snapshot

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


@pytest.fixture(params=["small outputs", "cheap steps"], autouse=True)
def path(request, monkeypatch):
    """Both ways through the code: wholly in float64, and by vectorised steps with candidates in float64."""
    if request.param == "cheap steps":
        monkeypatch.setattr(floats, "_SMALL", 0)


@st.composite
def sides(draw, dtypes=DTYPES, finite=False):
    """Two tensors of one dtype that are equal, near, or far from one another, place by place."""
    dtype = draw(st.sampled_from(dtypes))
    width = dtype.itemsize * 8 if dtype is not torch.bfloat16 else 32
    special = [0.0, -0.0, 1.0, -1.0] + ([] if finite else [math.nan, math.inf, -math.inf])
    value = st.floats(-3, 3) | st.floats(width=width, allow_nan=False, allow_infinity=False) | st.sampled_from(special)
    reference = draw(st.lists(value, min_size=1, max_size=12))
    far = draw(st.lists(st.none() | value, min_size=len(reference), max_size=len(reference)))
    step = st.sampled_from([0.0, 1e-7, -1e-6, 1e-5, 1e-3, 0.05])
    near = draw(st.lists(step, min_size=len(reference), max_size=len(reference)))
    target = [r * (1 + n) + n if f is None else f for r, f, n in zip(reference, far, near, strict=True)]
    pair = [torch.tensor(side, dtype=torch.float64).to(dtype) for side in (reference, target)]
    if finite:
        pair = [torch.nan_to_num(side) for side in pair]
    return pair


tolerances = st.sampled_from([None, 0.0, 1e-7, 1e-5, 1e-3, 0.1])


def close(reference, target, rtol, atol):
    return torch.isclose(target.double(), reference.double(), rtol=rtol, atol=atol, equal_nan=True)


def only_leaf(reference, target, **tolerance):
    (leaf,) = compare(reference, target, Tolerance(**tolerance)).leaves
    return leaf


@settings(deadline=None)
@given(sides())
def test_anything_is_the_same_as_itself(pair):
    leaf = only_leaf(pair[0], pair[0].clone())

    assert (leaf.verdict, leaf.mismatches, leaf.level) == ("same", 0, -math.inf)
    assert leaf.max_abs is None or leaf.max_abs.value == 0


@settings(deadline=None)
@given(sides(), tolerances, tolerances)
@example((torch.tensor([1e-45, 0.0]), torch.tensor([1.5e-45, 1.0])), 0.1, 0.0)
@example((torch.tensor([1.0], dtype=torch.float64), torch.tensor([-1.7e308], dtype=torch.float64)), 0.1, 0.1)
def test_the_verdict_and_the_mismatches_are_those_of_allclose_in_float64(pair, rtol, atol):
    of = family(pair[0].dtype)
    passes = close(*pair, of.rtol if rtol is None else rtol, of.atol if atol is None else atol)

    leaf = only_leaf(*pair, rtol=rtol, atol=atol)

    assert leaf.mismatches == int((~passes).sum())
    assert leaf.verdict == ("same" if passes.all() else "different")
    first = None if passes.all() else (int((~passes).nonzero()[0]),)
    assert leaf.first_mismatch == first


@settings(deadline=None)
@given(sides())
def test_the_level_passes_and_slightly_less_fails(pair):
    leaf = only_leaf(*pair)
    of = family(pair[0].dtype)

    def passes(level):
        return bool(close(*pair, 10.0 ** (of.relative * level), 10.0 ** (of.absolute * level)).all())

    if math.isinf(leaf.level):
        assert passes(-400) == (leaf.level < 0)
        assert passes(5) or leaf.level > 0
    elif -200 < leaf.level < 200:  # elsewhere float64 has not all its digits, or none, for the tolerances
        assert passes(leaf.level)
        assert not passes(leaf.level - 1e-9 * max(1, abs(leaf.level)))


@settings(deadline=None)
@given(sides(finite=True))
def test_statistics_are_those_of_the_plain_formulas(pair):
    leaf = only_leaf(*pair)

    r, t = (side.double() for side in pair)
    d = (t - r).abs()
    assert leaf.max_abs.value == d.max()
    assert d[leaf.max_abs.at] == d.max()
    assert (leaf.max_abs.reference, leaf.max_abs.target) == (r[leaf.max_abs.at], t[leaf.max_abs.at])
    if 0 < d.max() < 1e150 and r.abs().max() < 1e150 and t.abs().max() < 1e150 and d.max() > 1e-150:
        assert leaf.mean_abs == pytest.approx(d.mean().item(), rel=1e-5)
        assert leaf.rmse == pytest.approx(d.square().mean().sqrt().item(), rel=1e-5)
        if r.norm() > 1e-150:
            snr = 20 * (r.norm() / d.norm()).log10().item()
            assert leaf.snr_db == pytest.approx(snr, abs=1e-4)
        if r.norm() > 1e-150 and t.norm() > 1e-5 * r.norm():
            cosine = torch.nn.functional.cosine_similarity(r / r.norm(), t / t.norm(), dim=0).item()
            assert leaf.cosine == pytest.approx(cosine, abs=1e-5)


@settings(deadline=None)
@given(sides(finite=True))
def test_the_largest_relative_difference_is_found(pair):
    leaf = only_leaf(*pair)

    r, t = (side.double() for side in pair)
    d = (t - r).abs()
    normal = (d == 0) | (d > 1e-37)  # the cheap steps do not look for it among numbers without all their digits
    relative = torch.where(d > 0, d / r.abs(), d)
    assert leaf.max_rel.value >= max(relative[normal].tolist(), default=0)
    assert leaf.max_rel.value <= relative.max()


@settings(deadline=None)
@given(sides(), st.integers(1, 4))
def test_comparing_in_pieces_equals_comparing_at_once(pair, count):
    whole, parts = OutputComparison(), OutputComparison()
    whole.add(*(snapshot(side) for side in pair), range(len(pair[0])))
    positions = torch.arange(len(pair[0])).chunk(count)

    for indices, reference, target in zip(positions, *(side.chunk(count) for side in pair), strict=True):
        parts.add(snapshot(reference), snapshot(target), indices.tolist())

    one, many = whole.report().leaves[0], parts.report().leaves[0]
    for name in ("verdict", "mismatches", "first_mismatch", "max_abs", "nans", "infs", "ulp_max", "elements"):
        assert getattr(one, name) == getattr(many, name), name
    assert one.level == many.level or one.level == pytest.approx(many.level, abs=1e-12)
    for name in ("rmse", "cosine", "snr_db"):
        left, right = getattr(one, name), getattr(many, name)
        assert left == right or left == pytest.approx(right, rel=1e-5, abs=1e-5), name


@settings(deadline=None)
@given(sides())
def test_the_largest_ulp_distance_counts_the_values_between(pair):
    leaf = only_leaf(*pair)

    def rank(side):
        """The place of a value among all values of its dtype; both zeros are 0."""
        integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[side.dtype.itemsize]
        for bits in side.view(integer).tolist():
            size = bits & torch.iinfo(integer).max
            yield size if bits >= 0 else -size

    finite = (pair[0].isfinite() & pair[1].isfinite()).tolist()
    apart = [abs(t - r) for keep, r, t in zip(finite, *map(rank, pair), strict=True) if keep]
    assert leaf.ulp_max == max(apart, default=0)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_integers_are_compared_as_python_compares_them(pairs):
    reference, target = ([pair[side] for pair in pairs] for side in (0, 1))

    leaf = only_leaf(torch.tensor(reference), torch.tensor(target))

    assert leaf.mismatches == sum(r != t for r, t in pairs)
    assert leaf.max_abs.value == max(abs(r - t) for r, t in pairs)


INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.uint16, torch.int16, torch.int32, torch.int64, torch.uint64)


@st.composite
def whole_numbers(draw):
    """Two tensors of integers of any dtypes, which mostly differ or mostly do not."""
    dtypes = draw(
        st.tuples(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS))
        | st.sampled_from(INTEGERS).map(lambda d: (d, d))
    )
    sides = []
    for dtype in dtypes:
        low, high = (0, 1) if dtype is torch.bool else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)
        number = st.integers(low, high) | st.sampled_from([low, high, 0, 1])
        sides.append(draw(st.lists(number, min_size=5, max_size=5)))
    padding = draw(st.sampled_from([0, 200]))
    return [torch.tensor(side + [1] * padding, dtype=dtype) for side, dtype in zip(sides, dtypes, strict=True)]


@settings(deadline=None)
@given(whole_numbers())
def test_integers_of_any_dtypes_have_the_statistics_of_pythons_integers(pair):
    leaf = only_leaf(*pair)

    reference, target = ([int(value) for value in side.tolist()] for side in pair)
    apart = [abs(t - r) for r, t in zip(reference, target, strict=True)]
    wrong = [i for i, d in enumerate(apart) if d]
    relative = [
        (float(d) / abs(float(r)) if r else math.inf) if d else 0.0 for d, r in zip(apart, reference, strict=True)
    ]
    assert leaf.mismatches == len(wrong)
    assert leaf.first_mismatch == ((wrong[0],) if wrong else None)
    assert leaf.max_abs.value == max(apart)
    assert (leaf.max_abs.reference, leaf.max_abs.target) == (reference[leaf.max_abs.at[0]], target[leaf.max_abs.at[0]])
    assert leaf.max_abs.at == (apart.index(max(apart)),)
    assert leaf.max_rel.value == max(relative)
    assert leaf.rmse == pytest.approx(math.sqrt(sum(d * d for d in apart) / len(apart)))
    assert leaf.mean_abs == pytest.approx(sum(apart) / len(apart))


tree = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.lists(st.floats(width=32), max_size=3).map(torch.tensor)
    | st.lists(st.integers(0, 9), max_size=3).map(torch.tensor),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2) | st.integers(0, 3), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=10,
)


@settings(deadline=None)
@given(tree)
def test_any_nesting_is_the_same_as_itself(value):
    report = compare(value, value)

    assert report.verdict == ("same" if report.leaves else "unjudged")
    assert not report.reasons
    assert not report.notes


@settings(deadline=None)
@given(tree, tree)
def test_any_two_nestings_can_be_compared_and_the_verdict_has_no_sides(left, right):
    report, back = compare(left, right, Tolerance(rtol=0, atol=0)), compare(right, left, Tolerance(rtol=0, atol=0))

    assert report.verdict == back.verdict
    assert sorted(leaf.path for leaf in report.leaves) == sorted(leaf.path for leaf in back.leaves)
    assert all(leaf.reasons for leaf in report.leaves if leaf.verdict != "same")


def grid_by_allclose(reference, target):
    """The smallest level that passes, by 64 calls; and whether every higher one passes, too."""
    t64, r64 = target.double(), reference.double()
    found = {}
    for dtype in DTYPES:
        passes = [torch.allclose(t64, r64, *grid.pair(dtype, level), equal_nan=True) for level in grid.LEVELS]
        assert passes == sorted(passes)
        found[str(dtype).removeprefix("torch.")] = grid.LEVELS[passes.index(True)] if any(passes) else None
    return found


@st.composite
def ties(draw):
    """Differences of exactly what a pair of the grid allows, and of the float64 numbers next to that."""
    dtype, level = draw(st.sampled_from(DTYPES)), draw(st.sampled_from(grid.LEVELS))
    rtol, atol = grid.pair(dtype, level)
    reference = torch.tensor(draw(st.lists(st.just(0.0) | st.floats(-100, 100), min_size=1, max_size=5)))
    reference = reference.double()
    allowed = atol + rtol * reference.abs()
    target = reference + allowed * draw(st.sampled_from([1.0, -1.0]))
    step = draw(st.sampled_from([0.0, math.inf, -math.inf]))
    if step:
        target = torch.nextafter(target, torch.full_like(target, step))
    return [reference, target]


@settings(deadline=None)
@given(sides() | ties())
@example([torch.tensor([math.inf, 1.0]), torch.tensor([1.0, 1.0])])
@example([torch.tensor([math.nan, 1.0]), torch.tensor([math.nan, 1.00001])])
@example([torch.tensor([0.0, 1e-45]), torch.tensor([1e-45, 0.0])])
@example([torch.tensor([1e5, 0.0]), torch.tensor([3e5, 1e5])])
def test_the_grid_is_that_of_64_calls_of_allclose(pair):
    assert dict(only_leaf(*pair).grid) == grid_by_allclose(*pair)


@settings(deadline=None)
@given(sides(dtypes=(torch.float32, torch.float64)))
def test_complex_numbers_have_the_grid_and_the_level_of_their_parts(pair):
    whole = only_leaf(*(torch.complex(side, side.flip(0)) for side in pair))
    part = only_leaf(*pair)

    assert (whole.grid, whole.level, whole.ulp_max) == (part.grid, part.level, part.ulp_max)


@settings(deadline=None)
@given(sides(), tolerances, st.sampled_from(["equal", "refuse"]))
def test_what_little_is_asked_is_found_as_when_all_is(pair, rtol, nan):
    tolerance = Tolerance(rtol=rtol, nan=nan)
    (full,) = compare(*pair, tolerance).leaves

    for detail, names in (("verdict", ()), ("level", ("level",)), ("grid", ("level", "grid"))):
        (leaf,) = compare(*pair, tolerance, detail=detail).leaves
        for name in ("verdict", "reasons", "mismatches", "first_mismatch", "elements", "nans", "infs", *names):
            assert getattr(leaf, name) == getattr(full, name), (detail, name)
        for name in {
            "level",
            "grid",
            "max_abs",
            "max_rel",
            "mean_abs",
            "rmse",
            "cosine",
            "snr_db",
            "ulp_max",
            "top1",
        } - {*names}:
            assert getattr(leaf, name) is None, (detail, name)


@settings(deadline=None)
@given(sides())
def test_nans_and_infinities_are_counted_on_each_side(pair):
    leaf = only_leaf(*pair)

    assert leaf.nans == tuple(int(side.isnan().sum()) for side in pair)
    assert leaf.infs == tuple(int(side.isinf().sum()) for side in pair)
    assert leaf.elements == pair[0].numel()


def ranks(side):
    """The place of every value among all values of its dtype; both zeros are 0."""
    integer = {2: torch.int16, 4: torch.int32, 8: torch.int64}[side.dtype.itemsize]
    bits = side.view(integer).tolist()
    return [size if value >= 0 else -size for value in bits for size in [value & torch.iinfo(integer).max]]


@settings(deadline=None)
@given(sides(finite=True))
def test_ulp_quantiles_of_few_values_are_those_of_all(pair):
    leaf = only_leaf(*pair)

    apart = sorted(abs(t - r) for r, t in zip(*map(ranks, pair), strict=True))
    assert leaf.ulp_p50 == float(apart[(len(apart) - 1) // 2])
    assert leaf.ulp_p99 == float(apart[int(0.99 * (len(apart) - 1))])
    classes = [each.bit_length() for each in apart]
    assert leaf.ulp_counts == tuple(classes.count(each) for each in range(max(classes) + 1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [0.0, 0.01, 3.0])
@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e3])
def test_the_statistics_of_many_pieces_are_those_of_all_values(dtype, offset, scale):
    generator = torch.Generator().manual_seed(7)
    pieces = []
    for _ in range(4):
        reference = torch.randn(5000, generator=generator, dtype=torch.float64) * scale
        pieces.append([side.to(dtype) for side in (reference, reference * 1.01 + offset * scale)])
    comparison = OutputComparison()
    for piece in pieces:
        comparison.add(*map(snapshot, piece))
    (leaf,) = comparison.report().leaves

    reference, target = (torch.cat([piece[side] for piece in pieces]) for side in (0, 1))
    d, r = (target.double() - reference.double()).abs(), reference.double().abs()
    assert leaf.ulp_max == max(abs(b - a) for a, b in zip(ranks(reference), ranks(target), strict=True))
    assert leaf.max_abs.value == d.max()
    assert leaf.max_rel.value == torch.where(d > 0, d / r, d).max()
    assert leaf.mean_abs == pytest.approx(d.mean().item(), rel=1e-5)
    assert leaf.rmse == pytest.approx(d.square().mean().sqrt().item(), rel=1e-5)
    assert leaf.mismatches == int((~close(reference, target, leaf.rtol, leaf.atol)).sum())
    assert dict(leaf.grid) == grid_by_allclose(reference, target)


def top_by_hand(reference, target):
    """Shares of rows whose largest, and of the five largest, that both sides have."""
    first, shared = [], []
    for r, t in zip(reference.double().tolist(), target.double().tolist(), strict=True):
        if any(map(math.isnan, r)):
            continue
        broken = any(map(math.isnan, t))
        best = [{i for i, value in enumerate(row) if value >= max(row)} for row in (r, t)]
        top = (
            [{i for i, value in enumerate(row) if value >= sorted(row)[-TOP]} for row in (r, t)] if len(r) > TOP else []
        )
        first.append(not broken and bool(best[0] & best[1]))
        shared += [0.0 if broken else min(TOP, len(top[0] & top[1])) / TOP] if top else []
    return tuple(sum(shares) / len(shares) if shares else None for shares in (first, shared)), len(first)


@settings(deadline=None)
@given(st.data(), st.sampled_from(DTYPES), st.integers(1, 6), st.integers(2, 12))
def test_ranks_agree_as_counted_by_hand(data, dtype, rows, classes):
    score = st.sampled_from([-math.inf, -1.0, 0.0, 0.25, 0.5, 1.0, math.nan]) | st.floats(-1, 1, width=16)
    table = st.lists(st.lists(score, min_size=classes, max_size=classes), min_size=rows, max_size=rows)
    reference, target = (torch.tensor(data.draw(table), dtype=dtype) for _ in range(2))

    leaf = only_leaf(reference, target)

    expected, count = top_by_hand(reference, target)
    assert leaf.top1 == (pytest.approx(expected[0]) if count else None)
    assert leaf.top5 == (pytest.approx(expected[1]) if expected[1] is not None else None)
    assert leaf.ranked_rows == count

"""Ratios of noisy sums, and sums of products around exact means, against docs/theory/proofs."""

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from mechanisms.tables.statistics.ranges import Range
from mechanisms.tables.statistics.ratios import Centred, Sums, WeightedSum
from queryable.answers.half_widths import half_width
from queryable.answers.weighted_noise import weighted_half_width

LAW = DiscreteGaussian(100)
MISSED = Fraction(1, 20)
SHARE = Fraction(1, 100)
ONE = Range.between(-1, 1)
PAIRS = (0, 0), (0, 1), (1, 1)


def noise(weights: Sequence[float], missed: Fraction) -> float:
    return float(weighted_half_width([LAW] * len(weights), weights, missed))


def sums(noisy: Sequence[int], *moved: Any, law: Any = LAW, scale: int = 1) -> Sums:
    by = tuple(map(Fraction, moved)) or (Fraction(0),) * len(noisy)
    return Sums(np.array(noisy, dtype=object), law, scale, by)


def point(value: Any) -> Range:
    return Range.between(Fraction(value), Fraction(value))


def test_noise_moves_a_sum_by_its_largest_weights_and_truncation_by_rows() -> None:
    weights = [Range.between(-3, 1), Range.between(1, 2)]
    far = sums([500, 300], 0, "1/8", scale=2).far(weights, point(1000), MISSED)
    assert float(far.high) == pytest.approx(noise([1.5, 1], MISSED) + 2 * 1000 / 8)


def test_rows_are_at_most_those_that_noise_may_hide() -> None:
    most = float(sums([500, 300], scale=2).most_rows(MISSED).high)
    assert most == pytest.approx((500 + half_width(LAW, 1 - MISSED)) / 2)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_ratio_is_what_the_noise_of_both_does_not_refute(sign: int) -> None:
    """The end q that is larger in size is at |q| B = |A| + w(1, q), as Fieller (1954) says."""
    largest = 1.0
    for _ in range(100):
        width = noise([1, largest], MISSED)
        largest = (300 + width) / 1000
    both = Sums(np.array([[1000, sign * 300], [-5, 300]], object), LAW, 1, (Fraction(0),) * 2)
    (found,) = Centred.of(both, (), [ONE], MISSED).means
    ends = sorted([sign * largest, sign * (300 - width) / 1000])
    assert [found.low[0], found.high[0]] == pytest.approx(ends, rel=1e-4)
    assert (found.low[1], found.high[1]) == (-1, 1)


PLACES = st.tuples(st.integers(-3, 3), st.integers(-1, 1))


@st.composite
def centred(draw: st.DrawFn) -> tuple[Centred, list[int], Any]:
    """Sums around the means of rows of two columns, without noise; the noisy sums; the rows."""
    rows = draw(st.lists(PLACES, min_size=1, max_size=40)) * draw(st.sampled_from([1, 20]))
    count = len(rows)
    exact = [count, *(sum(row[i] for row in rows) for i in (0, 1))]
    exact += [(2 if i == j else 1) * sum(row[i] * row[j] for row in rows) for i, j in PAIRS]
    exact = [each - count * (at in (3, 5)) for at, each in enumerate(exact)]
    noisy = [each + draw(st.integers(-1, 1)) for each in exact]
    assume(noisy[0] > 0)
    law = DiscreteGaussian(2)  # six integers within 1 have the length 2.5, or 1.8 deviations
    wholes = [Range.between(-3, 3)] * 2
    means = [point(Fraction(exact[i], count)) for i in (1, 2)]
    of = sums(noisy, law=law)
    found = Centred(of, of.points(), PAIRS, wholes, MISSED, point(count), means)
    return found, exact, rows


def weighted(found: WeightedSum, values: Sequence[int]) -> Range:
    return sum((a * b for a, b in zip(found.weights, values, strict=True)), point(0))


def holds(found: Range, value: Any) -> bool:
    return bool(found.low - 1e-9 <= float(value) <= found.high + 1e-9)


@given(centred())
def test_sums_of_products_are_around_the_exact_means(case: Any) -> None:
    """Of the exact sums it is the sum over rows, and of the noisy ones the one that is stated."""
    found, exact, rows = case
    count = len(rows)
    mean = [Fraction(exact[i], count) for i in (1, 2)]
    noisy = found.sums.noisy.tolist()
    for i, j in PAIRS:
        product = found.product(i, j)
        over_rows = sum((row[i] - mean[i]) * (row[j] - mean[j]) for row in rows)
        assert holds(weighted(product, exact), over_rows)
        stated = float(product.noisy.low)
        assert stated == pytest.approx(float(weighted(product, noisy).low), abs=1e-9)
        assert stated == pytest.approx(float(product.noisy.high), abs=1e-9)


@given(centred())
def test_the_root_of_both_squares_is_enclosed(case: Any) -> None:
    """It is a weighted sum whose weights hold the ratio of the exact deviations."""
    found, exact, _ = case
    squares = [found.product(i, i) for i in (0, 1)]
    first, second = (float(weighted(each, exact).high) for each in squares)
    spread = found._spread(0, 1)
    if float(spread.noisy.low) <= 0:  # a variance may be 0
        assert not found.correlation(0, 1, MISSED).low > -1
        return
    r = sqrt(second / first)
    for at, weight in enumerate(spread.weights):
        one, other = (float(each.weights[at].low) for each in squares)
        assert holds(weight, (r * one + other / r) / 2)
    a, b = (float(each.noisy.low) for each in squares)
    assert holds(spread.noisy, (r * a + b / r) / 2)
    assert holds(weighted(spread, exact), sqrt(first * second))


def narrowed(bound: Any, low: float = -1, high: float = 1) -> tuple[float, float]:
    """The range that a bound of itself leaves after three times."""
    for _ in range(3):
        one, other = bound(low, high)
        low, high = max(low, one), min(high, other)
    return low, high


def product_of(*ranges: tuple[float, float]) -> tuple[float, float]:
    corners = [ranges[0][i] * ranges[1][j] for i in (0, 1) for j in (0, 1)]
    return min(corners), max(corners)


def largest(*ends: float) -> float:
    return max(map(abs, ends))


NOISY = [4000, 1200, -900, -1600, 500, -2000]
"""The rows, two columns, and their squares and product, of which squares are doubled."""


def mean_of(place: int, missed: Fraction) -> tuple[float, float]:
    def bound(low: float, high: float) -> tuple[float, float]:
        far = noise([largest(low, high), 1, 0, 0, 0, 0], missed)
        return (NOISY[place] - far) / NOISY[0], (NOISY[place] + far) / NOISY[0]

    return narrowed(bound)


def covariance_of(i: int, j: int, share: Fraction, missed: Fraction) -> tuple[float, float]:
    """The formula of Lemma 5 in floats, one range at a time."""
    rows, place = NOISY[0], 3 + PAIRS.index((i, j))
    one, other = (mean_of(1 + column, share) for column in (i, j))
    x, y = (NOISY[1 + column] / rows for column in (i, j))
    both = product_of((x - one[1], x - one[0]), (y - other[1], y - other[0]))
    center, half = NOISY[place] / rows - x * y, 0.0
    if i == j:
        center, half = (NOISY[place] / rows + 1) / 2 - x * x, 0.5
        both = max(both[0], 0), both[1]
    low, high = product_of(one, other)

    def bound(least: float, most: float) -> tuple[float, float]:
        weights = [largest(low + half - most, high + half - least), largest(*other)]
        weights = [weights[0], weights[1] * 2] if i == j else [*weights, largest(*one)]
        weights += [0.5 if i == j else 1, *[0.0] * (5 - len(weights))]
        far = noise(weights, missed)
        return center + both[0] - far / rows, center + both[1] + far / rows

    return narrowed(bound)


@pytest.mark.parametrize(("i", "j"), PAIRS)
def test_covariances_are_those_of_the_proof(i: int, j: int) -> None:
    found = Centred.of(sums(NOISY), PAIRS, [ONE] * 2, SHARE).covariance(i, j, MISSED)
    assert found.ends == pytest.approx(covariance_of(i, j, SHARE, MISSED), rel=1e-9)


def test_a_correlation_is_that_of_the_proof() -> None:
    """By Theorem 6, with the ranges of both variances that share what is missed with the means."""
    found = Centred.of(sums(NOISY), PAIRS, [ONE] * 2, SHARE)
    vx, vy = (covariance_of(i, i, SHARE, SHARE) for i in (0, 1))
    r = sqrt(vy[0] / vx[1]), sqrt(vy[1] / vx[0])
    a, b = (found.product(i, i) for i in (0, 1))
    both = found.product(0, 1)
    least, most = zip(a.noisy.ends, b.noisy.ends, strict=True)
    q = r[0] * sqrt(least[0] / most[1]), r[1] * sqrt(most[0] / least[1])
    beyond = max((each - 1) ** 2 for each in q) / (2 * q[0])
    spread = found._spread(0, 1)
    ends = sqrt(least[0] * least[1]), sqrt(most[0] * most[1]) * (1 + beyond)
    assert spread.noisy.ends == pytest.approx(ends, rel=1e-9)

    def bound(low: float, high: float) -> tuple[float, float]:
        pairs = [(x.ends, y.ends) for x, y in zip(both.weights, spread.weights, strict=True)]
        products = [(x, product_of(y, (low, high))) for x, y in pairs]
        far = noise([largest(x[0] - y[1], x[1] - y[0]) for x, y in products], MISSED)
        around = float(both.noisy.low) - far, float(both.noisy.high) + far
        return product_of(around, (1 / ends[1], 1 / ends[0]))

    assert found.correlation(0, 1, MISSED).ends == pytest.approx(narrowed(bound), rel=1e-9)


def test_a_variance_that_may_be_0_leaves_the_correlation_open() -> None:
    """The squares are 1 above the square of the mean's, which noise of 10 may be."""
    rows = [100, 0, 0, 2 - 100, 0, 100]
    assert Centred.of(sums(rows), PAIRS, [ONE] * 2, SHARE).correlation(0, 1, MISSED).ends == (-1, 1)
    many = sums([100 * each for each in rows])
    low, high = Centred.of(many, PAIRS, [ONE] * 2, SHARE).correlation(0, 1, MISSED).ends
    assert -1 < low < high < 1


@pytest.mark.parametrize("rows", [0, -40])
def test_without_rows_all_is_open(rows: int) -> None:
    found = Centred.of(sums([rows, *NOISY[1:]]), PAIRS, [ONE] * 2, SHARE)
    assert found.covariance(0, 1, MISSED).ends == pytest.approx((-1, 1), rel=1e-12)
    assert found.correlation(0, 1, MISSED).ends == (-1, 1)


@pytest.mark.parametrize("scale", [1, 10**40, 10**170])
@pytest.mark.parametrize("others", [0, 10**18, 10**200, -(10**320)])
def test_sums_beyond_floats_have_ranges(scale: int, others: int) -> None:
    """No end is NaN, and numpy does not warn."""
    for law in (DiscreteGaussian(scale**2), DiscreteLaplace(scale)):
        found = Centred.of(sums([10**5, *[others] * 5], law=law), PAIRS, [ONE] * 2, SHARE)
        for low, high in (
            found.covariance(0, 1, MISSED).ends,
            found.covariance(1, 1, MISSED).ends,
            found.correlation(0, 1, MISSED).ends,
        ):
            assert -1.001 < low <= high < 1.001

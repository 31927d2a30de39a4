"""Sums, means and variances: their bounds, signs and ranges."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import FiltCon
from mechanisms import Gaussian, Mean, PrivacyUnit, Variance, column
from mechanisms.sampling.laws import DiscreteGaussian
from mechanisms.tables.requests.signed import signed
from mechanisms.tables.statistics.ranges import Range, multiples, quotients
from mechanisms.tables.statistics.ratios import Centred, Sums
from queryable import ZCDP, Queryable
from queryable.answers.half_widths import half_width

AGES = {"age": [17, 30, None, 64, "?", 80], "ny": [1, 1, 1, 0, 1, 1]}


def test_means_and_variances() -> None:
    """The estimate of the exact vector is the mean of the clipped numbers."""
    mean = Mean("age", 0, 70)
    assert mean.estimate(mean(AGES)) == (17 + 30 + 64 + 70) / 4
    there = Mean("age", 0, 100, column("ny") == 1, unit="1/2")
    assert there.estimate(there(AGES)) == pytest.approx((17 + 30 + 80) / 3)
    variance = Variance("age", 0, 70)
    assert variance.estimate(variance(AGES)) == pytest.approx(np.var([17, 30, 64, 70]))
    # Whatever noise has done, an estimate is one that the bounds allow, or NaN.
    mean, variance = Mean("age", 10, 20), Variance("age", 10, 20)
    assert mean.estimate([5, 10**9]) == 20
    assert mean.estimate([5, -(10**9)]) == 10
    assert 0 <= variance.estimate([25, 10**9, -(10**9)]) <= 25
    assert np.isnan(mean.estimate([0, 3]))
    assert np.isnan(variance.estimate([-1, 3, 3]))


cells = st.one_of(st.none(), st.floats(), st.integers(-(2**70), 2**70), st.text(max_size=1))


@given(st.lists(cells, min_size=1, max_size=5), st.integers(-50, 50), st.integers(0, 99))
def test_a_record_moves_each_entry_so_far(values: list[Any], low: int, width: int) -> None:
    """Entry by entry, so in every norm; numbers that are none are left out altogether."""
    for statistic in (Mean("x", low, low + width), Variance("x", low, low + width, unit="1/3")):
        change = statistic({"x": values}) - statistic({"x": values[1:]})
        assert (abs(change) <= statistic.largest).all()


def test_sensitivities() -> None:
    mean = Mean("x", 0, 10)
    assert (mean.radius, mean.l1, mean.l2**2) == (5, 10, pytest.approx(50))
    per = PrivacyUnit("id", max_rows=3, max_groups=1)
    assert Mean("x", 0, 10, per=per).l1 == 30
    assert Variance("x", 0, 10, unit="1/2", per=per).l1 == 3 * 3 * 100
    assert Mean("x", 7, 7).radius == 1
    assert Mean("x", 0, 3).l2 >= Fraction(2828427, 10**6)


def test_one_noise_serves_both() -> None:
    """A mean of 20,000 numbers for rho = 1/100: off by a thousandth of the bounds at most.

    The noise's standard deviation is 10 in units of the radius, so this fails once in 10^20 runs.
    """
    data = {"x": np.arange(20_000) % 101}
    mean = Mean("x", 0, 100)
    released = Queryable(FiltCon(ZCDP(1)), data).launch(Gaussian(mean, rho="1/100"))
    assert abs(mean.estimate(released) - data["x"].mean()) < 0.5


def test_a_mean_is_near_by_slopes_and_a_product_of_noise() -> None:
    """The weights of the noise are 1/n and -q/n, and (e1 - q e0) e0 / (n n') is beyond them."""
    law, missed, width = DiscreteGaussian(9), Fraction(1, 20), 7
    assert half_width(law, 1 - missed, 2) == width
    near = Mean("x", 0, 2, whole=True).near(np.array([210, 40], object), law, missed, None)
    rows, mean = (210 - width, 210 + width), (40 + width) / (210 - width)
    low, high = -mean / rows[0], -(40 - width) / rows[1] ** 2
    (part,) = near.parts
    assert part.low == pytest.approx([low, 1 / rows[1]], rel=1e-12)
    assert part.high == pytest.approx([high, 1 / rows[0]], rel=1e-12)
    assert near.rest == pytest.approx(width**2 * (1 + mean) / (rows[0] * 210), rel=1e-12)
    assert (near.low, near.high) == pytest.approx((1 + 40 / 210,) * 2, rel=1e-12)
    few = Mean("x", 0, 2, whole=True).near(np.array([width, 3], object), law, missed, None)
    assert (few.low, few.high, few.rest) == (0, 2, 0)
    assert not few.parts[0].low.any()


def test_what_a_variance_misses_is_shared() -> None:
    """A 25th of it is for the range of the mean."""
    law, missed = DiscreteGaussian(400), Fraction(1, 20)
    variance = Variance("x", 0, 2, whole=True)
    noisy = np.array([2000, 300, -500], object)
    sums = Sums(noisy, law, 1, (Fraction(0),) * 3)
    centred = Centred.of(sums, ((0, 0),), [Range.between(-1, 1)], missed / 25)
    found = centred.covariance(0, 0, missed * 24 / 25)
    assert variance.interval(noisy, law, missed) == pytest.approx(found.ends, rel=1e-12)


integers = st.integers(-(10**40), 10**40) | st.integers(-9, 9)
positive = st.integers(1, 10**40) | st.integers(1, 9)


def inside(value: Fraction, ends: Range) -> bool:
    """Exactly, without rounding."""
    low, high = ends.ends
    return Fraction(low) <= value <= Fraction(high)


@given(integers, positive)
def test_a_quotient_is_between_the_floats_outside(top: int, bottom: int) -> None:
    below, nearest, above = (
        float(quotients(np.array(top, object), bottom, side)) for side in (-1, 0, 1)
    )
    assert Fraction(below) <= Fraction(top, bottom) <= Fraction(above)
    assert nearest == top / bottom
    assert np.nextafter(below, np.inf) >= above


@given(integers, integers, positive, positive)
def test_operations_enclose(a: int, b: int, c: int, d: int) -> None:
    one, other, over = Range.of(min(a, b), max(a, b), d), Range.of(b, b + c), Range.of(c, c + d)
    for x in (Fraction(a, d), Fraction(b, d)):
        for y in (b, b + c):
            assert inside(x + y, one + other)
            assert inside(x - y, one - other)
            assert inside(x * y, one * other)
        for y in (c, c + d):
            assert inside(x / y, one / over)
        assert inside(x * x, one.square())
        assert inside(abs(x), one.square().root())


def test_ends_are_clipped_and_infinite_ends_stay() -> None:
    whole = Range(np.array([-np.inf, 1.0]), np.array([np.inf, 2.0]))
    times = whole * Range.between(0, 0)
    assert times.low[0] <= 0 <= times.high[0]
    assert whole.within(Range.between(0, Fraction(3, 2))).ends[1].tolist() == [1.5, 1.5]
    assert whole.where([False, True], Range.between(5, 5)).ends[0].tolist() == [5, 1]
    assert Range.between(-4, 9).square().low == 0
    assert Range.between(-4, 9).root().low == 0
    assert multiples(10**400, Fraction(1, 3), 1) == np.inf
    assert multiples(-(10**400), Fraction(1, 3), -1) == -np.inf


@pytest.mark.parametrize(
    ("values", "step", "expected"),
    [
        (7, 1, 7),
        (7, Fraction(1, 100), 0.07),
        (np.array([1, 2]), 10, [10, 20]),
        (np.array([1234, -5]), Fraction(1, 100), [12.34, -0.05]),
        (np.array([10**30], object), 1, [10**30]),
    ],
)
def test_multiples_are_integers_of_a_whole_step(values: Any, step: Any, expected: Any) -> None:
    found = multiples(values, Fraction(step), 0)
    assert (found.tolist() if isinstance(found, np.ndarray) else found) == expected


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (-3, Fraction(-3)),
        ("-1/20", Fraction(-1, 20)),
        (" -0.1 ", Fraction(-1, 10)),
        (-0.1, Fraction(-1, 10)),
        (Fraction(-1, 3), Fraction(-1, 3)),
        (Decimal("-0.1"), Fraction(-1, 10)),
        (Decimal("-1." + "1" * 40), -Fraction("1." + "1" * 40)),
        (np.int64(-(2**63)), Fraction(-(2**63))),
        (np.float32(-0.5), Fraction(-1, 2)),
        (-0.0, Fraction(0)),
        (0.0, Fraction(0)),
        ("1/20", Fraction(1, 20)),
        (0, Fraction(0)),
    ],
)
def test_reads_exactly(value: Any, read: Fraction) -> None:
    """Every way of writing a number gives the rational that was written, without rounding."""
    assert signed(value, "lower") == read

"""Means and variances: what is released, what is made of it, and that a record moves it so far."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import FiltCon
from mechanisms import Gaussian, Mean, PrivacyUnit, Variance, column
from queryable import ZCDP, Queryable

AGES = {"age": [17, 30, None, 64, "?", 80], "ny": [1, 1, 1, 0, 1, 1]}


def test_means() -> None:
    """The estimate of the exact vector is the mean of the clipped numbers."""
    mean = Mean("age", 0, 70)
    assert mean.estimate(mean(AGES)) == (17 + 30 + 64 + 70) / 4
    there = Mean("age", 0, 100, column("ny") == 1, unit="1/2")
    assert there.estimate(there(AGES)) == pytest.approx((17 + 30 + 80) / 3)


def test_variances() -> None:
    variance = Variance("age", 0, 70)
    assert variance.estimate(variance(AGES)) == pytest.approx(np.var([17, 30, 64, 70]))


def test_estimates_stay_within_the_bounds() -> None:
    """Whatever noise has done, an estimate is one that the bounds allow, or NaN."""
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

"""Distances of OpenDP as losses, and back."""

from fractions import Fraction
from math import inf, nan, nextafter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.opendp.distances import (
    STATED,
    distance_of,
    float_above,
    is_ordered,
    loss_of,
    ours_of,
    theirs_of,
)
from queryable import ZCDP, ApproxDP, ApproxZCDP, PureDP
from tests.unit.mechanisms.opendp.stand_in import ORDERED, SYMMETRIC, Named, in_place_of_opendp

__all__ = ["in_place_of_opendp"]


def test_a_float_is_the_number_that_it_is() -> None:
    """And not the shortest decimal that is read as it, which may be smaller."""
    loss = loss_of(PureDP, 0.1)
    assert loss.epsilon == Fraction(3602879701896397, 36028797018963968) > Fraction(1, 10)
    assert loss_of(ApproxZCDP, (0.25, 1e-6)) == ApproxZCDP("1/4", Fraction(1e-6))
    assert loss_of(ApproxDP, (-0.0, 0.0)) == ApproxDP(0, 0)


@pytest.mark.parametrize(
    "distance", [nan, inf, -inf, -1e-300, 1, True, "1", None, (0.5, nan), (0.5, -1.0), ("1", 0.5)]
)
def test_what_is_no_finite_number_is_refused(distance: object) -> None:
    with pytest.raises(ValueError, match="its privacy map gave"):
        loss_of(ApproxDP if isinstance(distance, tuple) else PureDP, distance)


@pytest.mark.parametrize("distance", [(1.0,), (1.0, 0.5, 0.5), (1.0, 1.5)])
def test_a_pair_is_an_epsilon_and_a_probability(distance: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        loss_of(ApproxDP, distance)


@given(st.fractions(min_value=0, max_value=10**6))
def test_the_float_above_is_the_least(value: Fraction) -> None:
    above = float_above(value)
    assert Fraction(above) >= value
    assert not value or Fraction(nextafter(above, -inf)) < value


def test_floats_are_rounded_up_at_the_ends() -> None:
    assert float_above(Fraction(1, 10**400)) == 5e-324
    assert float_above(Fraction(10) ** 400) == inf
    assert float_above(Fraction(1, 3)) == nextafter(1 / 3, 1) > Fraction(1, 3)
    assert distance_of(ApproxDP("1/3", "1/3")) == (nextafter(1 / 3, 1),) * 2
    assert distance_of(ZCDP("1/2")) == 0.5


def test_measures_are_named_both_ways() -> None:
    assert [ours_of(theirs_of(kind)) for kind in STATED] == [*STATED]
    for name in ("SmoothedMaxDivergence", "RenyiDivergence"):
        with pytest.raises(TypeError, match="its output measure is"):
            ours_of(Named(name))


def test_metrics_of_single_records() -> None:
    assert (is_ordered(SYMMETRIC), is_ordered(ORDERED)) == (False, True)
    for name in ("ChangeOneDistance()", "HammingDistance()", "L1Distance(f64)"):
        with pytest.raises(TypeError, match="its input metric is"):
            is_ordered(Named(name))

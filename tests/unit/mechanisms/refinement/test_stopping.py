"""Conditions and schedules."""

from fractions import Fraction
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms import AbsoluteError, RelativeError, even_schedule, geometric_schedule
from mechanisms.refinement.estimate import Refined
from mechanisms.refinement.stopping import shortened


def published(value: float, deviation: float, alpha: float) -> bool:
    """The condition as Rogers et al. 2023, section 7.2 print it, in floats."""
    if not abs(value) > deviation:
        return False
    return 1 - alpha < abs((value + deviation) / (value - deviation)) <= 1 + alpha


@given(
    st.integers(-2000, 2000),
    st.fractions(Fraction(1, 10), 100, max_denominator=97),
    st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50),
    st.sampled_from([1, 2, Fraction(1, 3)]),
)
def test_relative_error_is_the_papers(
    value: int, deviation: Fraction, alpha: Fraction, times: Any
) -> None:
    """For either sign, wherever floats are sure; `deviations` widen the margin."""
    estimate = Refined(Fraction(value), (deviation / times) ** 2)
    told = RelativeError(alpha, times)(estimate)
    wider, narrower = (
        published(value, float(deviation) * (1 + sign * 1e-9), float(alpha)) for sign in (1, -1)
    )
    if wider == narrower:
        assert told == wider


def test_relative_error_is_decided_without_rounding() -> None:
    """At the very edge, (2 + alpha) m = alpha y, it holds; a hair beyond it does not."""
    edge = Refined(Fraction(21), Fraction(1))
    assert RelativeError("1/10")(edge)
    assert not RelativeError("1/10")(Refined(Fraction(21) - Fraction(1, 10**40), Fraction(1)))
    assert not RelativeError("1/10")(Refined(Fraction(-19), Fraction(1)))
    assert RelativeError("1/10")(Refined(Fraction(-19) - Fraction(1, 10**40), Fraction(1)))
    assert not RelativeError("1/10")(Refined(Fraction(0), Fraction(1, 10**9)))


def test_arrays_are_near_when_every_entry_is() -> None:
    """One entry that is not decides."""
    near = np.array([30.0, -25.0, 1000.0])
    assert RelativeError("1/10")(Refined(near, Fraction(1)))
    assert not RelativeError("1/10")(Refined(np.array([30.0, 20.0]), Fraction(1)))
    assert not RelativeError("1/10")(Refined(np.array([np.nan, 30.0]), Fraction(1)))


def test_absolute_error_is_about_the_deviation() -> None:
    """Whatever the value."""
    condition = AbsoluteError(10, deviations=2)
    assert condition(Refined(Fraction(3), Fraction(25)))
    assert not condition(Refined(Fraction(3), Fraction(2501, 100)))


def test_even_steps_cost_the_same() -> None:
    """Precisions are equally spaced, exactly, from end to end."""
    schedule = even_schedule(10**4, "1/3", 1000)
    precisions = [1 / each for each in schedule]
    assert len({b - a for a, b in pairwise(precisions)}) == 1
    assert (schedule[0], schedule[-1], len(schedule)) == (10**4, Fraction(1, 3), 1000)


def test_geometric_schedules_end_at_the_finest_variance() -> None:
    """By a factor each, the last by what is left."""
    assert geometric_schedule(100, 10) == (100, 50, 25, Fraction(25, 2), 10)
    deviations = [sqrt(each) for each in geometric_schedule(16, 1, 4)]
    assert deviations == [4, 2, 1]


def test_geometric_steps_stay_short() -> None:
    """Six digits each, so that what is added up of them is short."""
    schedule = geometric_schedule(10**9, "1/1000", "1.021")
    assert len(schedule) > 1300
    assert max(each.denominator for each in schedule) <= 10**9
    ratios = [a / b for a, b in pairwise(schedule)][:-1]
    assert max(ratios) <= Fraction("1.021")
    assert min(ratios) > Fraction("1.0209")
    with pytest.raises(ValueError, match="steps"):
        geometric_schedule(10, 1, "1.0000001")


@given(st.fractions(Fraction(1, 10**12), 10**12))
def test_shortened_is_just_above(value: Fraction) -> None:
    """Never below, and by less than a part in 10^5."""
    short = shortened(value)
    assert value <= short < value * (1 + Fraction(1, 10**5))
    assert shortened(short) == short

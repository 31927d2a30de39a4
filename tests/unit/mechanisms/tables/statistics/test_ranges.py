"""Ranges enclose the exact results of the operations."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.tables.statistics.ranges import Range, multiples, quotients

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


def test_a_number_beyond_floats_is_infinite() -> None:
    assert multiples(10**400, Fraction(1, 3), 1) == np.inf
    assert multiples(-(10**400), Fraction(1, 3), -1) == -np.inf

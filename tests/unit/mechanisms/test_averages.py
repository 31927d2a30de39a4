"""Arithmetic after the noise: exact where it can be, and it never raises."""

from fractions import Fraction

import numpy as np

from mechanisms.averages import moved, number


def test_integers_stay_exact() -> None:
    """However large."""
    assert number(10**400 + 1) == 10**400 + 1
    assert moved(Fraction(1), Fraction(10**400), Fraction(1, 3)) == Fraction(10**400 + 2, 3)


def test_a_long_denominator_is_rounded() -> None:
    """Beyond 1,024 bits, to within 2**-65."""
    share = Fraction(1, 3**700)
    mean = moved(Fraction(1), Fraction(5), share)
    assert mean.denominator <= 2**64
    assert abs(mean - 1 - 4 * share) <= Fraction(1, 2**65)


def test_arrays_are_read_only_floats() -> None:
    """Also those of Python integers; beyond floats they are infinite, and nothing is raised."""
    start = number(np.array([1, -2]))
    assert start.dtype == np.float64
    huge = number(np.array([10**400, -(10**400)], dtype=object))
    assert huge.tolist() == [np.inf, -np.inf]
    mean = moved(start, number(np.array([3, 2])), Fraction(1, 2))
    assert mean.tolist() == [2, 0]
    for each in (start, huge, mean, moved(huge, huge, Fraction(1, 2))):
        assert not each.flags.writeable

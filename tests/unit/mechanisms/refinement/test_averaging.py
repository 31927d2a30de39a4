"""Arithmetic after the noise: exact where it can be, and it never raises."""

from fractions import Fraction

import numpy as np

from mechanisms.refinement.averaging import moved, number, rounding, rounding_moved


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


def test_rounding_errors_are_bounded() -> None:
    """A thousand steps of floats: never more than the bound says, nor 1,000 times less."""
    random = np.random.default_rng(5)
    measured = random.integers(-(10**15), 10**15, (1000, 20))
    exact = [Fraction(int(each)) for each in measured[0]]
    mean = number(measured[0])
    bound = rounding(mean)
    for step, each in enumerate(measured[1:], 2):
        share, value = Fraction(1, step), number(each)
        before, mean = mean, moved(mean, value, share)
        bound = rounding_moved(bound, before, value, mean, share)
        exact = [a + share * (int(b) - a) for a, b in zip(exact, each, strict=True)]
    errors = [abs(Fraction(a) - b) for a, b in zip(mean.tolist(), exact, strict=True)]
    assert 0 < max(errors) <= max(bound) < 1000 * max(errors)
    assert all(error <= Fraction(most) for error, most in zip(errors, bound, strict=True))


def test_a_fraction_is_rounded_by_its_grid() -> None:
    """At every step anew."""
    share = Fraction(1, 3**700)
    mean = moved(Fraction(1), Fraction(5), share)
    error = abs(mean - 1 - 4 * share)
    assert error <= rounding_moved(Fraction(0), Fraction(1), Fraction(5), mean, share)
    assert rounding(Fraction(1, 3)) == 0


def test_rounding_of_values_beyond_floats() -> None:
    """Integers beyond 2**53 lose their last digits, beyond floats everything."""
    huge = [2**53 + 1, -(2**100) - 1, 10**400]
    value = number(np.array(huge, dtype=object))
    bound = rounding(value)
    assert bound[2] == np.inf
    assert all(abs(int(v) - h) <= b for v, h, b in zip(value[:2], huge, bound, strict=False))

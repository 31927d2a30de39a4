"""Released values as numbers that can be averaged: fractions, or arrays of floats.

Responsible for arithmetic after the noise, where rounding costs no privacy. It raises nothing,
whatever the values: what has been paid for must not be lost. Knows no mechanism.
"""

from fractions import Fraction
from typing import Any

import numpy as np

_LONGEST = 1024  # bits of a denominator
_GRID = 1 << 64


def number(released: Any) -> Any:
    """An integer as a Fraction, an array as read-only float64; beyond floats it is infinite."""
    if not isinstance(released, np.ndarray):
        return Fraction(int(released))
    plain = np.asarray(released)
    try:
        value = plain.astype(np.float64)
    except OverflowError:
        value = np.array([_float(each) for each in plain.flat]).reshape(plain.shape)
    value.flags.writeable = False
    return value


def moved(before: Any, towards: Any, share: Fraction) -> Any:
    """before + share * (towards - before).

    Exact for fractions, but for denominators beyond 1,024 bits, rounded to multiples of 2**-64.
    """
    if isinstance(before, np.ndarray):
        with np.errstate(all="ignore"):  # infinities
            value = np.asarray(before + float(share) * (towards - before))
        value.flags.writeable = False
        return value
    top, bottom = before.as_integer_ratio()
    to_top, to_bottom = towards.as_integer_ratio()
    part, whole = share.as_integer_ratio()
    mean = Fraction(
        top * to_bottom * (whole - part) + to_top * bottom * part, bottom * to_bottom * whole
    )
    if mean.denominator.bit_length() <= _LONGEST:
        return mean
    return Fraction(round(mean * _GRID), _GRID)


def rounding(value: Any) -> Any:
    """At least what `number` has rounded off; of an array, of each entry."""
    if not isinstance(value, np.ndarray):
        return Fraction(0)
    return np.where(abs(value) < 2.0**53, 0, abs(value) * 2.0**-52)


def rounding_moved(rounded: Any, before: Any, towards: Any, mean: Any, share: Fraction) -> Any:
    """The same of what `moved` gave, if it is at least what was rounded off `before`.

    Of floats, u = 2^-53: the result is within u of itself, the part that is moved by, `towards` and
    all, within 5u share (|before| + |towards|). Each is counted about twice, for what is rounded
    here. What was off before is off by 1 - share of that.
    """
    if not isinstance(mean, np.ndarray):
        exact = _GRID % mean.denominator  # else it is not on the grid
        return rounded if exact else rounded + Fraction(1, 2 * _GRID)
    with np.errstate(all="ignore"):  # infinities
        part = float(share) * 2.0**-50 * (abs(before) + abs(towards))
        return (1 - float(share)) * rounded + part + abs(mean) * 2.0**-52 + 2.0**-1000


def _float(integer: int) -> float:
    try:
        return float(integer)
    except OverflowError:
        return float("inf") if integer > 0 else float("-inf")

"""Released values as numbers that can be averaged: fractions, or arrays of floats.

This arithmetic follows the noise, so its rounding costs no privacy. No function here raises for
any value, because the answer has been paid for and must not be lost.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from queryable.data.frozen import read_only

_LONGEST = 1024  # bits of a denominator
_GRID = 1 << 64


def number(released: Any) -> Any:
    """An integer as a Fraction, an array as read-only float64; infinite where floats overflow."""
    if not isinstance(released, np.ndarray):
        return Fraction(int(released))
    plain = np.asarray(released)
    try:
        value = plain.astype(np.float64)
    except OverflowError:
        value = np.array([_float(each) for each in plain.flat]).reshape(plain.shape)
    return read_only(value)


def moved(before: Any, towards: Any, share: Fraction) -> Any:
    """before + share * (towards - before).

    Exact for fractions, unless the denominator is longer than 1,024 bits: then the result is
    rounded to a multiple of 2**-64.
    """
    if isinstance(before, np.ndarray):
        with np.errstate(all="ignore"):  # infinities
            return read_only(np.asarray(before + float(share) * (towards - before)))
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
    """An upper bound on the rounding error of `number`; for an array, of each entry."""
    if not isinstance(value, np.ndarray):
        return Fraction(0)
    return np.where(abs(value) < 2.0**53, 0, abs(value) * 2.0**-52)


def rounding_moved(rounded: Any, before: Any, towards: Any, mean: Any, share: Fraction) -> Any:
    """An upper bound on the rounding error of a result of `moved`, given one for `before`.

    For floats, with u = 2^-53, the error has two parts: u times the result, and within
    5u share (|before| + |towards|) for the step. Both are counted about twice, to cover the
    rounding of this computation. The earlier error is multiplied by 1 - share.
    """
    if not isinstance(mean, np.ndarray):
        off_grid = _GRID % mean.denominator  # then `moved` has not rounded it to the grid
        return rounded if off_grid else rounded + Fraction(1, 2 * _GRID)
    with np.errstate(all="ignore"):  # infinities
        part = float(share) * 2.0**-50 * (abs(before) + abs(towards))
        return (1 - float(share)) * rounded + part + abs(mean) * 2.0**-52 + 2.0**-1000


def _float(integer: int) -> float:
    try:
        return float(integer)
    except OverflowError:
        return float("inf") if integer > 0 else float("-inf")

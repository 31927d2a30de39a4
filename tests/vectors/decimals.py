"""Numbers as vectors write them: fractions, and decimals that enclose an irrational value."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from tests.reference import mp, real

DIGITS = 30
"""The significant digits of an enclosure."""

_MARGIN = Fraction(1, 10**50)  # reference values have 60 digits


def outward(value: Fraction, *, up: bool, digits: int = DIGITS) -> str:
    """A decimal at or above a rational, or at or below it, with so many significant digits."""
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR, Emin=-(10**6))
    rounded = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"{rounded.normalize(context):g}"


def between(low: Fraction, high: Fraction) -> list[str]:
    """Two decimals around an interval."""
    return [outward(low, up=False), outward(high, up=True)]


def around(value: Any) -> list[str]:
    """Two adjacent decimals around a value that `mp` has computed at 60 digits.

    They are equal if the value is a decimal of so many digits, as 0 is.
    """
    middle = fraction(value)
    margin = abs(middle) * _MARGIN
    low, high = between(middle - margin, middle + margin)
    for each in (outward(middle + margin, up=False), low, high):
        if abs(Fraction(each) - middle) <= margin:
            return [each, each]
    return [low, high]


def fraction(value: Any) -> Fraction:
    """The rational that a real of `mp` is."""
    if not isinstance(value, mp.mpf):
        return Fraction(value)
    sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


__all__ = ["DIGITS", "around", "between", "fraction", "mp", "outward", "real"]

"""Rational enclosures of irrational probabilities.

Interval arithmetic on sums and products of non-negative numbers. It lets an exact law contain
irrational probabilities.
"""

from fractions import Fraction
from typing import TypeAlias

import attrs


@attrs.frozen
class Interval:
    """A non-negative number between two rationals, `low` and `high`."""

    low: Fraction
    high: Fraction

    def __mul__(self, other: "Chance") -> "Interval":
        return Interval(self.low * low(other), self.high * high(other))

    def __add__(self, other: "Chance") -> "Interval":
        return Interval(self.low + low(other), self.high + high(other))

    __rmul__ = __mul__
    __radd__ = __add__

    def __str__(self) -> str:
        return f"{float(self.low):.6g}"


Chance: TypeAlias = Fraction | Interval
"""A probability: an exact rational, or an interval that contains it."""


def low(chance: Chance) -> Fraction:
    """Return the probability, or the lower end of its interval."""
    return chance.low if isinstance(chance, Interval) else chance


def high(chance: Chance) -> Fraction:
    """Return the probability, or the upper end of its interval."""
    return chance.high if isinstance(chance, Interval) else chance

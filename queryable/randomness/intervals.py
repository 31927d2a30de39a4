"""Rational enclosures of irrational probabilities.

Responsible for carrying "between low and high" through products and sums, so that an exact law may
have irrational probabilities in it.
"""

from fractions import Fraction
from typing import TypeAlias

import attrs


@attrs.frozen
class Interval:
    """A number between two rationals."""

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
"""A probability: exact, or enclosed."""


def low(chance: Chance) -> Fraction:
    """A rational at or below it."""
    return chance.low if isinstance(chance, Interval) else chance


def high(chance: Chance) -> Fraction:
    """A rational at or above it."""
    return chance.high if isinstance(chance, Interval) else chance

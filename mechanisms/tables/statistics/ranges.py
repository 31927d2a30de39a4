"""Ranges of floats that enclose exact results: interval arithmetic on arrays.

After every operation both ends are moved outward to the next float, which is farther than the
operation can have rounded. Intervals of means and variances are computed with them.
"""

from fractions import Fraction
from math import inf, nextafter
from sys import float_info
from typing import Any, Self

import attrs
import numpy as np

from queryable.answers.noisy import narrowed
from queryable.data.cells import Array


def multiples(values: Any, step: Fraction, side: int) -> Any:
    """Multiples of `step`: integers if it is whole, else floats, the nearest or those outside.

    Args:
        values: an integer, or an array of integers.
        side: -1 for the largest float at or below, 1 for the least at or above, 0 for the nearest.
    """
    top, bottom = step.as_integer_ratio()
    if bottom == 1:
        whole = np.asarray(values).astype(object) * top
        return int(whole) if np.ndim(whole) == 0 else narrowed(whole)
    floats = quotients(np.asarray(values).astype(object) * top, bottom, side)
    return float(floats) if np.ndim(floats) == 0 else floats


def quotients(tops: Array, bottom: int, side: int) -> Array:
    """Python integers divided by a positive integer, as floats; `side` as for `multiples`."""
    entries = [
        _quotient(top, bottom, side) for top in np.asarray(tops, object).reshape(-1).tolist()
    ]
    return np.array(entries, dtype=float).reshape(np.shape(tops))


def _quotient(top: int, bottom: int, side: int) -> float:
    try:
        nearest = top / bottom  # correctly rounded, whatever the sizes
    except OverflowError:
        if side * top < 0:
            return float_info.max if top > 0 else -float_info.max
        return inf if top > 0 else -inf
    numerator, denominator = nearest.as_integer_ratio()
    over = numerator * bottom - top * denominator
    return nextafter(nearest, side * inf) if over * side < 0 else nearest


@attrs.frozen(eq=False)
class Range:
    """Every number from `low` to `high`, entry by entry."""

    low: Array
    high: Array

    @classmethod
    def of(cls, low: Any, high: Any, divisor: int = 1) -> Self:
        """The range between Python integers, divided by a positive integer."""
        return cls(quotients(low, divisor, -1), quotients(high, divisor, 1))

    @classmethod
    def between(cls, low: Fraction | int, high: Fraction | int) -> Self:
        """The range between two numbers."""
        least, most = (
            _quotient(*Fraction(end).as_integer_ratio(), side)
            for end, side in ((low, -1), (high, 1))
        )
        return cls(np.asarray(least), np.asarray(most))

    @classmethod
    def of_floats(cls, values: Any) -> Self:
        """Floats, each as the range of one number."""
        return cls(np.asarray(values), np.asarray(values))

    def __add__(self, other: Any) -> "Range":
        other = _range(other)
        with np.errstate(all="ignore"):
            return _outward(self.low + other.low, self.high + other.high)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Range":
        other = _range(other)
        with np.errstate(all="ignore"):
            return _outward(self.low - other.high, self.high - other.low)

    def __mul__(self, other: Any) -> "Range":
        return self._with(_range(other), np.multiply)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Range":
        """The quotients by positive numbers."""
        return self._with(_range(other), np.divide)

    def reciprocal(self) -> "Range":
        """One over positive numbers."""
        return Range.between(1, 1) / self

    def _with(self, other: "Range", operation: Any) -> "Range":
        with np.errstate(all="ignore"):
            corners = [
                operation(mine, theirs)
                for mine in (self.low, self.high)
                for theirs in (other.low, other.high)
            ]
        # 0 times infinity is 0: an infinite end only says that there is no bound
        corners = [np.where(np.isnan(corner), 0.0, corner) for corner in corners]
        return _outward(np.minimum.reduce(corners), np.maximum.reduce(corners))

    @property
    def size(self) -> "Range":
        """The largest absolute value."""
        return Range.of_floats(np.maximum(abs(self.low), abs(self.high)))

    def square(self) -> "Range":
        """The squares."""
        size = np.maximum(abs(self.low), abs(self.high))
        least = np.maximum(np.maximum(self.low, -self.high), 0.0)
        with np.errstate(all="ignore"):
            ends = least * least, size * size
        return _outward(*ends).within(Range.between(0, 0), above=False)

    def root(self) -> "Range":
        """The square roots; of negative numbers 0."""
        ends = (np.sqrt(np.maximum(end, 0.0)) for end in (self.low, self.high))
        return _outward(*ends).within(Range.between(0, 0), above=False)

    def within(self, other: "Range", *, above: bool = True) -> "Range":
        """The numbers clipped to another range, or if not `above` to its lower end only."""
        low, high = np.maximum(self.low, other.low), np.maximum(self.high, other.low)
        if above:
            low, high = np.minimum(low, other.high), np.minimum(high, other.high)
        return Range(low, high)

    def within_or(self, other: "Range") -> "Range":
        """The numbers that are in another range too; an end that is no number is the other's.

        Where there are none, the nearest number of the other range.
        """
        low, high = np.fmax(self.low, other.low), np.fmin(self.high, other.high)
        return Range(np.minimum(low, other.high), np.maximum(high, other.low))

    def where(self, known: Any, otherwise: "Range") -> "Range":
        """This range where `known` holds, else another one."""
        return Range(
            np.where(known, self.low, otherwise.low), np.where(known, self.high, otherwise.high)
        )

    @property
    def ends(self) -> tuple[Any, Any]:
        """The two ends: arrays, or floats if there is one range."""
        if np.ndim(self.low) == 0:
            return float(self.low), float(self.high)
        return self.low, self.high


def _range(value: Any) -> Range:
    return value if isinstance(value, Range) else Range.between(value, value)


def _outward(low: Array, high: Array) -> Range:
    return Range(np.nextafter(low, -inf), np.nextafter(high, inf))

"""Numbers of a column as whole multiples of a public unit, without rounding error.

A record adds an integer within public bounds, which depends on that record alone.
"""

from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import attrs
import numpy as np

from queryable.data.cells import Array, Mask
from queryable.data.guarded import safely
from queryable.wording.quoting import quoted

Exact: TypeAlias = int | Fraction | Decimal

_EXACT_IN_FLOATS = 2**53
_LONGEST = 400  # digits of a parameter: no unit is finer


def _is_fraction(_: object, attribute: Any, value: Any) -> None:
    if type(value) is not Fraction:  # codecs and engines write it as one
        raise TypeError(f"{attribute.name} is {quoted(value)}; it should be a Fraction")


@attrs.frozen
class Lattice:
    """Clips to [lower, upper], divides by `unit` and truncates toward zero.

    Truncation is monotone, so clipping the truncated number to the truncated bounds gives the same.
    A float that is divided by a unit other than a power of two is read as its shortest decimal, as
    in parameters: 0.29 is 29 hundredths.
    """

    lower: Fraction = attrs.field(validator=_is_fraction)
    upper: Fraction = attrs.field(validator=_is_fraction)
    unit: Fraction = attrs.field(validator=_is_fraction)

    def __attrs_post_init__(self) -> None:
        """Check the bounds and the unit.

        Raises:
            ValueError: lower is above upper, or the unit is not above 0.
        """
        if not self.lower <= self.upper or not self.unit > 0:
            raise ValueError(
                f"the bounds {quoted(self.lower)} and {quoted(self.upper)} should be in order, and "
                f"the unit {quoted(self.unit)} above 0"
            )

    @property
    def low(self) -> int:
        """The lower bound, in units."""
        return int(self.lower / self.unit)

    @property
    def high(self) -> int:
        """The upper bound, in units."""
        return int(self.upper / self.unit)

    @property
    def largest(self) -> int:
        """The largest absolute value that a record adds; 0 counts as within it."""
        return max(abs(self.low), abs(self.high))

    def total(self, values: Array) -> int:
        """The exact sum of the units of all numbers."""
        units = self.units(values)
        if units.dtype != object and len(units) * self.largest < 2**63:
            return int(units.sum())
        return sum(units.tolist())

    def units(self, values: Array) -> Array:
        """The units of each number: int64 where the column's type allows, else Python integers.

        Raises:
            TypeError: the column's type does not hold real numbers.
        """
        dtype = values.dtype
        if dtype.kind not in "biufO":
            raise TypeError(f"give a column of numbers: a column of {dtype} cannot be added up")
        low, high = self.low, self.high
        if self.largest <= _EXACT_IN_FLOATS:
            if self.unit.numerator == 1 and np.can_cast(dtype, np.int64):
                each = self.unit.denominator  # of units in 1; clipped before, so that none overflow
                near = np.clip(values.astype(np.int64), low // each - 1, -(-high // each) + 1)
                return np.clip(near * each, low, high)
            if np.can_cast(dtype, np.float64) and dtype.kind == "f" and is_power_of_two(self.unit):
                with np.errstate(all="ignore"):  # a warning would be about the data
                    whole = np.trunc(values.astype(np.float64) / float(self.unit))
                return np.clip(whole, float(low), float(high)).astype(np.int64)
        ends = self.lower.__floor__(), self.upper.__ceil__()
        units = (_units(number_in(cell), self.unit, ends, (low, high)) for cell in values)
        return np.fromiter(units, object, len(values))


def are_numbers(values: Array) -> Mask:
    """Which cells of an object array are numbers that can be added up."""
    numbers = (number_in(cell) is not None for cell in values)
    return np.fromiter(numbers, dtype=bool, count=len(values))


def number_in(cell: Any) -> Exact | None:
    """The number in a cell, as one of Python's own classes; None if the cell holds no number.

    A subclass of a number's class could run its own code when it is computed with.
    """
    found: Exact | None = safely(_exact, cell)
    return found


def _exact(cell: Any) -> Exact | None:
    match cell:
        case float():
            return Decimal(float.__repr__(cell))
        case int():
            return int.__int__(cell)
        case np.floating():
            return Decimal(str(cell))
        case np.timedelta64():  # numpy counts durations as integers
            return None
        case np.integer() | np.bool_():
            return int(cell)
        case Decimal():
            number = Decimal(cell)
            return None if number.is_nan() else number
        case Fraction():
            return Fraction(int(cell.numerator), int(cell.denominator))
    return None


def _units(
    number: Exact | None, unit: Fraction, ends: tuple[int, int], bounds: tuple[int, int]
) -> int:
    """The units of one number; 0 if there is none.

    A number beyond the ends, or a tiny one, is not converted to a fraction, which could exhaust the
    memory.
    """
    low, high = bounds
    if number is None:
        return 0
    if number <= ends[0]:
        return low
    if number >= ends[1]:
        return high
    if isinstance(number, Decimal) and number.adjusted() < -_LONGEST:
        number = 0
    top, bottom = number.as_integer_ratio()
    size = abs(top) * unit.denominator // (bottom * unit.numerator)
    return max(low, min(-size if top < 0 else size, high))


def is_power_of_two(unit: Fraction) -> bool:
    """Whether floats divide by it exactly, except for overflow and underflow."""
    top, bottom = unit.numerator, unit.denominator
    return top.bit_count() == 1 == bottom.bit_count() and max(top, bottom) <= 2**1000

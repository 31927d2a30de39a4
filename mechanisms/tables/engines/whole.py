"""Whole numbers in a statement, with a proof that the engine can compute them for every row.

An engine fails where a number leaves its type: at a constant, at a sum, or at a product of two
constants that it puts together itself. It may do so only when a row is evaluated, and then the
failure says that there is such a row. So what could leave 64 bits is found when the statement is
written, from public values alone, and the question is refused.
"""

from collections.abc import Callable
from typing import Any

import attrs

from mechanisms.tables.engines.dialect import Dialect, Expression
from mechanisms.tables.expressions.column_types import Kind

MOST = 2**63 - 1
"""The largest integer of 64 bits. The smallest one has no counterpart: it is -MOST - 1."""


def in_64_bits(value: int) -> int:
    """A number that is written as an integer of 64 bits.

    Raises:
        TypeError: it is none.
    """
    if not -MOST - 1 <= value <= MOST:
        raise TypeError("the bounds of a sum, in its units, are beyond 64-bit integers")
    return int(value)


def in_domain(kind: Kind, value: Any) -> Any:
    """A constant that is written as a cell of a column.

    Raises:
        TypeError: no cell of the column can equal it.
    """
    if kind.step is not None and not kind.low <= value <= kind.high:
        raise TypeError(f"a constant is beyond what a column of {kind.declared or kind.name} holds")
    return value


@attrs.frozen
class Whole:
    """An integer that is computed of a row, of 64 bits for every row.

    Args:
        expression: of the engine.
        low, high: the smallest and the largest value.
        reach: the largest number if the products of the expression are multiplied out: the sum of
            its terms, each with the largest absolute values of its factors, but at least 1 for
            each of them. In whatever order an engine multiplies, no number is larger, and no
            product of constants.

    Raises:
        TypeError: a value could be beyond 64 bits.
    """

    dialect: Dialect
    expression: Expression
    low: int
    high: int
    reach: int

    def __attrs_post_init__(self) -> None:
        """Check the ends."""
        in_64_bits(self.low)
        in_64_bits(self.high)

    @property
    def fixed(self) -> bool:
        """Whether it is the same number for every row."""
        return self.low == self.high

    @classmethod
    def constant(cls, dialect: Dialect, value: int) -> "Whole":
        """A constant."""
        return cls(dialect, dialect.whole(value), value, value, max(abs(value), 1))

    @classmethod
    def between(
        cls, dialect: Dialect, low: int, high: int, write: Callable[[], Expression]
    ) -> "Whole":
        """An expression whose values are between these ends.

        Args:
            write: gives the expression. It is not asked if the ends are one constant.
        """
        if low == high:
            return cls.constant(dialect, low)
        ends = in_64_bits(low), in_64_bits(high)
        return cls(dialect, write(), *ends, max(-low, high, 1))

    def minus(self, value: int) -> "Whole":
        """The difference from a constant."""
        if not value:
            return self
        less = self.expression - self.dialect.whole(value)
        ends = self.low - value, self.high - value
        return Whole(self.dialect, less, *ends, self.reach + abs(value))

    def times(self, value: int) -> "Whole":
        """The multiple by a constant above 0."""
        if value == 1:
            return self
        ends, reach = (self.low * value, self.high * value), self.reach * value
        return self._multiplied(*ends, reach, lambda: self.dialect.whole(value))

    def by(self, other: "Whole") -> "Whole":
        """The product. Both are cut off at their ends if their terms could be too large."""
        one, two = self, other
        if not one.reach * two.reach <= MOST:
            one, two = one._cut_off(one.low, one.high), two._cut_off(two.low, two.high)
        corners = [a * b for a in (one.low, one.high) for b in (two.low, two.high)]
        ends, reach = (min(corners), max(corners)), one.reach * two.reach
        return one._multiplied(*ends, reach, lambda: two.expression)

    def _multiplied(
        self, low: int, high: int, reach: int, factor: Callable[[], Expression]
    ) -> "Whole":
        if low == high:
            return Whole.constant(self.dialect, low)
        in_64_bits(reach)
        return Whole(self.dialect, self.expression * factor(), low, high, reach)

    def quotient(self, divisor: int) -> "Whole":
        """The quotient by a constant above 0, truncated toward zero."""
        if divisor == 1:
            return self
        d, number, zero = self.dialect, self.expression, self.dialect.whole(0)
        low, high = _toward_zero(self.low, divisor), _toward_zero(self.high, divisor)
        if low == high:
            return Whole.constant(d, low)
        if not max(-self.low, self.high) <= d.largest_dividend:
            raise TypeError("the unit of a sum is too fine for its bounds on this engine")
        if self.low >= 0:
            return Whole.between(d, low, high, lambda: d.quotient(number, divisor))
        up = d.quotient(d.when(number < zero, zero, number), divisor)
        down = d.quotient(d.when(number < zero, zero - number, zero), divisor)
        return Whole(d, up - down, low, high, max(high, 1) + max(-low, 1))

    def within(self, low: int, high: int) -> "Whole":
        """The number, cut off at these ends where it could be beyond them."""
        ends = [min(max(end, low), high) for end in (self.low, self.high)]
        return self if ends == [self.low, self.high] else self._cut_off(*ends)

    def _cut_off(self, low: int, high: int) -> "Whole":
        d = self.dialect
        return Whole.between(
            d, low, high, lambda: d.clipped(self.expression, d.whole(low), d.whole(high))
        )

    def where(self, condition: Expression) -> "Whole":
        """The number where a condition holds, else 0."""
        value = self.dialect.when(condition, self.expression, self.dialect.whole(0))
        return Whole(self.dialect, value, min(self.low, 0), max(self.high, 0), self.reach)


def _toward_zero(number: int, divisor: int) -> int:
    return -(-number // divisor) if number < 0 else number // divisor

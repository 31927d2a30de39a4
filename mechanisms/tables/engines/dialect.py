"""What an engine provides: how its expressions are written."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

from mechanisms.tables.expressions.column_types import Kind

Expression: TypeAlias = Any
"""An engine's expression; it supports + - * / & | ~ and comparisons."""


class Dialect(Protocol):
    """How an engine's expressions are written."""

    computes: bool
    """Whether it computes operands; otherwise it reads columns only."""
    largest_dividend: int
    """The largest integer that `quotient` divides exactly."""

    def cell(self, column: str, kind: Kind) -> Expression:
        """The cell in a column, in a form that compares with `literal`."""

    def literal(self, kind: Kind, value: Any) -> Expression:
        """A value of a column's domain, as `column_types.placed` returns it."""

    def whole(self, value: int) -> Expression:
        """A 64-bit integer."""

    def double(self, value: float) -> Expression:
        """A float."""

    def truth(self, value: bool) -> Expression:
        """True or false."""

    def present(self, cell: Expression, kind: Kind) -> Expression:
        """Whether the cell is neither null nor NaN; never null itself."""

    def one_of(self, cell: Expression, values: Sequence[Expression]) -> Expression:
        """Whether a cell that is present equals one of some values, at least one."""

    def position(self, cell: Expression, values: Sequence[tuple[int, Expression]]) -> Expression:
        """The number of the first value that the cell equals, -1 if none."""

    def when(self, condition: Expression, yes: Expression, no: Expression) -> Expression:
        """`yes` where the condition holds, else `no`."""

    def where(self, condition: Expression, value: Expression) -> Expression:
        """The value where the condition holds, else null."""

    def surely(self, condition: Expression) -> Expression:
        """Whether the condition holds; false where it is null."""

    def tamed(self, value: Expression) -> Expression:
        """A float: null beyond `LARGEST`, and zero below `LEAST`. The value is written once."""

    def cases(
        self, values: Sequence[tuple[Expression, Expression]], otherwise: Expression
    ) -> Expression:
        """The value of the first condition that holds; no condition is null."""

    def nothing(self, kind: Kind) -> Expression:
        """A null of a computed kind."""

    def nearest(self, cell: Expression, kind: Kind) -> Expression:
        """The 64-bit float nearest to a number."""

    def whole_part(self, cell: Expression, kind: Kind) -> Expression:
        """A number within 64 bits truncated toward zero, as a 64-bit integer."""

    def truncated_float(self, value: Expression) -> Expression:
        """A float truncated toward zero, as a 64-bit integer; null beyond 64 bits."""

    def narrowed(self, value: Expression) -> Expression:
        """An integer as a 64-bit integer; null beyond 64 bits, and for -2**63."""

    def as_truth(self, value: Expression) -> Expression:
        """The integers 1 and 0 as booleans; null for others."""

    def typed(self, cell: Expression) -> Expression:
        """The cell of a column of numbers or booleans; null if it is neither."""

    def as_integer(self, cell: Expression, kind: Kind) -> Expression:
        """An integer as one of a kind that holds it."""

    def as_bit(self, cell: Expression) -> Expression:
        """A boolean as the 64-bit integer 1 or 0."""

    def ordered(self, text: Expression) -> Expression:
        """A text in a form that compares by code points, whatever its column's collation is."""

    def changed(self, function: str, text: Expression) -> Expression:
        """A function of `texts`."""

    def matched(self, text: Expression, how: str, pattern: str) -> Expression:
        """Whether a text contains, starts with, ends with or is like a pattern."""

    def written(self, cell: Expression, kind: Kind) -> Expression:
        """An integer, a boolean or a date of the years 1 to 9999 as text."""

    def parsed(self, to: str, text: Expression) -> Expression:
        """A text read as a type, as `grammar` defines it; null where it has no value."""

    def utc(self, cell: Expression, kind: Kind) -> Expression:
        """A timestamp or an instant, in UTC, as a timestamp in whole microseconds."""

    def calendar_day(self, cell: Expression) -> Expression:
        """A cell of a column of dates as a date; null if it is none."""

    def day(self, moment: Expression) -> Expression:
        """The date of a timestamp."""

    def midnight(self, day: Expression) -> Expression:
        """The timestamp at which a date begins."""

    def part(self, part: str, moment: Expression, kind: Kind) -> Expression:
        """A part of a date or a timestamp, as a 64-bit integer."""

    def truncated(self, unit: str, moment: Expression, kind: Kind) -> Expression:
        """The date, or for "hour" the timestamp, at which a unit of time begins."""

    def days_between(self, day: Expression, other: Expression) -> Expression:
        """The days from the other date to the date, as a float."""

    def unless_zero(self, value: Expression) -> Expression:
        """A float, or null where it is zero."""

    def clipped(self, value: Expression, low: Expression, high: Expression) -> Expression:
        """The value clipped to the bounds."""

    def magnitude(self, value: Expression) -> Expression:
        """The absolute value of a float."""

    def floor(self, value: Expression) -> Expression:
        """The largest whole float at or below the value."""

    def as_double(self, value: Expression) -> Expression:
        """A float of any width as a 64-bit float. `clipped` makes it finite, even if it is NaN."""

    def as_single(self, value: Expression) -> Expression:
        """A float rounded to 32 bits, as a 64-bit float."""

    def as_whole(self, value: Expression) -> Expression:
        """A whole float within 64 bits, or an integer, as a 64-bit integer."""

    def multiples(self, cell: Expression, kind: Kind, low: int, high: int) -> Expression:
        """A number as a multiple of its column's step, clipped, as a 64-bit integer."""

    def quotient(self, dividend: Expression, divisor: int) -> Expression:
        """The quotient of integers, rounded down; the dividend is not negative."""
